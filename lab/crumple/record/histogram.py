"""The engine's histograms as arrays: decode, merge, read quantiles; and several stored ones joined into one.

Each histogram holds times of one kind; the record says of which. Nothing is interpolated.
"""

import binascii
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from crumple.errors import NotStored

if TYPE_CHECKING:
    from crumple.contract import Histogram

SAMPLES_BEYOND = 10
UNREADABLE = (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    binascii.Error,
    zlib.error,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, eq=False)
class Times:
    """How often each time was seen: `values_ns` rise, `counts` are above 0; both int64, of one length.

    A value is the middle of its bucket: with the engine's three digits, within 0.05 % of what was recorded.
    """

    values_ns: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    @property
    def mean_ns(self) -> float | None:
        """The mean in ns; None without samples."""
        if not self.count:
            return None
        return float(np.dot(self.values_ns.astype(float), self.counts) / self.count)

    def quantile_ns(self, q: float) -> float:
        """The smallest value that at least q (0..1) of the samples do not exceed. Raises ValueError if empty.

        `printable` says whether there are enough samples to show it.
        """
        if not 0 <= q <= 1 or not self.count:
            raise ValueError(f"no quantile {q} of {self.count} samples")
        # Round first: in binary, 0.07 × 100 is slightly above 7, and must not select the eighth sample.
        rank = max(1, math.ceil(round(q * self.count, 6)))
        return float(self.values_ns[np.searchsorted(np.cumsum(self.counts), rank)])

    def count_above(self, limit_ns: float) -> int:
        """Samples longer than `limit_ns`, to the resolution of the buckets."""
        return int(self.counts[self.values_ns > limit_ns].sum())


def printable(q: float, count: int) -> bool:
    """Whether one start has enough samples to show quantile q: 10/(1−q) or more (rule 15 of the method)."""
    return q < 1 and count * (1 - q) >= SAMPLES_BEYOND * (1 - 1e-9)


def censored_quantile_ns(q: float, answered: Times, left: Times, lost: Times) -> float:
    """Return the time in which a share q (0..1) of all was answered; if fewer were, the longest wait of all.

    `left`: how long the unfinished requests had waited; `lost`: the times of the failed ones. With neither
    this is the plain quantile. Raises ValueError if there are no samples. (Kaplan & Meier, 1958.)
    """
    everybody = merge([answered, left, lost])
    if not 0 <= q <= 1 or not everybody.count:
        raise ValueError(f"no quantile {q} of {everybody.count} samples")
    times_ns = np.union1d(answered.values_ns, left.values_ns)
    ended, gone = _placed(answered, times_ns), _placed(left, times_ns)
    # A failed request is never answered, so it counts as waiting to the end.
    waiting = everybody.count - np.concatenate(([0], np.cumsum(ended + gone)))[:-1]
    reached = np.flatnonzero(np.cumprod(1 - ended / waiting) <= 1 - q + 1e-9)
    return float(times_ns[reached[0]] if len(reached) else everybody.values_ns[-1])


def _placed(times: Times, values_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    counts = np.zeros(len(values_ns), np.int64)
    counts[np.searchsorted(values_ns, times.values_ns)] = times.counts
    return counts


def decode(encoded: str) -> Times:
    """HdrHistogram V2, compressed, base64 → its times. Raises NotStored if it cannot be decoded."""
    read = _read(encoded)
    counts = np.asarray(read.counts, dtype=np.int64)
    index = np.flatnonzero(counts)
    return Times(_middle_ns(index, read), counts[index])


def _read(encoded: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(encoded)
    except UNREADABLE as error:
        reason = str(error) or type(error).__name__
        raise NotStored(f"not a histogram of the engine: {reason}", "measure the trial again") from None


def read(stored: "Histogram") -> HdrHistogram:
    """Return a record's histogram as HdrHistogram's own type. Raises NotStored if it cannot be decoded."""
    return _read(stored.encoded)


def decoded(stored: "Histogram") -> Times:
    """The times of a record's histogram, which may be empty."""
    return _decoded(stored.encoded) if stored.count else merge([])


@lru_cache(maxsize=64)
def _decoded(encoded: str) -> Times:
    return decode(encoded)


def merge(parts: Sequence[Times]) -> Times:
    """Return all samples of `parts` together; without parts, the empty histogram."""
    values_ns = np.concatenate([np.empty(0, np.int64), *(part.values_ns for part in parts)])
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
    unique_ns, place = np.unique(values_ns, return_inverse=True)
    summed = np.zeros(len(unique_ns), np.int64)
    np.add.at(summed, place, counts)
    return Times(unique_ns, summed)


def together(parts: Sequence["Histogram"]) -> "Histogram":
    """Return all samples of `parts`, one or more, as one histogram in the engine's own form.

    The parts have the same buckets, so nothing is lost. Raises NotStored if one cannot be decoded.
    """
    filled = [part for part in parts if part.count]
    if len(filled) < 2:
        return filled[0] if filled else parts[0]
    whole = _read(filled[0].encoded)
    for part in filled[1:]:
        whole.add(_read(part.encoded))
    count = sum(part.count for part in filled)
    return filled[0].model_copy(
        update={
            "count": count,
            "min_ns": min(part.min_ns for part in filled if part.min_ns is not None),
            "mean_ns": math.fsum(part.count * (part.mean_ns or 0.0) for part in filled) / count,
            "max_ns": max(part.max_ns for part in filled if part.max_ns is not None),
            "encoded": whole.encode().decode(),
        }
    )


def _middle_ns(index: NDArray[np.int64], read: HdrHistogram) -> NDArray[np.int64]:
    """Middle of each bucket, in the layout of HdrHistogram: all buckets but the first have half the cells."""
    half = read.sub_bucket_half_count
    # The first two halves have the same width; each later half is twice as wide as the one before.
    bucket = np.maximum(index // half - 1, 0)
    sub_bucket = index - bucket * half
    shift = bucket + read.unit_magnitude
    middle: NDArray[np.int64] = (sub_bucket << shift) + ((np.int64(1) << shift) >> 1)
    return middle
