"""Charts of one load: response times, requests, connections and costs over time; quantiles; a histogram.

Each is pure: a load → what the chart shows, None where there is nothing.
"""

from collections.abc import Sequence
from itertools import pairwise

from crumple.drawing import numerals, scale, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import (
    Area,
    ChartKey,
    Graph,
    Guide,
    Line,
    Picture,
    PlotMark,
    Step,
    Steps,
    picture,
)
from crumple.drawing.scale import AxisScale, ChartAxis
from crumple.limit import finding
from crumple.load.report import load_course, load_figures
from crumple.load.report.load_course import Course, Stretch
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import SECOND_NS
from crumple.record.stages import Budget
from crumple.words import quantile_lines, time_rows

# The heights of charts in pixels: of times and requests, of what the server used, and of connections.
HIGH_PX, MIDDLE_PX, LOW_PX = 200, 150, 80
# The number of bars in the histogram of response times.
BINS = 60
# From the style sheet's palette, whose colours have the names of language families.
BLUE, ORANGE, GREEN = (theme.FAMILIES[name] for name in ("go", "java", "javascript"))
_TIMES = {"response time": BLUE, "service time": GREEN, "lateness": ORANGE}


def response_over_time(load: LoadDocument) -> Picture | None:
    """Return the p50 as a line; p99 and the longest as steps over the stretch that they are of."""
    fine = load_course.of_quantile(load, 0.5)
    coarse = load_course.of_quantile(load, 0.99)
    told = {each.part for each in coarse}
    middle = _medians(fine)
    stretches = [*coarse, *(each for each in fine if each.part not in told)]
    drawn = [each for each in stretches if each.max_ns is not None]
    if not any(middle) and not drawn:
        return None
    steps = [
        Steps(
            [Step(each.begin_s, each.end_s, ns, _title(name, ns, each)) for each, ns in known],
            colour,
            name,
            dash,
        )
        for name, colour, dash, known in (
            ("max", theme.MUTED, "2 2", [(each, each.max_ns) for each in drawn if each.max_ns is not None]),
            ("p99", ORANGE, "", [(each, each.p99_ns) for each in drawn if each.p99_ns is not None]),
        )
        if known
    ]
    line = Line(middle, BLUE, "p50")
    shown_ns = [point[1] for point in middle if point] + [step.y for each in steps for step in each.steps]
    axis = scale.time_axis(quantile_lines.times_between(shown_ns))
    named: list[Steps | Line] = [*steps, line]
    keys = [ChartKey(each.name, each.colour, "line", each.dash) for each in named]
    return _over_time(load, [*steps, line], axis, HIGH_PX, _says(steps), keys)


def _medians(stretches: Sequence[Stretch]) -> Course:
    """Return the line of the medians, which ends where there is none, and at each step of the load."""
    course: Course = []
    for before, each in pairwise([None, *stretches]):
        assert each is not None
        if before is not None and before.part != each.part:
            course.append(None)
        course.append((each.middle_s, each.p50_ns) if each.p50_ns is not None else None)
    return course


def _title(name: str, ns: float, of: Stretch) -> str:
    begin, end = (f"{each:.4g}" for each in (of.begin_s, of.end_s))
    return f"{name} {numerals.duration(ns)} of {of.count:,} answers, {begin} to {end} s"


def _says(steps: Sequence[Steps]) -> str:
    return "; ".join(
        f"{each.name} {numerals.duration(min(step.y for step in each.steps))} to "
        f"{numerals.duration(max(step.y for step in each.steps))}"
        for each in steps
    )


def requests_over_time(load: LoadDocument) -> Picture | None:
    """Return requests per second: answered ok, failed, and in open shapes how many came due."""
    series = load.record.series
    lines = [
        Line(course, colour, name, dash)
        for name, colour, dash, column in (
            ("due", theme.MUTED, "3 2", series.scheduled if load.record.spec.shape.kind == "open" else ()),
            ("ok", BLUE, "", series.ok),
            ("failed", ORANGE, "", series.failed if any(series.failed) else ()),
        )
        if column and any(course := load_course.per_second(load, column))
    ]
    return _lines(load, lines, "requests per second", HIGH_PX)


def connections_over_time(load: LoadDocument) -> Picture | None:
    """Return open connections, where their number changed."""
    return _lines(load, _one("connections", BLUE, load_course.connections(load)), "open connections", LOW_PX)


def quantiles(load: LoadDocument) -> Picture | None:
    """Return time over percentile, both axes logarithmic."""
    stored = load.record.histograms
    kinds = zip(_TIMES, (stored.response_time, stored.service_time, stored.lateness), strict=True)
    return quantile_lines.lines({name: times for name, times in kinds if times}, _TIMES, beside="lateness")


def spread(load: LoadDocument) -> Picture | None:
    """Return the histogram of the response times."""
    edges_ns, counts = load_figures.bins(load.response_times, BINS)
    if not counts:
        return None
    bars = [
        Area(
            BLUE,
            low,
            high,
            0,
            count,
            f"{numerals.duration(low)} to {numerals.duration(high)}: {numerals.count(count, 'answer')}",
        )
        for (low, high), count in zip(pairwise(edges_ns), counts, strict=True)
        if count
    ]
    across = scale.time_axis(AxisScale(edges_ns[0], edges_ns[-1], log=True))
    up = scale.count_axis(scale.from_zero(counts), "answers")
    low_ns, high_ns = edges_ns[counts.index(max(counts))], edges_ns[counts.index(max(counts)) + 1]
    says = f"most answers took {numerals.duration(low_ns)} to {numerals.duration(high_ns)}"
    return picture(Graph(across, up, bars, HIGH_PX), says)


def cpu_over_time(load: LoadDocument) -> Picture | None:
    """Return the cores that the watched server kept busy, and the engine beside it."""
    probes = load.record.probes
    if probes.server is None:
        return None
    lines = [
        *_one("engine", theme.MUTED, load_course.cpu(probes.engine)),
        *_one("server", BLUE, load_course.cpu(probes.server)),
    ]
    return _lines(load, lines, "cores kept busy", MIDDLE_PX)


def memory_over_time(load: LoadDocument) -> Picture | None:
    """Return the memory of the watched server."""
    watched = load.record.probes.server
    course = load_course.memory(watched) if watched else []
    sizes = [point[1] for point in course if point]
    if not sizes:
        return None
    axis = scale.size_axis(scale.from_zero(sizes))
    says = f"at most {numerals.size(max(sizes))}"
    return _over_time(load, _one("server", BLUE, course), axis, MIDDLE_PX, says)


def time_by_stages(load: LoadDocument) -> Picture | None:
    """Return the mean response time, a piece of it for each part."""
    if not isinstance(load.stages, Budget):
        return None
    return time_rows.rows([("", time_rows.with_limit(load.stages, finding.first(load.findings)))])


TIME_BY_STAGES = Chart("time-by-stages", "Where the time goes", time_rows.ABOUT, time_by_stages)
RESPONSE_TIME = Chart(
    "response-time",
    "Response time",
    "The ok answers, by when they arrived; logarithmic. p99 and max are those of the stretch over which they "
    "are drawn. The warm-up is shaded.",
    response_over_time,
)
REQUESTS = Chart("requests", "Requests", "Per second, since the first instant.", requests_over_time)
# What is read by those who want to know more.
OTHERS = (
    Chart("connections", "Connections", "Open at the end of an interval.", connections_over_time),
    Chart(
        "quantiles",
        "Quantiles",
        "Both axes logarithmic; a line ends where its samples no longer carry the percentile.",
        quantiles,
        half=True,
    ),
    Chart("histogram", "Histogram", "Ok answers by response time, logarithmic.", spread, half=True),
    Chart("cpu", "CPU", "By the processes' own clocks.", cpu_over_time, half=True),
    Chart(
        "memory",
        "Memory",
        "All the server's processes together; pages they share count once if that could be read.",
        memory_over_time,
        half=True,
    ),
)


def _one(name: str, colour: str, course: Course) -> list[Line]:
    return [Line(course, colour, name)] if course else []


def _lines(load: LoadDocument, lines: Sequence[Line], unit: str, height_px: int) -> Picture | None:
    """Return lines over time on an axis from 0; None: there is none."""
    values = {line.name: [point[1] for point in line.points if point] for line in lines}
    if not lines:
        return None
    axis = scale.count_axis(scale.from_zero([each for of in values.values() for each in of]), unit)
    says = "; ".join(f"{name} up to {numerals.significant(max(of))}" for name, of in values.items() if of)
    keys = [ChartKey(line.name, line.colour, "line", line.dash) for line in lines] if len(lines) > 1 else []
    return _over_time(load, lines, axis, height_px, says, keys)


def _over_time(
    load: LoadDocument,
    marks: Sequence[PlotMark],
    y: ChartAxis,
    height_px: int,
    says: str,
    keys: Sequence[ChartKey] = (),
) -> Picture:
    """Return marks over the time since the first instant; the warm-up is shaded, steps have a line each."""
    warm_up_s = load.record.warm_up_ns / SECOND_NS
    behind: list[PlotMark] = [Area(theme.SHADE, 0, warm_up_s)] if warm_up_s else []
    behind += [Guide(theme.GRID, x=warm_up_s + step.from_s) for step in load.steps[1:]]
    x = scale.seconds_axis(warm_up_s + load.measured_s)
    return picture(Graph(x, y, [*behind, *marks], height_px, is_time=True), says, keys)
