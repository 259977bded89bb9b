"""Compares breaking points: two searches by their intervals, sets of searches by how they scatter. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from crumple.stats.decision import differs
from crumple.stats.estimate import of_two_samples
from crumple.stats.interval import CONFIDENCE, SEVERAL, Interval
from crumple.verdict import comparison, machines
from crumple.verdict.comparison import ANOTHER, BEYOND_CHANCE, WITHIN_CHANCE, Comparison, Difference
from crumple.verdict.sides import Place

METRIC = "breaking_point"
ONE_START = (
    "a search of a running server sees one start of it, and starts may differ by more than its interval; "
    "compare several searches of each"
)


@dataclass(frozen=True)
class BreakingPoint:
    """The breaking point of one search."""

    name: str
    point: Interval | None
    """The breaking point; None: the search found none."""
    starts: int
    """How many starts of the server its interval covers."""
    asked: str
    """What was asked of which server."""
    terms: Mapping[str, Any]
    """Everything that has to be the same for a comparison to make sense, by its name."""
    machine: Mapping[str, Any]
    by_rate: bool = True
    """Whether it is a number of requests per second; else of connections."""


def compare(
    before: Sequence[BreakingPoint], after: Sequence[BreakingPoint], *, any_machine: bool = False
) -> Comparison:
    """Return how the breaking point changed. The machine is that of the last search of each side."""
    other = machines.machine_differences(before[-1].machine, after[-1].machine)
    place = ("find", after[-1].asked)
    if other and not any_machine:
        found = Difference(*place, METRIC, None, None, "not known", ANOTHER)
    else:
        found = _difference(place, before, after)
    return Comparison(
        before=_side_name(before),
        after=_side_name(after),
        differences=(replace(found, was=middle(before), now=middle(after)),),
        verdicts={},
        cautions=tuple(_cautions(before, after, list(other.values()))),
        other_machine=tuple(other.values()),
    )


def ratio_of_two(after: Interval, before: Interval) -> Interval:
    """Return the ratio of two independent estimates by their own intervals, on logarithms.

    By Zou and Donner's method of variance estimates recovery (Statistics in Medicine 27, 2008).
    """
    (a, a_low, a_high), (b, b_low, b_high) = (
        [math.log(value) for value in (each.estimate, each.low, each.high)] for each in (after, before)
    )
    middle = a - b
    low = middle - math.hypot(a - a_low, b_high - b)
    high = middle + math.hypot(a_high - a, b - b_low)
    return Interval(math.exp(middle), math.exp(low), math.exp(high), CONFIDENCE, 1)


def _difference(place: Place, before: Sequence[BreakingPoint], after: Sequence[BreakingPoint]) -> Difference:
    was = [each.point for each in before if each.point is not None]
    now = [each.point for each in after if each.point is not None]
    if not was or not now:
        lacks = "before" if not was else "after"
        return Difference(*place, METRIC, None, None, "not known", f"no breaking point was found {lacks}")
    if _terms(before) != _terms(after):
        return Difference(*place, METRIC, None, None, "not known", "the searches asked different things")
    if max(len(was), len(now)) > 1:
        values = [each.estimate for each in now], [each.estimate for each in was]
        estimate = of_two_samples(*values)
        return _name_change(place, estimate.interval(), estimate.visible(CONFIDENCE))
    ratio = ratio_of_two(now[0], was[0])
    if min(each.starts for each in (*before, *after)) < SEVERAL:
        return Difference(*place, METRIC, ratio, None, "not known", ONE_START)
    return _name_change(place, ratio, None)


def _name_change(place: Place, ratio: Interval, visible: float | None) -> Difference:
    if not differs(ratio):
        return Difference(*place, METRIC, ratio, visible, "as before", WITHIN_CHANCE)
    # The higher the load that a server holds, the better.
    change: comparison.ChangeWord = "faster" if ratio.estimate > 1 else "slower"
    return Difference(*place, METRIC, ratio, visible, change, BEYOND_CHANCE)


def _terms(side: Sequence[BreakingPoint]) -> Mapping[str, Any]:
    return side[-1].terms


def _cautions(
    before: Sequence[BreakingPoint], after: Sequence[BreakingPoint], other: Sequence[str]
) -> list[str]:
    cautions = [f"{ANOTHER}: {how}" for how in other]
    cautions += machines.other_way(before[-1].machine, after[-1].machine)
    was, now = _terms(before), _terms(after)
    cautions += [f"{name} was {was[name]}, is {now[name]}" for name in was if was[name] != now.get(name)]
    if before[-1].asked != after[-1].asked:
        cautions.append(f"the server is another: {before[-1].asked}, now {after[-1].asked}")
    return cautions


def _side_name(side: Sequence[BreakingPoint]) -> str:
    return side[-1].name if len(side) == 1 else f"{len(side)} searches (the last: {side[-1].name})"


def middle(side: Sequence[BreakingPoint]) -> float | None:
    """Return the geometric mean of the breaking points of a side; None: none was found."""
    found = [math.log(each.point.estimate) for each in side if each.point is not None]
    return math.exp(fmean(found)) if found else None
