"""Charts with a row per server: throughput, CPU per request, memory; and published against measured ratios.

Each function is pure: a view and a width in pixels → an Altair chart. Every start is a dot, so that the
reader sees the values behind the interval.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from crumple.drawing import numerals, theme
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.run.report import server_names
from crumple.run.report.run_sentences import marks
from crumple.run.report.view import ExperimentView, RunView, ServerView
from crumple.verdict.effect import Effect

# The height of a row: a bar, and a remark of 10 pixels below it.
ROW_PX = 32
# A whisker that reaches beyond 1.4 times the highest bar or dot is cut: it would dwarf every bar.
WHISKER_MAX = 1.4
CROSS = "M-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0L-1,-.6Z"


def throughput(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin:
    """Draw ok answers per second by server: the article's own chart, with intervals, starts and failures."""
    return _bars(experiment.rows, "throughput", width_px, 1.0, "answers per second")


def memory(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin:
    """Draw the peak memory of each server's processes."""
    peaks = [row.summaries["memory"] for row in experiment.servers]
    scale, unit = numerals.size_scale(max((peak.estimate for peak in peaks if peak), default=1.0))
    return _bars(experiment.servers, "memory", width_px, scale, f"peak memory, {unit}")


def cpu(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin:
    """Draw the CPU time per request: in user space (full colour) and in the kernel (pale)."""
    totals = [row.summaries["cpu_per_request"] for row in experiment.servers]
    scale, unit = numerals.unit_scale(max((total.estimate for total in totals if total), default=1.0), "µs")
    parts = []
    for row in experiment.servers:
        total, user = row.summaries["cpu_per_request"], _user_share(row)
        if total is None or user is None:
            continue
        whole = total.estimate / scale
        split = whole * user
        colour = theme.colour_of(row.note.language)
        parts.append({"row": label(row), "from": 0.0, "to": split, "colour": colour, "pale": 1.0})
        parts.append({"row": label(row), "from": split, "to": whole, "colour": colour, "pale": 0.42})
    bars = (
        alt.Chart(theme.rows(parts))
        .mark_bar(height=ROW_PX * 0.46)
        .encode(
            x=alt.X("from:Q"),
            x2=alt.X2("to:Q"),
            y=row_axis(experiment.servers),
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("pale:Q", scale=None),
        )
    )
    title = f"CPU time per request, {unit}: user, then kernel (pale)"
    return _bars(experiment.servers, "cpu_per_request", width_px, scale, title, bars)


def effects(view: RunView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw published ratios (hollow) beside measured ones (dot, 95 % interval).

    The band is the span that counts as the published ratio. None if no published ratio was measured.
    """
    found = [(v.claim_id, effect) for v in view.asked for effect in v.effects if effect.published]
    shown = [(claim, effect) for claim, effect in found if effect.ratio is not None]
    if not shown:
        return None
    names = server_names.short([server for _, effect in shown for server in (effect.of, effect.to)])
    return _forest([_effect_row(claim, effect, names, width_px) for claim, effect in shown], width_px)


def label(row: ServerView, name: str | None = None) -> str:
    """Return a row's name in charts: the server's label, or `name`, and whether it is the twin."""
    return f"{name or row.name}, twin" if row.twin else name or row.name


def _bars(
    rows: Sequence[ServerView],
    metric: str,
    width_px: int,
    scale: float,
    title: str,
    bars: alt.Chart | None = None,
) -> alt.TopLevelMixin:
    summaries = [_summary_row(row, metric, scale) for row in rows]
    starts = [point for row in rows for point in _start_points(row, METRICS[metric].of, scale)]
    summaries, reach = _within_sight(summaries, starts)
    # Leave room for the figure after the longest whisker.
    x = alt.X(
        "value:Q",
        title=title,
        scale=alt.Scale(domain=[0, reach * (1.13 if width_px > 500 else 1.3)], nice=False),
        axis=alt.Axis(
            tickCount=5 if width_px > 500 else 3,
            orient="top",
            titleAnchor="start",
            labelExpr=theme.COUNT_LABEL,
        ),
    )
    y = row_axis(rows)
    by_row = alt.Chart(theme.rows(summaries)).encode(y=y)
    if bars is None:
        colour, pale = alt.Color("colour:N", scale=None), alt.Opacity("pale:Q", scale=None)
        drawn = [by_row.mark_bar(height=ROW_PX * 0.46).encode(x=x, color=colour, opacity=pale)]
    else:
        # The bars have their own ends, so a point that is not seen has the axis.
        axis = alt.Chart(theme.rows([{"value": 0}])).mark_point(opacity=0, color=theme.INK).encode(x=x)
        drawn = [axis, bars]
    whiskers = by_row.mark_rule(color=theme.INK, strokeWidth=1.4).encode(
        x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")
    )
    figure = by_row.mark_text(align="left", dx=9, fontWeight="bold").encode(
        x=alt.X("reach:Q"), text=alt.Text("figure:N")
    )
    layers = [*drawn, whiskers, *_dots(starts, y), figure, *_remarks(summaries, y)]
    return theme.fitted(theme.layered(*layers), width_px, ROW_PX * len(rows))


def _within_sight(
    summaries: Sequence[dict[str, Any]], starts: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], float]:
    """Return the rows, and how far they reach; cut whiskers that would dwarf every bar, with a remark."""
    highest = max((entry["value"] for entry in [*summaries, *starts]), default=0.0) or 1.0
    limit = highest * WHISKER_MAX
    cut = []
    for row in summaries:
        if row["high"] > limit:
            far = f"interval reaches {numerals.significant(row['high'], 2)}"
            remark = f"{row['remark']}, {far}" if row["remark"] else far
            row = {**row, "high": limit, "reach": limit, "remark": remark}
        cut.append(row)
    return cut, max((entry["reach"] for entry in [*cut, *starts]), default=1.0) or 1.0


def _dots(starts: Sequence[dict[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """Draw each start as a dot, as a cross if more than 1 % failed, hollow and grey if it does not count."""

    def of(kind: str) -> alt.Chart:
        points = [start for start in starts if start["kind"] == kind]
        return alt.Chart(theme.rows(points)).encode(x=alt.X("value:Q"), y=y)

    return [
        of("counts").mark_point(shape="circle", size=26, filled=True, fill=theme.PAPER, opacity=1)
        .encode(stroke=alt.StrokeValue(theme.INK), strokeWidth=alt.StrokeWidthValue(1.2)),
        of("not valid").mark_point(
            shape="circle", size=46, filled=True, fill=theme.PAPER, opacity=1, strokeDash=[2, 1.6]
        ).encode(stroke=alt.StrokeValue(theme.MUTED), strokeWidth=alt.StrokeWidthValue(1.6)),
        of("lossy").mark_point(shape=CROSS, size=70, filled=True, opacity=1, fill=theme.INK)
        .encode(stroke=alt.StrokeValue(theme.PAPER), strokeWidth=alt.StrokeWidthValue(0.8)),
    ]  # fmt: skip


def _remarks(summaries: Sequence[dict[str, Any]], y: alt.Y) -> list[alt.Chart]:
    remarked = [summary for summary in summaries if summary["remark"]]
    text = alt.Chart(theme.rows(remarked)).mark_text(
        align="left", dx=3, dy=ROW_PX * 0.39, fontSize=10, color=theme.MUTED
    )
    return [text.encode(x=alt.X("zero:Q"), y=y, text=alt.Text("remark:N"))] if remarked else []


def _summary_row(row: ServerView, metric: str, scale: float) -> dict[str, Any]:
    summary = row.summaries[metric]
    colour = theme.colour_of(row.note.language)
    common = {"row": label(row), "colour": colour, "pale": 0.45 if row.twin else 1.0, "zero": 0}
    if summary is None:
        why = marks(row) or ("no start was measured" if not row.counting else "could not be read")
        return {**common, "value": 0, "low": 0, "high": 0, "reach": 0, "figure": "–", "remark": why}
    shown = numerals.worth_showing(summary)
    low, high = (summary.low, summary.high) if shown else (summary.estimate, summary.estimate)
    limit = row.limit(metric)
    return {
        **common,
        "value": summary.estimate / scale,
        "low": low / scale,
        "high": high / scale,
        "reach": high / scale,
        "figure": numerals.at_least(summary, scale) if limit else numerals.estimate(summary, scale),
        "remark": ", ".join(filter(None, (marks(row), "two starts" if summary.is_vague else ""))),
    }


def _start_points(
    row: ServerView, of: Callable[[Figures], float | None], scale: float
) -> list[dict[str, Any]]:
    points = []
    for start in row.starts:
        value = of(start.figures) if start.figures else None
        if value is not None:
            kind = "not valid" if not start.counts else "lossy" if start.lossy else "counts"
            points.append({"row": label(row), "value": value / scale, "reach": value / scale, "kind": kind})
    return points


def _user_share(row: ServerView) -> float | None:
    user = [trial.cpu_user_us for trial in row.figures if trial.cpu_user_us is not None]
    kernel = [trial.cpu_kernel_us for trial in row.figures if trial.cpu_kernel_us is not None]
    if not len(row.figures) == len(user) == len(kernel):
        return None
    total = sum(user) + sum(kernel)
    return sum(user) / total if total else None


def _effect_row(claim: str, effect: Effect, names: Mapping[str, str], width_px: int) -> dict[str, Any]:
    ratio = effect.ratio
    assert ratio is not None
    bounded = numerals.bounded(ratio) and not effect.is_vague
    of, to = names[effect.of], names[effect.to]
    name = f"{claim}  {of} ÷ {to}" if width_px > 500 else f"{claim} {of}"
    meets = effect.bounds[-2:] if len(effect.bounds) > 1 else (effect.published, effect.published)
    return {
        "row": name,
        "published": effect.published,
        "value": ratio.estimate,
        "low": ratio.low if bounded else ratio.estimate,
        "high": ratio.high if bounded else ratio.estimate,
        "meets_low": meets[0],
        "meets_high": meets[1],
        "figure": numerals.estimate(ratio),
    }


def _clip(row: dict[str, Any], domain: Sequence[float]) -> dict[str, Any]:
    keys = ("low", "high", "meets_low", "meets_high")
    return {**row, **{key: min(max(row[key], domain[0]), domain[1]) for key in keys}}


def _forest(rows: Sequence[dict[str, Any]], width_px: int) -> alt.TopLevelMixin:
    # An interval from few blocks can span decades; the chart reaches to three times beyond the ratios.
    found = [row[key] for row in rows for key in ("published", "value")]
    shortest, longest = min(*found, 0.9) / 3, max(*found, 1.1) * 3
    ends = [row[key] for row in rows for key in ("published", "low", "high", "meets_low", "meets_high")]
    domain = [max(shortest, min(*ends, 0.9) / 1.08), min(longest, max(*ends, 1.1) * 1.08)]
    rows = [_clip(row, domain) for row in rows]
    ticks = [
        t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if domain[0] <= t <= domain[1]
    ]
    scale = alt.Scale(type="log", domain=domain, nice=False)
    axis = alt.Axis(values=ticks, orient="top", format="~g", titleAnchor="start")
    x = alt.X("value:Q", scale=scale, title="ratio, logarithmic", axis=axis)
    y = _rows_axis([row["row"] for row in rows])
    base = alt.Chart(theme.rows(rows)).encode(y=y)
    layers = [
        base.mark_bar(color=theme.CONTEXT, height=ROW_PX * 0.7).encode(
            x=alt.X("meets_low:Q", scale=scale), x2=alt.X2("meets_high:Q")
        ),
        alt.Chart(theme.rows([{"value": 1}])).mark_rule(color=theme.MUTED, strokeWidth=1).encode(x=x),
        base.mark_rule(color=theme.INK, strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q")
        ),
        base.mark_point(shape="diamond", size=80, strokeWidth=1.6, opacity=1, fill=theme.PAPER).encode(
            x=alt.X("published:Q", scale=scale), stroke=alt.StrokeValue(theme.MUTED)
        ),
        base.mark_point(shape="circle", size=50, filled=True, opacity=1, color=theme.INK).encode(x=x),
    ]
    return theme.fitted(theme.layered(*layers), width_px, ROW_PX * len(rows))


def row_axis(rows: Sequence[ServerView]) -> alt.Y:
    """Return an axis of servers, with the shortest names that tell them apart."""
    short = server_names.short([row.name for row in rows if not row.twin])
    shown = {label(row): label(row, short.get(row.name, row.name)) for row in rows}
    return _rows_axis(list(shown), server_names.on_an_axis(shown))


def _rows_axis(names: Sequence[str], shown_as: str = "datum.label") -> alt.Y:
    axis = alt.Axis(
        grid=False,
        labelColor=theme.INK,
        labelFontSize=theme.FONT_SIZE,
        labelPadding=8,
        labelExpr=shown_as,
    )
    return alt.Y("row:N", sort=list(names), title=None, axis=axis, scale=alt.Scale(domain=list(names)))
