"""Which charts the report of a run has, and their files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crumple.drawing.chart import BoundChart, Chart
from crumple.drawing.plot import Picture
from crumple.model_map import map_report
from crumple.run.report import bars, canary_chart, chosen_charts, curves, map_of_view, ramp_chart, why
from crumple.run.report.view import ExperimentView, RunView
from crumple.study.study_load import RampShape
from crumple.words import time_rows


@dataclass(frozen=True)
class ChartKind(Chart[ExperimentView]):
    """A chart of an experiment."""

    where: Callable[[ExperimentView], bool] = lambda experiment: True
    """Which experiments have it."""


def where_the_time_goes(experiment: ExperimentView) -> Picture | None:
    """Draw the mean response time of each server, divided; None if that of none is known."""
    found = [(each.server.name, each.time) for each in why.servers(experiment) if each.time is not None]
    return time_rows.rows(found)


def is_ramp(experiment: ExperimentView) -> bool:
    """Whether its load is a ramp, for which a chart over users shows more than one over time."""
    return isinstance(experiment.experiment.shape, RampShape)


def has_canary(experiment: ExperimentView) -> bool:
    """Whether light requests ran beside its load."""
    return experiment.experiment.canary is not None


BARS = (
    "Bars are geometric means over starts, lines their 95 % intervals, signs single starts. A server of "
    "which a start lost more than 1 % stands below the others. At least: the engine was the limit of a start."
)
MANY = f"From {curves.LINES_MAX + 1} starts on, their median and a band of nine tenths of them."

KINDS = (
    ChartKind(
        "ramp",
        "Along the ramp",
        "Lines are medians over starts, bands reach from the lowest to the highest. Response times are "
        "logarithmic; where requests are too few for a quantile, it is that of a longer stretch, and level. "
        "Dotted: the knee, where the users' rounds begin to take longer, with its 95 % interval. A count "
        "that does not change with the load is left out.",
        lambda experiment: ramp_chart.along_the_ramp(experiment, chosen_charts.panels(experiment)),
        where=is_ramp,
    ),
    ChartKind(
        chosen_charts.REST,
        "Along the ramp: the rest",
        "",
        lambda experiment: ramp_chart.along_the_ramp(
            experiment, chosen_charts.panels(experiment), are_left_out=True
        ),
        where=is_ramp,
    ),
    ChartKind(
        "canary",
        "Light requests beside the load",
        "Of many answers, some have a tick. A quantile is marked where enough were answered. Logarithmic.",
        canary_chart.canary,
        where=has_canary,
    ),
    ChartKind("throughput", "Throughput", BARS, bars.throughput),
    ChartKind(
        "response-time",
        "Response time",
        f"Response time over percentile, both logarithmic; a line for each start, the other servers in grey. "
        f"It ends where its samples no longer carry the percentile. {MANY}",
        curves.response_time,
    ),
    ChartKind(
        "time",
        "Where the time goes",
        f"{time_rows.ABOUT} Means over the starts that count.",
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
        "Answers per second since the first request; the warm-up is shaded, starts that are not valid are "
        f"dotted. Panels differ in scale. {MANY} Steady: each tenth of the measured time is within a fifth "
        "of the mean, but for chance.",
        curves.over_time,
        where=lambda experiment: not is_ramp(experiment),
    ),
)


def of_experiment(experiment: ExperimentView) -> list[ChartKind]:
    """Return the charts that an experiment may have; none if nothing was measured."""
    if not any(start.figures for start in experiment.starts):
        return []
    return [kind for kind in KINDS if kind.where(experiment)]


def of_run(view: RunView) -> list[BoundChart]:
    """Return the charts of all experiments that the report has, or of the map that stands for them."""
    if (drawn := map_of_view.drawn(view)) is not None:
        return map_report.charts(drawn)
    return [
        kind.of(each, of=each.name)
        for each in view.experiments
        for kind in of_experiment(each)
        if any(kind.name in names for names in chosen_charts.of(each))
    ]


def write(view: RunView, folder: Path) -> list[Path]:
    """Write every chart into `folder`, creating it; return the files.

    Raises OSError if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for chart in of_run(view):
        if drawn := chart.file():
            files.append(folder / f"{chart.file_stem}.svg")
            files[-1].write_text(drawn, encoding="utf-8")
    return files
