"""The chart of a diagnosis on its page: the mean response time by stages. Pure."""

from typing import Any

import altair as alt

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.drawing import theme
from crumple.drawing.page import Chart
from crumple.record.stages import WORDS, Budget, Name

ROW_PX = 46
# Waiting in front of the server is warm, what the server does is green, the rest is grey.
COLOURS: dict[Name, str] = {
    "due": theme.CONTEXT,
    "not_accepted": theme.FAMILIES["java"],
    "unsent": theme.CONTEXT,
    "unread": theme.FAMILIES["php"],
    "inside": theme.FAMILIES["javascript"],
    "returning": theme.FAMILIES["go"],
    "unknown": theme.MUTED,
}


def time_by_stages(diagnosis: Diagnosis, width_px: int) -> alt.TopLevelMixin | None:
    """A bar for each load, a piece of it for each stage."""
    rows = _rows(diagnosis)
    if not rows:
        return None
    used = [name for name in WORDS if any(row["stage"] == WORDS[name] for row in rows)]
    colour = alt.Color(
        "stage:N",
        scale=alt.Scale(domain=[WORDS[name] for name in used], range=[COLOURS[name] for name in used]),
        legend=alt.Legend(title=None, orient="top", labelColor=theme.INK, offset=4),
    )
    longest = max(row["to"] for row in rows)
    x = alt.X(
        "from:Q",
        title="mean response time in ms",
        scale=alt.Scale(domain=[0, 1.02 * longest], nice=False),
        axis=alt.Axis(values=theme.round_ticks(0, longest, 5), format=",~r", grid=False),
    )
    loads = list(dict.fromkeys(row["load"] for row in rows))
    chart = (
        alt.Chart(theme.rows(rows))
        .mark_bar(size=22)
        .encode(x=x, x2="to:Q", y=alt.Y("load:N", title=None, sort=loads), color=colour)
    )
    return theme.fitted(chart, width_px, ROW_PX * len(loads))


CHARTS = (
    Chart(
        "time-by-stages",
        "Where the time goes",
        "The mean response time, by where requests were found: waiting to be accepted, not read, inside the "
        "server, or on the way back.",
        time_by_stages,
    ),
)


def _rows(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    rows = []
    for load, budget in say.budgets(diagnosis):
        if not isinstance(budget, Budget):
            continue
        at = 0.0
        for part in budget.parts:
            ms = part.mean_ns / 1e6
            if ms > 0:
                rows.append({"load": load, "stage": WORDS[part.name], "from": at, "to": at + ms})
            at += ms
    return rows
