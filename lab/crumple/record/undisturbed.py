"""How far figures of a trial may lie from those of a calm machine, given what others took from it. Pure.

Each answer is a pair of factors: the figure of a calm machine is at least the shown one times the first, and
at most the shown one times the second. `disturbance` bounds what was taken.

With a slowdown of F, the throughput of a calm machine is up to F times as high, and the server keeps up to F
times as many cores busy. Requests that failed because they were delayed would have been answered. So the
share of failed requests goes down to 1 − F·(1 − share), or to 0 if delays explain all failures. The time for
all requests goes down to 1/F of it, and a knee lies between 1/F and F times as many users. CPU time,
switches, memory, processes and threads stay as measured: what a request costs does not depend on when it
runs.
"""

import math
from collections.abc import Callable, Sequence

# At least and at most: the figure of a calm machine, divided by the one that is shown.
Factors = tuple[float, float]
# Nothing was taken: the figure is that of a calm machine.
SURE: Factors = (1.0, 1.0)
# A lock, pool or disk, which no reading shows, is taken to be busy for half of the time.
UNSEEN_BUSY = 0.5
# How many delays are tried for the best bound, evenly between none and the quantile itself; and of how many
# quantiles the mean is taken.
DELAYS, POINTS = 64, 200


def delayed_share(taken_share: float, busy_share: float) -> float:
    """Return the largest share of the requests (0..1) that was delayed, in a shape without fixed pauses.

    While something is taken from the trial, requests pile up, and those that come while the server works that
    off are delayed as well: 1/(1 − `busy_share`) for each that came in that time. One more for each was in
    flight before. Users with fixed pauses come together again and again. `busy_share`: how busy the busiest
    thread of the server was, or all cores (0..1).
    """
    left = 1 - max(UNSEEN_BUSY, busy_share)
    return min(1.0, taken_share * (1 + 1 / left)) if left > 0 else float(taken_share > 0)


def rate(slowdown: float, lost_share: float = 0.0, delayed: float = 0.0) -> Factors:
    """The factors of right answers per second; `lost_share`, `delayed`: shares that failed, were delayed.

    The slowdown bounds how many more requests end. Those that failed because they were delayed may end well.
    """
    if lost_share >= 1:
        return 1.0, math.inf if slowdown > 1 else 1.0
    return 1.0, slowdown * (1 + min(lost_share, delayed) / (1 - lost_share))


def mean_delay_ns(mean_ns: float, pause_ns: float, slowdown: float) -> float:
    """Return by how much others made the mean response time of a closed shape longer, at most.

    Each user is always in a request or in a pause of `pause_ns` on average, so the mean of both is as many
    times shorter as the rate is higher (Little's law).
    """
    return min(mean_ns, (mean_ns + pause_ns) * (1 - 1 / slowdown))


def closed_mean(mean_ns: float, pause_ns: float, slowdown: float) -> Factors:
    """The factors of the mean time of a closed shape."""
    return 1 - mean_delay_ns(mean_ns, pause_ns, slowdown) / mean_ns if mean_ns else 1.0, 1.0


def open_mean(quantile_ns: Callable[[float], float], delayed: float) -> Factors:
    """The factors of a mean time elsewhere; `quantile_ns`: quantile (0..1) → ns; `delayed`: what share was.

    The requests that were not delayed took at least as long as the fastest ones here.
    """
    points = [(step + 0.5) / POINTS for step in range(POINTS)]
    shown_ns = math.fsum(map(quantile_ns, points))
    least_ns = math.fsum(quantile_ns(at * (1 - delayed)) for at in points) * (1 - delayed)
    return min(1.0, least_ns / shown_ns) if shown_ns else 1.0, 1.0


def span(slowdown: float) -> Factors:
    """The factors of the time that a number of requests takes in all."""
    return 1 / slowdown, 1.0


def either(slowdown: float) -> Factors:
    """The factors of a load at which something happens: the server's capacity and times depend on it."""
    return 1 / slowdown, slowdown


def failed(share: float, slowdown: float, delayed: float = 0.0) -> Factors:
    """The factors of the share of failed requests (0..1).

    The server may have answered as many more as it was slowed, and each failed request that was delayed.
    """
    if not share:
        return SURE
    answered = min(1.0, slowdown * (1 - share))
    return max(0.0, min(1 - answered, share - delayed)) / share, 1.0


def ratio(of: Factors, to: Factors) -> Factors:
    """The factors of the quotient of two figures."""
    return of[0] / to[1], of[1] / to[0] if to[0] else math.inf


def mean(parts: Sequence[Factors]) -> Factors:
    """The factors of a geometric mean of figures."""
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


def closed_quantile(quantile_ns: Callable[[float], float], q: float, delay_ns: float) -> Factors:
    """The factors of the quantile q (0..1) in a closed shape; `delay_ns`: by how much the mean is longer.

    No more than a share s of the requests was delayed by more than b. So as many took longer than x on a calm
    machine as took longer than x + b here, but for that share, and the quantile q there is at least the
    quantile q − s here, less b. s is at most the mean delay over b (Markov).
    """
    shown_ns = quantile_ns(q)
    if delay_ns <= 0 or shown_ns <= 0:
        return SURE
    least_ns = 0.0
    for step in range(1, DELAYS):
        tried_ns = shown_ns * step / DELAYS
        at = q - delay_ns / tried_ns
        if at > 0:
            least_ns = max(least_ns, quantile_ns(at) - tried_ns)
    return min(1.0, least_ns / shown_ns), 1.0


def open_quantile(quantile_ns: Callable[[float], float], q: float, delayed: float) -> Factors:
    """The factors of the quantile q (0..1) in other shapes, if a share `delayed` of the times was delayed."""
    shown_ns = quantile_ns(q)
    if not delayed or shown_ns <= 0:
        return SURE
    return min(1.0, quantile_ns(q - delayed) / shown_ns) if q > delayed else 0.0, 1.0
