"""Which charts a report has, and their files: the same specifications inline in HTML, as SVG and as PNG.

What each chart shows is `bars` and `curves`; how charts look is `theme`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import altair as alt

from crumple.drawing import theme
from crumple.drawing.chart import Chart
from crumple.drawing.page import HALF_PX, WIDE_PX
from crumple.report import bars, canary_chart, curves, ramp_chart
from crumple.report.view import ExperimentView, RunView
from crumple.study.shape import RampShape

EFFECTS = "published-and-measured"


@dataclass(frozen=True)
class ChartKind(Chart[ExperimentView]):
    """A chart of an experiment. `where`: which experiments have it."""

    where: Callable[[ExperimentView], bool] = lambda experiment: True

    def drawn(self, experiment: ExperimentView, width_px: int) -> alt.TopLevelMixin | None:
        """None, too, where the experiment is of another kind."""
        return super().drawn(experiment, width_px) if self.where(experiment) else None

    def file_stem(self, experiment: ExperimentView) -> str:
        """Name of the chart's files, without ending."""
        return f"{experiment.name}-{self.name}"


def is_ramp(experiment: ExperimentView) -> bool:
    """Whether its load is one that a course over users tells more of than a course over time."""
    return isinstance(experiment.experiment.shape, RampShape)


def has_canary(experiment: ExperimentView) -> bool:
    """Whether light requests ran beside its load."""
    return experiment.experiment.canary is not None


DOTS = (
    "Bars are geometric means over starts, whiskers their 95 % intervals, dots single starts. "
    "A cross is a start with more than 1 % failed requests, a larger dashed dot one that is not valid."
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
        canary_chart.canary,
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
EFFECTS_TITLE = "Published and measured"
EFFECTS_CAPTION = (
    "Diamonds are the published ratios, dots the measured ones with their 95 % intervals; the band is "
    "what counts as the published size. Logarithmic."
)


def write(view: RunView, folder: Path) -> list[Path]:
    """Every chart as SVG and PNG on white in `folder`, which is made; the files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for stem, chart in _all(view):
        vector, raster = folder / f"{stem}.svg", folder / f"{stem}.png"
        vector.write_text(theme.svg(chart, "white"), encoding="utf-8")
        raster.write_bytes(theme.png(chart))
        files += [vector, raster]
    return files


def _all(view: RunView) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    effects = theme.unchecked(lambda: bars.effects(view, WIDE_PX))
    if effects is not None:
        yield EFFECTS, effects
    for experiment in view.experiments:
        for kind in KINDS:
            chart = kind.drawn(experiment, HALF_PX if kind.half else WIDE_PX)
            if chart is not None:
                yield kind.file_stem(experiment), chart
