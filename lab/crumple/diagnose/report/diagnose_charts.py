"""The charts of a diagnosis on its page: the mean response time by stages, and what 10 % more gives. Pure."""

from dataclasses import replace

from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report import tenths
from crumple.drawing import scale, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import ChartKey, ChartRow, Picture, RowChart, Segment, picture
from crumple.limit import finding
from crumple.limit.finding import CAUSES, Cause, Finding
from crumple.record.flow import Name, StageTime
from crumple.record.inside import Divided
from crumple.record.stages import Budget
from crumple.words import time_rows

# Requests wait for one of these inside the server, where no reading tells that wait from others.
INSIDE: frozenset[Cause] = frozenset(("gate", "connection-pool"))
# The parts of a budget that such a wait is in, the more precise first.
_HOLDS: tuple[Name, ...] = ("otherwise", "inside")


def time_by_stages(diagnosis: Diagnosis) -> Picture | None:
    """A bar for each load, a piece of it for each part; beyond the limit also for what limits."""
    first = finding.first(diagnosis.said)
    bars = []
    for name, record, budget in say.budgets(diagnosis):
        if isinstance(budget, Budget):
            is_beyond = record is diagnosis.beyond
            shown = with_limit(budget, first) if is_beyond and first is not None else budget
            bars.append((f"{name.removeprefix('time ')} the limit, {say.load(record)}", shown))
    return time_rows.rows(bars)


def with_limit(budget: Budget, limit: Finding) -> Budget:
    """The budget with a part of its own for the wait for what limits the server, if that is inside."""
    if limit.cause not in INSIDE or not limit.share_s:
        return budget
    if isinstance(budget.inside, Divided):
        return replace(budget, inside=replace(budget.inside, pieces=_split(budget.inside.pieces, limit)))
    return replace(budget, parts=_split(budget.parts, limit))


def _split(parts: tuple[StageTime, ...], limit: Finding) -> tuple[StageTime, ...]:
    assert limit.share_s is not None
    whole = next((each for name in _HOLDS for each in parts if each.name == name), None)
    if whole is None:
        return parts
    waits_ns = min(1e9 * limit.share_s, whole.mean_ns)
    rest_ns = whole.mean_ns - waits_ns
    waits = replace(
        whole, name="dependency", of=CAUSES[limit.cause], mean_ns=waits_ns, low_ns=waits_ns, high_ns=waits_ns
    )
    rest = replace(whole, mean_ns=rest_ns, low_ns=min(rest_ns, whole.low_ns), high_ns=rest_ns)
    at = parts.index(whole)
    return (*parts[:at], waits, rest, *parts[at + 1 :])


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
CHARTS = (
    Chart("time-by-stages", "Where the time goes", time_rows.ABOUT, time_by_stages),
    Chart("gains", "What 10 % more of each part would give", GAINS_ABOUT, gains),
)
