"""Which charts a report has, and their files: the same specifications inline in HTML, as SVG and as PNG.

`bars`, `curves` and `ramp_chart` draw all charts but the canary's, which is drawn here: how long light
requests took beside a load. Every answer is a tick there, so that a server with few answers is seen, too.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from crumple.drawing import theme
from crumple.drawing.page import HALF_PX, WIDE_PX, Chart
from crumple.record import histogram
from crumple.run.report import bars, curves, ramp_chart, why
from crumple.run.report.bars import label, row_axis
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView, over_starts
from crumple.study.study_load import RampShape
from crumple.words import time_chart

# The height of a row: ticks, with names of marks above them and a remark below.
ROW_PX = 40
# A row has at most 120 ticks; more would be a grey bar, and make the page larger.
TICKS_MAX = 120
# How far apart names of marks are at least, and the width of a letter of the labels.
NAME_PX, LETTER_PX = 46, 6.2
QUANTILES: Mapping[float, str] = {0.5: "p50", 0.9: "p90", 0.99: "p99"}
HEAVY = "heavy, p50"

Row = dict[str, Any]


def canary(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw a row for each server, from the shortest times to the longest; None if there was no canary."""
    rows = [row for row in experiment.servers if any(_answers_ns(start) for start in row.counting)]
    if not rows:
        return None
    rows.sort(key=lambda row: float(np.median(_all_ns(row))))
    ticks = [tick for row in rows for tick in _ticks(row)]
    marks = [mark for row in rows for mark in _marks(row)]
    times_ns = [each["ns"] for each in (*ticks, *marks)]
    domain = theme.round_times(min(times_ns), max(times_ns))
    x = theme.time_axis(alt.X, "ns:Q", domain, orient="top", labelFlush=True, grid=True)
    y = row_axis(rows)
    layers = [*_layers(ticks, marks, x, y), *_words(rows, marks, domain, width_px, x, y)]
    return theme.fitted(alt.layer(*layers), width_px, ROW_PX * len(rows))


def _layers(ticks: Sequence[Row], marks: Sequence[Row], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    colour = alt.Color("colour:N", scale=None)

    def of(kind: str) -> alt.Chart:
        return _chart([mark for mark in marks if mark["kind"] == kind]).encode(x=x, y=y)

    reach = [mark for mark in marks if mark["kind"] == "p50" and mark["end"] > mark["ns"]]
    return [
        _chart(ticks).mark_tick(thickness=1, size=15, opacity=0.38).encode(x=x, y=y, color=colour),
        _chart(reach).mark_rule(strokeWidth=2.4).encode(x=x, x2=alt.X2("end:Q"), y=y, color=colour),
        of("p99").mark_tick(thickness=2.4, size=13, opacity=1).encode(color=colour),
        of("p90").mark_point(shape="circle", size=52, fill=theme.PAPER, opacity=1, strokeWidth=2)
        .encode(stroke=alt.Stroke("colour:N", scale=None)),
        of("p50").mark_point(shape="circle", size=84, filled=True, opacity=1).encode(color=colour),
        of("start").mark_point(shape="circle", size=20, filled=True, fill=theme.PAPER, opacity=1)
        .encode(stroke=alt.StrokeValue(theme.INK), strokeWidth=alt.StrokeWidthValue(1.1)),
        of(HEAVY).mark_point(shape="diamond", size=86, strokeWidth=1.6, opacity=1, fill=theme.PAPER)
        .encode(stroke=alt.StrokeValue(theme.MUTED)),
    ]  # fmt: skip


def _words(
    rows: Sequence[ServerView],
    marks: Sequence[Row],
    domain: tuple[float, float],
    width_px: int,
    x: alt.X,
    y: alt.Y,
) -> list[alt.Chart]:
    """Name the marks, and for each server how many light requests were answered if not all were."""
    plot_px = width_px - max(len(row.name) for row in rows) * LETTER_PX
    apart = math.log(domain[1] / domain[0]) * NAME_PX / max(plot_px, NAME_PX)
    texts = [{**mark, "text": mark["kind"]} for mark in _marks_to_name(marks, apart)]
    said = [{"row": label(row), "ns": domain[0], "text": _answer_count(row)} for row in rows]
    small: dict[str, Any] = {"fontSize": 10, "color": theme.MUTED}
    return [
        _chart(texts).mark_text(dy=-13, **small).encode(x=x, y=y, text=alt.Text("text:N")),
        _chart(said).mark_text(align="left", dx=2, dy=14, **small).encode(x=x, y=y, text=alt.Text("text:N")),
    ]


def _marks_to_name(marks: Sequence[Row], apart: float) -> list[Row]:
    """Return one mark of each kind to be named, in the first row where no other name is too near."""
    named: list[Row] = []
    for kind in (*QUANTILES.values(), HEAVY):
        for mark in (mark for mark in marks if mark["kind"] == kind):
            near = (other["ns"] / mark["ns"] for other in named if other["row"] == mark["row"])
            if all(abs(math.log(ratio)) > apart for ratio in near):
                named.append(mark)
                break
    return named


def _ticks(row: ServerView) -> list[Row]:
    """Return a tick for every answer, but at most TICKS_MAX, spread evenly over their ranks."""
    times_ns = _all_ns(row)
    if len(times_ns) > TICKS_MAX:
        times_ns = times_ns[np.linspace(0, len(times_ns) - 1, TICKS_MAX).round().astype(int)]
    colour = theme.colour_of(row.note.language)
    return [{"row": label(row), "ns": float(f"{ns:.4g}"), "colour": colour} for ns in times_ns]


def _marks(row: ServerView) -> list[Row]:
    """Return quantiles over starts, the medians of single starts, and the median of the load's requests."""
    common = {"row": label(row), "colour": theme.colour_of(row.note.language), "end": 0.0}
    found = []
    for q, kind in QUANTILES.items():
        if value := over_starts(trial.canary_ns.get(q) for trial in row.figures):
            found.append({**common, "kind": kind, "ns": value.estimate})
    if found:
        found[0]["end"] = found[-1]["ns"]
    singles = [ns for trial in row.figures if (ns := trial.canary_ns.get(0.5)) is not None]
    found += [{**common, "kind": "start", "ns": ns} for ns in singles if len(singles) > 1]
    heavy = over_starts(trial.response_ns.get(0.5) for trial in row.figures)
    return [*found, *([{**common, "kind": HEAVY, "ns": heavy.estimate}] if heavy else [])]


def _answer_count(row: ServerView) -> str:
    """Return "42 of 300 answered in time"; empty if at most one request per start was not answered."""
    records = [start.trial.canary for start in row.counting if start.trial.canary]
    asked, ok = sum(record.scheduled for record in records), sum(record.outcomes.ok for record in records)
    return "" if asked - ok <= len(records) else f"{ok:,} of {asked:,} answered in time"


def _all_ns(row: ServerView) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.sort(np.concatenate([_answers_ns(start) for start in row.counting]).astype(float))


def _answers_ns(start: StartView) -> list[float]:
    record = start.trial.canary
    if record is None or not record.histograms.response_time.count:
        return []
    times = histogram.decode(record.histograms.response_time.encoded)
    return [float(ns) for ns in np.repeat(times.values_ns, times.counts)]


def _chart(rows: Sequence[Row]) -> alt.Chart:
    return alt.Chart(theme.rows(rows))


@dataclass(frozen=True)
class ChartKind(Chart[ExperimentView]):
    """A chart of an experiment."""

    where: Callable[[ExperimentView], bool] = lambda experiment: True
    """Which experiments have it."""

    def drawn(self, experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
        """Return the chart; None if the experiment does not have it."""
        return super().drawn(experiment, width_px) if self.where(experiment) else None

    def file_stem(self, experiment: ExperimentView) -> str:
        """Return the name of the chart's files, without ending."""
        return f"{experiment.name}-{self.name}"


def where_the_time_goes(experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
    """Draw the mean response time of each server, divided; None if that of none is known."""
    found = [(each.server.name, each.time) for each in why.servers(experiment) if each.time is not None]
    return time_chart.bars(found, width_px)


def is_ramp(experiment: ExperimentView) -> bool:
    """Whether its load is a ramp, for which a chart over users shows more than one over time."""
    return isinstance(experiment.experiment.shape, RampShape)


def has_canary(experiment: ExperimentView) -> bool:
    """Whether light requests ran beside its load."""
    return experiment.experiment.canary is not None


DOTS = (
    "Bars are geometric means over starts, whiskers their 95 % intervals, dots single starts. "
    "A cross is a start with more than 1 % failed requests (its server stands below the others), a larger "
    "dashed dot one that is not valid. At least: the engine was the limit of a start."
)

KINDS = (
    ChartKind(
        "ramp",
        "Along the ramp",
        "Lines are medians over starts, bands reach from the lowest to the highest. Response times are "
        "logarithmic; where requests are too few for a quantile, it is that of a longer stretch, and level. "
        "Dotted: the knee, where the users' rounds begin to take longer, with its 95 % interval. A count "
        "that does not change with the load is left out.",
        ramp_chart.along_the_ramp,
        where=is_ramp,
    ),
    ChartKind(
        "canary",
        "Light requests beside the load",
        "Ticks are single answers to the canary (of many, some), the large dot is their median over starts, "
        "small ones that of each; ring p90, bar p99, where there are answers enough. The diamond is the "
        "median response time of the load's own requests. Logarithmic.",
        canary,
        where=has_canary,
    ),
    ChartKind("throughput", "Throughput", DOTS, bars.throughput),
    ChartKind(
        "response-time",
        "Response time",
        "Response time over percentile, both logarithmic; a line for each start, the other servers in grey. "
        "It ends where its samples no longer carry the percentile.",
        curves.response_time,
    ),
    ChartKind(
        "time",
        "Where the time goes",
        f"{time_chart.ABOUT} Means over the starts that count.",
        where_the_time_goes,
        where=why.has_time,
    ),
    ChartKind("cpu", "CPU per request", "User space in full colour, kernel pale.", bars.cpu, half=True),
    ChartKind(
        "memory",
        "Memory",
        "The most the server's processes held in the measured window.",
        bars.memory,
        half=True,
    ),
    ChartKind(
        "over-time",
        "Throughput over time",
        "Answers per second since the first request; the warm-up is shaded. Panels differ in scale.",
        curves.over_time,
        where=lambda experiment: not is_ramp(experiment),
    ),
)
EFFECTS: Chart[RunView] = Chart(
    "published-and-measured",
    "Published and measured",
    "Diamonds are the published ratios, dots the measured ones with their 95 % intervals; the band is "
    "what counts as the published size. Logarithmic.",
    bars.effects,
)


def of_experiment(experiment: ExperimentView) -> list[ChartKind]:
    """Return the charts that an experiment has; none if nothing was measured."""
    if not any(start.figures for start in experiment.starts):
        return []
    return [kind for kind in KINDS if kind.where(experiment)]


def write(view: RunView, folder: Path) -> list[Path]:
    """Write every chart as SVG and as PNG on white into `folder`, creating it; return the files.

    Raises OSError if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for stem, chart in _all(view):
        vector, raster = folder / f"{stem}.svg", folder / f"{stem}.png"
        vector.write_text(theme.svg(chart, "white"), encoding="utf-8")
        raster.write_bytes(theme.png(chart))
        files += [vector, raster]
    return files


def _all(view: RunView) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    effects = EFFECTS.drawn(view, WIDE_PX)
    if effects is not None:
        yield EFFECTS.name, effects
    for experiment in view.experiments:
        for kind in KINDS:
            chart = kind.drawn(experiment, HALF_PX if kind.half else WIDE_PX)
            if chart is not None:
                yield kind.file_stem(experiment), chart
