"""crumple cluster: starts a scheduler here and a worker on each host, and ends them; or is such a worker."""

import ipaddress
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from crumple.cluster import cluster_file, host_worker
from crumple.cluster.keeper import Keeping
from crumple.commands import output
from crumple.errors import EXIT_NO, CrumpleError, UsageError
from crumple.load_host import where

# Seconds for all hosts to end, until it is said that one does not.
END_S = 15.0


def run(what: str, named: Sequence[str], crumple: str | None, listen: str | None) -> int:
    """Do one of the three, and return the exit code. Raises CrumpleError."""
    if what == "up":
        return _up(named, crumple, listen)
    if crumple or listen:
        raise UsageError("--crumple and --listen are for a cluster that comes up", "write crumple cluster up")
    if what == "down" and not named:
        return _down()
    if what == "worker" and len(named) < 2:
        host_worker.joined(named[0]) if named else host_worker.told()
        return 0
    raise UsageError(
        f"{' '.join((what, *named))} is nothing that a cluster does",
        "write crumple cluster up HOST…, crumple cluster down, or crumple cluster worker ADDRESS",
    )


def _up(hosts: Sequence[str], crumple: str | None, listen: str | None) -> int:
    if not hosts:
        raise UsageError("no host is named", "write crumple cluster up HOST…")
    if twice := sorted({each for each in hosts if hosts.count(each) > 1}):
        raise UsageError(f"{twice[0]} is named twice", "name each host once: it measures one block at a time")
    for each in hosts:
        where.read(each, "crumple cluster up")
    if listen and not _is_address(listen):
        remedy = "give the one at which the hosts reach this machine, such as 10.0.0.1"
        raise UsageError(f"--listen {listen} is not one address", remedy)
    if up := cluster_file.read():
        raise UsageError(f"a cluster is up at {up.address}", "end it first: crumple cluster down")
    keeping = Keeping(hosts=tuple(hosts), crumple=crumple or _own_path(), listen=listen or "")
    joined = 0
    for said in _begun(keeping):
        if "up" in said:
            output.say(f"the cluster is up: crumple run STUDY --cluster {said['up']}")
            output.say("end it with: crumple cluster down")
            return 0 if joined == len(hosts) else EXIT_NO
        if "host" not in said:
            raise CrumpleError(said["error"])
        output.say(f"{said['host']}: {said.get('error') or _joined(said)}")
        joined += "listens" in said
    raise CrumpleError("no cluster is up")


def _is_address(listen: str) -> bool:
    """Whether it is one address: not that of all networks, nor a name, which may have several."""
    with suppress(ValueError):
        return not ipaddress.ip_address(listen).is_unspecified
    return False


def _begun(keeping: Keeping) -> Iterator[dict[str, str]]:
    """Start what holds the cluster, and yield what it says. If this command ends before, so does that."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crumple.cluster.keeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    is_up = False
    try:
        process.stdin.write(f"{keeping.model_dump_json()}\n")
        process.stdin.close()
        for line in process.stdout:
            said = json.loads(line)
            is_up = "up" in said
            yield said
    finally:
        process.stdout.close()
        if not is_up:
            process.terminate()
            process.wait()


def _joined(said: dict[str, str]) -> str:
    return f"has joined, and listens at {said['listens']}"


def _down() -> int:
    up = cluster_file.read()
    if up:
        os.kill(up.keeper, signal.SIGTERM)
    try:
        with cluster_file.only_one(END_S if up else 0.0):
            # A keeper that was killed has left it.
            cluster_file.path().unlink(missing_ok=True)
    except UsageError:
        if up is None:
            raise
        message = f"process {up.keeper} holds the cluster and does not end"
        raise CrumpleError(message, f"kill {up.keeper}") from None
    output.say(f"the cluster at {up.address} is down" if up else "no cluster is up")
    return 0


def _own_path() -> str:
    """Return what starts crumple here, which may start it there, too: a checkout's launcher, or a command."""
    launcher = Path(__file__).parents[3] / "crumple"
    return str(launcher) if launcher.is_file() else "crumple"
