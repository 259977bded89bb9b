"""The charts of a diagnosis on its page: the mean response time by stages, and what 10 % more gives. Pure."""

import altair as alt

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report import tenths
from crumple.drawing import theme
from crumple.drawing.page import Chart
from crumple.record.stages import Budget
from crumple.words import time_chart


def time_by_stages(diagnosis: Diagnosis, width_px: int) -> alt.TopLevelMixin | None:
    """A bar for each load, a piece of it for each part."""
    found = say.budgets(diagnosis)
    bars = [(say.load(record), budget) for _, record, budget in found if isinstance(budget, Budget)]
    return time_chart.bars(bars, width_px)


def gains(diagnosis: Diagnosis, width_px: int) -> alt.TopLevelMixin | None:
    """A bar for each part of the server, from the least gain to the greatest."""
    found = tenths.of(diagnosis.facts, diagnosis.said)
    rows = [
        {"part": each.what, "from": start, "to": end, "gain": gain}
        for each in found
        for start, end, gain in ((0.0, each.low, "at least"), (each.low, each.high, "at most"))
    ]
    if not rows:
        return None
    colour = alt.Color(
        "gain:N",
        scale=alt.Scale(domain=["at least", "at most"], range=[theme.FAMILIES["javascript"], theme.CONTEXT]),
        legend=alt.Legend(title=None, orient="top", labelColor=theme.INK, offset=4),
    )
    most = max(tenths.TENTH, *(each.high for each in found))
    x = alt.X(
        "from:Q",
        title="more answers per second",
        scale=alt.Scale(domain=[0, 1.05 * most], nice=False),
        axis=alt.Axis(format="+.0%", tickCount=5, grid=False),
    )
    chart = (
        alt.Chart(theme.rows(rows))
        .mark_bar(size=time_chart.BAR_PX)
        .encode(x=x, x2=alt.X2("to:Q"), y=alt.Y("part:N", title=None, sort=None), color=colour)
    )
    return theme.fitted(chart, width_px, time_chart.ROW_PX * len(found))


GAINS_ABOUT = (
    "What 10 % more of each part of the server would give (of a dependency and of CPU time: 10 % less), "
    "computed from what was measured. Between the ends of a bar lie requests that take even times and those "
    "whose times vary at random, and the causes that are left."
)
CHARTS = (
    Chart("time-by-stages", "Where the time goes", time_chart.ABOUT, time_by_stages),
    Chart("gains", "What 10 % more of each part would give", GAINS_ABOUT, gains),
)
