"""One search in a terminal: where it breaks, what gave first, what was used up, every level, a chart.

Pure: Finding → text. Figures come from `figures`, words from `sentences`.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import terminal
from crumple.find.level import Level
from crumple.find_report import level_sentences
from crumple.find_report import sentences as say
from crumple.find_report.figures import Finding
from crumple.find_report.plot import STYLES, plot

WIDTH_MIN, WIDTH_MAX = 80, 100


def text(finding: Finding, width: int | None = None, styled: bool | None = None) -> str:
    """The summary. Without `width` and `styled`: as the terminal has it, plain where there is none."""
    columns = width or terminal.width(WIDTH_MIN, WIDTH_MAX)
    return terminal.printed(Group(*_parts(finding, columns)), columns, styled)


def _parts(finding: Finding, columns: int) -> Iterator[RenderableType]:
    good = finding.found.point is not None
    yield Text(finding.asked, style="bold", overflow="fold")
    yield Text(f"objective {finding.question.objective}", overflow="fold")
    yield Text(", ".join(say.circumstances(finding)), style="dim")
    yield Text()
    yield Text(say.headline(finding), style="bold green" if good else "bold yellow")
    yield _facts(finding)
    yield Text()
    drawn = plot(finding, columns)
    yield from drawn
    if drawn:
        yield Text()
    yield _levels(finding)
    for problem in _problems(finding):
        yield Text(problem, style="yellow")


def _facts(finding: Finding) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, said in say.facts(finding):
        table.add_row(name, Text(said))
    return table


def _levels(finding: Finding) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in level_sentences.heads(finding):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for level in finding.rows:
        table.add_row(*level_sentences.cells(finding, level), _verdict(level))
    return table


def _verdict(level: Level) -> Text:
    return Text(
        f"{level_sentences.GLYPHS[level.outcome]} {level_sentences.verdict(level)}",
        style=STYLES[level.outcome],
    )


def _problems(finding: Finding) -> list[str]:
    return [*(f"○ {problem}" for problem in finding.problems), *(f"! {said}" for said in finding.warnings)]
