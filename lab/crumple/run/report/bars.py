"""Charts with a row for each server: throughput, CPU time per request, and memory.

Each function is pure: an experiment → a picture, or None if it has nothing that the table beside it lacks.
Starts are signs below the bars, so that the reader sees the values behind an interval.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from crumple.drawing import numerals, scale, theme
from crumple.drawing.plot import ChartKey, ChartRow, Picture, RowChart, RowPoint, Segment, Whisker, picture
from crumple.drawing.scale import AxisScale, ChartAxis
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.run.report import run_sentences, run_tables, server_names
from crumple.run.report.not_judged import disturbed, programs
from crumple.run.report.run_tables import ServerFigures, WordedFigure
from crumple.run.report.view import ExperimentView, ServerView, StartView
from crumple.stats.interval import Interval

# A whisker that reaches beyond 1.4 times the highest bar or sign is cut: it would dwarf every bar.
WHISKER_MAX = 1.4
# A bar is compared with others, so a chart takes two rows; of one, the table has all there is.
ROWS_MIN = 2
# How many starts of a server have a sign. More would lie over one another and only make the page larger.
SIGNS_MAX = 24
# How many starts a remark names each; a panel has no room for more.
NAMED_MAX = 3
# Opacities: of the bar of a twin, and of the kernel's part of a bar.
TWIN, KERNEL = 0.45, 0.42
KEYS = (
    ChartKey("a start", theme.INK, "ring"),
    ChartKey("one that is not valid", theme.MUTED, "dashed"),
    ChartKey("one with more than 1 % failed", theme.INK, "cross"),
)


@dataclass(frozen=True)
class BarFigure:
    """What bars show of a server: a metric, in the unit of its axis."""

    metric: str
    figure: Callable[[ServerFigures], WordedFigure]
    """Returns it as the table of servers has it."""
    axis: Callable[[AxisScale], ChartAxis]
    worded: Callable[[float], str]
    """Returns a value of the axis in words."""
    per_unit: float = 1.0
    """How much one of the metric's own unit is on the axis."""


THROUGHPUT = BarFigure(
    "throughput",
    lambda row: row.throughput,
    lambda span: scale.count_axis(span, "answers per second"),
    numerals.rate,
)
MEMORY = BarFigure(
    "memory", lambda row: row.memory, lambda span: scale.size_axis(span, "peak memory"), numerals.size
)
# Its figures are in µs, and an axis of times is in ns.
CPU = BarFigure(
    "cpu_per_request",
    lambda row: row.cpu,
    lambda span: scale.time_axis(span, "CPU time per request"),
    numerals.duration,
    1e3,
)


def throughput(experiment: ExperimentView) -> Picture | None:
    """Draw ok answers per second by server: the article's own chart, with intervals, starts and failures."""
    return _bars(experiment.rows, THROUGHPUT, _whole_bar)


def memory(experiment: ExperimentView) -> Picture | None:
    """Draw the peak memory of each server's processes."""
    return _bars(experiment.servers, MEMORY, _whole_bar)


def cpu(experiment: ExperimentView) -> Picture | None:
    """Draw the CPU time per request: in user space (full colour) and in the kernel (pale)."""
    return _bars(experiment.servers, CPU, _divided_bar)


def label(row: ServerView, name: str | None = None) -> str:
    """Return a row's name in charts: the server's label, or `name`, and whether it is the twin."""
    return f"{name or row.name}, twin" if row.twin else name or row.name


def short_labels(rows: Sequence[ServerView]) -> list[str]:
    """Return the names of rows in charts, the shortest that tell them apart."""
    short = server_names.short([row.name for row in rows if not row.twin])
    return [label(row, short.get(row.name)) for row in rows]


def remark(row: ServerView) -> str:
    """Return which starts of a row are marked, and why; of many, how many."""
    marked = [start for start in row.starts if start.lossy or not start.counts]
    if len(marked) <= NAMED_MAX:
        return run_sentences.marks(row)
    return f"{len(marked)} of {len(row.starts)} starts did not run, do not count or lost requests"


def start_sign(start: StartView, at: float, worded: str) -> RowPoint:
    """Return the sign of a start, whose title says why it does not count or is marked."""
    why = run_sentences.remark(start)
    title = f"block {start.trial.trial.block}: {worded}{f'; {why}' if why else ''}"
    if not start.counts:
        return RowPoint(at, title, theme.MUTED, "dashed", 4, below=True)
    return RowPoint(at, title, theme.INK, "cross" if start.lossy else "ring", 3, below=True)


def spread(number: int, most: int) -> list[int]:
    """Return the places of at most `most` of a number of ranks, evenly spread from the first to the last."""
    if number <= most:
        return [*range(number)]
    return sorted({round(at * (number - 1) / (most - 1)) for at in range(most)})


Bar = Callable[[ServerView, Interval, BarFigure], Iterator[Segment]]


def _bars(rows: Sequence[ServerView], shown: BarFigure, bar: Bar) -> Picture | None:
    found = {label(row): (row.summaries[shown.metric], _signs(row, shown)) for row in rows}
    values = [
        *(sign.at for _, signs in found.values() for sign in signs),
        *(summary.estimate * shown.per_unit for summary, _ in found.values() if summary),
    ]
    if len(rows) < ROWS_MIN or not any(values):
        return None
    limit = max(values) * WHISKER_MAX
    drawn = [
        _row(row, name, shown, bar, limit, found[label(row)][1])
        for row, name in zip(rows, short_labels(rows), strict=True)
    ]
    ends = [mark.high for row in drawn for mark in row.marks if isinstance(mark, Whisker)]
    chart = RowChart(shown.axis(scale.from_zero([*values, *ends], 1.02)), drawn)
    said = "; ".join(f"{row.name} {row.figure}" for row in drawn)
    seen = {mark.shape for row in drawn for mark in row.marks if isinstance(mark, RowPoint)}
    return picture(chart, f"{METRICS[shown.metric].title}: {said}", [key for key in KEYS if key.form in seen])


def _row(
    row: ServerView, name: str, shown: BarFigure, bar: Bar, limit: float, signs: Sequence[RowPoint]
) -> ChartRow:
    summary, remarks = row.summaries[shown.metric], [remark(row)]
    if summary is None:
        return ChartRow(name, signs, numerals.ABSENT, remarks[0] or _why_absent(row))
    figure = shown.figure(run_tables.figures_of(row))
    marks: list[Segment | Whisker | RowPoint] = [*bar(row, summary, shown)]
    if numerals.worth_showing(summary):
        low, high = summary.low * shown.per_unit, summary.high * shown.per_unit
        marks.append(Whisker(low, min(high, limit), title=f"95 % interval: {figure.interval}"))
        remarks.append(f"interval reaches {shown.worded(high)}" if high > limit else "")
    elif summary.is_vague:
        remarks.append("two starts")
    return ChartRow(name, [*marks, *signs], figure.estimate, ", ".join(filter(None, remarks)))


def _why_absent(row: ServerView) -> str:
    """Return why a server has no figure, though it may have starts."""
    if not row.counting:
        return "no start was measured"
    # A start that others disturbed counts, but for the figures that they may have changed.
    some = disturbed(row.counting)
    return f"{programs(some)} disturbed it too much for this figure" if some else "could not be read"


def _whole_bar(row: ServerView, summary: Interval, shown: BarFigure) -> Iterator[Segment]:
    high = summary.estimate * shown.per_unit
    colour = theme.colour_of(row.note.language)
    yield Segment(0, high, colour, shown.worded(high), opacity=TWIN if row.twin else 1.0)


def _divided_bar(row: ServerView, summary: Interval, shown: BarFigure) -> Iterator[Segment]:
    """Yield the parts of a bar in user space and in the kernel, or one bar if these are not known."""
    user = _user_share(row)
    if user is None:
        (whole,) = _whole_bar(row, summary, shown)
        yield replace(whole, title=f"{whole.title}; user and kernel not told apart")
        return
    whole_ns, colour = summary.estimate * shown.per_unit, theme.colour_of(row.note.language)
    split_ns = whole_ns * user
    yield Segment(0, split_ns, colour, f"user: {shown.worded(split_ns)}")
    yield Segment(split_ns, whole_ns, colour, f"kernel: {shown.worded(whole_ns - split_ns)}", opacity=KERNEL)


def _signs(row: ServerView, shown: BarFigure) -> list[RowPoint]:
    """Return the signs of starts, but of many that are marked alike only some."""
    of: Callable[[Figures], float | None] = METRICS[shown.metric].of
    by_shape: dict[str, list[RowPoint]] = {}
    for start in row.starts:
        value = of(start.figures) if start.figures else None
        if value is not None:
            at = value * shown.per_unit
            sign = start_sign(start, at, shown.worded(at))
            by_shape.setdefault(sign.shape, []).append(sign)
    found = []
    for alike in by_shape.values():
        ranked = sorted(alike, key=lambda sign: sign.at)
        found += [ranked[at] for at in spread(len(ranked), SIGNS_MAX)]
    return found


def _user_share(row: ServerView) -> float | None:
    user = [trial.cpu_user_us for trial in row.figures if trial.cpu_user_us is not None]
    kernel = [trial.cpu_kernel_us for trial in row.figures if trial.cpu_kernel_us is not None]
    if not len(row.figures) == len(user) == len(kernel):
        return None
    total = sum(user) + sum(kernel)
    return sum(user) / total if total else None
