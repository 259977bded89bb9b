"""A simulated server: one queue with a known capacity.

It stands in for server, engine and clock at once: it takes a spec and returns the record of what the queue
did, and its clock has advanced by the time that this would have taken.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import documents
import numpy as np
from crumple import contract
from crumple.engine import EndEarly
from crumple.errors import Interrupted
from crumple.load.load_options import Options
from crumple.load.lost import ServerProcess
from crumple.load.site import RunningServer, Site
from crumple.machine.life import End
from crumple.record.validity import Validity, Word
from numpy.typing import NDArray

VALID = Validity("valid", (), ())
ENGINE_START_S = 0.05
DIED = End(7, None, "ended with code 1")
Judge = Callable[[float], Word]
Floats = NDArray[np.float64]


@dataclass
class SyntheticServer:
    """It answers `capacity_per_s` on average, one after the other, each in a random (exponential) time.

    `engine_limit_per_s`: above this load the engine sends late. `spread`: standard deviation of the logarithm
    of the capacity over starts. `dies_above_per_s`: a higher load ends the server. `slip_at`: levels at which
    the server takes twice as long. `wrong_share`: of the requests, answered 500. `takes_s`: added to each
    response time. `interrupted_at`: the load during which the user interrupts the search. `dies_at`: whether
    it ends before that load.
    """

    capacity_per_s: float
    seed: int = 1
    engine_limit_per_s: float = math.inf
    spread: float = 0.0
    dies_above_per_s: float = math.inf
    refuses: bool = False
    slip_at: tuple[int, ...] = ()
    wrong_share: float = 0.0
    takes_s: float = 0.0
    interrupted_at: int | None = None
    dies_at: Callable[[contract.TrialSpec], bool] = lambda _: False
    start_s: float = 0.5
    now_s: float = 0.0
    starts: int = 0
    loads: list[contract.TrialSpec] = field(default_factory=list)
    alive: bool = True

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._capacity_per_s = self.capacity_per_s
        self._levels = 0

    def clock(self) -> float:
        """The simulated time in seconds."""
        return self.now_s

    def site(self, *, afresh: bool = True) -> Site:
        """The site at which the search finds the server; `afresh`: the search starts it itself."""

        @contextmanager
        def opened() -> Iterator[RunningServer]:
            self.now_s += self.start_s
            self.starts += 1
            self.alive = True
            self._capacity_per_s = self.capacity_per_s * math.exp(self._random.normal(0, self.spread))
            yield RunningServer(
                target=contract.Target(address="127.0.0.1:1", host="127.0.0.1:1"),
                requests=(documents.request(),),
                options=Options(seed=1),
                # The search cannot see whether a process that it did not start is alive.
                process=ServerProcess(lambda: None if self.alive or not afresh else DIED, may_return=False),
            )

        return Site("synthetic", opened, afresh, 1, (0,), self._assess)

    def run(
        self,
        spec: contract.TrialSpec,
        on_progress: Callable[[contract.ProgressLine], None],
        end_early: EndEarly,
    ) -> contract.TrialRecord:
        """The record that the engine would return; calls `on_progress` and ends early if asked to."""
        self.loads.append(spec)
        warm_up_s = spec.warm_up.stop.duration_s if spec.warm_up else 0.0  # type: ignore[union-attr]
        by_number = spec.stop.requests if spec.stop.kind == "requests" else 0
        planned_s = spec.stop.within_s if spec.stop.kind == "requests" else spec.stop.duration_s
        if len(self.loads) == self.interrupted_at:
            raise Interrupted("SIGINT")
        self.alive = self.alive and not self.dies_at(spec)
        if self.refuses or not self.alive:
            requests = Requests(np.zeros(0), np.zeros(0), warm_up_s, refused=100)
        elif by_number:
            requests = self._in_turn(by_number)
            planned_s = min(planned_s, float(requests.ended_s[-1]))
        elif spec.shape.kind == "open":
            requests = self._open(spec.shape.rates[0].from_per_s, warm_up_s, planned_s)
        else:
            requests = self._closed(spec.shape.connections, warm_up_s, planned_s)  # type: ignore[union-attr]
        every_s = spec.progress.every_ms / 1e3
        measured_s = planned_s
        for tick in range(1, math.ceil(planned_s / every_s)):
            on_progress(requests.progress(tick * every_s, spec.progress.slower_than_ns))
            if end_early.asked:
                measured_s = tick * every_s
                break
        self.now_s += warm_up_s + measured_s + ENGINE_START_S
        return requests.record(spec, measured_s)

    def _assess(self, record: contract.TrialRecord) -> Validity:
        if not record.outcomes.ok:
            return Validity("not-valid", ("no answer was ok",), ())
        if record.scheduled / record.measured_ns * 1e9 > self.engine_limit_per_s:
            return Validity(
                "schedule-missed", ("the engine was late: 10% of the requests were sent late",), ()
            )
        return VALID

    def _open(self, per_s: float, warm_up_s: float, measured_s: float) -> "Requests":
        self._levels += 1
        if per_s > self.dies_above_per_s:
            self.alive = False
            return Requests(np.zeros(0), np.zeros(0), warm_up_s, reset=100)
        ends_s = warm_up_s + measured_s
        due_s = np.sort(self._random.uniform(0, ends_s, self._random.poisson(per_s * ends_s)))
        slower = 2.0 if self._levels in self.slip_at else 1.0
        served_s = np.cumsum(self._random.exponential(slower / self._capacity_per_s, len(due_s)))
        # Lindley: service begins when all answers before are done and the request itself has arrived.
        ended_s = served_s + np.maximum.accumulate(due_s - np.concatenate([[0.0], served_s[:-1]]))
        if per_s > self.engine_limit_per_s:
            # One request in ten is sent a second late, and takes as much longer.
            ended_s += self._random.uniform(size=len(due_s)) < 0.1
        ended_s += self.takes_s
        busy = min(1.0, slower * per_s / self._capacity_per_s)
        wrong = self._random.uniform(size=len(due_s)) < self.wrong_share
        return Requests(due_s, ended_s, warm_up_s, busy=busy, wrong=wrong)

    def _in_turn(self, number: int) -> "Requests":
        """`number` requests, one after the other."""
        took_s = self.takes_s + self._random.exponential(1 / self._capacity_per_s, number)
        ended_s = np.cumsum(took_s)
        return Requests(ended_s - took_s, ended_s, 0.0)

    def _closed(self, connections: int, warm_up_s: float, measured_s: float) -> "Requests":
        """Requests on `connections`; each waits for those of all other connections."""
        ends_s = warm_up_s + measured_s
        answers = connections + round(self._capacity_per_s * ends_s)
        ended_s = np.cumsum(self._random.exponential(1 / self._capacity_per_s, answers))
        due_s = np.concatenate([np.zeros(connections), ended_s])[:answers]
        if self.takes_s:
            # Far below the capacity: each connection waits only for its own answers.
            ended_s = self.takes_s * (1 + np.arange(answers) // connections)
            due_s = ended_s - self.takes_s
        return Requests(due_s, ended_s, warm_up_s, busy=1.0, carries_over=True)


@dataclass
class Requests:
    """All requests of a load, in seconds since it began; measured from `warm_up_s` on.

    `refused`, `reset`: the numbers of requests that ended so. `wrong`: which requests were answered 500.
    `carries_over`: requests that end in the measured window are counted, whenever they were due.
    """

    due_s: Floats
    ended_s: Floats
    warm_up_s: float
    refused: int = 0
    reset: int = 0
    busy: float = 0.0
    wrong: NDArray[np.bool_] | None = None
    carries_over: bool = False

    def progress(self, at_s: float, slower_than_ns: Sequence[int]) -> contract.ProgressLine:
        """The engine's line of progress after measuring for `at_s` seconds."""
        now_s = self.warm_up_s + at_s
        ok, wrong, scheduled = self._ended(now_s)
        took_ns = (self.ended_s[ok] - self.due_s[ok]) * 1e9
        waits_ns = (now_s - self.due_s[scheduled & (self.ended_s > now_s)]) * 1e9
        measured = contract.MeasuredSoFar(
            seconds=at_s,
            scheduled=int(scheduled.sum()) + self.refused + self.reset,
            outcomes=documents.outcomes(
                ok=int(ok.sum()), wrong_status=int(wrong.sum()), refused=self.refused, reset=self.reset
            ),
            slower=tuple(int((np.append(took_ns, waits_ns) > limit_ns).sum()) for limit_ns in slower_than_ns),
        )
        # These include the warm-up's requests.
        ended = self.ended_s <= now_s
        right = int((ended & ~self.wrong).sum()) if self.wrong is not None else int(ended.sum())
        failed = int(ended.sum()) - right + self.refused + self.reset
        return contract.ProgressLine(
            at_s=now_s, phase="measured", ok=right, failed=failed,
            throughput_per_s=0.0, p50_ns=None, p99_ns=None, max_ns=None, connections=1, left_s=9.0,
            statuses={}, measured=measured,
        )  # fmt: skip

    def record(self, spec: contract.TrialSpec, measured_s: float) -> contract.TrialRecord:
        """The engine's record after measuring for `measured_s` seconds."""
        ends_s = self.warm_up_s + measured_s
        ok, wrong, scheduled = self._ended(ends_s)
        waiting = scheduled & (self.ended_s > ends_s)
        before = self.due_s < self.warm_up_s
        return _record(
            spec,
            measured_s,
            took_ns=(self.ended_s[ok] - self.due_s[ok]) * 1e9,
            waiting_ns=(ends_s - self.due_s[waiting]) * 1e9,
            carried=int((before & (self.ended_s > self.warm_up_s)).sum()),
            warm_up_unfinished=int((before & (self.ended_s > ends_s)).sum()),
            busy=self.busy,
            wrong_status=int(wrong.sum()),
            refused=self.refused,
            reset=self.reset,
        )

    def _ended(self, now_s: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Of the measured requests, which had right answers by then, which wrong ones, and which were due."""
        begins_s = self.ended_s if self.carries_over else self.due_s
        scheduled = (begins_s >= self.warm_up_s) & (self.due_s <= now_s)
        ended = scheduled & (self.ended_s <= now_s)
        wrong = ended & self.wrong if self.wrong is not None else np.zeros_like(ended)
        return ended & ~wrong, wrong, scheduled


def _record(
    spec: contract.TrialSpec,
    measured_s: float,
    *,
    took_ns: object = (),
    waiting_ns: object = (),
    carried: int = 0,
    warm_up_unfinished: int = 0,
    busy: float = 0.0,
    **failed: int,
) -> contract.TrialRecord:
    times, waiting = _rounded(took_ns), _rounded(waiting_ns)
    ok, unfinished = sum(times.values()), sum(waiting.values())
    plain = documents.record()
    measured_ns = round(measured_s * 1e9)
    none = documents.histogram({})
    stored = documents.histogram(times)
    return plain.model_copy(
        update={
            "spec": spec,
            "measured_ns": measured_ns,
            "scheduled": ok + unfinished + sum(failed.values()),
            "outcomes": documents.outcomes(ok=ok, unfinished=unfinished, **failed),
            "warm_up": contract.WarmUpRecord(
                scheduled=warm_up_unfinished, outcomes=documents.outcomes(unfinished=warm_up_unfinished)
            ),
            "requests": (documents.request_record(statuses={200: ok, 500: failed.get("wrong_status", 0)}),),
            "histograms": plain.histograms.model_copy(
                update={
                    "response_time": stored,
                    "unfinished_age": documents.histogram(waiting),
                    "carried_over": none.model_copy(update={"count": carried}),
                }
            ),
            "probes": plain.probes.model_copy(update={"server": documents.probe(busy, measured_ns)}),
        }
    )


def _rounded(times_ns: object) -> Counter[int]:
    """Times rounded to three digits, so that a histogram is made quickly; at least a microsecond."""
    array = np.maximum(np.asarray(times_ns, dtype=float), 1_000.0)
    if not array.size:
        return Counter()
    unit = 10.0 ** (np.floor(np.log10(array)) - 2)
    values, counts = np.unique(np.round(array / unit) * unit, return_counts=True)
    return Counter(dict(zip((int(value) for value in values), (int(n) for n in counts), strict=True)))
