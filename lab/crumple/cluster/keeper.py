"""Holds a cluster: it is the scheduler, and has a shell on each host, which becomes the worker there.

`crumple cluster up` starts it as `python -m crumple.cluster.keeper`, and reads its lines until all hosts have
answered. A worker ends when its input closes, so all end with the keeper, however that ends. A host that was
lost is asked again.
"""

import asyncio
import ipaddress
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from pydantic import TypeAdapter, ValidationError

from crumple import project
from crumple.cluster import cluster_file, cluster_hosts, dask_settings
from crumple.cluster.cluster_file import ClusterFile, Pass
from crumple.cluster.dask_settings import SilentScheduler
from crumple.cluster.host_worker import MARK, Joining
from crumple.contract_base import Frozen
from crumple.errors import CrumpleError
from crumple.load_host import host_errors, where
from crumple.load_host.piped_process import PipedProcess
from crumple.machine import load_machine, process_tree

# Dask's own port for a scheduler; another if it is taken.
PORT = 8786
# Seconds for a host's shell to answer, and for the crumple there: it may first make itself ready.
SHELL_S, READY_S = 30.0, 120.0
# Seconds after which a host that was lost is asked again: the scheduler has noticed its loss by then.
AGAIN_S = 10.0
# What a host writes behind the mark.
ANSWER: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class Keeping(Frozen):
    """What a keeper is to hold."""

    hosts: tuple[str, ...]
    """Each an ssh destination, or a command that gives a shell there."""
    crumple: str
    """What starts crumple on each of them."""
    listen: str
    """The address of this machine for the scheduler; empty: the one at which the first host sees it."""


class Host:
    """A host, through a shell on it."""

    def __init__(self, text: str, crumple: str) -> None:
        self.where = where.read(text)
        self._crumple = crumple
        self._shell: PipedProcess | None = None

    def open(self) -> str:
        """Begin a shell there; the address at which it sees this machine, empty without ssh.

        Raises EngineFailed.
        """
        self._shell = PipedProcess(self.where.argv())
        self._shell.send(f'printf \'{MARK} {{"seen": "%s"}}\\n\' "${{SSH_CONNECTION%% *}}"\n'.encode())
        seen = self._answer(SHELL_S)
        if seen is None:
            raise host_errors.unreached(self.where, self._shell.ending, SHELL_S, "")
        return seen.get("seen", "")

    def join(self, scheduler: str, key_to_it: Pass, own: dict[str, str]) -> str:
        """Let the shell become a worker, and return where that listens. Raises CrumpleError."""
        assert self._shell
        name = self.where.name
        self._shell.send(f"exec {shlex.quote(self._crumple)} cluster worker\n".encode())
        there = self._answer(READY_S)
        if there is None:
            why = self._why()
            message = f"{name} does not run {self._crumple}{why}"
            raise CrumpleError(message, "put the same crumple there, or say where it is: --crumple PATH")
        if error := cluster_hosts.other_programs(name, there, own):
            raise error
        joining = Joining(scheduler=scheduler, name=name, key_to_it=key_to_it)
        self._shell.send(f"{joining.model_dump_json()}\n".encode())
        joined = self._answer(READY_S) or {}
        if "listens" not in joined:
            raise CrumpleError(
                f"{name} does not join{self._why()}", "let it reach the scheduler, and that it"
            )
        return joined["listens"]

    def wait(self) -> None:
        """Wait until the worker there, or the way to it, is lost."""
        while self._shell and not self._shell.ending:
            self._shell.line(time.monotonic() + READY_S)

    def close(self) -> None:
        """End the worker there, or what holds it here."""
        if self._shell:
            self._shell.close()

    def _answer(self, within_s: float) -> dict[str, str] | None:
        """The next line of the shell that begins with the mark; None: none came. Raises EngineFailed."""
        assert self._shell
        by_s = time.monotonic() + within_s
        while (line := self._shell.line(by_s)) is not None:
            mark, _, answer = line.decode("utf-8", "replace").partition(" ")
            if mark == MARK:
                try:
                    return ANSWER.validate_json(answer)
                except ValidationError:
                    raise host_errors.not_understood(self.where, line) from None
        return None

    def _why(self) -> str:
        assert self._shell
        ending = self._shell.ending
        return f": {host_errors.shown(ending.errors[-1])}" if ending and ending.errors else ""


class Keeper:
    """The hosts of a cluster, each held by a thread of its own."""

    def __init__(self, keeping: Keeping) -> None:
        self._hosts = [Host(each, keeping.crumple) for each in keeping.hosts]
        self._listen = keeping.listen
        self._key_to_it = Pass.made()
        self._programs = cluster_hosts.programs_here(project.root(), ())
        self._over = threading.Event()

    async def keep(self) -> None:
        """Let the hosts join; if one has, hold the cluster until SIGTERM. Raises CrumpleError."""
        dask_settings.settle()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _end_at_once)
        seen = await asyncio.gather(*(asyncio.to_thread(_opened, each) for each in self._hosts))
        reached = [host for host, address in zip(self._hosts, seen, strict=True) if address is not None]
        if not reached:
            return
        at = self._listen or _own_address([each for each in seen if each])
        async with await _scheduler(at, self._key_to_it) as scheduler:
            joining = (asyncio.to_thread(self._join, each, scheduler.address) for each in reached)
            joined = await asyncio.gather(*joining)
            if any(joined):
                held = [host for host, has_joined in zip(reached, joined, strict=True) if has_joined]
                await self._hold_all(held, scheduler.address)

    async def _hold_all(self, hosts: Sequence[Host], scheduler: str) -> None:
        """Say that the cluster is up, and hold its hosts until SIGTERM."""
        over = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
        up = ClusterFile(address=scheduler, keeper=os.getpid(), key_to_it=self._key_to_it)
        with cluster_file.kept(up):
            _say(up=scheduler)
            for host in hosts:
                threading.Thread(target=self._hold, args=(host, scheduler), daemon=True).start()
            await over.wait()
            self._over.set()
            await asyncio.gather(*(asyncio.to_thread(host.close) for host in hosts))

    def _join(self, host: Host, scheduler: str) -> bool:
        try:
            _say(host=host.where.name, listens=host.join(scheduler, self._key_to_it, self._programs))
        except CrumpleError as error:
            _say(host=host.where.name, error=str(error))
            host.close()
            return False
        return True

    def _hold(self, host: Host, scheduler: str) -> None:
        """Let a host join again whenever it is lost."""
        while True:
            host.wait()
            if self._over.wait(AGAIN_S):
                return
            try:
                host.open()
                host.join(scheduler, self._key_to_it, self._programs)
            except CrumpleError:
                host.close()


def _end_at_once() -> None:
    """End while the cluster comes up, and what holds its hosts: threads wait for these, some for minutes."""
    for pid in [*process_tree.descendants(os.getpid())]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os._exit(1)


def _opened(host: Host) -> str | None:
    try:
        return host.open()
    except CrumpleError as error:
        _say(host=host.where.name, error=str(error))
        host.close()
        return None


def _own_address(seen: Sequence[str]) -> str:
    """The first of the addresses at which hosts see this machine. Raises CrumpleError if it has none."""
    for each in seen:
        # An ssh that comes through something else than a socket has no address.
        with suppress(ValueError):
            if load_machine.is_own(ipaddress.ip_address(each)):
                return each
    message = "it is not known at which address the hosts reach this machine"
    raise CrumpleError(message, "name one of its addresses: --listen ADDRESS")


async def _scheduler(at: str, key_to_it: Pass) -> SilentScheduler:
    """Return a scheduler at this address. Raises CrumpleError."""
    why: BaseException | None = None
    for port in (PORT, 0):
        scheduler = SilentScheduler(
            host=at, port=port, protocol="tls", security=key_to_it.security, dashboard=False
        )
        try:
            return await scheduler
        except RuntimeError as error:
            why = error.__cause__ or error
    raise CrumpleError(f"no scheduler can listen at {at}: {why}", "name an address of this machine: --listen")


def _say(**what: str) -> None:
    # As one piece: each host has a thread that says something.
    os.write(sys.stdout.fileno(), f"{json.dumps(what)}\n".encode())


def main() -> None:
    """Read what is to be held, and hold it."""
    try:
        keeping = Keeping.model_validate_json(sys.stdin.readline())
        with cluster_file.only_one():
            asyncio.run(Keeper(keeping).keep())
    except (CrumpleError, OSError) as error:
        _say(error=str(error))
    except Exception as error:
        # Nobody reads a traceback of this process.
        what = host_errors.shown(f"{type(error).__name__}: {error}")
        _say(error=f"what holds the cluster has ended: {what}")


if __name__ == "__main__":
    main()
