"""Axes that several charts share: how times and shares are labelled, and where their ticks stand."""

import math
from collections.abc import Sequence

TIME_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : format(datum.value / 1e3, '~g') + ' µs'"
)
# Of x = 1/(1−q).
QUANTILE_LABEL = "format(1 - 1 / datum.value, '.6~%')"
SECONDS_LABEL = "datum.label + ' s'"
PLAIN_LABEL = "datum.value >= 1e3 ? format(datum.value, '~s') : format(datum.value, '~r')"

BESIDE = 1.05
_DECADES = [10.0**power for power in range(3, 12)]
_FINER = [tick * step for tick in _DECADES for step in (1, 2, 5)]


def time_ticks(domain: Sequence[float]) -> list[float]:
    """Round times in ns between two ends: powers of ten if there are three, else 1, 2 and 5 times them."""
    tens = [tick for tick in _DECADES if domain[0] <= tick <= domain[1]]
    if len(tens) > 2:
        return tens
    return [tick for tick in _FINER if domain[0] <= tick <= domain[1]]


def round_times(low: float, high: float) -> tuple[float, float]:
    """The nearest of those ticks below and above two times in ns, and not right beside them."""
    below = [tick for tick in _FINER if tick * BESIDE < low]
    above = [tick for tick in _FINER if tick > high * BESIDE]
    return below[-1] if below else low, above[0] if above else high


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two ends, `most` of them or fewer."""
    if not high > low:
        return [high]
    decade = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (decade * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if math.floor(high / step) - math.ceil(low / step) < most)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
