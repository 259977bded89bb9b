"""Means of values that several hosts measured. Pure.

A figure of one server rests on its host: the starts of one host have in common what that host does to them,
and do not show how much hosts differ. So the interval of a figure is that of one value for each host, its
mean. Where two figures of one host are divided by each other, what the host does to both cancels, and the
interval is that of the blocks. But if servers differ from one another otherwise on one host than on another,
by more than chance, ratios have one value for each host, too.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeVar

from crumple.stats import averages, beta, estimate
from crumple.stats.estimate import NO_PRIOR, VARIANCE_MIN, Estimate, Prior
from crumple.stats.interval import CONFIDENCE, Interval

# How likely servers are said to differ from host to host that do not (an analysis of variance: Fisher's F).
# For a test that decides whether to pool, Bancroft advises so large a share (Biometrics 20, 1964). On two
# hosts that change a server by half of the noise of a start, the intervals of ratios then hold in 92 % of
# studies, and with a tenth in 90 %. A larger share would more often cost hosts that are alike what their
# blocks show.
DIFFER_BY_CHANCE = 0.25
Each = TypeVar("Each")


def parts(values: Sequence[Each], hosts: Sequence[str]) -> list[list[Each]]:
    """Return the values of each host, by the first value of each; without `hosts` all are of one."""
    found: dict[str, list[Each]] = {}
    for value, host in zip(values, hosts or [""] * len(values), strict=True):
        found.setdefault(host, []).append(value)
    return [*found.values()]


def means(values: Sequence[float], hosts: Sequence[str]) -> list[float]:
    """Return the mean of each host, in the order of `parts`."""
    return [fmean(each) for each in parts(values, hosts)]


def of_values(
    values: Sequence[float],
    hosts: Sequence[str],
    own: Prior = NO_PRIOR,
    *,
    logarithmic: bool = True,
    follow_skew: bool = False,
) -> Estimate:
    """Return the mean of several hosts from one value of each. `hosts`: that of each of the values.

    `own`: the prior of one host's value. `n` still counts the values, so that a forecast of blocks expects as
    many hosts for each.
    """
    each = means(values, hosts)
    found = estimate.of_values(each, own, logarithmic=logarithmic, follow_skew=follow_skew)
    return replace(found, n=len(values), spread=found.spread * math.sqrt(len(values) / len(each)))


def differ(rows: Sequence[Sequence[float]], hosts: Sequence[str]) -> bool:
    """Return whether servers differ from one another otherwise on one host than on another, beyond chance.

    `rows`: for each server a value in each block; of one row, whether its values differ between hosts.
    `hosts`: that of each block. False where each host has one block: then nothing shows how much those of
    one differ.
    """
    kinds, servers = len({*hosts}), max(1, len(rows) - 1)
    few, many = servers * (kinds - 1), servers * (len(hosts) - kinds)
    if not few or not many:
        return False
    blocks = [fmean(block) for block in zip(*rows, strict=True)] if len(rows) > 1 else [0.0] * len(hosts)
    between, within = 0.0, 0.0
    for row in rows:
        left = [value - block for value, block in zip(row, blocks, strict=True)]
        middle = fmean(left)
        for of_host in parts(left, hosts):
            between += len(of_host) * (fmean(of_host) - middle) ** 2
            within += averages.variance(of_host) * (len(of_host) - 1)
    if within <= VARIANCE_MIN * many:
        return between > VARIANCE_MIN * few
    return beta.incomplete(many / 2, few / 2, within / (within + between)) < DIFFER_BY_CHANCE


def geometric_mean(values: Sequence[float], hosts: Sequence[str], confidence: float = CONFIDENCE) -> Interval:
    """Return the geometric mean, in the unit of `values`. Raises ValueError as `estimate.logarithms`."""
    if len({*hosts}) < 2:
        return estimate.geometric_mean(values, confidence)
    return of_values(estimate.logarithms(values), hosts, follow_skew=True).interval(confidence)
