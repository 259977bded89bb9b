"""How far figures of a trial may lie from those of a calm machine, given what others took from it. Pure.

Each answer is a pair of factors: the figure of a calm machine is at least the shown one times the first, and
at most the shown one times the second. `disturbance` bounds what was taken; docs/method.md gives the reasons.
"""

import math
from collections.abc import Callable, Sequence

# At least and at most: the figure of a calm machine, divided by the one that is shown.
Factors = tuple[float, float]
SURE: Factors = (1.0, 1.0)
# While something is taken from the trial, requests pile up. This many requests are delayed for each that came
# meanwhile: itself, one that was in flight before, and one that comes while the server, which is busy half of
# the time, works off what piled up.
DELAYED_FOR_EACH = 3.0
# How many delays are tried for the best bound, evenly between none and the quantile itself.
DELAYS = 64


def rate(slowdown: float) -> Factors:
    """Of answers per second."""
    return 1.0, slowdown


def time(slowdown: float) -> Factors:
    """Of a mean time: in a closed shape it is as many times shorter as the rate is higher (Little's law)."""
    return 1 / slowdown, 1.0


def either(slowdown: float) -> Factors:
    """Of a load at which something happens: both the server's capacity and its times depend on it."""
    return 1 / slowdown, slowdown


def failed(share: float, slowdown: float) -> Factors:
    """Of the share of failed requests (0..1): the server may have answered as many more as it was slowed."""
    answered = min(1.0, slowdown * (1 - share))
    return (1 - answered) / share if share else 1.0, 1.0


def ratio(of: Factors, to: Factors) -> Factors:
    """Of the quotient of two figures."""
    return of[0] / to[1], of[1] / to[0] if to[0] else math.inf


def mean(parts: Sequence[Factors]) -> Factors:
    """Of a geometric mean of figures."""
    low, high = (math.exp(end) for end in logarithms(parts))
    return low, high


def logarithms(parts: Sequence[Factors]) -> tuple[float, float]:
    """Return how far below, and above, the mean of logarithms that of a calm machine may lie."""
    if not parts:
        return 0.0, 0.0
    low, high = (
        math.fsum(math.log(each) if each > 0 else -math.inf for each in ends) / len(parts)
        for ends in zip(*parts, strict=True)
    )
    return low, high


def plain(values: Sequence[float], parts: Sequence[Factors]) -> tuple[float, float]:
    """Return how far below, and above, the mean of `values` that of a calm machine may lie."""
    if not parts:
        return 0.0, 0.0
    low, high = (
        math.fsum(value * (each - 1) for value, each in zip(values, ends, strict=True)) / len(values)
        for ends in zip(*parts, strict=True)
    )
    return low, high


def quantile(
    quantile_ns: Callable[[float], float], q: float, taken_share: float, mean_ns: float, *, is_closed: bool
) -> Factors:
    """Of the quantile q (0..1) of times; `quantile_ns`: q → ns; `taken_share`: as in `Disturbance`.

    No more than a share s of the requests was delayed by more than b. So as many took longer than x on a calm
    machine as took longer than x + b here, but for that share, and the quantile q there is at least the
    quantile q − s here, less b. In a closed shape without pauses the requests in flight are always as many,
    so the mean delay is `taken_share` of the mean time, and s is at most that over b. In other shapes s is
    `DELAYED_FOR_EACH` times `taken_share`, whatever b is.
    """
    shown_ns = quantile_ns(q)
    if not taken_share or shown_ns <= 0:
        return SURE
    least_ns = 0.0
    if is_closed:
        for step in range(1, DELAYS):
            delay_ns = shown_ns * step / DELAYS
            at = q - taken_share * mean_ns / delay_ns
            if at > 0:
                least_ns = max(least_ns, quantile_ns(at) - delay_ns)
    else:
        at = q - DELAYED_FOR_EACH * taken_share
        least_ns = quantile_ns(at) if at > 0 else 0.0
    return min(1.0, least_ns / shown_ns), 1.0
