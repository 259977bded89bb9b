"""The mean time at each stage, from how many requests were there, by Little's law, with intervals. Pure.

On average, a request is somewhere for as long as there are requests there, divided by the rate at which
requests end. The interval is that of a ratio, by the means of batches of the measured phase.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal

from crumple.stats import averages, student

if TYPE_CHECKING:
    from crumple.contract import HistogramRecord, TrialRecord

Floats = Sequence[float]
# The stages of a request, and then the pieces of the stage *inside*, as data call them.
Name = Literal[
    "due", "not_accepted", "unsent", "unread", "inside", "returning", "network", "unknown",
    "user", "kernel", "cpu", "ready", "disk", "dependency", "otherwise",
]  # fmt: skip
# How each part is called where people read it; a dependency has its name after the words.
WORDS: dict[Name, str] = {
    "due": "due",
    "not_accepted": "not accepted",
    "unsent": "being sent",
    "unread": "unread",
    "inside": "inside",
    "user": "user CPU",
    "kernel": "kernel CPU",
    "cpu": "CPU",
    "ready": "ready to run",
    "disk": "disk",
    "dependency": "waiting for",
    "otherwise": "otherwise inside",
    "returning": "returning",
    "network": "network and client",
    "unknown": "not told apart",
}
# Readings shortly after one another find the same requests. Means of batches that are two response times long
# are nearly independent of one another.
BATCH_RESPONSE_TIMES = 2
# A batch is at least a quarter of a second long, so that it holds some intervals of the series.
BATCH_NS_MIN = 250e6
# There are at least five batches, or their spread says too little, and ten at most.
BATCHES_MIN, BATCHES_MAX = 5, 10
# What none of n independent readings found has a share below 3/n of the time, with a confidence of 95 %.
RULE_OF_THREE = 3.0


@dataclass(frozen=True)
class StageTime:
    """The mean time of a request at one stage, or at a piece of one, with its 95 % interval, in ns."""

    name: Name
    mean_ns: float
    low_ns: float
    high_ns: float
    readings: float
    """How many readings, independent of one another, would say as much."""
    of: str = ""
    """The dependency that is waited for; empty for any other part."""

    @property
    def words(self) -> str:
        """How the part is called where people read it."""
        return f"{WORDS[self.name]} {self.of}".rstrip()


class Flow:
    """Turns numbers of requests into times, by the rate at which requests end, batch by batch."""

    def __init__(self, record: "TrialRecord", batches: int) -> None:
        self.ended = ended(record)
        self.batches = batches
        self.rate = self.ended / record.measured_ns
        self.response_times = record.measured_ns / max(1.0, measured_ns(record))
        self._begins_ns, self._long_ns = record.warm_up_ns, record.measured_ns / batches
        self._rates = [self.rate] * batches
        series = record.series
        per_batch: list[list[int]] = [[] for _ in range(batches)]
        for row, (at_ns, long_ns) in enumerate(zip(series.at_ns, series.duration_ns, strict=True)):
            batch = math.floor((at_ns + long_ns / 2 - record.warm_up_ns) / self._long_ns)
            if 0 <= batch < batches:
                per_batch[batch].append(row)
        for batch, within in enumerate(per_batch):
            spent_ns = sum(series.duration_ns[row] for row in within)
            if spent_ns:
                self._rates[batch] = sum(series.ok[row] + series.failed[row] for row in within) / spent_ns

    def batch_of(self, at_ns: Floats) -> list[int]:
        """Return the batch of each instant."""
        return [
            min(self.batches - 1, max(0, math.floor((each_ns - self._begins_ns) / self._long_ns)))
            for each_ns in at_ns
        ]

    def edges_ns(self) -> list[float]:
        """Return where the batches begin, and where the last one ends."""
        ends_ns = self._begins_ns + self.batches * self._long_ns
        return averages.even(self._begins_ns, ends_ns, self.batches + 1)

    def part(
        self, name: Name, at_ns: Floats, numbers: Sequence[float | None], weights: Floats | None = None
    ) -> StageTime:
        """The mean time of a request where readings found these numbers of them (None: it did not show it).

        `weights`: how long each reading stands for; None: all as long.
        """
        every = weights or [1.0] * len(numbers)
        known = [
            (batch, number, weight)
            for batch, number, weight in zip(self.batch_of(at_ns), numbers, every, strict=True)
            if number is not None
        ]
        values, weighs = [number for _, number, _ in known], [weight for *_, weight in known]
        taken = sorted({batch for batch, *_ in known})
        means = [
            fmean(
                [number for batch, number, _ in known if batch == one],
                [weight for batch, _, weight in known if batch == one],
            )
            for one in taken
        ]
        found = self.of_means(name, fmean(values, weighs), taken, means)
        of_means, of_each = averages.variance(means), averages.variance(values)
        readings = min(len(values), len(taken) * of_each / of_means) if of_means else len(values)
        return replace(found, readings=float(readings))

    def of_means(self, name: Name, number: float, taken: Sequence[int], means: Floats) -> StageTime:
        """The mean time of a request if there are `number` of them on average, by the means of batches.

        With fewer than two batches there is no interval: it reaches from 0 to twice the mean.
        """
        mean_ns = number / self.rate
        if len(taken) < 2:
            return StageTime(name, mean_ns, 0.0, 2 * mean_ns, float(len(taken)))
        # How far the number in each batch is off what its rate and the mean time make of it, as a time.
        off_ns = [
            (mean - mean_ns * self._rates[batch]) / self.rate
            for mean, batch in zip(means, taken, strict=True)
        ]
        error_ns = student.of_interval(len(taken) - 1) * stdev(off_ns) / math.sqrt(len(taken))
        return StageTime(name, mean_ns, max(0.0, mean_ns - error_ns), mean_ns + error_ns, float(len(taken)))

    def with_room(self, part: StageTime, numbers: Sequence[float | None], whole: StageTime) -> StageTime:
        """The part with the room that readings leave which all found the same number; else the part itself.

        They say nothing of how much the number varies: users that keep in step may be found at one stage in
        all of a few readings, though they spend a part of their time elsewhere. `whole`: what the part is of.
        """
        # A share of the requests in flight, scaled, may be 63.99999999999999 of 64.
        if len({round(number, 6) for number in numbers if number is not None}) > 1:
            return part
        independent = max(RULE_OF_THREE, min(part.readings, self.response_times))
        room_ns = RULE_OF_THREE / independent * (part.mean_ns or whole.mean_ns)
        return replace(
            part,
            low_ns=min(part.low_ns, max(0.0, part.mean_ns - room_ns)),
            high_ns=max(part.high_ns, part.mean_ns + room_ns),
        )


def batches(record: "TrialRecord") -> int:
    """Return into how many batches the window is divided; fewer than BATCHES_MIN: it is too short."""
    long_ns = max(BATCH_NS_MIN, BATCH_RESPONSE_TIMES * measured_ns(record))
    return int(min(BATCHES_MAX, record.measured_ns / long_ns))


def ended(record: "TrialRecord") -> int:
    """Return how many requests ended in the window, whichever phase they began in."""
    outcomes = record.outcomes
    return outcomes.ok + outcomes.failed + record.histograms.carried_over.count


def measured_ns(record: "TrialRecord") -> float:
    """Return the mean time of the requests that ended, by the engine's own reckoning of each."""
    outcomes, times = record.outcomes, record.histograms
    spent_ns = sum(_sum_ns(each) for each in (times.response_time, times.failed, times.timed_out))
    return spent_ns / max(1, outcomes.ok + outcomes.failed)


def in_window_ns(record: "TrialRecord") -> float:
    """Return how long requests were in flight in the window, for each that ended in it. Exact.

    A request that the warm-up left counts from the beginning of the window, one that is unfinished counts up
    to its end. Numbers of requests in flight come to this. The mean response time is another: it has all of
    the time of a request that the warm-up left, and none of an unfinished one.
    """
    times = record.histograms
    whole = (times.response_time, times.failed, times.timed_out, times.unfinished_age, times.carried_over)
    spent_ns = sum(_sum_ns(each) for each in whole) - _sum_ns(times.taken_over)
    return spent_ns / max(1, ended(record))


def rows_measured(record: "TrialRecord", at_ns: Sequence[int]) -> list[int]:
    """Return the rows of readings that lie in the measured phase."""
    ends_ns = record.warm_up_ns + record.measured_ns
    return [row for row, each_ns in enumerate(at_ns) if record.warm_up_ns <= each_ns < ends_ns]


def spans_ns(record: "TrialRecord", at_ns: Floats) -> list[float]:
    """Return how long each reading stands for: until the next one, as readings are not equally close."""
    ends_ns = [*at_ns[1:], float(record.warm_up_ns + record.measured_ns)]
    return [max(1.0, end_ns - each_ns) for each_ns, end_ns in zip(at_ns, ends_ns, strict=True)]


def halves_ns(record: "TrialRecord", at_ns: Floats) -> list[float]:
    """Return how much of the window each reading stands for if what it found changes evenly to the next.

    That is half of the time from the reading before, and half of the time to the next one (the trapezoidal
    rule). The first and the last stand for all of the time up to the window's ends.
    """
    begins_ns, ends_ns = float(record.warm_up_ns), float(record.warm_up_ns + record.measured_ns)
    between = [(one + other) / 2 for one, other in pairwise(at_ns)]
    return [max(1.0, end_ns - begin_ns) for begin_ns, end_ns in pairwise([begins_ns, *between, ends_ns])]


def times(part: StageTime, factor: float) -> StageTime:
    """Return the part, `factor` times as long."""
    mean_ns, low_ns, high_ns = (factor * ns for ns in (part.mean_ns, part.low_ns, part.high_ns))
    return replace(part, mean_ns=mean_ns, low_ns=low_ns, high_ns=high_ns)


def column(values: Sequence[int], at: Sequence[int]) -> list[float]:
    """Return these rows of a column."""
    return [float(values[row]) for row in at]


def time(ns: float) -> str:
    """Return a time with two digits."""
    factor, unit = (1e9, "s") if ns >= 1e9 else (1e6, "ms")
    return f"{float(f'{ns / factor:.2g}'):g} {unit}"


def _sum_ns(times: "HistogramRecord") -> float:
    return times.count * (times.mean_ns or 0.0)
