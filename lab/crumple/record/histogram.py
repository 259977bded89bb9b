"""The engine's histograms: decode, merge, read quantiles; and several stored ones joined into one.

Each histogram holds times of one kind; the record says of which. Nothing is interpolated.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from crumple.errors import NotStored
from crumple.record import histogram_codec
from crumple.record.histogram_codec import Cells, NotAHistogramError

if TYPE_CHECKING:
    from crumple.contract import HistogramRecord

# A quantile is printed if ten samples lie beyond it (docs/method.md).
SAMPLES_BEYOND = 10


@dataclass(frozen=True, eq=False)
class Times:
    """How often each time was seen: `values_ns` rise, `counts` are above 0; both of one length.

    A value is the middle of its bucket: with the engine's three digits, within 0.05 % of what was recorded.
    """

    values_ns: tuple[int, ...]
    counts: tuple[int, ...]

    @cached_property
    def _up_to(self) -> list[int]:
        """How many samples are no longer than each value."""
        return list(accumulate(self.counts))

    @property
    def count(self) -> int:
        """The number of samples."""
        return self._up_to[-1] if self.counts else 0

    @property
    def mean_ns(self) -> float | None:
        """The mean in ns; None without samples."""
        if not self.count:
            return None
        return (
            sum(value * count for value, count in zip(self.values_ns, self.counts, strict=True)) / self.count
        )

    def quantile_ns(self, q: float) -> float:
        """The smallest value that at least q (0..1) of the samples do not exceed. Raises ValueError if empty.

        `printable` says whether there are enough samples to show it.
        """
        if not 0 <= q <= 1 or not self.count:
            raise ValueError(f"no quantile {q} of {self.count} samples")
        # Round first: in binary, 0.07 × 100 is slightly above 7, and must not select the eighth sample.
        rank = max(1, math.ceil(round(q * self.count, 6)))
        return float(self.values_ns[bisect_left(self._up_to, rank)])

    def count_above(self, limit_ns: float) -> int:
        """Samples longer than `limit_ns`, to the resolution of the buckets."""
        return sum(self.counts[bisect_right(self.values_ns, limit_ns) :])

    def above(self, limit_ns: float) -> "Times":
        """Return the samples longer than `limit_ns`."""
        at = bisect_right(self.values_ns, limit_ns)
        return Times(self.values_ns[at:], self.counts[at:])


def printable(q: float, count: int) -> bool:
    """Whether one start has enough samples to show quantile q: 10/(1−q) or more."""
    return q < 1 and count * (1 - q) >= SAMPLES_BEYOND * (1 - 1e-9)


def censored_quantile_ns(q: float, answered: Times, left: Times, lost: Times) -> float:
    """Return the time in which a share q (0..1) of all was answered; if fewer were, the longest wait of all.

    `left`: how long the unfinished requests had waited; `lost`: the times of the failed ones. With neither
    this is the plain quantile. Raises ValueError if there are no samples.
    """
    everybody = merge([answered, left, lost])
    if not 0 <= q <= 1 or not everybody.count:
        raise ValueError(f"no quantile {q} of {everybody.count} samples")
    found_ns = answered_within_ns(q, answered, left, lost.count)
    return float(everybody.values_ns[-1]) if found_ns is None else found_ns


def answered_within_ns(q: float, answered: Times, left: Times, never: int) -> float | None:
    """Return the time in which a share q (0..1) of all was answered; None: fewer were (Kaplan & Meier, 1958).

    `left`: how long requests had waited that may still be answered; `never`: how many others there are.
    """
    ended = dict(zip(answered.values_ns, answered.counts, strict=True))
    gone = dict(zip(left.values_ns, left.counts, strict=True))
    # A request that is never answered counts as waiting to the end.
    waiting, unanswered = answered.count + left.count + never, 1.0
    for time_ns in sorted({*ended, *gone}):
        unanswered *= 1 - ended.get(time_ns, 0) / waiting
        if unanswered <= 1 - q + 1e-9:
            return float(time_ns)
        waiting -= ended.get(time_ns, 0) + gone.get(time_ns, 0)
    return None


def decode(encoded: str) -> Times:
    """HdrHistogram V2, compressed, base64 → its times. Raises NotStored if it cannot be decoded."""
    return of_cells(cells(encoded))


def of_cells(read: Cells) -> Times:
    """The times of a histogram's cells."""
    return Times(tuple(map(read.middle, read.counts)), tuple(read.counts.values()))


def cells(encoded: str) -> Cells:
    """The same → its cells. Raises NotStored if it cannot be decoded."""
    try:
        return histogram_codec.read(encoded)
    except NotAHistogramError as error:
        raise NotStored(f"not a histogram of the engine: {error}", "measure the trial again") from None


def decoded(stored: "HistogramRecord") -> Times:
    """The times of a record's histogram, which may be empty."""
    return _decoded(stored.encoded) if stored.count else merge([])


@lru_cache(maxsize=64)
def _decoded(encoded: str) -> Times:
    return decode(encoded)


def merge(parts: Sequence[Times]) -> Times:
    """Return all samples of `parts` together; without parts, the empty histogram."""
    if len(parts) == 1:
        return parts[0]
    summed = _summed(dict(zip(part.values_ns, part.counts, strict=True)) for part in parts)
    return Times(tuple(summed), tuple(summed.values()))


def _summed(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Add up counts by their keys, which rise in the sum."""
    whole: Counter[int] = Counter()
    for part in parts:
        whole.update(part)
    return dict(sorted(whole.items()))


def join(parts: Sequence["HistogramRecord"]) -> "HistogramRecord":
    """Return all samples of `parts`, one or more, as one histogram in the engine's own form.

    The parts have the same buckets, so nothing is lost. Raises NotStored if one cannot be decoded.
    """
    filled = [part for part in parts if part.count]
    if len(filled) < 2:
        return filled[0] if filled else parts[0]
    read = [cells(part.encoded) for part in filled]
    whole = replace(read[0], counts=_summed(each.counts for each in read))
    count = sum(part.count for part in filled)
    return filled[0].model_copy(
        update={
            "count": count,
            "min_ns": min(part.min_ns for part in filled if part.min_ns is not None),
            "mean_ns": math.fsum(part.count * (part.mean_ns or 0.0) for part in filled) / count,
            "max_ns": max(part.max_ns for part in filled if part.max_ns is not None),
            "encoded": histogram_codec.write(whole),
        }
    )
