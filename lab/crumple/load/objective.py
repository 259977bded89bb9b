"""An objective such as `p99<250ms, failed<0.1%`: text → what is asked of a load, record → whether it holds.

Pure. The commands decide what follows if it does not hold.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.contract import TrialRecord
from crumple.gate import condition
from crumple.gate.condition import OPERATORS, SHARE_UNITS, Condition, FigureKind
from crumple.load.typed_values import UNITS_S
from crumple.record import failures, histogram, lateness, undisturbed, undisturbed_times
from crumple.record.disturbance import Disturbance
from crumple.record.histogram import SAMPLES_BEYOND, Times
from crumple.record.undisturbed import Factors
from crumple.stats import shares

# The first of them is the example of a condition.
TIMES = ("p99", "p50", "p75", "p90", "p95", "p99.9", "p99.99", "max", "mean")
# A mean or a maximum of fewer than 10 answers decides nothing.
ANSWERS_MIN = 10
_UNITS_NS = {unit: seconds * 1e9 for unit, seconds in UNITS_S.items()}
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


@dataclass(frozen=True)
class Term(Condition):
    """A condition on a load. `limit`: in ns, as a share (0..1) or per second, depending on `quantity`."""

    def __str__(self) -> str:
        """The term as it was written."""
        return self.written

    @property
    def quantile(self) -> float | None:
        """The quantile (0..1) that `quantity` names; None for other quantities."""
        return _quantile(self.quantity)

    @property
    def is_time(self) -> bool:
        """Whether its value and limit are response times in ns."""
        return self.quantity not in ("failed", "throughput")

    @property
    def share_limit(self) -> float | None:
        """The share of the requests (0..1) that may miss it: 1 % of `p99<250ms`, 0.1 % of `failed<0.1%`.

        None for a term that limits no such share, and for a limit of 0.
        """
        if self.operator not in ("<", "<="):
            return None
        if self.quantile is not None:
            return round(1 - self.quantile, 12)
        return self.limit or None if self.quantity == "failed" else None

    def slower(self, record: TrialRecord) -> int:
        """How many requests took longer than the limit of a response time, or had waited for longer."""
        waiting = histogram.decoded(record.histograms.unfinished_age).count_above(self.limit)
        return waiting + histogram.decoded(record.histograms.response_time).count_above(self.limit)

    @property
    def requests_needed(self) -> int:
        """How many requests it takes to know whether it holds.

        10/(1−q) for a quantile; 1/limit for a share, so that one request weighs no more than the limit.
        """
        if self.quantile is not None:
            return math.ceil(round(SAMPLES_BEYOND / (1 - self.quantile), 6))
        if self.quantity == "failed":
            return math.ceil(round(1 / self.limit, 6)) if self.limit else 1
        return ANSWERS_MIN

    def value(self, record: TrialRecord) -> float | None:
        """The value in the record, even if from too few requests; None where there is no request to count."""
        if self.quantity == "failed":
            return failures.lost_share(record.outcomes)
        if self.quantity == "throughput":
            return record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns > 0 else None
        times = self._times(record)
        if not times.count:
            return None
        if self.quantity == "mean":
            return times.mean_ns
        return times.quantile_ns(1.0 if self.quantile is None else self.quantile)

    def holds(self, record: TrialRecord) -> bool | None:
        """Whether it holds; None where the requests are too few to know."""
        value = self.value(record)
        if value is None:
            return None
        if self.counted(record) < self.requests_needed and not self._beyond_doubt(record):
            return None
        return OPERATORS[self.operator](value, self.limit)

    def shown(self, record: TrialRecord) -> bool | None:
        """Whether it holds; of fewer requests than a quantile needs, what they show with 95 % confidence.

        A request without an answer may be above the limit or below.
        """
        held = self.holds(record)
        if held is not None or self.quantile is None:
            return held
        times = self._times(record)
        if not times.count:
            return None
        above, without = times.count_above(self.limit), max(0, record.scheduled - times.count)
        every, may_exceed = times.count + without, 1 - self.quantile
        _, most = shares.interval(above + without, every)
        least, _ = shares.interval(above, every)
        if most < may_exceed:
            return OPERATORS[self.operator](0.0, self.limit)
        return OPERATORS[self.operator](math.inf, self.limit) if least > may_exceed else None

    def holds_surely(self, record: TrialRecord, others: Disturbance) -> bool | None:
        """Whether it holds, as `shown` does; None if `by_lateness` or `by_others`."""
        return None if self.by_lateness(record) or self.by_others(record, others) else self.shown(record)

    def by_others(self, record: TrialRecord, others: Disturbance) -> bool:
        """Whether what others took may be why it holds, or not."""
        held, value = self.shown(record), self.value(record)
        if held is None or value is None or not (self.is_time or others.is_mentioned):
            return False
        ends = (value * factor for factor in self._undisturbed(record, value, others))
        return any(OPERATORS[self.operator](end, self.limit) != held for end in ends)

    def _undisturbed(self, record: TrialRecord, value: float, others: Disturbance) -> Factors:
        """How far the value of a calm machine may lie from this one."""
        if self.quantity == "throughput":
            return undisturbed.rate(others.slowdown)
        if self.quantity == "failed":
            return undisturbed.failed(value, others.slowdown, others.delayed_share)
        times = self._times(record)
        if self.quantity == "mean":
            return undisturbed_times.mean(record, times.quantile_ns, times.mean_ns, others)
        q = 1.0 if self.quantile is None else self.quantile
        return undisturbed_times.quantile(record, times.quantile_ns, q, times.mean_ns, others)

    def by_lateness(self, record: TrialRecord) -> bool:
        """Whether the engine's lateness may be why it holds, or not: a time is at most what was shown."""
        held, limits, value = self.shown(record), asked([self]), self.value(record)
        if held is None or value is None or held == OPERATORS[self.operator](0.0, self.limit):
            return False
        if self.quantity == "mean":
            return held != OPERATORS[self.operator](value - lateness.on_average_ns(record), self.limit)
        return bool(lateness.spoiled_quantiles(record, tuple(limits), limits))

    def counted(self, record: TrialRecord) -> int:
        """How many requests its value is computed from."""
        if self.is_time:
            return self._times(record).count
        # A request in flight may still succeed or fail.
        in_flight = record.outcomes.unfinished if self.quantity == "failed" else 0
        return record.scheduled - in_flight

    def _beyond_doubt(self, record: TrialRecord) -> bool:
        """Whether enough lie above the limit that no further request could bring the value below it."""
        if self.quantity == "failed":
            lost = record.outcomes.failed + record.outcomes.not_sent
            return lost > max(1.0, self.limit * self.requests_needed)
        if self.quantile is not None:
            return self._times(record).count_above(self.limit) > SAMPLES_BEYOND
        return self.quantity == "throughput"

    def _times(self, record: TrialRecord) -> Times:
        """Response times of the answers, and ages of requests that had waited beyond the limit at the end.

        Requests without an answer are right-censored: the younger ones may still meet the limit, the others
        have missed it whenever they end.
        """
        answered = histogram.decoded(record.histograms.response_time)
        waiting = histogram.decoded(record.histograms.unfinished_age)
        late = waiting.above(self.limit)
        return histogram.merge([answered, late]) if late.count else answered


@dataclass(frozen=True)
class Objective:
    """An objective: all its terms must hold."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        """The objective as `parse` reads it."""
        return ", ".join(str(term) for term in self.terms)


def asked(terms: Sequence[Term]) -> dict[float, float]:
    """Limits of the terms in ns, by quantile of the response times (max: 1), to compare lateness with."""
    limits: dict[float, float] = {}
    for term in terms:
        q = 1.0 if term.quantity == "max" else term.quantile
        if q is not None:
            # Keep the lower one of two limits, which less lateness spoils.
            limits[q] = min(term.limit, limits.get(q, term.limit))
    return limits


def parse(text: str) -> Objective:
    """Return the objective that a text means. Raises UsageError with every mistake."""
    return Objective(_terms([text], "<", "--objective"))


def fail_if(texts: Sequence[str]) -> tuple[Term, ...]:
    """Return the conditions under which a load fails. Raises UsageError with every mistake."""
    return _terms(texts, ">", "--fail-if")


class _Figures(dict[str, FigureKind]):
    """The figures of a load: those that are listed, and every other quantile."""

    def __init__(self, sign: str) -> None:
        """Make them with examples in which a time is compared by `sign`."""
        self._sign = sign
        below = ">" if sign == "<" else "<"
        super().__init__(
            {
                **{name: self._time(name) for name in TIMES},
                "failed": FigureKind({**SHARE_UNITS, "": 1.0}, f"failed{sign}0.1%", is_share=True),
                "throughput": FigureKind({"": 1.0, "/s": 1.0}, f"throughput{below}1000/s"),
            }
        )

    def __missing__(self, name: str) -> FigureKind:
        if _quantile(name) is None:
            raise KeyError(name)
        return self._time(name)

    def _time(self, name: str) -> FigureKind:
        return FigureKind(_UNITS_NS, f"{name}{self._sign}250ms")


def _terms(texts: Sequence[str], sign: str, flag: str) -> tuple[Term, ...]:
    """Return the terms of a flag whose examples compare a time by this sign."""
    return tuple(Term(**vars(each)) for each in condition.read(texts, _Figures(sign), flag))


def _quantile(quantity: str) -> float | None:
    found = _QUANTILE.fullmatch(quantity)
    q = float(found[1]) / 100 if found else 0.0
    return q if 0 < q < 1 else None
