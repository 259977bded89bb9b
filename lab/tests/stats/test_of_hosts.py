"""Means over several hosts: one value for each host, unless what is compared is of one host anyway."""

import math
from statistics import fmean

import numpy as np
import pytest
from crumple.stats import estimate, of_hosts
from scipy import stats

A, B, C = "a", "b", "c"
HOSTS = (A, A, A, B, B, C)
VALUES = (1.0, 1.2, 0.8, 3.0, 3.4, 7.0)


def test_the_interval_over_hosts_is_that_of_one_mean_of_each() -> None:
    found, means = of_hosts.of_values(VALUES, HOSTS, logarithmic=False), [1.0, 3.2, 7.0]
    assert found.centre == pytest.approx(fmean(means)) and found.n == len(VALUES)
    ends = stats.t.interval(0.95, 2, loc=fmean(means), scale=stats.sem(means))
    assert [found.interval().low, found.interval().high] == pytest.approx([*ends])


@pytest.mark.parametrize("hosts", [(A, B, C, "d"), ()])
def test_with_one_value_for_each_host_or_a_single_host_nothing_changes(hosts: tuple[str, ...]) -> None:
    values = [100.0, 104.0, 98.0, 103.0]
    assert of_hosts.geometric_mean(values, hosts) == estimate.geometric_mean(values)
    assert of_hosts.geometric_mean(values, (A,) * 4) == estimate.geometric_mean(values)


def test_whether_values_differ_between_hosts_is_asked_of_fishers_f() -> None:
    random = np.random.default_rng(1)
    near = 0
    for size in np.linspace(0, 2, 400):
        rows = [random.normal(0, 1, 4), random.normal(size, 1, 3), random.normal(-size, 1, 5)]
        values = [float(value) for row in rows for value in row]
        hosts = [name for name, row in zip((A, B, C), rows, strict=True) for _ in row]
        chance = stats.f_oneway(*rows).pvalue
        near += 0.1875 < chance < 0.3125
        assert of_hosts.differ([values], hosts) == (chance < 0.25), chance
    # A change of the limit by a quarter shows, too.
    assert near > 5


@pytest.mark.parametrize(
    ("values", "hosts", "differ"),
    [
        ([1.0, 2.0], (A, B), False),  # nothing shows how much the values of one host differ
        ([1.0, 2.0, 3.0], (A, A, A), False),
        ([1.0, 1.0, 2.0, 2.0], (A, A, B, B), True),
        ([1.0, 1.0, 1.0, 1.0], (A, A, B, B), False),
    ],
)
def test_values_that_do_not_scatter(values: list[float], hosts: tuple[str, ...], differ: bool) -> None:
    assert of_hosts.differ([values], hosts) == differ


def test_what_a_block_or_a_host_does_to_all_servers_is_no_difference() -> None:
    random, hosts = np.random.default_rng(3), [A] * 4 + [B] * 4
    rows = random.normal(0, 1, (3, 8))
    assert not of_hosts.differ(rows.tolist(), hosts)
    shared = rows + np.repeat([5.0, -5.0], 4) + random.normal(0, 9, 8)
    assert not of_hosts.differ(shared.tolist(), hosts)
    shared[0, :4] += 5
    assert of_hosts.differ(shared.tolist(), hosts)


def test_hosts_that_are_alike_are_called_different_in_one_case_of_four() -> None:
    random, hosts = np.random.default_rng(2), [A] * 3 + [B] * 3 + [C] * 3
    called = [of_hosts.differ(random.normal(0, 1, (4, 9)).tolist(), hosts) for _ in range(4_000)]
    assert math.isclose(np.mean(called), 0.25, abs_tol=0.02)
