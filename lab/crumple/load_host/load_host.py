"""A load host and the links that are open to it, so that a trial need not wait for a new connection."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from crumple import engine
from crumple.contract import TrialRecord, TrialSpec
from crumple.engine import Engine, OnProgress
from crumple.errors import EngineFailed
from crumple.load_host import host_errors, remote_trial, way, which_kernel
from crumple.load_host.answer_types import Clock, Knock, Listening, Resolved
from crumple.load_host.facts_there import FactsThere
from crumple.load_host.link import ASKED_S, Link
from crumple.load_host.remote_trial import RemoteTrial
from crumple.load_host.sent_engine import SentEngine
from crumple.load_host.where import Where
from crumple.record import machine_use

# Lines that are sent to learn how far away it is: of nine the median is hardly moved by a scheduler.
ROUND_TRIPS = 9

# Seconds within which a name is resolved there: a resolver gives up after three tries of 5 s.
RESOLVES_S = 20.0
Answer = TypeVar("Answer")
RESOLVED, CLOCK, LISTENING = TypeAdapter(Resolved), TypeAdapter(Clock), TypeAdapter(Listening)
KNOCK: TypeAdapter[Knock] = TypeAdapter(Knock)


class LoadHost:
    """Where the load comes from. Use it as a context: it ends all that it has started, here and there."""

    def __init__(self, where: Where, program: Path) -> None:
        """`program`: the engine's, on this machine. Nothing is opened yet."""
        self.where = where
        self._engine = SentEngine.of(program)
        self._idle: list[Link] = []
        # One link at a time finds or sends the engine.
        self._opening = threading.Lock()

    @contextmanager
    def link(self) -> Iterator[Link]:
        """A link for one trial at a time: an open one that is idle, or else a new one.

        It is kept for the next trial, if this one is over and has not raised. Raises LoadHostFailed.
        """
        link = self._taken()
        try:
            yield link
        except BaseException:
            link.close()
            raise
        if link.is_free:
            self._idle.append(link)
        else:
            link.close()

    def ask(self, line: str, within_s: float = ASKED_S) -> bytes:
        """What the engine there answers to a command, as JSON.

        Raises LoadHostFailed, LoadHostLost, EngineFailed.
        """
        with self.link() as link:
            return link.ask(line, within_s)

    def resolve(self, name: str) -> Resolved:
        """The addresses of a name there. Raises as `ask`."""
        return self._read(RESOLVED, self.ask(f"resolve {name}", RESOLVES_S))

    def knock(self, address: str) -> Knock:
        """What comes of a connect from there. Raises as `ask`."""
        return self._read(KNOCK, self.ask(f"knock {address}"))

    def clock(self, link: Link | None = None) -> Clock:
        """The clocks there. `link`: ask through this one; None: through any. Raises as `ask`."""
        return self._read(CLOCK, self.ask("clock") if link is None else link.ask("clock"))

    @property
    def name(self) -> str:
        """As results say it."""
        return self.where.name

    @property
    def each(self) -> tuple[Self, ...]:
        """The machines that loads come from: this one."""
        return (self,)

    @cached_property
    def facts(self) -> FactsThere:
        """What the engine there states of its machine. Raises LoadHostFailed, LoadHostLost, EngineFailed."""
        try:
            return FactsThere.model_validate_json(self.ask("facts"))
        except ValidationError as error:
            said = host_errors.shown(str(error))
            raise EngineFailed(f"{self.where.name} states no facts: {said}") from None

    @cached_property
    def is_this_kernel(self) -> bool:
        """Whether it is this machine, if in another namespace: both share its cores. Raises as `facts`."""
        with self.link() as link:
            return which_kernel.is_this(link.mark, self.facts.boot_id)

    @property
    def is_this_network(self) -> bool:
        """Whether it has the loopback of this process. Raises as `facts`."""
        own = str(Path("/proc/self/ns/net").readlink())
        return self.facts.network_namespace == own and self.is_this_kernel

    @cached_property
    def round_trip_ns(self) -> float:
        """How long a line takes there and back. Raises LoadHostFailed, LoadHostLost, EngineFailed."""
        return way.measured(self.clock, ROUND_TRIPS).median_ns

    @property
    def physical_cores(self) -> list[list[int]]:
        """Its cores, by the physical core that they share, if its kernel says that. Raises EngineFailed."""
        return [[*each] for each in self.facts.physical_cores] or [[core] for core in self.facts.cores]

    @property
    def circumstances(self) -> str:
        """Which machine it is, since which boot, and with which cores. Raises EngineFailed."""
        return f"{self.facts.boot_id} {','.join(map(str, self.facts.cores))} {self.facts.cpu_quota_cores}"

    @contextmanager
    def null_server(self, arguments: str) -> Iterator[str]:
        """Run the null server on its loopback; the address. It has a link of its own. Raises EngineFailed."""
        with self.link() as link:
            said = link.ask(f"null-server {arguments}")
            yield f"127.0.0.1:{self._read(LISTENING, said).port}"
            link.end_null_server()

    def cpu_shares(self, record: TrialRecord) -> tuple[float, float] | None:
        """Return the shares of its CPU time, 0 to 1, that others used and that its hypervisor took.

        None: unread. The record is of a load on its null server.
        """
        machine = record.probes.machine
        if (everybody := machine.all_processes) is None:
            return None
        # The null server is an engine of another link, so it is listed.
        serving_ns = sum(each.cpu_ns for each in everybody.programs if each.name == engine.NAME)
        loading_ns = machine_use.used_ns(record, record.probes.engine.window) or 0.0
        used = machine_use.of(record, machine, loading_ns + serving_ns, 0.0)
        return None if used is None else (used.share(used.others_ns), used.share(used.steal_ns))

    @contextmanager
    def started(self, loader: Engine, spec: TrialSpec, on_progress: OnProgress) -> Iterator[RemoteTrial]:
        """Start an engine there, and one here that watches the server (`engine.LoadSource`).

        Raises EngineFailed.
        """
        is_watched = spec.probe.server_pid is not None
        is_here = is_watched and self.is_this_kernel
        round_trip_ns = self.round_trip_ns if is_watched else 0.0
        with (
            self.link() as link,
            remote_trial.started(
                link,
                loader,
                spec,
                on_progress,
                name=self.name,
                is_here=is_here,
                round_trip_ns=round_trip_ns,
            ) as trial,
        ):
            yield trial

    def __enter__(self) -> Self:
        """Return it as it is: a link is opened when the first is needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all idle links."""
        while self._idle:
            self._idle.pop().close()

    def _read(self, kind: TypeAdapter[Answer], said: bytes) -> Answer:
        try:
            return kind.validate_json(said)
        except ValidationError:
            raise host_errors.not_understood(self.where, said) from None

    def _taken(self) -> Link:
        with self._opening:
            while self._idle:
                link = self._idle.pop()
                if link.is_free:
                    return link
                link.close()
            return Link(self.where, self._engine)
