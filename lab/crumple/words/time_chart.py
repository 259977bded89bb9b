"""Bars of time budgets: the mean response time of each load or server, divided. Pure.

The pages of `load`, `find`, `run` and `diagnose` share them.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from crumple.drawing import theme
from crumple.record.flow import WORDS, Name, StageTime
from crumple.record.stages import Budget

# In pixels, the height of a row, and of the bar in it.
ROW_PX, BAR_PX = 34, 20
# The width of an entry of the legend.
ENTRY_PX = 165
# Nanoseconds in a millisecond.
MS_NS = 1e6
# Waiting in front of the server is warm, what the server does is green and blue, the rest is grey.
COLOURS: dict[Name, str] = {
    "due": theme.MUTED,
    "not_accepted": theme.FAMILIES["java"],
    "unsent": theme.GRID,
    "unread": theme.FAMILIES["php"],
    "inside": theme.FAMILIES["javascript"],
    "user": theme.FAMILIES["javascript"],
    "kernel": theme.FAMILIES["csharp"],
    "cpu": theme.FAMILIES["javascript"],
    "ready": theme.FAMILIES["python"],
    "disk": theme.FAMILIES["rust"],
    "dependency": theme.FAMILIES["go"],
    "otherwise": theme.FAMILIES["other"],
    "returning": theme.CONTEXT,
    "unknown": theme.GRID,
}
ABOUT = (
    "The mean response time, by where requests were found: not accepted, unread, inside the server, or "
    "returning. The time inside is divided by what the server did in it: the CPU time that it used, how "
    "many of its threads were ready to run or waited for a disk, and how many of its connections waited for "
    "an answer."
)


def bars(
    budgets: Sequence[tuple[str, Budget]], width_px: int, title: str = "mean response time in ms"
) -> alt.TopLevelMixin | None:
    """A bar for each budget under its label, a piece of it for each part; None: there is nothing to draw."""
    rows, parts = _rows(budgets)
    if not rows:
        return None
    order = list(WORDS)
    used = sorted(parts.items(), key=lambda part: order.index(part[1].name))
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=[words for words, _ in used], range=[COLOURS[part.name] for _, part in used]),
        legend=alt.Legend(
            title=None,
            orient="top",
            labelColor=theme.INK,
            offset=4,
            columns=max(1, width_px // ENTRY_PX),
            labelLimit=ENTRY_PX,
        ),
    )
    longest = max(row["to"] for row in rows)
    x = alt.X(
        "from:Q",
        title=title,
        scale=alt.Scale(domain=[0, 1.02 * longest], nice=False),
        axis=alt.Axis(values=theme.round_ticks(0, longest, 5), format=",~r", grid=False),
    )
    labels = list(dict.fromkeys(row["label"] for row in rows))
    chart = (
        alt.Chart(theme.rows(rows))
        .mark_bar(size=BAR_PX, stroke=theme.PAPER, strokeWidth=0.5)
        .encode(x=x, x2=alt.X2("to:Q"), y=alt.Y("label:N", title=None, sort=labels), color=colour)
    )
    return theme.fitted(chart, width_px, ROW_PX * len(labels))


def _rows(budgets: Sequence[tuple[str, Budget]]) -> tuple[list[dict[str, Any]], dict[str, StageTime]]:
    """The pieces of all bars, and each kind of part that has one."""
    rows: list[dict[str, Any]] = []
    parts: dict[str, StageTime] = {}
    seen: list[str] = []
    for given, budget in budgets:
        # Vega puts bars with the same label on top of each other; a space without width tells them apart.
        label = given + "\u200b" * seen.count(given)
        seen.append(given)
        at_ms = 0.0
        for part in budget.shown:
            ms = part.mean_ns / MS_NS
            if ms > 0:
                rows.append({"label": label, "part": part.words, "from": at_ms, "to": at_ms + ms})
                parts.setdefault(part.words, part)
            at_ms += ms
    return rows, parts
