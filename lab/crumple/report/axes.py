"""Axes that several charts share: how times and shares are labelled, and where their ticks stand."""

from collections.abc import Sequence

TIME_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : format(datum.value / 1e3, '~g') + ' µs'"
)
# Of x = 1/(1−q).
QUANTILE_LABEL = "format(1 - 1 / datum.value, '.6~%')"
SECONDS_LABEL = "datum.label + ' s'"


def time_ticks(domain: Sequence[float]) -> list[float]:
    """Round times in ns between two ends: powers of ten if there are three, else 1, 2 and 5 times them."""
    decades = [10.0**power for power in range(3, 12)]
    tens = [tick for tick in decades if domain[0] <= tick <= domain[1]]
    if len(tens) > 2:
        return tens
    finer = [tick * step for tick in decades for step in (1, 2, 5)]
    return [tick for tick in finer if domain[0] <= tick <= domain[1]]
