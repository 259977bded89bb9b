"""Whether what is turned away depends on the load, and how much is let through: by simulated servers."""

import random
from collections.abc import Callable

import pytest
from crumple.record import let_through
from simulated_limiters import Server, bucket, by_chance, fixed, leaky, load, sliding

LOADS = ("poisson", "even", "closed")
# The rate that each limiter lets through in the long run.
LIMITERS: dict[str, tuple[float, Callable[[random.Random], Server]]] = {
    "a bucket as large as its rate": (200, lambda _: bucket(200, 200)),
    "a small bucket": (200, lambda _: bucket(200, 20)),
    "a slow bucket": (20, lambda _: bucket(20, 20)),
    "a leaky bucket with a delay": (100, lambda _: leaky(100, 50)),
    "a window of a second": (300, lambda rng: fixed(300, 1.0, rng.random())),
    "a window of a quarter": (200, lambda rng: fixed(50, 0.25, rng.random())),
    "a window of 1.3 s": (200, lambda rng: fixed(260, 1.3, rng.random())),
    "a sliding window of a second": (300, lambda _: sliding(300, 1.0)),
}
TRIED = 100


def seen(
    make: Callable[[random.Random], Server], per_s: float, at: int, seconds: float
) -> let_through.LetThrough:
    """What load number `at` of such a server shows."""
    rng = random.Random(at)
    return let_through.judge(load(make(rng), LOADS[at % 3], per_s, seconds, rng))


@pytest.mark.parametrize("times", [1.5, 5.0])
@pytest.mark.parametrize("name", LIMITERS)
def test_the_interval_holds_the_rate_of_95_in_100_limiters(name: str, times: float) -> None:
    rate, make = LIMITERS[name]
    # Of few requests more time is needed.
    found = [seen(make, times * rate, at, max(1_600 / rate, 6.0) + at % 5) for at in range(TRIED)]
    shown = [each.rate for each in found if each.rate is not None]
    assert sum(each.by_number for each in found) >= 0.95 * TRIED
    assert len(shown) >= 0.95 * TRIED
    assert sum(each.low <= rate <= each.high for each in shown) >= 0.95 * len(shown)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("per_s", "tried"), [(100.0, TRIED), (300.0, 50), (1_000.0, 20)])
def test_a_share_by_chance_is_no_limiter(share: float, per_s: float, tried: int) -> None:
    found = [seen(lambda rng: by_chance(share, rng), per_s, at, 3.0 + at % 10) for at in range(tried)]
    assert not any(each.by_number for each in found)


def test_a_bucket_of_one_lets_every_third_of_even_requests_through() -> None:
    found = let_through.judge(load(bucket(100, 1), "even", 290, 5.0, random.Random(1)))
    assert found.by_number and found.rate is not None
    assert found.rate.low <= 290 / 3 <= found.rate.high


def test_a_load_shorter_than_a_few_windows_shows_no_rate_that_excludes_the_truth() -> None:
    for at in range(TRIED):
        rng = random.Random(at)
        serve = fixed(3_000, 10.0, 10 * rng.random())
        found = let_through.judge(load(serve, LOADS[at % 3], 900, 3.0 + at % 15, rng)).rate
        assert found is None or found.low <= 300 <= found.high


def test_the_burst_is_in_no_rate() -> None:
    found = let_through.judge(load(bucket(200, 1_000), "poisson", 600, 5.0, random.Random(1)))
    assert found.rate is not None and found.rate.high < 220
