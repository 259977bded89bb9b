"""The moderated t: known answers, missing trials, limits of borrowing. test_simulation.py tests coverage."""

import math

import numpy as np
import pytest
from crumple.stats import shares
from crumple.stats.estimate import NO_PRIOR, Prior, of_values
from crumple.stats.interval import Interval
from crumple.stats.moderated import of_two, prior, visible
from scipy.stats import sem, t

LOGS = [0.10, 0.12, 0.08, 0.11, 0.09]


def rows(spreads: list[float], blocks: int, seed: int = 1, swing: float = 0.0) -> list[dict[int, float]]:
    random = np.random.default_rng(seed)
    shared = random.normal(0, swing, blocks)
    return [dict(enumerate(shared + random.normal(0, spread, blocks))) for spread in spreads]


def test_without_a_prior_it_is_students_t() -> None:
    low, high = t.interval(0.95, 4, loc=np.mean(LOGS), scale=sem(LOGS))
    found = of_values(LOGS, NO_PRIOR).interval(0.95)
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_the_moments_recover_the_variance_and_how_alike_servers_are() -> None:
    """Two hundred servers whose variances are drawn from the model with 8 degrees of freedom."""
    random = np.random.default_rng(2)
    spreads = list(np.sqrt(0.0025 * 8 / random.chisquare(8, 200)))
    found = prior(rows(spreads, 5, seed=3))
    assert found.variance == pytest.approx(0.0025, rel=0.15)
    assert 4 <= found.freedom <= 16
    assert prior(rows([0.05] * 200, 5)).freedom > 30
    assert prior(rows([0.01, 0.1] * 100, 5)).freedom < 2


def test_differences_between_blocks_are_no_noise() -> None:
    still, moving = (prior(rows([0.05] * 6, 8, swing=swing)) for swing in (0.0, 0.5))
    assert moving.variance == pytest.approx(still.variance)
    assert 0.001 < still.variance < 0.005


def test_missing_trials_are_no_noise() -> None:
    whole = rows([0.02] * 6, 6, swing=0.5)
    gaps = [
        {block: value for block, value in row.items() if (block + at) % 6} for at, row in enumerate(whole)
    ]
    found = prior(gaps)
    assert found.variance == pytest.approx(prior(whole).variance, rel=0.6)


def test_too_few_trials_give_no_prior() -> None:
    assert prior([]) == NO_PRIOR
    assert prior([{1: 0.1, 2: 0.2}]) == NO_PRIOR
    assert prior([{1: 0.1}, {1: 0.2}, {1: 0.3}]) == NO_PRIOR
    assert prior([{1: 0.1, 2: 0.1}] * 4) == NO_PRIOR
    apart = [{1: 0.1, 2: 0.2}, {1: 0.3}, {2: 0.1}, {3: 0.2, 4: 0.5}, {3: 0.1}, {4: 0.3}]
    assert prior(apart) == NO_PRIOR
    # Two servers that share blocks have only their difference, which does not show whose noise it is.
    assert prior(rows([0.05, 0.05], 5)).freedom == 0


def test_borrowing_is_limited_and_never_narrows_the_spread() -> None:
    free = of_values(LOGS, Prior(1e-8, math.inf))
    assert free.freedom == 8
    assert free.spread == pytest.approx(np.std(LOGS, ddof=1))
    wide = of_values(LOGS, Prior(0.04, math.inf))
    assert wide.spread == pytest.approx(math.sqrt((0.04 + np.var(LOGS, ddof=1)) / 2))


def test_two_blocks_have_a_narrower_interval_with_a_prior() -> None:
    alone, beside = (of_values([0.1, 0.12], known).interval(0.95) for known in (NO_PRIOR, Prior(1e-4, 9.0)))
    assert beside.high / beside.low < alone.high / alone.low


def test_one_block_has_no_interval() -> None:
    assert of_values([0.0], Prior(0.01, 5.0)).interval(0.95) == Interval(1.0, 0.0, math.inf, 0.95, 1)
    assert of_values([0.0], Prior(0.01, 5.0)).blocks_needed(1.1, lambda _: 0.95) is None


def test_the_visible_difference_shrinks_with_more_blocks() -> None:
    pair = of_two(Prior(0.0025, 6.0), Prior(0.0025, 4.0))
    assert pair == Prior(0.005, 4.0)
    seen = [visible(pair, blocks, 0.95) or 0.0 for blocks in (2, 3, 5, 10)]
    assert seen == sorted(seen, reverse=True)
    assert visible(NO_PRIOR, 5, 0.95) is None
    assert visible(pair, 1, 0.95) is None


def test_the_rule_of_three() -> None:
    low, high = shares.exact_interval(0.0, 60, 0.95)
    assert (low, high) == (0.0, pytest.approx(0.0596, abs=1e-4))
    assert shares.exact_interval(1.0, 60, 0.95) == (pytest.approx(1 - 0.0596, abs=1e-4), 1.0)
    assert shares.exact_interval(0.0, 0, 0.95) == (0.0, 1.0)
    assert shares.requests_needed(0.001, 0.95) == 3688
    assert shares.exact_interval(0.0, 3688, 0.95)[1] <= 0.001 < shares.exact_interval(0.0, 3600, 0.95)[1]


def test_the_interval_of_a_share_is_never_narrower_than_that_of_its_starts() -> None:
    of_starts = Interval(0.05, 0.01, 0.09, 0.95, 5)
    assert shares.widen(of_starts, 1_000_000) == of_starts
    few = shares.widen(of_starts, 40)
    assert few.low < 0.01 and few.high > 0.09
