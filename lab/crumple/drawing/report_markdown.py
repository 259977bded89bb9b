"""A report in Markdown, for a comment, a job's summary or a file beside charts. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

from crumple.drawing.page import as_markdown, unbroken
from crumple.drawing.report_parts import (
    SENTENCES,
    ByWidth,
    Charts,
    Circumstances,
    Code,
    Facts,
    Fold,
    Heading,
    Items,
    Notes,
    Paragraph,
    Plot,
    Prose,
    Report,
    Section,
    Span,
    Table,
    Title,
    Words,
    join,
    parts_for,
    plain,
    sentence,
    spans_of,
)
from crumple.drawing.terminal import shown_text

# The folder of the chart files, beside the text.
CHARTS = "charts"
# A fence of Markdown has three signs at least.
FENCE_MIN = 3
# What would act as markup, wherever in a line it is.
_MARKS = re.compile(r"([\\`*_<\[])")


def markdown(report: Report) -> str:
    """Return the whole report."""
    sections = [*_answer(report), *_blocks(report.head)]
    sections += [block for each in report.sections for block in _section(each)]
    return "\n\n".join(filter(None, sections)) + "\n"


def _answer(report: Report) -> Iterator[str]:
    if answer := report.answer:
        yield f"# {escaped(answer.asked)}"
        yield from _part(Items([join(Span(each, form="code")) for each in answer.subjects]))
        yield from map(words, answer.found)
        yield words(answer.sure)
        yield from _blocks([answer.picture] if answer.picture else [])
    if report.circumstances:
        yield from _part(Circumstances(report.circumstances))


def escaped(text: str) -> str:
    """Return text on one line that cannot act as markup."""
    return shown_text(_MARKS.sub(r"\\\1", unbroken(text)).replace("\n", " "))


def code(text: str) -> str:
    """Return text as code within a line, between more backticks than follow one another in it."""
    shown = shown_text(text.replace("\n", " "))
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    blank = " " if "`" in shown else ""
    return f"{ticks}{blank}{shown}{blank}{ticks}"


def fenced(lines: Sequence[str], language: str = "text") -> str:
    """Return lines as a block of code, in a fence longer than any in it."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(FENCE_MIN, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Return a table of cells that are Markdown already. `right`: which columns stand at their right side."""
    rules = ["--:" if at < len(right) and right[at] else "---" for at in range(len(heads))]
    lines = [heads, rules, *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def folded(title: str, blocks: Iterable[str]) -> str:
    """Return blocks below a line that a click opens, if the reader's program can fold."""
    return "\n".join([f"<details><summary>{title}</summary>", "", *blocks, "", "</details>"])


def words(given: Words) -> str:
    """Return words in Markdown."""
    return "".join(map(_span, spans_of(given)))


def _span(span: Span) -> str:
    if not span.text:
        return ""
    if span.form == "swatch":
        return ""
    text = code(span.text) if span.form in ("code", "label") else escaped(span.text)
    if span.form == "badge" or span.strong:
        text = f"**{text}**"
    if span.form == "below":
        text = f"<br>{text}"
    # Only a page has the places that a link within it leads to.
    return f"[{text}]({span.link})" if span.link and not span.link.startswith("#") else text


def _section(section: Section) -> Iterator[str]:
    blocks = [*_blocks(section.parts)]
    if blocks:
        yield f"## {escaped(section.heading)}" if section.heading else ""
        yield from blocks


def _blocks(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts_for(parts, "markdown"):
        yield from filter(None, _part(part))


def _part(part: Any) -> Iterator[str]:
    match part:
        case Title(lines=lines):
            yield f"# {'; '.join(map(escaped, lines))}"
        case Heading(words=given):
            yield f"### {words(given)}"
        case Paragraph(words=given, role=role):
            yield escaped(sentence(plain(given))) if role in SENTENCES else words(given)
        case Circumstances(phrases=phrases):
            yield escaped(", ".join(phrases))
        case Facts(rows=rows):
            if rows:
                yield table(("Fact", ""), [(escaped(name), words(given)) for name, given in rows])
        case Notes(rows=rows):
            yield "\n".join(f"- {f'{note.sign} ' if note.sign else ''}{words(note.words)}" for note in rows)
        case Table():
            yield _table(part)
            yield _below(part)
        case Charts(charts=charts):
            for chart in charts:
                if chart.draw() is None:
                    continue
                yield f"### {escaped(chart.title)}"
                yield f"![{escaped(chart.title)}]({CHARTS}/{chart.file_stem}.svg)"
                yield escaped(chart.caption)
        case Code(lines=lines):
            yield fenced(lines)
        case Prose(markdown=prose):
            yield as_markdown(prose)
        case Items(rows=rows):
            yield "\n".join(f"- {words(row)}" for row in rows)
        case Fold(title=title, parts=parts):
            yield folded(words(title), _blocks(parts))
        case Plot() | ByWidth():
            return
        case _:
            assert_never(part)


def _table(given: Table) -> str:
    columns = given.shown_in("markdown")
    if not columns or not columns[0].cells:
        return ""
    rows = zip(*([words(cell or "") for cell in column.cells] for column in columns), strict=True)
    return table([escaped(each.heading) for each in columns], rows, [each.right for each in columns])


def _below(given: Table) -> str:
    """Return what is said of rows as a list, in which the first words of each row name it."""
    lines, name = [], ""
    for cell, below in zip(given.columns[0].cells, given.below, strict=False):
        name = next((span.text for span in spans_of(cell) if span.form != "swatch"), name) if cell else name
        said = [words(each.words) for each in parts_for(below, "markdown") if isinstance(each, Paragraph)]
        if said:
            lines.append(f"- **{escaped(name.strip())}** {' '.join(said)}")
    return "\n".join(lines)
