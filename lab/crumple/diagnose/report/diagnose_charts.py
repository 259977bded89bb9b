"""The charts of a diagnosis on its page: the mean response time by stages, and what 10 % more gives. Pure."""

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report import tenths
from crumple.drawing import scale, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import ChartKey, ChartRow, Picture, RowChart, Segment, picture
from crumple.limit import finding
from crumple.record.stages import Budget
from crumple.words import time_rows


def time_by_stages(diagnosis: Diagnosis) -> Picture | None:
    """A bar for each load, a piece of it for each part; beyond the limit also for what limits."""
    first = finding.first(diagnosis.said)
    bars = []
    for name, record, budget in say.budgets(diagnosis):
        if isinstance(budget, Budget):
            is_beyond = record is diagnosis.beyond
            shown = time_rows.with_limit(budget, first) if is_beyond else budget
            bars.append((f"{name.removeprefix('time ')} the limit, {say.load(record)}", shown))
    return time_rows.rows(bars)


def gains(diagnosis: Diagnosis) -> Picture | None:
    """A bar for each part of the server, what it gives at least and at most."""
    found = tenths.of(diagnosis.facts, diagnosis.said)
    if not found:
        return None
    least, most = theme.FAMILIES["javascript"], theme.CONTEXT
    rows = [
        ChartRow(
            each.what,
            [
                Segment(0.0, each.low, least, f"{each.what}: at least {tenths.percent(each)}"),
                Segment(each.low, each.high, most, f"{each.what}: {tenths.percent(each)}"),
            ],
            tenths.percent(each),
        )
        for each in found
    ]
    axis = scale.share_axis(
        scale.from_zero([tenths.TENTH, *(each.high for each in found)]),
        "more answers per second",
        signed=True,
    )
    best = max(found, key=lambda each: each.low + each.high)
    keys = [ChartKey("at least", least), ChartKey("at most", most)]
    return picture(RowChart(axis, rows), f"{best.what} gives {tenths.percent(best)}", keys)


GAINS_ABOUT = (
    "What 10 % more of each part of the server would give (of a dependency and of CPU time: 10 % less), "
    "computed from what was measured. Between the ends of a bar lie requests that take even times and those "
    "whose times vary at random, and the causes that are left."
)
TIME_BY_STAGES = Chart("time-by-stages", "Where the time goes", time_rows.ABOUT, time_by_stages)
GAINS = Chart("gains", "What 10 % more of each part would give", GAINS_ABOUT, gains)
