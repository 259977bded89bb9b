"""A server that exists in numbers only: one queue, answered at a known pace. Not a test itself.

It stands in for server, engine and clock at once: a spec goes in, the record of what the queue did comes out,
and its clock has moved on by as long as that would have taken.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import documents
import numpy as np
from crumple import contract
from crumple.find.find import Place, Site
from crumple.load.load import Options
from crumple.record.validity import Validity, Word

VALID = Validity("valid", (), ())
ENGINE_START_S = 0.05
Judge = Callable[[float], Word]


@dataclass
class SyntheticServer:
    """It answers `capacity_per_s` on average, one after the other, each in a random (exponential) time.

    `engine_limit_per_s`: above that the engine is what gives in, and requests wait for it. `spread`: of the
    capacity over starts, as a logarithm. `dies_above_per_s`: a load that ends it. `slip_at`: levels that come
    out as a hiccup has them.
    """

    capacity_per_s: float
    seed: int = 1
    engine_limit_per_s: float = math.inf
    spread: float = 0.0
    dies_above_per_s: float = math.inf
    refuses: bool = False
    slip_at: tuple[int, ...] = ()
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
        """Its seconds."""
        return self.now_s

    def site(self, *, afresh: bool = True) -> Site:
        """Where the search finds it."""

        @contextmanager
        def opened() -> Iterator[Place]:
            self.now_s += self.start_s
            self.starts += 1
            self.alive = True
            self._capacity_per_s = self.capacity_per_s * math.exp(self._random.normal(0, self.spread))
            yield Place(
                target=contract.Target(address="127.0.0.1:1", host="127.0.0.1:1"),
                requests=(documents.request(),),
                options=Options(seed=1),
                # Of a process that it did not start the search knows only what it answers.
                alive=lambda: self.alive or not afresh,
            )

        return Site("synthetic", opened, afresh, 1, (0,), self._assess)

    def run(
        self, spec: contract.TrialSpec, _on_progress: Callable[[contract.Progress], None]
    ) -> contract.TrialRecord:
        """What the engine would record."""
        self.loads.append(spec)
        warm_up_s = spec.warm_up.stop.duration_s if spec.warm_up else 0.0  # type: ignore[union-attr]
        measured_s = spec.stop.duration_s if spec.stop.kind == "duration" else 0.01
        self.now_s += warm_up_s + measured_s + ENGINE_START_S
        if self.refuses or not self.alive:
            return _record(spec, measured_s, refused=100)
        if spec.shape.kind == "open":
            return self._open(spec, spec.shape.rates[0].from_per_s, warm_up_s, measured_s)
        return self._closed(spec, spec.shape.connections, measured_s)  # type: ignore[union-attr]

    def _assess(self, record: contract.TrialRecord) -> Validity:
        if not record.outcomes.ok:
            return Validity("not-valid", ("no answer was ok",), ())
        if record.scheduled / record.measured_ns * 1e9 > self.engine_limit_per_s:
            return Validity("engine-limited", ("the engine used 97% of its cores",), ())
        return VALID

    def _open(
        self, spec: contract.TrialSpec, per_s: float, warm_up_s: float, measured_s: float
    ) -> contract.TrialRecord:
        self._levels += 1
        if per_s > self.dies_above_per_s:
            self.alive = False
            return _record(spec, measured_s, reset=100)
        ends_s = warm_up_s + measured_s
        due = np.sort(self._random.uniform(0, ends_s, self._random.poisson(per_s * ends_s)))
        slower = 2.0 if self._levels in self.slip_at else 1.0
        # Who gives in first, server or engine, makes the queue.
        least_per_s = min(self._capacity_per_s, self.engine_limit_per_s)
        served = np.cumsum(self._random.exponential(slower / least_per_s, len(due)))
        # Lindley: an answer is ready when all before it are, and when its own request has come.
        ended = served + np.maximum.accumulate(due - np.concatenate([[0.0], served[:-1]]))
        took_ns = (ended - due) * 1e9
        measured, in_time = due >= warm_up_s, ended <= ends_s
        waiting = measured & ~in_time
        return _record(
            spec,
            measured_s,
            took_ns=took_ns[measured & in_time],
            waiting_ns=(ends_s - due[waiting]) * 1e9,
            carried=int((~measured & (ended > warm_up_s)).sum()),
            warm_up_unfinished=int((~measured & ~in_time).sum()),
            busy=min(1.0, slower * per_s / self._capacity_per_s),
        )

    def _closed(self, spec: contract.TrialSpec, connections: int, measured_s: float) -> contract.TrialRecord:
        answers = max(1, round(self._capacity_per_s * measured_s))
        # Each waits for all the others, which were there before it.
        took_s = self._random.gamma(connections, 1 / self._capacity_per_s, answers)
        return _record(spec, measured_s, took_ns=took_s * 1e9, busy=1.0)


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
    """To three digits, so that a histogram is written in no time; never less than a microsecond."""
    array = np.maximum(np.asarray(times_ns, dtype=float), 1_000.0)
    if not array.size:
        return Counter()
    unit = 10.0 ** (np.floor(np.log10(array)) - 2)
    values, counts = np.unique(np.round(array / unit) * unit, return_counts=True)
    return Counter(dict(zip((int(value) for value in values), (int(n) for n in counts), strict=True)))
