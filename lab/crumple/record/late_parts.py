"""Whether the engine's lateness is in the times of a part of a trial, as of a stretch of a ramp. Pure.

Of a whole trial there is a histogram of the lateness; of each interval of its series the p99 alone. The late
requests of the whole are therefore assigned to its intervals: to those whose p99 was late as to so many
requests, to others as to the hundredth that may be beyond it. Why the limits are what they are stands in
docs/method.md.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crumple.contract import TrialRecord
from crumple.record import histogram
from crumple.record.histogram import Times
from crumple.record.lateness import LATE_NS, SHARE_BEYOND, SHARE_OF_TIME

# In a part there may be so many times as many late ones as in late intervals on average.
DENSER_MOST = 3
# The p99 of fewer requests is the longest of them: none is beyond it.
HAS_BEYOND_P99 = 100

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Whole:
    """A trial: how late its requests were, and for each interval of its series how many came due, and p99."""

    late: Times
    requests: Floats
    p99_ns: Floats

    def weights(self, beyond_ns: float) -> Floats:
        """For each interval the most requests that may have been later than that."""
        others = np.where(self.requests >= HAS_BEYOND_P99, 0.01 * self.requests, 0.0)
        return np.where(self.p99_ns > beyond_ns, self.requests, others)


@dataclass(frozen=True, eq=False)
class Part:
    """Some intervals of a trial, by their places in its series."""

    whole: Whole
    intervals: tuple[int, ...]

    @property
    def _mine(self) -> list[int]:
        return list(self.intervals)

    @property
    def _requests(self) -> float:
        return float(self.whole.requests[self._mine].sum())

    def spoils(self, q: float, shown_ns: float) -> bool:
        """Whether `shown_ns`, the quantile `q` of the response times here, is not the server's alone."""
        whole, requests = self.whole, self._requests
        beyond_ns, limit = allowed_ns(shown_ns), SHARE_BEYOND * (1 - q) * requests
        late = whole.late.count_above(beyond_ns)
        # However they are spread over the trial, there are not enough of them.
        if not requests or late <= limit:
            return False
        weights = whole.weights(beyond_ns)
        everywhere = float(weights.sum())
        if not everywhere:
            return False
        return min(1.0, DENSER_MOST * late / everywhere) * float(weights[self._mine].sum()) > limit

    def spoils_mean(self, shown_ns: float) -> bool:
        """The same of the mean of the response times here."""
        whole, requests = self.whole, self._requests
        weights = whole.requests * whole.p99_ns
        everywhere = weights.sum()
        if not requests or not everywhere:
            return False
        late_ns = (whole.late.mean_ns or 0.0) * whole.late.count * weights[self._mine].sum() / everywhere
        return bool(late_ns / requests > SHARE_OF_TIME * shown_ns)

    def with_(self, others: "list[Part]") -> "Part":
        """This part and others of the same trial as one."""
        more = (interval for other in others for interval in other.intervals)
        return replace(self, intervals=(*self.intervals, *more))


def whole(record: TrialRecord) -> Whole:
    """The lateness of a trial's measured phase. Raises NotStored where its histogram is damaged."""
    series, stored = record.series, record.histograms.engine_lateness
    measured = [
        number if phase == "measured" else 0
        for number, phase in zip(series.scheduled, series.phase, strict=True)
    ]
    return Whole(
        histogram.decode(stored.encoded) if stored.count else histogram.merge([]),
        np.asarray(measured, dtype=float),
        np.asarray([each or 0 for each in series.engine_late_p99_ns], dtype=float),
    )


def allowed_ns(shown_ns: float) -> float:
    """How late a request may be sent without a time as long as that being wrong."""
    return max(LATE_NS, SHARE_OF_TIME * shown_ns)
