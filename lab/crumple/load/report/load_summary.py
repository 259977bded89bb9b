"""One load in a terminal, one screen long: what was asked, whether to trust it, how it went.

Pure: Load → what rich can print, or text. Figures come from `load_figures`, words from `load_sentences`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from crumple.drawing import fitting, numerals, report_text, terminal
from crumple.drawing.fitting import Column
from crumple.drawing.terminal import shown
from crumple.gate.condition import GLYPHS, TONES
from crumple.load.report import load_sentences as say
from crumple.load.report import server_sentences
from crumple.load.report.load_figures import QUANTILES, Load
from crumple.words import answer_sentences as answers

WIDTH_MAX = 100
# Which columns of a table are left out first where there is no room.
_TIMES_LEFT_OUT = ("p75", "p90", "p99.9")
_STEPS_LEFT_OUT = ("from", "p90", "max", "due")
# From this width on, a row also explains which span its time measures.
_EXPLAINED = 96
_HISTOGRAM_ROWS = 4
_ROWS_OPEN = ("response_time", "service_time", "lateness")
_ROWS_CLOSED = ("response_time",)
_ROWS_FAILED = ("failed", "timed_out")
_STEP_QUANTILES = (0.5, 0.9, 0.99)
_KIND_QUANTILES = (0.5, 0.99)
# The most lines about unexpected answers; the others are in the page and the JSON.
UNEXPECTED_MAX = 6
_TAIL = "magenta"


def text(load: Load, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary as text. `width` and `styled` None: as the terminal has it; plain without one."""
    columns = width or terminal.width(WIDTH_MAX)
    return terminal.printed(summary(load, columns), columns, styled)


def summary(load: Load, columns: int) -> RenderableType:
    """Return the summary for a console of `columns`. Raises NotStored where a histogram is damaged."""
    return Group(
        *_head(load),
        Text(),
        validity(load),
        Text(),
        *_times(load, columns),
        *_histogram(load, columns),
        Text(),
        terminal.named([("requests", say.requests(load.record)), *say.facts(load)]),
        *_kinds(load, columns),
        *_steps(load, columns),
    )


def _head(load: Load) -> Iterator[Text]:
    spec = load.record.spec
    yield Text(say.asked(spec, load.url), style="bold", overflow="fold")
    yield Text(say.shape(spec, load))
    yield Text(", ".join(say.circumstances(load.record)), style="dim")


def validity(load: Load, unexpected_max: int = UNEXPECTED_MAX, *, brief: bool = False) -> Table:
    """Return whether to trust the load, and what failed. `brief`: nothing of what does not change that."""
    table = Table.grid(padding=(0, 1, 0, 0))
    if overload := server_sentences.overload(load):
        table.add_row(Text("!", style="bold red"), Text(overload, style="bold red"))
    valid = load.validity.word == "valid"
    verdict = Text(say.validity(load), style="green" if valid else "bold red")
    loss_style = "red" if load.lossy else "yellow"
    unexpected = answers.lines(load.unexpected, unexpected_max)
    if lost := say.losses(load):
        verdict.append(f", {lost}", style=f"bold {loss_style}")
    if len(unexpected) == 1:
        verdict.append(f": {unexpected.pop()}", style=loss_style)
    if not (brief and valid and not lost):
        table.add_row(Text("✓", style="green") if valid else Text("✗", style="bold red"), verdict)
    for problem in load.validity.problems:
        table.add_row("", Text(problem), style="red")
    for line in unexpected:
        table.add_row("", Text(line), style=loss_style)
    for warning in () if brief else say.warnings(load):
        table.add_row("!", Text(warning), style="yellow")
    for each in load.fail_if:
        table.add_row(GLYPHS[each.state], Text(each.sentence), style=report_text.STYLES[TONES[each.state]])
    return table


def _times(load: Load, columns: int) -> Iterator[RenderableType]:
    if not load.has_times:
        return
    shown = {name: load.spreads[name] for name in _rows(load) if name in load.spreads}
    heads = [*(say.quantile(q) for q in QUANTILES), "max"]
    cells = [
        [*say.quantiles(spread, QUANTILES), numerals.duration(spread.max_ns)] for spread in shown.values()
    ]
    table = [
        Column("", [Text(say.SPREADS[name][0]) for name in shown], True),
        *(
            Column(head, [Text(row[at]) for row in cells], True, True, at_least=7)
            for at, head in enumerate(heads)
        ),
    ]
    if columns >= _EXPLAINED:
        table.append(Column("", [Text(say.SPREADS[name][1], style="dim") for name in shown], True))
    kept = fitting.fitted(table, columns, left_out_first=_TIMES_LEFT_OUT)
    yield fitting.table(kept, columns)
    if any(len(spread.quantile_ns) < len(QUANTILES) for spread in shown.values()):
        yield Text(say.TOO_FEW, style="dim")
    if gone := fitting.left_out(table, kept, columns):
        yield Text(gone, style="dim")


def _rows(load: Load) -> tuple[str, ...]:
    """Which times to show; where no answer was ok, there are only the times of the failures."""
    failed = tuple(name for name in _ROWS_FAILED if load.spreads[name].count)
    if failed and not load.record.outcomes.ok:
        return failed
    return _ROWS_OPEN if load.record.spec.shape.kind == "open" else _ROWS_CLOSED


def _histogram(load: Load, columns: int) -> Iterator[Text]:
    edges_ns, counts = load.bins(columns)
    if not counts:
        return
    yield Text()
    response = load.spreads["response_time"]
    tail_ns = response.quantile_ns.get(0.99, math.inf)
    for row in terminal.blocks(counts, _HISTOGRAM_ROWS):
        drawn = Text(no_wrap=True)
        for block, edge_ns in zip(row, edges_ns, strict=False):
            drawn.append(block, style=_TAIL if edge_ns >= tail_ns else "cyan")
        yield drawn
    axis = terminal.Axis(edges_ns[0], edges_ns[-1], logarithmic=True)
    known = response.quantile_ns
    marks = [(say.quantile(q), known[q]) for q in (0.5, 0.99, 0.999, 0.9) if known.get(q)]
    yield Text(terminal.ruler(marks, axis, columns, "─"), style="dim")
    ticks = [(numerals.duration(ns), ns) for ns in terminal.round_between(edges_ns[0], edges_ns[-1])]
    yield Text(terminal.ruler(ticks, axis, columns), style="dim")


def _kinds(load: Load, columns: int) -> Iterator[RenderableType]:
    """A row for each of several requests. Names for which there is no room stand above their figures."""
    if len(load.kinds) < 2:
        return
    yield Text()
    names = [Text(shown(kind.record.name)) for kind in load.kinds]
    figures = [
        [
            Text(numerals.share(kind.share)),
            Text(f"{kind.record.outcomes.ok:,}"),
            *(Text(said) for said in say.quantiles(kind.spread, _KIND_QUANTILES)),
        ]
        for kind in load.kinds
    ]
    heads = ("share", "ok", *(say.quantile(q) for q in _KIND_QUANTILES))
    failed = [Text(say.failed(kind), style="bold red" if kind.unexpected else "") for kind in load.kinds]
    table = [
        Column("request", names),
        *(Column(head, [row[at] for row in figures], True, True) for at, head in enumerate(heads)),
        Column("failed", failed),
    ]
    if fitting.least(table) <= columns:
        yield fitting.table(table, columns)
        return
    for at, name in enumerate(names):
        yield name
        yield Padding(fitting.table([_only(each, at) for each in table[1:]], columns - 2), (0, 0, 0, 2))


def _only(column: Column, at: int) -> Column:
    """Return the column with one of its cells, as wide as it is with all."""
    return replace(column, cells=[column.cells[at]], at_least=column.least)


def _steps(load: Load, columns: int) -> Iterator[RenderableType]:
    if not load.steps:
        return
    yield Text()
    heads = ["from", "due", "ok", *(say.quantile(q) for q in _STEP_QUANTILES), "max", "failed"]
    cells = [
        [
            Text(say.seconds(step.from_s)),
            Text(numerals.rate(step.due_per_s)),
            Text(numerals.rate(step.throughput_per_s)),
            *(Text(said) for said in say.quantiles(step.spread, _STEP_QUANTILES)),
            Text(numerals.duration(step.spread.max_ns)),
            Text(f"{step.failed:,}", style="bold red" if step.failed else ""),
        ]
        for step in load.steps
    ]
    table = [
        Column("step", [Text(say.rate(step.rate)) for step in load.steps], True),
        *(Column(head, [row[at] for row in cells], True, True) for at, head in enumerate(heads)),
    ]
    kept = fitting.fitted(table, columns, left_out_first=_STEPS_LEFT_OUT)
    yield fitting.table(kept, columns)
    if gone := fitting.left_out(table, kept, columns):
        yield Text(gone, style="dim")
