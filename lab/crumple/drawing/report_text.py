"""A report for a terminal: as text of a given number of columns, with or without ANSI styles. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, assert_never

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from crumple.drawing import fitting, terminal
from crumple.drawing.report_parts import (
    ByWidth,
    Charts,
    Circumstances,
    Code,
    Column,
    Facts,
    Fold,
    Heading,
    Items,
    Notes,
    Paragraph,
    Plot,
    Prose,
    Report,
    Table,
    Title,
    Tone,
    Words,
    join,
    parts_for,
    plain,
    spans_of,
)

# Longer lines are hard to read, so a wider terminal is not filled.
WIDTH_MAX = 100
STYLES: dict[Tone, str] = {
    "plain": "",
    "dim": "dim",
    "good": "green",
    "doubtful": "yellow",
    "bad": "red",
    "command": "cyan",
    "open": "cyan",
}


def text(
    report: Report, width: int | None = None, styled: bool | None = None, width_max: int = WIDTH_MAX
) -> str:
    """Return a report as text. `width` and `styled` None: as the terminal has it; plain without one."""
    columns = width or terminal.width(width_max)
    return terminal.printed(screen(report, columns), columns, styled)


def screen(report: Report, columns: int) -> Group:
    """Return a report for a console of that many columns: the answer comes last, above the prompt."""
    answer = report.answer
    first = [Title([answer.asked, *answer.subjects]), *report.head] if answer else report.head
    last = [*map(Paragraph, answer.found), Paragraph(_with_colon(answer.sure))] if answer else []
    program = [Paragraph(report.first_line, breaks_words=True)] if report.first_line else []
    groups = [[*program, *first], *(section.parts for section in report.sections), last]
    drawn = [found for parts in groups if (found := [*_drawn(parts, columns)])]
    return Group(*(line for at, found in enumerate(drawn) for line in ([Text()] if at else []) + found))


def _with_colon(sure: Words) -> Words:
    """Return how sure an answer is, with a colon in place of the frame that a page has around the word."""
    first, *rest = spans_of(sure)
    has_more = first.form == "badge" and any(span.text for span in rest)
    return join(replace(first, text=f"{first.text}:"), *rest) if has_more else sure


def rich_text(words: Words) -> Text:
    """Return words with their styles."""
    spans = spans_of(words)
    if len(spans) == 1:
        # The style of a whole text is also that of the space behind it.
        return Text(spans[0].text, style=_style(spans[0].tone, spans[0].strong))
    return Text.assemble(*((span.text, _style(span.tone, span.strong)) for span in spans))


def _style(tone: Tone, strong: bool) -> str:
    return " ".join(filter(None, ("bold" if strong else "", STYLES[tone])))


def _drawn(parts: Iterable[Any], columns: int) -> Iterator[RenderableType]:
    for part in parts_for(parts, "terminal"):
        yield from _part(part, columns)


def _part(part: Any, columns: int) -> Iterator[RenderableType]:
    match part:
        case Title(lines=lines):
            yield from (Text(line, style="bold", overflow="fold") for line in lines)
        case Heading(words=words):
            yield Text(plain(words), style="bold")
        case Paragraph(words=words, breaks_words=breaks_words):
            drawn = rich_text(words)
            drawn.overflow = "fold" if breaks_words else None
            yield drawn
        case Circumstances(phrases=phrases):
            yield Text(", ".join(phrases), style="dim")
        case Facts(rows=rows):
            if rows:
                yield _facts(rows)
        case Notes(rows=rows):
            if rows:
                yield notes(part)
        case Table():
            yield from _table(part, columns)
        case Plot(draw=draw):
            yield from draw(columns)
        case ByWidth(choose=choose):
            yield from _drawn(choose(columns), columns)
        case Code(lines=lines):
            yield from (Text(line, overflow="fold") for line in lines)
        case Prose(markdown=markdown):
            yield Text(markdown)
        case Items(rows=rows):
            yield from (Text("- ").append_text(rich_text(row)) for row in rows)
        case Fold(title=title):
            yield rich_text(title)
        case Charts():
            return
        case _:
            assert_never(part)


def _facts(rows: Iterable[tuple[str, Words]]) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, words in rows:
        grid.add_row(name, rich_text(words))
    return grid


def notes(given: Notes) -> Grid:
    """Return lines that begin with a sign, and go on below their own first word."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for note in given.rows:
        grid.add_row(note.sign, rich_text(note.words), style=STYLES[note.tone])
    return grid


def _table(table: Table, columns: int) -> Iterator[RenderableType]:
    every = [_column(each) for each in table.shown_in("terminal") if columns >= each.wide_from]
    if not every or not every[0].cells:
        return
    if table.stacks and fitting.least(every) > columns:
        yield from _stacked(every, columns)
        return
    kept = fitting.fitted(
        every, columns, left_out_first=table.left_out_first, spared_first=table.spared_first
    )
    yield fitting.table(kept, columns)
    if gone := fitting.left_out(every, kept, columns):
        yield Text(gone, style="dim")


def _column(column: Column) -> fitting.TextColumn:
    cells = [rich_text(cell or "") for cell in column.cells]
    return fitting.TextColumn(column.heading, cells, column.whole, column.right, column.at_least)


def _stacked(table: list[fitting.TextColumn], columns: int) -> Iterator[RenderableType]:
    """Yield each name above its figures, whose columns are as wide as they are with all rows."""
    names, *figures = table
    for at, name in enumerate(names.cells):
        yield name
        own = [replace(each, cells=[each.cells[at]], at_least=each.least) for each in figures]
        yield Padding(fitting.table(own, columns - 2), (0, 0, 0, 2))
