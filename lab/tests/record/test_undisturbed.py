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

    def delay_ns(self, pause_s: float) -> float:
        return undisturbed.mean_delay_ns(self.mean_ns, pause_s * 1e9, self.slowdown)

    @property
    def slowdown(self) -> float:
        idle_share = max(0.0, 1 - self.used_share - self.taken_share)
        return disturbance.slowdown(self.taken_share, 1.0, self.used_share, self.taken_share + idle_share)


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


def paused(users: int, service_s: float, pause_s: float, core: Core, *, at_random: bool = False) -> Simulated:
    """Each request waits for something else first, for `pause_s`; the times are those on the core."""
    drawn = random.Random(9)
    pause = (lambda: drawn.expovariate(1 / pause_s)) if at_random else lambda: pause_s
    first = [pause_s * user / users for user in range(users)]
    return served(first, service_s, lambda at_s: at_s + pause(), core)


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


def test_the_median_of_a_closed_load_is_not_all_due_to_others() -> None:
    seen = closed(20, 0.001, Core(0.05, 0.005))
    assert undisturbed.closed_quantile(seen.quantile_ns, 0.5, seen.delay_ns(0.0))[0] > 0.5


# Loads in which requests pile up while something is taken: a schedule, and users who pause.
PILING_UP = pytest.mark.parametrize("kind", ["schedule", "pauses"])


def piled_up(kind: str, busy: float, core: Core) -> Simulated:
    """A server that such a load keeps busy for that share of the time."""
    if kind == "schedule":
        return scheduled(busy / 0.001, 0.001, core)
    return paused(1_000, 0.001, 1.0 / busy, core, at_random=True)


@pytest.mark.long
@PILING_UP
@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize("mean_s", [0.005, 0.05])
@pytest.mark.parametrize("busy", [0.3, 0.7, 0.9])
def test_times_on_a_calm_machine_are_no_shorter_where_requests_pile_up(
    kind: str, share: float, mean_s: float, busy: float
) -> None:
    calm, seen = (piled_up(kind, busy, Core(each, mean_s)) for each in (0.0, share))
    delayed = undisturbed.delayed_share(seen.taken_share, seen.used_share)
    for q in (0.5, 0.9, 0.99):
        low, high = undisturbed.open_quantile(seen.quantile_ns, q, delayed)
        assert high == 1.0 and low * seen.quantile_ns(q) <= 1.03 * calm.quantile_ns(q)
    low, high = undisturbed.open_mean(seen.quantile_ns, delayed)
    assert high == 1.0 and low * seen.mean_ns <= 1.03 * calm.mean_ns


def test_bounds_where_requests_pile_up_are_worth_something() -> None:
    seen = scheduled(300, 0.001, Core(0.02, 0.005))
    delayed = undisturbed.delayed_share(seen.taken_share, seen.used_share)
    assert delayed < 0.07
    assert undisturbed.open_quantile(seen.quantile_ns, 0.5, delayed)[0] > 0.85
    assert undisturbed.open_mean(seen.quantile_ns, delayed)[0] > 0.5


@pytest.mark.long
@SHARES
@LENGTHS
@pytest.mark.parametrize(("users", "pause_s"), [(20, 0.0), (100, 0.05), (100, 0.2)])
def test_times_of_a_calm_closed_load_are_no_shorter(
    share: float, mean_s: float, users: int, pause_s: float
) -> None:
    calm, seen = (paused(users, 0.001, pause_s, Core(each, mean_s)) for each in (0.0, share))
    low, _ = undisturbed.closed_mean(seen.mean_ns, pause_s * 1e9, seen.slowdown)
    assert low * seen.mean_ns <= 1.02 * calm.mean_ns
    assert pause_s or low > 0.9 * (1 - share)
    for q in (0.5, 0.9, 0.99):
        low, _ = undisturbed.closed_quantile(seen.quantile_ns, q, seen.delay_ns(pause_s))
        assert low * seen.quantile_ns(q) <= 1.02 * calm.quantile_ns(q)


@pytest.mark.parametrize(("busy", "of_each"), [(0.0, 3.0), (0.5, 3.0), (0.75, 5.0), (0.9, 11.0)])
def test_the_busier_a_server_is_the_longer_it_works_off_what_piled_up(busy: float, of_each: float) -> None:
    assert undisturbed.delayed_share(0.01, busy) == pytest.approx(0.01 * of_each)
    assert undisturbed.delayed_share(0.3, busy) <= 1.0
    assert (undisturbed.delayed_share(0.01, 1.0), undisturbed.delayed_share(0.0, 1.0)) == (1.0, 0.0)


def test_what_was_taken_from_nobody_changes_nothing() -> None:
    times = closed(20, 0.001, Core(0.0, 0.01))
    assert undisturbed.closed_quantile(times.quantile_ns, 0.9, 0.0) == SURE
    assert (undisturbed.rate(1.0), undisturbed.span(1.0), undisturbed.either(1.0)) == (SURE, SURE, SURE)


def test_failures_may_be_those_of_a_server_that_was_slowed() -> None:
    # It answered 60 of 100, and may have answered 1.5 times as many.
    low, high = undisturbed.failed(0.4, 1.5)
    assert (low * 0.4, high) == (pytest.approx(0.1), 1.0)
    assert undisturbed.failed(0.4, 2.0) == (0.0, 1.0) and undisturbed.failed(0.0, 2.0) == SURE
    # A tenth of all requests was delayed, and may have failed for that.
    assert undisturbed.failed(0.4, 1.0, 0.1) == (pytest.approx(0.75), 1.0)
    assert undisturbed.failed(0.05, 1.01, 0.1) == (0.0, 1.0)
    # Then as many more were answered.
    assert undisturbed.rate(1.05, 0.2, 0.1) == (1.0, pytest.approx(1.05 * 0.9 / 0.8))
    assert undisturbed.rate(1.05, 0.05, 0.1) == (1.0, pytest.approx(1.05 / 0.95))
    assert undisturbed.rate(1.05, 1.0, 0.1) == (1.0, math.inf) and undisturbed.rate(1.0, 1.0) == SURE


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
