"""Where the mean response time goes: how long a request is at each stage on its way through the server.

Pure: record → `Budget`, or why there is none. The engine counts at random instants how many requests in
flight are at which stage. By Little's law, a request is at a stage for as long, on average, as there are
requests at it, divided by the rate at which requests end. The sum over all stages is compared with the mean
of the times that the engine took of each request.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from crumple.contract import Histogram, StageRecord, TrialRecord

Floats = NDArray[np.float64]
Name = Literal["due", "not_accepted", "unsent", "unread", "inside", "returning", "unknown"]

# The stages in the order in which a request passes through them, as the record's columns are called.
STAGES: tuple[Name, ...] = ("not_accepted", "unsent", "unread", "inside", "returning")
# How each part is called where people read it.
WORDS: dict[Name, str] = {
    "due": "due",
    "not_accepted": "not accepted",
    "unsent": "being sent",
    "unread": "unread",
    "inside": "inside",
    "returning": "returning",
    "unknown": "not told apart",
}
_UNKNOWN: tuple[Name, str] = ("unknown", "thrown_away")
# Fewer readings say too little, and their interval is not to be relied on.
READINGS_MIN = 50
# How much longer than this load suggests the next one should be. With ten readings a second 6 s are enough.
SPARE, ENOUGH_S_MAX = 1.2, 6
# Of requests that pile up, a stage is named from this share on.
SHARE_NAMED = 0.05
# Readings shortly after one another find the same requests. Means of batches this many response times long
# are nearly independent of one another. A batch holds some intervals of the series.
BATCH_RESPONSE_TIMES = 2
BATCH_NS_MIN = 250e6
BATCHES_MIN, BATCHES_MAX = 5, 10
# Student's t of a 95 % interval, by the number of batches. A table, as scipy takes long to import.
STUDENT = {5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
# How far the sum may be off the mean response time, as a share of it, before nothing is said.
OFF_MAX = 0.1
# A reading stops a thread of engine or server, and the requests of the other go on. While it takes less than
# a tenth of a response time, it moves less than a tenth of a request's time from one stage to another.
READINGS_LONG_MIN = 10
# A reading that comes late comes when somebody left it a core, and not at random. This does no harm while
# nine of ten are late by less than this share of a response time, or by less than this: a sleeping core
# takes nearly as long to wake.
LATE_QUANTILE = 0.9
LATE_SHARE_MAX = 0.1
LATE_HARMLESS_NS = 0.1e6
# If a stage was found in none of n independent readings, its share is below 3/n with a confidence of 95 %.
RULE_OF_THREE = 3.0


@dataclass(frozen=True)
class Part:
    """The mean time of a request at one stage, with its 95 % interval, in ns.

    `readings`: how many readings, independent of one another, would say as much.
    """

    name: Name
    mean_ns: float
    low_ns: float
    high_ns: float
    readings: float


@dataclass(frozen=True)
class Budget:
    """The mean response time by stages. `sum_ns`: of all parts; `measured_ns`: the engine's mean.

    `due`: the part before the engine began to send the request, or to connect for it. `unknown`: the part of
    the requests that ended while they were looked up. `readings`: how many there were. `late_ns`: nine of
    ten came no later. `cost_ns`: CPU time of one, on average over the requests that were looked up: one that
    finds none takes nearly none. `cost_cores`: the cores that they kept busy.
    """

    parts: tuple[Part, ...]
    sum_ns: float
    sum_low_ns: float
    sum_high_ns: float
    measured_ns: float
    readings: int
    late_ns: float
    cost_ns: float
    cost_cores: float

    def part(self, name: Name) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)


@dataclass(frozen=True)
class NoBudget:
    """Why there is no budget."""

    why: str


def budget(record: "TrialRecord") -> Budget | NoBudget | None:
    """Return where the mean response time goes; None: the spec did not ask for it."""
    stages = record.probes.stages
    if stages is None:
        return None
    if stages.why is not None:
        return NoBudget(stages.why)
    ended = _ended(record)
    if not ended:
        return NoBudget("no request ended")
    rows = _measured_rows(record, stages)
    if len(rows) < READINGS_MIN:
        enough_s = math.ceil(SPARE * READINGS_MIN / max(1, len(rows)) * record.measured_ns / 1e9)
        longer = f"load it for {min(enough_s, ENOUGH_S_MAX)} s or longer"
        return NoBudget(f"{len(rows)} of the {READINGS_MIN} readings that are needed: {longer}")
    batches = _batches(record)
    if batches < BATCHES_MIN:
        needed_s = BATCHES_MIN * BATCH_RESPONSE_TIMES * _measured_ns(record) / 1e9
        return NoBudget(f"requests take so long that it needs a load of {needed_s:.2g} s or more")
    found = _budget(record, stages, rows, batches)
    return _checked(found) if found else NoBudget("too few of the readings found a request in flight")


def _budget(record: "TrialRecord", stages: "StageRecord", rows: Sequence[int], batches: int) -> Budget | None:
    in_flight, drawn = _column(stages.in_flight, rows), _column(stages.drawn, rows)
    told = (drawn > 0) | (in_flight == 0)
    flow = _Flow(record, _column(stages.at_ns, rows), batches)
    if not drawn.any() or len(np.unique(flow.batch[told])) < BATCHES_MIN:
        return None
    # Where a reading found none of the requests in flight, they count as being where the others were.
    scale = in_flight.mean() / in_flight[told].mean()
    of_all = np.where(told, in_flight / np.maximum(drawn, 1), np.nan) * scale
    whole = flow.part("due", in_flight)
    parts = [
        flow.never(flow.part(name, _column(getattr(stages, column), rows) * of_all), whole)
        for name, column in (*((stage, stage) for stage in STAGES), _UNKNOWN)
    ]
    # An answer that waits until the engine takes it up has arrived: that is no part of the response time.
    held_ns = record.arrivals.held_ns / flow.ended
    parts = [_less(part, held_ns) if part.name == "returning" else part for part in parts]
    cost_ns = _column(stages.cost_ns, rows)
    due_ns = _due_ns(record)
    off_ns = due_ns - held_ns
    return Budget(
        parts=(Part("due", due_ns, due_ns, due_ns, float(len(rows))), *parts),
        sum_ns=whole.mean_ns + off_ns,
        sum_low_ns=whole.low_ns + off_ns,
        sum_high_ns=whole.high_ns + off_ns,
        measured_ns=_measured_ns(record),
        readings=len(rows),
        late_ns=float(np.quantile(_column(stages.late_ns, rows), LATE_QUANTILE)),
        cost_ns=float(np.average(cost_ns, weights=drawn)),
        cost_cores=float(cost_ns.sum()) / record.measured_ns,
    )


class _Flow:
    """Turns numbers of requests into times, by the rate at which requests end, batch by batch."""

    def __init__(self, record: "TrialRecord", at_ns: Floats, batches: int) -> None:
        """`at_ns`: when each reading was taken, in the order of time."""
        self.ended = _ended(record)
        self._rate = self.ended / record.measured_ns
        self._response_times = record.measured_ns / max(1.0, _measured_ns(record))
        long_ns = record.measured_ns / batches
        self.batch = np.minimum((at_ns - record.warm_up_ns) // long_ns, batches - 1).astype(int)
        self._rates = np.full(batches, self._rate)
        series = record.series
        middles = np.add(series.at_ns, np.asarray(series.duration_ns) / 2) - record.warm_up_ns
        for batch in range(batches):
            within = np.flatnonzero((middles >= batch * long_ns) & (middles < (batch + 1) * long_ns))
            spent_ns = sum(series.duration_ns[row] for row in within)
            if spent_ns:
                self._rates[batch] = sum(series.ok[row] + series.failed[row] for row in within) / spent_ns

    def part(self, name: Name, numbers: Floats) -> Part:
        """The mean time of a request where a reading found these numbers of them (nan: it did not tell).

        The interval is that of a ratio, by the means of batches.
        """
        told = ~np.isnan(numbers)
        values, batch = numbers[told], self.batch[told]
        mean_ns = float(values.mean()) / self._rate
        taken = np.unique(batch)
        means = np.array([values[batch == each].mean() for each in taken])
        # How far the number in each batch is off what its rate and the mean time make of it, as a time.
        off_ns = (means - mean_ns * self._rates[taken]) / self._rate
        error_ns = STUDENT[len(taken)] * float(off_ns.std(ddof=1)) / math.sqrt(len(taken))
        of_means, of_each = means.var(ddof=1), values.var(ddof=1)
        readings = min(len(values), len(taken) * of_each / of_means) if of_means else len(values)
        return Part(name, mean_ns, max(0.0, mean_ns - error_ns), mean_ns + error_ns, float(readings))

    def never(self, part: Part, whole: Part) -> Part:
        """The part with the room that a stage has which was never found; the part itself if it was."""
        if part.mean_ns:
            return part
        independent = max(RULE_OF_THREE, min(part.readings, self._response_times))
        return replace(part, high_ns=RULE_OF_THREE / independent * whole.mean_ns)


def _checked(result: Budget) -> Budget | NoBudget:
    """Return the budget if its readings came in time, and agree with the times that were measured."""
    if result.measured_ns < READINGS_LONG_MIN * result.cost_ns:
        return NoBudget(
            f"requests take {_time(result.measured_ns)}, and looking some of them up takes "
            f"{_time(result.cost_ns)}"
        )
    if result.late_ns > max(LATE_HARMLESS_NS, LATE_SHARE_MAX * result.measured_ns):
        return NoBudget(
            f"one in ten of the readings came {_time(result.late_ns)} late or more, and requests take "
            f"{_time(result.measured_ns)}: others had the cores"
        )
    spare_ns = OFF_MAX * result.measured_ns
    if result.sum_low_ns - spare_ns > result.measured_ns:
        return NoBudget(
            f"requests pile up: those that ended took {_time(result.measured_ns)}, and at this rate those in "
            f"flight take {_time(result.sum_ns)} ({_where(result)}); lower the load"
        )
    if result.sum_high_ns + spare_ns < result.measured_ns:
        return NoBudget(
            f"the requests in flight come to {_time(result.sum_ns)} for each, and the response times to "
            f"{_time(result.measured_ns)}: load it for longer, at one level"
        )
    if abs(sum(part.mean_ns for part in result.parts) - result.sum_ns) > spare_ns:
        return NoBudget("answers lay in the engine's sockets for longer than they were found there")
    return result


def _where(result: Budget) -> str:
    """Return at which stages most of the requests in flight were."""
    most = sorted(result.parts, key=lambda part: -part.mean_ns)[:2]
    shares = [(WORDS[part.name], part.mean_ns / max(1.0, result.sum_ns)) for part in most]
    return ", ".join(f"{share:.0%} {name}" for name, share in shares if share >= SHARE_NAMED)


def _time(ns: float) -> str:
    """Return a time with two digits."""
    factor, unit = (1e9, "s") if ns >= 1e9 else (1e6, "ms")
    return f"{float(f'{ns / factor:.2g}'):g} {unit}"


def _ended(record: "TrialRecord") -> int:
    """Return how many requests ended in the window, whichever phase they began in."""
    outcomes = record.outcomes
    return outcomes.ok + outcomes.failed + record.histograms.carried_over.count


def _measured_rows(record: "TrialRecord", stages: "StageRecord") -> list[int]:
    ends_ns = record.warm_up_ns + record.measured_ns
    return [row for row, at_ns in enumerate(stages.at_ns) if record.warm_up_ns <= at_ns < ends_ns]


def _column(values: Sequence[int], rows: Sequence[int]) -> Floats:
    return np.asarray(values, dtype=float)[list(rows)]


def _batches(record: "TrialRecord") -> int:
    """Return into how many batches the window is divided; fewer than BATCHES_MIN: it is too short."""
    long_ns = max(BATCH_NS_MIN, BATCH_RESPONSE_TIMES * _measured_ns(record))
    return int(min(BATCHES_MAX, record.measured_ns / long_ns))


def _measured_ns(record: "TrialRecord") -> float:
    """Return the mean time of the requests that ended, by the engine's own reckoning of each."""
    outcomes, times = record.outcomes, record.histograms
    spent_ns = sum(_sum_ns(each) for each in (times.response_time, times.failed, times.timed_out))
    return spent_ns / max(1, outcomes.ok + outcomes.failed)


def _less(part: Part, ns: float) -> Part:
    mean_ns, low_ns, high_ns = (max(0.0, value - ns) for value in (part.mean_ns, part.low_ns, part.high_ns))
    return replace(part, mean_ns=mean_ns, low_ns=low_ns, high_ns=high_ns)


def _due_ns(record: "TrialRecord") -> float:
    """Return how long a request was due, on average, before the engine began to send it or to connect for it.

    Of the requests that began in the measured phase, which are nearly those that ended in it.
    """
    begun = record.scheduled - record.not_sent.too_late - record.histograms.taken_over.count
    return record.requests_waited_ns / max(1, begun)


def _sum_ns(times: "Histogram") -> float:
    return times.count * (times.mean_ns or 0.0)
