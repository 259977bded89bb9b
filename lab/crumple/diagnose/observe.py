"""Puts a few loads on a server, one after the other, and notes what it does: → `Observed`.

Each load lasts a second or two. What is not given (a request that only waits, one that only computes, the
server's process) is left out, and what hangs on it stays unknown.
"""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from crumple import contract
from crumple.contract import TrialRecord, TrialSpec
from crumple.diagnose import instead, seen_under_load
from crumple.diagnose.running import Run, StepWatcher
from crumple.diagnose.time_left import SETTLED_NEEDS_S, TimeLeft
from crumple.experiment import bench, idle, idle_memory
from crumple.experiment.bench import Bench
from crumple.experiment.subject import Subject
from crumple.load import engine_spec, load_options
from crumple.load.addresses import port_of
from crumple.machine import at_rest, control_groups, group_limits, process_tree, runtimes
from crumple.machine.at_rest import AtRest
from crumple.machine.connection_ends import Opened
from crumple.machine.group_limits import GroupLimits
from crumple.machine.process_tree import Tree
from crumple.observation import loaded, one_by_one, parallelism
from crumple.observation.observed import IdleHeld, Many, MemorySteps, Observed, WorkAlone
from crumple.observation.outcome import IN_FLIGHT_MOST
from crumple.observation.unknown import Unknown
from crumple.record.disturbance import disturbance

# The most requests that are sent one after the other, and the time within which they are, in seconds.
ALONE_REQUESTS, ALONE_WITHIN_S = 50, 1.2
# The number and the time for a server that has answered none of these: fewer requests, within more seconds.
SLOW_REQUESTS, SLOW_WITHIN_S = 3, 12.0
# The time, in seconds, for a server that answers some of these far later than others.
UNEVEN_WITHIN_S = 5.0
# How many requests come first and do not count: those take longer on a new connection, and if the server has
# just started.
ALONE_FIRST = 3
# How many idle connections are held, to see whether the server adds a process or thread for each.
IDLE_CONNECTIONS = 24
# Processes or threads for idle connections may be made one by one. How long none must have been added to be
# the last, how long that is waited for at most, and the time from look to look, in seconds.
STEADY_S, GROWING_S_MAX, LOOK_S = 1.2, 4.0, 0.05
# The most requests that are sent while idle connections are held, and the time within which they are, in
# seconds: they show whether the server still answers.
BESIDE_IDLE_REQUESTS, BESIDE_IDLE_S = 3, 1.5
# How many connections ask for what waits: first a few, then many, if the server had all of the few waiting.
WAITING_CONNECTIONS = (32, IN_FLIGHT_MOST)
# The least number of connections that ask for what computes.
COMPUTING_CONNECTIONS = 16
# How many connections for each core ask for what computes, if these are more: all cores of a large machine
# have work then.
PER_CORE = 4
# How long the server is looked at while nobody asks it, in seconds.
REST_S = 0.6
# How long it is looked at whom the server waits for at rest, in seconds, and how often that is tried:
# connections are listed about once a second.
ASKS_S, ASKS_TRIES = 2.0, 2
# The pause of a user who is to send nothing, in seconds. A user begins at any time within the first pause,
# and in the first seconds of ten hours hardly any does.
PAUSE_S = 36_000.0
# How long a load of what waits or computes is put on before it is measured, and how long it is measured, in
# seconds.
WARM_S, MEASURED_S = 0.5, 1.5
# Requests in flight in the loads of experiments: the least number, and the multiple of those inside, so that
# some wait.
EXPERIMENT_CONNECTIONS, QUEUED_TIMES = 32, 1.5
# WARM_S and MEASURED_S for a server that adds threads while it is loaded: longer, so that it has them when it
# is measured.
GROWING_WARM_S, GROWING_MEASURED_S = 6.0, 2.0
# The longest that an observation may have taken, in seconds, for memory to be looked at before the first
# answer is given. After that the first answer comes first.
LATE_S = 7.0
# How long the server is waited for after a load, in seconds, besides the time for what it has taken in; and
# the multiple of its mean response time at first within which it answers a light request then.
SETTLE_S, SETTLED_FACTOR = 5.0, 3.0
# The longest that a server is waited for after a load, in seconds. It may work on what it has taken in for
# longer.
SETTLE_S_MAX = 12.0


@dataclass
class Observation:
    """An observation in progress. `subject`: what is observed, as it is asked; `seen`: all seen so far.

    `_run` puts a load on, and raises if the server is lost since. `_unchecked` does not look after it: while
    connections hold its places, a server that is none the worse may not answer. `_first_look`: what is done
    as soon as a load no longer changes what is seen of how the server grows.
    """

    subject: Subject
    _run: Run
    _watcher: StepWatcher
    _time: TimeLeft = field(default_factory=TimeLeft)
    _unchecked: Run | None = None
    _first_look: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        pid = self.subject.pid
        limits = GroupLimits() if pid is None else group_limits.limits(control_groups.of(pid))
        self.seen = Observed(cores=self.subject.cores, limits=limits)
        self._began_s, self._has_looked = time.monotonic(), False
        self._loads = 0

    def observed(self) -> Observed:
        """Put the loads on. Raises EngineFailed, Interrupted, and CrumpleError if nothing can be learned."""
        self._see_closing()
        subject, at_first = self.subject, self._tree()
        self._watcher.doing("one request at a time")
        self._note(work=self._alone("work", subject.work))
        same = subject.work == (subject.light,)
        self._note(light=self.seen.work if same else self._alone("light", (subject.light,)))
        if subject.slow is not None:
            self._note(slow=self._alone("slow", (subject.slow,)))
        grown = self._tree()
        self._note(light_new=self._light_new(), rest=self._rest(), asks_at_rest=self._asks_at_rest())
        self._watcher.doing(f"{IDLE_CONNECTIONS} idle connections")
        self._note(held=self._held(at_first, grown))
        self._look_first(if_late=True)
        self._watcher.doing("what idle connections take in memory")
        self._note(memory=self._memory())
        if subject.heavy is not None:
            number = max(COMPUTING_CONNECTIONS, PER_CORE * subject.cores)
            self._watcher.doing(f"{number} connections that ask for what computes")
            self._note(computing=self._many(subject.heavy, number))
            self.settle()
            self._note(heavy=self._alone("heavy", (subject.heavy,)))
        if subject.slow is not None and self.seen.slow is not None:
            self._wait(subject.slow)
        self._look_first()
        if self._time.has("one request at a time, once more"):
            self._again_alone()
        return self.seen

    def _look_first(self, *, if_late: bool = False) -> None:
        """Take the first look, once. `if_late`: only if there is no time for memory before it.

        Where --slow or --heavy is given, it comes after their loads, which show how the server grows.
        """
        plain = self.subject.slow is None and self.subject.heavy is None
        if self._has_looked or (if_late and not (plain and time.monotonic() - self._began_s > LATE_S)):
            return
        self._has_looked = True
        self._first_look()

    def _see_closing(self) -> None:
        """See whether a connection takes a second request; if not, give each request one of its own."""
        subject = self.subject
        target, port = subject.target, port_of(subject.target.address)
        if target.tls is not None or port is None or subject.options.connection != "keep-alive":
            return
        if idle.closes_unsaid(target.address, target.host, subject.light):
            self.subject = replace(subject, options=replace(subject.options, connection="per-request"))
            self._note(closes_unsaid=True)

    def _again_alone(self) -> None:
        """Send the work one at a time once more: a server that has just started has compiled since."""
        self._watcher.doing("one request at a time, once more")
        has_settled, before = self.settle(), self.seen.work
        work = self._alone("work", self.subject.work)
        if work is None:
            return
        # Where none was answered before, an answer now shows something. A server that still
        # works on the loads before takes longer, and its CPU time is not that of these requests.
        if before is None or (not work.disturbed and (has_settled or work.mean_s < before.mean_s)):
            self._note(work=work)

    def _note(self, **seen: object) -> None:
        self.seen = replace(self.seen, **seen)  # type: ignore[arg-type]

    def _alone(self, name: str, requests: tuple[contract.RequestSpec, ...]) -> WorkAlone | None:
        """Send requests one after the other; note what came instead of an answer, if none was as expected."""
        first = contract.RequestsStopSpec(requests=ALONE_FIRST, within_s=ALONE_WITHIN_S)
        stop = contract.RequestsStopSpec(requests=ALONE_REQUESTS, within_s=ALONE_WITHIN_S)
        record = self._put_on(requests, 1, stop, first)
        is_uneven = one_by_one.is_uneven(record)
        if is_uneven and self._time.has("requests whose times differ, for longer"):
            stop = contract.RequestsStopSpec(requests=ALONE_REQUESTS, within_s=UNEVEN_WITHIN_S)
            record = self._put_on(requests, 1, stop)
        is_slow = not record.outcomes.ok and not instead.at_once(record)
        if is_slow and self._time.has("3 requests in 12 s, where none was answered in 1.2 s"):
            stop = contract.RequestsStopSpec(requests=SLOW_REQUESTS, within_s=SLOW_WITHIN_S)
            record = self._put_on(requests, 1, stop)
        found = one_by_one.alone(record, disturbance(record, quota_cores=self.seen.quota_cores).against)
        # The work is sent twice, and may have been answered the first time.
        was_answered = name == "work" and self.seen.work is not None
        if found is None and not was_answered:
            if name == "work" and instead.at_once(record):
                raise instead.error(record)
            self._note(failed={**self.seen.failed, name: instead.describe(record)})
        return found

    def _light_new(self) -> WorkAlone | None:
        """Send light requests one after the other, each on a connection of its own.

        Those beside a load are compared with these: a server may start a program for each connection.
        """
        if self.seen.light is None or self.subject.options.connection == "per-request":
            return None
        first = contract.RequestsStopSpec(requests=ALONE_FIRST, within_s=ALONE_WITHIN_S)
        stop = contract.RequestsStopSpec(requests=ALONE_REQUESTS, within_s=ALONE_WITHIN_S)
        spec = self._spec((self.subject.light,), 1, stop, first)
        spec = spec.model_copy(update={"connection": "per-request"})
        record, _ = self._run(spec, None)
        return one_by_one.alone(record, disturbance(record, quota_cores=self.seen.quota_cores).against)

    def _rest(self) -> AtRest | None:
        """Look at the server while nobody asks it."""
        return None if self.subject.pid is None else at_rest.look(self.subject.pid, REST_S)

    def _asks_at_rest(self) -> dict[str, float]:
        """Look at whom the server waits for while nobody asks it: the load's one user pauses all the time."""
        if self.subject.pid is None:
            return {}
        stop = contract.DurationStopSpec(duration_s=ASKS_S)
        pauses = contract.ClosedShapeSpec(connections=1, pause_ms=1e3 * PAUSE_S)
        for _ in range(ASKS_TRIES):
            spec = self._spec((self.subject.light,), 1, stop, None).model_copy(update={"shape": pauses})
            record = self._run(spec, None)[0]
            sent, found = record.outcomes, loaded.asks_at_rest(record)
            if found is not None and not sent.ok + sent.failed + sent.unfinished:
                return found
        return {}

    def _held(self, at_first: Tree | None, grown: Tree | None) -> IdleHeld | None:
        """Hold idle connections. `grown`: the tree after requests that came one at a time."""
        target, pid = self.subject.target, self.subject.pid
        port = self.subject.server_port
        if pid is None or target.tls is not None or port is None:
            return None
        before, opened = self._tree(), Opened(pid, port)
        request = self.subject.light
        with idle.connections(target.address, target.host, request, IDLE_CONNECTIONS) as held:
            after = self._steady()
            ends = opened.ends(set(held.ports))
            runtime = runtimes.of(ends.by_process) if ends else ""
            stop = contract.RequestsStopSpec(requests=BESIDE_IDLE_REQUESTS, within_s=BESIDE_IDLE_S)
            record = self._put_on((request,), 1, stop, held=True)
        self.settle()
        return IdleHeld(
            connections=len(held.ports),
            kept=held.kept,
            accepted=ends.accepted if ends else None,
            holders=len(ends.by_process) if ends else None,
            most=max(ends.by_process.values(), default=0) if ends else None,
            before=before,
            after=after,
            answered=record.outcomes.ok > 0,
            grown=grown.threads - at_first.threads if grown and at_first else 0,
            asked=sum(each.answers for each in self._alone_so_far()),
            runtime=runtime,
        )

    def _alone_so_far(self) -> list[WorkAlone]:
        seen = self.seen
        light = None if seen.light is seen.work else seen.light
        return [each for each in (seen.work, light, seen.slow) if each is not None]

    def _memory(self) -> MemorySteps | None:
        """Look at what idle connections cost, before any load has made the server hold more memory."""
        target, pid, port = self.subject.target, self.subject.pid, self.subject.server_port
        if pid is None or port is None or self.seen.held is None or not self.seen.held.answered:
            return None

        def may_go_on() -> bool:
            return self._time.has("what a connection takes in memory")

        found = idle_memory.held(
            Opened(pid, port), target.address, target.host, self.subject.light, may_go_on
        )
        self.settle()
        return found

    def work_alone(self) -> Bench | None:
        """Send only the work, one request at a time; return what experiments may use, as `bench`."""
        self._see_closing()
        self._note(work=self._alone("work", self.subject.work), rest=self._rest())
        return self.bench()

    def bench(self, inside: float = 0.0) -> Bench | None:
        """Return what experiments may use; None: it is not known how long a request takes alone.

        `inside`: how many requests are inside under load. More than these are in flight, so that some wait.
        """
        work = self.seen.work
        if work is None:
            return None
        load_s = bench.lasting_s(work.mean_s)
        connections = max(EXPERIMENT_CONNECTIONS, min(IN_FLIGHT_MOST, math.ceil(QUEUED_TIMES * inside)))
        return Bench(self.subject, partial(self._put_on, held=True), work.mean_s, connections, load_s)

    def _steady(self) -> Tree | None:
        """Wait until the tree has stopped growing, and return it."""
        began_s = changed_s = time.monotonic()
        last = self._tree()
        while (now_s := time.monotonic()) - changed_s < STEADY_S and now_s - began_s < GROWING_S_MAX:
            time.sleep(LOOK_S)
            if (seen := self._tree()) != last:
                last, changed_s = seen, time.monotonic()
        return last

    def _tree(self) -> Tree | None:
        pid = self.subject.pid
        return None if pid is None else process_tree.count(pid)

    def _wait(self, request: contract.RequestSpec) -> None:
        """Load the server with more and more connections that ask for what waits."""
        for number in WAITING_CONNECTIONS:
            self._watcher.doing(f"{number} connections that ask for what waits")
            load = self._many(request, number)
            if load.growing and self._time.has("a longer load of a server that adds processes or threads"):
                self.settle()
                load = self._many(request, number, longer=True)
            self._note(waiting=(*self.seen.waiting, load))
            self.settle(number / load.per_s if load.per_s else 0.0)
            found = parallelism.waits(self.seen)
            if isinstance(found, Unknown) or not found.may_be_all or number == WAITING_CONNECTIONS[-1]:
                return
            if not self._time.has("512 connections that ask for what waits"):
                return

    def _many(self, request: contract.RequestSpec, connections: int, *, longer: bool = False) -> Many:
        warm_s, measured_s = (GROWING_WARM_S, GROWING_MEASURED_S) if longer else (WARM_S, MEASURED_S)
        if request == self.subject.slow and self.seen.slow is not None:
            warm_s = max(warm_s, min(bench.LOAD_S_MAX, self.seen.slow.served_s))
            measured_s = max(measured_s, bench.lasting_s(self.seen.slow.served_s))
        tree = self._tree()
        stop = contract.DurationStopSpec(duration_s=measured_s)
        warm_up = contract.DurationStopSpec(duration_s=warm_s)
        record = self._put_on((request,), connections, stop, warm_up)
        rest = self.seen.rest
        burning = rest.burning if rest is not None else ()
        seen, elsewhere = self.seen, self.subject.elsewhere
        return seen_under_load.many(record, tree, burning, elsewhere, seen.asks_at_rest, seen.quota_cores)

    def settle(self, works_s: float = 0.0) -> bool:
        """Wait until the server answers a light request about as fast as at first; return whether it did.

        False, too, if no time is left to see it, or if it is not known how fast that was. `works_s`: how long
        it works on what it has taken in.
        """
        # It comes on a connection of its own.
        light = self.seen.light_alone
        within_s = SETTLE_S + min(works_s, SETTLE_S_MAX - SETTLE_S)
        over_s = time.monotonic() + min(within_s, self._time.left_s - SETTLED_NEEDS_S)
        while light is not None and (left_s := over_s - time.monotonic()) > 0:
            stop = contract.RequestsStopSpec(requests=1, within_s=left_s)
            took = self._put_on((self.subject.light,), 1, stop).histograms.response_time
            if took.max_ns is not None and took.max_ns <= max(5e6, SETTLED_FACTOR * 1e9 * light.mean_s):
                return True
        return False

    def _put_on(
        self,
        requests: tuple[contract.RequestSpec, ...],
        connections: int,
        stop: contract.StopSpec,
        warm_up: contract.StopSpec | None = None,
        *,
        held: bool = False,
    ) -> TrialRecord:
        """Put a load on the server. `held`: others hold its places, so it may not answer more."""
        run = self._unchecked if held and self._unchecked is not None else self._run
        return run(self._spec(requests, connections, stop, warm_up), None)[0]

    def _spec(
        self,
        requests: tuple[contract.RequestSpec, ...],
        connections: int,
        stop: contract.StopSpec,
        warm_up: contract.StopSpec | None,
    ) -> TrialSpec:
        self._loads += 1
        drawn = random.Random(f"{self.subject.options.seed}/{self._loads}")
        spec = engine_spec.spec(
            label=f"diagnose/{self._loads}",
            target=self.subject.target,
            requests=requests,
            shape=contract.ClosedShapeSpec(connections=connections),
            stop=stop,
            options=replace(
                self.subject.options,
                # How long threads have no core bounds what others took.
                tasks=True,
                # Who serves the server's dependencies is none of those who disturb it.
                dependencies=True,
                seed=drawn.getrandbits(load_options.SEED_BITS),
            ),
        )
        written = warm_up and contract.WarmUpSpec(connections=None, pauses=True, stop=warm_up)
        return spec.model_copy(update={"warm_up": written})
