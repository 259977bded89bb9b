"""How often the interval of a search holds the true breaking point, and how close to it the interval lies.

The servers are queues whose share of slow answers in the long run is known, although levels last only
seconds, and servers without a queue.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from crumple.find.seen import Base
from crumple.stats.interval import Interval
from queues import Search, Server, at_times, even, share_beyond, single, unsteady

# Five workers of 50 ms each: 100 answers per second at most. In the long run 1 % of the requests take longer
# than 250 ms at a load of:
FIVE_WORKERS, FIVE_BREAK_AT = even(5, 0.05), 89.5
# Sent one by one a request takes 50 ms, and 64 connections get a hundred answers in the second of the guess.
FIVE_CALM = Base(0.05, 0.0, (100, 1.0))
COVERED_MIN = 0.93

pytestmark = [pytest.mark.weighs, pytest.mark.long]


@dataclass(frozen=True)
class Outcomes:
    """The results of searches that differ in their seed."""

    intervals: list[Interval]
    truth: float

    @property
    def covered(self) -> float:
        """How often the interval held the truth."""
        return self._share(lambda each: each.low <= self.truth <= each.high)

    def near(self, factor: float) -> float:
        """How often the whole interval lay within `factor` of the truth."""
        least, most = self.truth * (1 - factor), self.truth * (1 + factor)
        return self._share(lambda each: least <= each.low and each.high <= most)

    @property
    def half_width(self) -> float:
        """The median of half the width of the interval, as a share."""
        return float(np.median([math.log(each.high / each.low) / 2 for each in self.intervals]))

    def _share(self, holds: object) -> float:
        return sum(map(holds, self.intervals)) / len(self.intervals)  # type: ignore[call-overload]


def searched(
    server: Server,
    truth: float,
    guess: float,
    searches: int,
    *,
    limit_s: float = 0.25,
    share: float = 0.01,
    starts: float = 0.0,
    calm: Base | None = None,
) -> Outcomes:
    """Run searches of 60 s; `starts`: spread of the capacity over starts."""
    intervals = []
    for seed in range(searches):
        factors = np.exp(np.random.default_rng(seed).normal(0, starts, 40)) if starts else ()
        search = Search(server, guess, limit_s, seed, share=share, starts=tuple(factors), calm=calm)
        found = search.run()
        assert search.ending == "found" and found is not None
        intervals.append(found.posterior.interval)
    return Outcomes(intervals, truth)


def test_the_long_run_breaking_point_of_five_workers() -> None:
    noise = np.random.default_rng(1)
    shares = [
        share_beyond(FIVE_WORKERS, load, 0.25, noise, 3_000_000) for load in (88.5, FIVE_BREAK_AT, 90.5)
    ]
    assert shares[0] < 0.009 < shares[1] < 0.0112 < shares[2]


def test_nine_of_ten_one_minute_searches_find_five_workers_to_a_tenth() -> None:
    found = searched(FIVE_WORKERS, FIVE_BREAK_AT, 100.0, 60, calm=FIVE_CALM)
    assert found.near(0.1) >= 0.9
    assert found.covered >= COVERED_MIN


@pytest.mark.parametrize(
    ("server", "truth", "guess", "limit_s", "half_width"),
    [
        (single(1_000.0), 1_000 - math.log(100) / 0.25, 1_000.0, 0.25, 0.06),
        (single(1_000.0), 1_000 - math.log(100) / 0.05, 1_000.0, 0.05, 0.07),
        (even(1, 0.01), 91.0, 100.0, 0.25, 0.09),
        (unsteady(FIVE_WORKERS, 0.03), FIVE_BREAK_AT, 100.0, 0.25, 0.08),
        (at_times(lambda load: min(1.0, 0.01 * (load / 200) ** 6)), 200.0, 400.0, 0.25, 0.14),
        (at_times(lambda load: 0.3 if load > 200 else 0.0005), 200.0, 300.0, 0.25, 0.12),
    ],
    ids=["M/M/1", "M/M/1 short", "M/D/1", "unsteady", "slow rise", "cliff"],
)
def test_the_interval_contains_the_lasting_load_and_is_narrow(
    server: Server, truth: float, guess: float, limit_s: float, half_width: float
) -> None:
    found = searched(server, truth, guess, 20, limit_s=limit_s)
    # If nine in ten intervals held, which is less than required, two or more of twenty would often miss.
    assert found.covered >= 0.85
    # An interval of any load would hold the truth as well, so its width is bounded.
    assert found.half_width <= half_width


@pytest.mark.parametrize(
    ("server", "limit_s", "share", "guess"),
    [
        (single(100.0), 0.1, 0.01, 100.0),
        (even(5, 0.05), 0.15, 0.05, 100.0),
    ],
    ids=["one worker of 10 ms", "a limit of three answers' times"],
)
def test_if_few_requests_fit_into_the_limit_the_interval_is_wide_and_right(
    server: Server, limit_s: float, share: float, guess: float
) -> None:
    truth = lasting(server, limit_s, share, guess)
    found = searched(server, truth, guess, 20, limit_s=limit_s, share=share)
    assert found.covered >= 0.85


def lasting(server: Server, limit_s: float, share: float, capacity: float) -> float:
    """The load at which `share` of the requests take longer than `limit_s` in the long run."""
    low, high = 0.1 * capacity, capacity
    for _ in range(10):
        middle = (low + high) / 2
        beyond = share_beyond(server, middle, limit_s, np.random.default_rng(1), 400_000)
        low, high = (middle, high) if beyond < share else (low, middle)
    return low


@pytest.mark.parametrize(("limit_s", "takes_s", "power"), [(0.5, 1.5, 3), (1.0, 2.0, 3), (2.0, 5.0, 6)])
def test_slow_answers_that_arrive_late_are_counted(limit_s: float, takes_s: float, power: int) -> None:
    server = at_times(lambda load: min(1.0, 0.01 * (load / 200) ** power), takes_s)
    found = searched(server, 200.0, 400.0, 20, limit_s=limit_s)
    assert found.covered >= 0.85


def test_a_server_that_is_slow_at_any_load_never_holds() -> None:
    search = Search(at_times(lambda _: 0.05, 2.0), 1_000.0, 1.0, 1)
    search.run()
    assert search.ending == "never"


def test_starts_with_different_breaking_points_widen_the_interval() -> None:
    alike = searched(single(1_000.0), 982.0, 1_000.0, 8, starts=0.001)
    apart = searched(single(1_000.0), 982.0, 1_000.0, 24, starts=0.04)
    assert apart.covered >= 0.87
    assert apart.half_width > 1.2 * alike.half_width
