"""A report for a cell of a notebook: the answer, one table and one picture, without a style sheet. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

from crumple.drawing import report_markdown
from crumple.drawing.report_parts import (
    Answer,
    Column,
    Fold,
    Notes,
    Paragraph,
    Part,
    Report,
    Role,
    Section,
    Span,
    Table,
    Words,
    parts_for,
    plain,
    spans_of,
)
from crumple.drawing.terminal import shown_text

# The most rows of a table that a cell of a notebook shows, so that it is no longer than a screen.
ROWS_MAX = 20
# What a reader must know of a result who sees no more of it than the cell.
WARNING_ROLES: frozenset[Role] = frozenset(("caution", "problem", "condition"))
_STYLE = "padding: 2px 14px 2px 0; vertical-align: top"


def html(report: Report, page: str = "") -> str:
    """Return HTML. `page`: where the whole page lies; empty: nowhere."""
    answer, table = report.answer, _table(report)
    blocks = [
        *(_answer(answer) if answer else ()),
        *map(_warning, _warnings(report)),
        *([_grid(table)] if table else []),
        *_picture(answer),
    ]
    said = ", ".join(report.circumstances)
    link = f'<a href="{_text(page)}">the whole page</a>' if page else ""
    return "\n".join(["<div>", *blocks, f"<p>{' · '.join(filter(None, [_text(said), link]))}</p>", "</div>"])


def markdown(report: Report) -> str:
    """Return the answer, what makes it doubtful and the table as Markdown."""
    table = _table(report)
    parts: list[Part] = [*_warnings(report), *([] if table is None else [replace(table, below=())])]
    answer = report.answer and replace(report.answer, picture=None)
    return report_markdown.markdown(replace(report, answer=answer, head=[], sections=[Section(parts)]))


def _answer(answer: Answer) -> Iterator[str]:
    yield f"<p><b>{_text(answer.asked)}</b></p>"
    yield from (f"<p><code>{_text(each)}</code></p>" for each in answer.subjects)
    yield from (f"<p>{_words(each)}</p>" for each in (*answer.found, answer.sure))


def _warning(said: Paragraph) -> str:
    # What came of a condition begins with a sign of its own.
    return f"<p>{'' if said.role == 'condition' else '! '}{_words(said.words)}</p>"


def _grid(table: Table) -> str:
    columns = [each for each in table.shown_in("page") if any(cell and plain(cell) for cell in each.cells)]
    rows = len(columns[0].cells) if columns else 0
    lines = [_row("th", columns, [each.heading for each in columns])]
    for at in range(min(rows, ROWS_MAX)):
        lines.append(_row("td", columns, [each.cells[at] or "" for each in columns]))
    more = f"<p>{rows - ROWS_MAX} more rows on the page</p>" if rows > ROWS_MAX else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _row(tag: str, columns: Sequence[Column], cells: Sequence[Words]) -> str:
    return f"<tr>{''.join(map(partial(_cell, tag), columns, cells))}</tr>"


def _cell(tag: str, column: Column, words: Words) -> str:
    side = "right" if column.right else "left"
    return f'<{tag} style="{_STYLE}; text-align: {side}">{_words(words)}</{tag}>'


def _picture(answer: Answer | None) -> Iterator[str]:
    charts = answer.picture.charts if answer and answer.picture else []
    drawn, chart = next(((svg, each) for each in charts if (svg := each.file())), ("", None))
    if chart is not None:
        yield f'<div style="overflow-x: auto">{drawn}</div><p>{_text(chart.caption)}</p>'


def _warnings(report: Report) -> list[Paragraph]:
    """Return what makes it doubtful, and what failed, as far as a page does not fold it."""
    parts = [*report.head, *(part for section in report.sections for part in section.parts)]
    return [*_warned(parts)]


def _warned(parts: Iterable[Any]) -> Iterator[Paragraph]:
    for part in parts_for(parts, "page"):
        if isinstance(part, Paragraph) and part.role in WARNING_ROLES:
            yield part
        elif isinstance(part, Notes):
            yield from (Paragraph(each.words, each.role) for each in part.rows if each.role in WARNING_ROLES)


def _table(report: Report) -> Table | None:
    """Return the first table of a page that is not folded; if all are, the first of these."""
    parts = [*report.head, *(part for section in report.sections for part in section.parts)]
    return next(_tables(parts, folded=False), None) or next(_tables(parts, folded=True), None)


def _tables(parts: Iterable[Any], *, folded: bool) -> Iterator[Table]:
    for part in parts_for(parts, "page"):
        if isinstance(part, Table) and part.columns and part.columns[0].cells:
            yield part
        elif isinstance(part, Fold) and folded:
            yield from _tables(part.parts, folded=True)


def _words(words: Words) -> str:
    return "".join(map(_span, spans_of(words)))


def _span(span: Span) -> str:
    text = _text(span.text)
    marked = f"<b>{text}</b>" if text and (span.strong or span.form in ("badge", "figure")) else text
    return f"<br>{marked}" if text and span.form in ("below", "label") else marked


def _text(text: str) -> str:
    return escape(shown_text(text))
