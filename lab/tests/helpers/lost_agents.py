"""Faults of a load that comes from two other hosts, of which one is lost.

with several_loaders.started(("first", "second"), folder) as loaders:
    for name in FAULTS:
        print(name, suffer(loaders, name, engine.path))
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import documents
import lost_hosts
import other_hosts
from crumple import contract
from lost_hosts import Server, Suffered
from several_loaders import Loader, Loaders

LAB = """
import json, sys
from pathlib import Path
from contextlib import ExitStack
from crumple import engine
from crumple.contract import TrialSpec
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.several_hosts import SeveralHosts
program, spec, *named = sys.argv[1:]
try:
    with ExitStack() as stack:
        hosts = [stack.enter_context(LoadHost(where.read(each), Path(program))) for each in named]
        load = Engine(Path(program), "0", SeveralHosts(hosts))
        lines = []
        def told(line):
            lines or print("loads", flush=True)
            lines.append(line)
        engine.run(load, TrialSpec.model_validate_json(spec), told)
        print(json.dumps({"how": "", "said": "nothing was lost"}))
except EngineFailed as failed:
    print(json.dumps({"how": getattr(failed, "how", type(failed).__name__), "said": str(failed)}))
"""
ROOT = Path(__file__).parents[3]
LOAD_S, RATE_PER_S = 60.0, 200.0
# What has not ended after so long stays.
WITHIN_S = 12.0


@dataclass(frozen=True)
class Fault:
    """What is done to the second host. `how`: as the lab calls it."""

    hurt: Callable[[Loader, int], None]
    how: str


def send(number: int, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def client(loader: Loader, lab: int) -> list[int]:
    """The ssh of the lab to this host."""
    # Threads have started them.
    children = [each.read_text().split() for each in Path(f"/proc/{lab}/task").glob("*/children")]
    found = [int(pid) for pids in children for pid in pids]
    return [pid for pid in found if loader.host.name in commands(pid)]


def commands(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


FAULTS = {
    "engine killed": Fault(lambda loader, _: send(signal.SIGKILL, loader.engines("run")), "engine-ended"),
    "serving engine killed": Fault(
        lambda loader, _: send(signal.SIGKILL, loader.engines("serve")), "engine-ended"
    ),
    "frozen": Fault(lambda loader, _: send(signal.SIGSTOP, loader.engines()), "frozen"),
    "cut off": Fault(lambda loader, _: loader.link.cut(), "link-cut"),
    "ssh client killed": Fault(lambda loader, lab: send(signal.SIGKILL, client(loader, lab)), "client-ended"),
}


def spec(address: str) -> str:
    rate = contract.RateSpec(from_per_s=RATE_PER_S, to_per_s=RATE_PER_S, duration_s=LOAD_S)
    return documents.spec(
        target=contract.Target(address=address, host=address),
        requests=(documents.request(body_bytes=2, path="/"),),
        shape=contract.OpenShapeSpec(connections=16, rates=(rate,)),
        warm_up=None,
        stop=contract.DurationStopSpec(duration_s=LOAD_S),
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
    ).model_dump_json()


def suffer(loaders: Loaders, name: str, program: Path) -> Suffered:
    """Put the load on from both, bring the fault of the second about, and see what comes of it."""
    fault, second = FAULTS[name], loaders.each[1]
    server = Server(loaders.address)
    asked = spec(f"{loaders.address}:{server.port}")
    words = [sys.executable, "-c", LAB, str(program), asked, *(each.where for each in loaders.each)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lab")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as lab:
        try:
            assert lab.stdout is not None
            assert (first := lab.stdout.readline()) == "loads\n", first
            fault_s = time.monotonic()
            fault.hurt(second, lab.pid)
            other_hosts.at_last(lambda: not _engines(loaders), WITHIN_S)
            gone_s = time.monotonic() - fault_s
            time.sleep(lost_hosts.OVER_S)
            left = len(_engines(loaders))
            said = json.loads(lab.communicate(timeout=60)[0])
        finally:
            lab.kill()
            if name == "cut off":
                second.link.mend()
            for loader in loaders.each:
                send(signal.SIGKILL, loader.engines())
            server.close()
    return Suffered(said["how"], said["said"], max(server.last_s - fault_s, 0.0), gone_s, left)


def _engines(loaders: Loaders) -> list[int]:
    return [pid for loader in loaders.each for pid in loader.engines()]
