"""How far figures may lie from those of a calm machine, held against simulated servers that are stalled."""

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from crumple.record import disturbance, undisturbed
from crumple.record.undisturbed import SURE

WITHIN_S = 60.0


@dataclass(frozen=True)
class Simulated:
    """A load that is over: response times in ns, in order; shares of the time that were taken, and used."""

    times_ns: tuple[float, ...]
    taken_share: float
    used_share: float

    @property
    def per_s(self) -> float:
        return len(self.times_ns) / WITHIN_S

    @property
    def mean_ns(self) -> float:
        return sum(self.times_ns) / len(self.times_ns)

    def quantile_ns(self, q: float) -> float:
        return self.times_ns[max(0, math.ceil(q * len(self.times_ns)) - 1)]

    @property
    def slowdown(self) -> float:
        idle_share = max(0.0, 1 - self.used_share - self.taken_share)
        return disturbance.slowdown(self.taken_share, 1.0, self.used_share, idle_share)


class Core:
    """A core that others have at random times, for `mean_s` at a time and for this share of the time."""

    def __init__(self, share: float, mean_s: float) -> None:
        self._drawn, self._share, self._mean_s = random.Random(3), share, mean_s
        self._gone_s = self._back_s = 0.0
        self.taken_s = self.used_s = 0.0
        self._next(0.0)

    def works(self, at_s: float, for_s: float) -> float:
        """Do that much work from `at_s` on, which is never earlier than before; return when it is done."""
        self.used_s += for_s
        while True:
            while self._back_s <= at_s:
                self._next(self._back_s)
            if at_s + for_s <= self._gone_s:
                return at_s + for_s
            for_s -= max(0.0, self._gone_s - at_s)
            self.taken_s += self._back_s - max(at_s, self._gone_s)
            at_s = self._back_s

    def _next(self, from_s: float) -> None:
        if not self._share:
            self._gone_s = self._back_s = math.inf
            return
        apart_s = self._mean_s * (1 - self._share) / self._share
        self._gone_s = from_s + self._drawn.expovariate(1 / apart_s)
        self._back_s = self._gone_s + self._drawn.expovariate(1 / self._mean_s)


def served(
    ready: list[float], service_s: float, again: Callable[[float], float] | None, core: Core
) -> Simulated:
    """One core serves requests in the order in which they are ready; `again`: when a user's next one is."""
    drawn, free_s, times = random.Random(7), 0.0, []
    heapq.heapify(ready)
    while ready and free_s < WITHIN_S:
        ready_s = heapq.heappop(ready)
        free_s = core.works(max(ready_s, free_s), drawn.expovariate(1 / service_s))
        times.append(1e9 * (free_s - ready_s))
        if again is not None:
            heapq.heappush(ready, again(free_s))
    return Simulated(tuple(sorted(times)), core.taken_s / free_s, core.used_s / free_s)


def closed(users: int, service_s: float, core: Core) -> Simulated:
    """Each user's next request is ready as soon as the last one was answered."""
    return served([0.0] * users, service_s, lambda at_s: at_s, core)


def paused(users: int, service_s: float, pause_s: float, core: Core) -> Simulated:
    """Each request waits for something else first, for `pause_s`; the times are those on the core."""
    first = [pause_s * user / users for user in range(users)]
    return served(first, service_s, lambda at_s: at_s + pause_s, core)


def scheduled(per_s: float, service_s: float, core: Core) -> Simulated:
    """Requests come at random times whatever the answers are."""
    drawn, at_s, ready = random.Random(5), 0.0, []
    while at_s < WITHIN_S:
        at_s += drawn.expovariate(per_s)
        ready.append(at_s)
    return served(ready, service_s, None, core)


SHARES = pytest.mark.parametrize("share", [0.05, 0.15, 0.3, 0.45])
LENGTHS = pytest.mark.parametrize("mean_s", [0.0005, 0.005, 0.05])


@SHARES
@LENGTHS
@pytest.mark.parametrize("busy", [0.1, 0.5, 0.9, 1.5])
def test_a_calm_server_is_faster_by_no_more_than_the_slowdown(
    share: float, mean_s: float, busy: float
) -> None:
    """`busy`: how much of a core its users would keep busy."""
    users, pause_s = 50, 0.1
    service_s = busy * pause_s / users
    calm, seen = (paused(users, service_s, pause_s, Core(each, mean_s)) for each in (0.0, share))
    low, high = undisturbed.rate(seen.slowdown)
    # The two draw the same services in another order, which makes them differ by a percent.
    assert low * seen.per_s <= 1.01 * calm.per_s and 0.99 * calm.per_s <= high * seen.per_s
    # Where hardly anything was taken from it, hardly anything is allowed for.
    assert high <= 1 / (1 - share) * 1.1


@SHARES
@LENGTHS
def test_the_quantiles_of_a_calm_closed_load_are_no_shorter(share: float, mean_s: float) -> None:
    calm, seen = (closed(20, 0.001, Core(each, mean_s)) for each in (0.0, share))
    for q in (0.5, 0.9, 0.99):
        low, high = undisturbed.quantile(seen.quantile_ns, q, seen.taken_share, seen.mean_ns, is_closed=True)
        assert high == 1.0 and low * seen.quantile_ns(q) <= 1.02 * calm.quantile_ns(q)
    # A bound that is worth something: not all of the median may be due to others.
    low, _ = undisturbed.quantile(seen.quantile_ns, 0.5, seen.taken_share, seen.mean_ns, is_closed=True)
    assert share > 0.05 or low > 0.5


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@LENGTHS
@pytest.mark.parametrize("busy", [0.1, 0.3, 0.5])
def test_the_quantiles_of_a_calm_schedule_are_no_shorter(share: float, mean_s: float, busy: float) -> None:
    calm, seen = (scheduled(busy / 0.001, 0.001, Core(each, mean_s)) for each in (0.0, share))
    for q in (0.5, 0.9, 0.99):
        low, _ = undisturbed.quantile(seen.quantile_ns, q, share, 0.0, is_closed=False)
        assert low * seen.quantile_ns(q) <= 1.03 * calm.quantile_ns(q)


def test_what_was_taken_from_nobody_changes_nothing() -> None:
    times = closed(20, 0.001, Core(0.0, 0.01))
    assert undisturbed.quantile(times.quantile_ns, 0.9, 0.0, times.mean_ns, is_closed=True) == SURE
    assert (undisturbed.rate(1.0), undisturbed.time(1.0), undisturbed.either(1.0)) == (SURE, SURE, SURE)


def test_failures_may_be_those_of_a_server_that_was_slowed() -> None:
    # It answered 60 of 100, and may have answered 1.5 times as many.
    low, high = undisturbed.failed(0.4, 1.5)
    assert (low * 0.4, high) == (pytest.approx(0.1), 1.0)
    assert undisturbed.failed(0.4, 2.0) == (0.0, 1.0) and undisturbed.failed(0.0, 2.0) == SURE


def test_ratios_and_means_of_figures_add_up() -> None:
    low, high = undisturbed.ratio((1.0, 1.2), (0.8, 1.1))
    assert (low, high) == (pytest.approx(1 / 1.1), pytest.approx(1.2 / 0.8))
    assert undisturbed.ratio(SURE, (0.0, 1.0)) == (1.0, math.inf)
    assert undisturbed.mean([(1.0, 4.0), SURE]) == (1.0, pytest.approx(2.0))
    assert undisturbed.logarithms([(0.0, 1.0), SURE]) == (-math.inf, 0.0) and undisturbed.logarithms([]) == (
        0,
        0,
    )
    assert undisturbed.plain([10.0, 20.0], [(0.5, 1.0), (1.0, 1.2)]) == (-2.5, pytest.approx(2.0))
