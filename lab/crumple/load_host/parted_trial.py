"""A trial whose load comes from several load hosts at once, each of which puts a part of it on.

Before each turn the clock of each host is read through the pipe that it serves, and all are told one instant
by their own clocks; the engine here, which watches the server, is told the same. Lines of progress are added
up. If one host is lost, the others are ended at once: what is left is another load than was asked for.
"""

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from crumple import engine as engines
from crumple.contract import PartSpec, Probes, ProgressLine, RequestsStopSpec, TrialRecord, TrialSpec
from crumple.engine import OnProgress
from crumple.errors import LoadHostLost
from crumple.load_host import host_errors, out_of_step, remote_trial, way
from crumple.load_host.answer_types import Clock
from crumple.load_host.link import Link, State
from crumple.load_host.remote_trial import OVER, Watch
from crumple.load_host.summed_lines import SummedLines
from crumple.load_host.way import Way
from crumple.machine import capacity
from crumple.record import probes_together, together
from crumple.record.together import Part

# Lines that are sent to compare clocks: the fastest of nine has hardly waited.
CLOCKS_READ = 9
# How far ahead of now the instant lies at which all begin, in ns: an engine wakes its threads 20 ms before
# it, and a line may wait as long again for a core on either side. To it comes the longest way there and back.
AHEAD_NS = 60_000_000


@dataclass(frozen=True)
class ReadyHost:
    """A load host, and a link to it that takes a trial."""

    name: str
    link: Link
    kernel: str | None
    """Which start of a kernel it has; None: not known."""
    is_here: bool
    """Whether that is this machine's, too."""
    clock: Callable[[], Clock]
    """Reads the clocks there, through the link."""


def can_be_parted(spec: TrialSpec, hosts: int) -> bool:
    """Whether a load has a part for each of so many hosts: a connection, and an end that all know.

    No host knows how many requests the others have sent.
    """
    stops = [spec.stop, *([spec.warm_up.stop] if spec.warm_up is not None else [])]
    by_number = any(isinstance(stop, RequestsStopSpec) for stop in stops)
    return not by_number and capacity.connections_of(spec.shape) >= hosts


class PartedTrial:
    """A load from several load hosts (`engine.Loading`). Its record is that of the whole load."""

    def __init__(
        self, hosts: Sequence[ReadyHost], watch: Watch | None, spec: TrialSpec, on_progress: OnProgress
    ) -> None:
        """`watch`: None if no server is watched."""
        self._hosts = hosts
        self._watch = watch
        self._spec = spec
        self._on_progress = on_progress
        self._lines = SummedLines(len(hosts), spec.progress.every_ms)
        self._ways: list[Way] = []
        # Numbers of the hosts that have something to say; those that have said that their load is over.
        self._bell: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._over: set[int] = set()
        self._begun = self._ends = False

    def turn(self) -> None:
        """Begin the next turn of the load, and wait until it is over. Raises EngineFailed."""
        within_s = engines.at_most_s(self._spec)
        with ExitStack() as stack:
            stack.callback(self._hears_nothing)
            for number, host in enumerate(self._hosts):
                host.link.on_line_waiting(partial(self._bell.put, number))
            try:
                self._turn(within_s)
            except BaseException as error:
                # At once, as it may take a while to close the links one after the other.
                self._end_all()
                if isinstance(error, LoadHostLost):
                    raise host_errors.agent_lost(error, len(self._hosts)) from None
                raise

    def end_early(self) -> None:
        """End the load at once; its record is kept. It may be called from a signal handler."""
        self._ends = True
        if self._begun:
            self._end_all()

    def record(self) -> TrialRecord:
        """Return the record after the last turn, with what was read here. Raises EngineFailed."""
        parts = self._parts([engines.record_of(host.link.record(), self._spec) for host in self._hosts])
        whole = together.together(parts)
        if self._watch is not None:
            whole = whole.model_copy(update={"probes": self._with_server(whole, parts)})
        return whole.model_copy(update={"spec": self._spec})

    def _turn(self, within_s: float) -> None:
        if not self._begun:
            self._begun = True
            if self._watch is not None:
                self._watch.prepare(remote_trial.spec_here(self._spec))
            there = remote_trial.spec_there(self._spec)
            for index, host in enumerate(self._hosts):
                part = PartSpec(index=index, of=len(self._hosts))
                host.link.load(there.model_copy(update={"part": part}).model_dump_json())
            if not self._hear(within_s):
                return  # They have ended, and their records say why.
        if self._watch is not None:
            self._watch.ready()
        self._begin()
        if self._ends:
            self._end_all()
        if not self._hear(within_s):
            self._tell_watch("end")

    def _begin(self) -> None:
        """Tell all the instant at which the turn begins, each by its own clock."""
        with ThreadPoolExecutor(len(self._hosts)) as each:
            ways = list(each.map(_way_to, self._hosts))
        # A record says when the first turn began.
        self._ways = self._ways or ways
        longest_ns = max(found.p99_ns for found in ways)
        at_ns = time.monotonic_ns() + AHEAD_NS + longest_ns
        for host, found in zip(self._hosts, ways, strict=True):
            host.link.go(at_ns + found.monotonic_ahead_ns)
        self._tell_watch(f"go {at_ns}")

    def _hear(self, within_s: float) -> bool:
        """Pass progress on until all are held (True) or over (False). Raises EngineFailed."""
        over_s = time.monotonic() + within_s
        states: dict[int, State] = {}
        self._over.clear()
        for number in range(len(self._hosts)):
            self._bell.put(number)
        while len(states) < len(self._hosts):
            try:
                number = self._bell.get(timeout=max(0.0, over_s - time.monotonic()))
            except queue.Empty:
                silent = next(each for each in range(len(self._hosts)) if each not in states)
                self._end_all()
                raise self._hosts[silent].link.loss("did not end", within_s) from None
            if number in states:
                continue
            state = self._hosts[number].link.hear(partial(self._heard, number))
            if state == "lost":
                # Before it is found out how: that may take seconds.
                self._end_all()
                raise self._hosts[number].link.loss()
            if state is not None:
                states[number] = state
            if {*states.values()} == {"held", "over"}:
                # It was ended between two turns, which not all had heard when theirs was over.
                self._end_all()
                states = {each: state for each, state in states.items() if state == "over"}
        return "held" in states.values()

    def _heard(self, number: int, line: bytes) -> None:
        if line.startswith(OVER):
            self._over.add(number)
            # A turn that ends by its time ends here, too, and is no end of the load.
            if len(self._over) == len(self._hosts) and (self._ends or not self._spec.turns):
                self._tell_watch("end")
            return
        with suppress(ValidationError):  # Other lines are what a failure shows.
            whole = self._lines.add(number, ProgressLine.model_validate_json(line))
            if whole is not None:
                self._on_progress(whole)

    def _parts(self, records: Sequence[TrialRecord]) -> list[Part]:
        if not self._ways:
            # It was ended before it began.
            return [Part(record, name=host.name) for host, record in zip(self._hosts, records, strict=True)]
        began_ns = [
            (record.began_monotonic_ns or 0) - found.monotonic_ahead_ns
            for record, found in zip(records, self._ways, strict=True)
        ]
        return [
            Part(
                record,
                name=host.name,
                round_trip_ns=round(found.median_ns),
                late_ns=at_ns - min(began_ns),
                late_off_ns=found.clock_off_most_ns,
                kernel=host.kernel,
            )
            for host, record, found, at_ns in zip(self._hosts, records, self._ways, began_ns, strict=True)
        ]

    def _with_server(self, whole: TrialRecord, parts: Sequence[Part]) -> Probes:
        assert self._watch is not None
        here = self._watch.probes()
        longest_ns = max(part.round_trip_ns for part in parts)
        if reason := out_of_step.why(longest_ns, whole.measured_ns, len(self._spec.turns) or 1):
            here = out_of_step.without(here, reason)
        apart = [
            (part.record.probes, part.kernel)
            for part, host in zip(parts, self._hosts, strict=True)
            if not host.is_here
        ]
        machine = probes_together.machines(apart) if apart else here.machine
        there = whole.probes.model_copy(update={"machine": machine})
        return remote_trial.with_server(there, here, is_here=not apart)

    def _end_all(self) -> None:
        for host in self._hosts:
            host.link.end()

    def _tell_watch(self, line: str) -> None:
        if self._watch is not None:
            self._watch.tell(line)

    def _hears_nothing(self) -> None:
        for host in self._hosts:
            host.link.on_line_waiting(lambda: None)


def _way_to(host: ReadyHost) -> Way:
    return way.measured(host.clock, CLOCKS_READ)
