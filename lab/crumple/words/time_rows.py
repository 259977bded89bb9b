"""Rows of time budgets: the mean response time of each load or server, divided. Pure.

The pages of `load`, `find`, `run` and `diagnose` share them.
"""

from collections.abc import Sequence
from dataclasses import replace

from crumple.drawing import numerals, theme
from crumple.drawing.plot import ChartKey, ChartRow, Picture, RowChart, Segment, picture
from crumple.drawing.scale import AxisScale, time_axis
from crumple.limit.finding import Cause, Finding
from crumple.record.flow import WORDS, StageTime
from crumple.record.inside import Divided
from crumple.record.stages import Budget
from crumple.words import time_sentences

# The least share of its bar with which a part is named by a key; a smaller one shows its name where a reader
# points at it.
KEY_SHARE_MIN = 0.02
# The share of the axis that stays free between two parts, so that two of one colour are told apart: less than
# a pixel of a page.
APART = 0.001
# The axis ends this factor beyond the longest bar.
HEAD_ROOM = 1.02
# What a request waits for inside the server where only the cause that is named tells it from other waits.
WAITS_FOR: dict[Cause, str] = {"gate": "a gate", "connection-pool": "a connection of its pool"}
ABOUT = (
    "Where a request spends its time, on average. Otherwise inside: in the server, while it neither used CPU "
    "nor waited for anything that can be read."
)


def rows(budgets: Sequence[tuple[str, Budget]]) -> Picture | None:
    """Return a row for each budget under its name, a piece of it for each part; None: there is nothing."""
    shown = [(name, budget) for name, budget in budgets if any(part.mean_ns > 0 for part in budget.shown)]
    if not shown:
        return None
    scale = AxisScale(0.0, HEAD_ROOM * max(budget.measured_ns for _, budget in shown))
    drawn = RowChart(time_axis(scale), [_row(name, budget, scale) for name, budget in shown])
    return picture(drawn, _says(shown), keys([budget for _, budget in shown]))


def with_limit(budget: Budget, first: Finding | None) -> Budget:
    """Return the budget with the wait for what limits the server as a part of its own, if that is inside."""
    if first is None or first.cause not in WAITS_FOR or not first.share_s:
        return budget
    waits = 1e9 * first.share_s, WAITS_FOR[first.cause]
    if isinstance(budget.inside, Divided):
        return replace(budget, inside=replace(budget.inside, pieces=_split(budget.inside.pieces, *waits)))
    return replace(budget, parts=_split(budget.parts, *waits))


def _split(parts: Sequence[StageTime], waits_ns: float, what: str) -> tuple[StageTime, ...]:
    """Return parts of which the one that holds the wait is two."""
    found: list[StageTime] = []
    for part in parts:
        if part.name not in ("otherwise", "inside"):
            found.append(part)
            continue
        taken_ns = min(waits_ns, part.mean_ns)
        low_ns, high_ns = (max(0.0, end - taken_ns) for end in (part.low_ns, part.high_ns))
        found.append(StageTime("dependency", taken_ns, taken_ns, taken_ns, part.readings, what))
        found.append(replace(part, mean_ns=part.mean_ns - taken_ns, low_ns=low_ns, high_ns=high_ns))
    return tuple(found)


def keys(budgets: Sequence[Budget]) -> list[ChartKey]:
    """Return what the colours stand for: each part that is not too small in some bar, in their order."""
    parts = {
        part.words: part
        for budget in budgets
        for part in budget.shown
        if part.mean_ns >= KEY_SHARE_MIN * budget.measured_ns
    }
    order = list(WORDS)
    used = sorted(parts.items(), key=lambda named: order.index(named[1].name))
    return [ChartKey(words, theme.PARTS[part.name]) for words, part in used]


def _row(name: str, budget: Budget, scale: AxisScale) -> ChartRow:
    marks, at_ns, apart_ns = [], 0.0, APART * scale.high
    for part in budget.shown:
        if part.mean_ns > 0:
            long = time_sentences.part_of(budget, part)
            end_ns = at_ns + part.mean_ns
            marks.append(
                Segment(
                    at_ns,
                    max(end_ns - apart_ns, at_ns),
                    theme.PARTS[part.name],
                    f"{part.words} {long} of {numerals.duration(budget.measured_ns)}",
                    f"{part.words} {long}",
                )
            )
            at_ns = end_ns
    return ChartRow(name, marks, numerals.duration(budget.measured_ns))


def _says(budgets: Sequence[tuple[str, Budget]]) -> str:
    said = []
    for name, budget in budgets:
        most = max(budget.shown, key=lambda part: part.mean_ns)
        whole = numerals.duration(budget.measured_ns)
        part = f"{time_sentences.part_of(budget, most)} of {whole} {most.words}"
        said.append(f"{name}: {part}" if name else part)
    return "; ".join(said)
