"""The document of a search, made of what it found, and its report. Pure."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from crumple.documents import result
from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    ByWidth,
    Charts,
    Circumstances,
    Column,
    Facts,
    Note,
    Notes,
    Paragraph,
    Plot,
    Report,
    Section,
    Table,
    Title,
    again,
    on_page,
    on_terminal,
    phrase,
)
from crumple.find.report import find_document, find_plot, find_times
from crumple.find.report import find_sentences as say
from crumple.find.report.find_document import FindDocument
from crumple.find.report.find_figures import SearchFigures
from crumple.find.report.level_sentences import verdict
from crumple.find.search import SearchQuestion, SearchResult
from crumple.gate.condition import for_page

if TYPE_CHECKING:
    from crumple.drawing.page import BoundChart

# What the table of times takes for its names, and for each level.
NAME_COLUMNS, TIME_COLUMNS = 28, 11
# Which columns of a table go while verdicts would wrap, and which while words would be broken.
SPARED_FIRST = ("server CPU", "for")
LEFT_OUT_FIRST = ("failed", "ok", "p50", "start")
BELOW_A_PART = (
    "Below a part of the objective stand the requests that missed it: those that took longer, failed, or had "
    "waited for longer when the level ended."
)
MAY_BE_NONE = 'The mean response time of some levels, by parts. With "<" a part may take no time at all.'


def document_of(
    question: SearchQuestion,
    found: SearchResult,
    *,
    asked: str,
    command: str,
    afresh: bool,
    server_cores: int | None,
    is_local: bool,
    engine_version: str,
    began_unix_s: float,
) -> FindDocument:
    """Return the document of a search that is over, which has no name yet.

    `asked`: what was asked of which server; `server_cores`: how many it may use, None: it was not watched.
    """
    bare = FindDocument(
        **result.head(
            "find",
            find_document.VERSION,
            command=command,
            began_unix_s=began_unix_s,
            ended_early=found.ending == "interrupted",
            asked=asked,
            headline="",
            engine_version=engine_version,
        ),
        **find_document.of_search(found),
        **{name: getattr(question, name) for name in find_document.QUESTION},
        objective=str(question.objective),
        decided=False,
        why="",
        highest_held=found.highest_held,
        broke_first=None,
        broke_first_at=None,
        used_up=(),
        starts=len({each.start for each in found.levels}),
        afresh=afresh,
        server_cores=server_cores,
        is_local=is_local,
        flat_out=found.is_flat_out,
        warnings=(),
        findings=(),
    )
    return with_figures(bare)


def with_figures(document: FindDocument) -> FindDocument:
    """Return the document with what is computed of the rest of it."""
    figures = SearchFigures(document)
    level = figures.first_broken_level
    return document.model_copy(
        update={
            "decided": figures.is_decided,
            "headline": say.headline(figures),
            "why": say.why(figures),
            "broke_first": figures.first_broken,
            "broke_first_at": level.load if level else None,
            "used_up": figures.signs,
            "warnings": figures.warnings,
            "findings": figures.said,
        }
    )


def report(document: FindDocument) -> Report:
    """Return what a search came to as a report."""
    finding = SearchFigures(document)
    headline = say.headline(finding)
    good = finding.found.point is not None and finding.found.lost is None and not finding.decided_nothing
    return Report(
        verb="find",
        title=document.asked,
        head=[
            Title([document.asked]),
            on_page(Paragraph(headline, "headline")),
            Paragraph(f"objective {document.objective}", "source", breaks_words=True),
            Circumstances(say.circumstances(finding)),
        ],
        sections=[
            Section(
                [
                    on_terminal(Paragraph(phrase(headline, "good" if good else "doubtful", strong=True))),
                    Facts(_facts(finding)),
                    for_page(document.fail_if),
                    on_page(*(Paragraph(said, "caution") for said in finding.warnings)),
                ],
                heading="What gave",
                name="facts",
                is_spoken=True,
            ),
            Section(
                [Plot(partial(find_plot.plot, finding)), Charts(partial(_charts, finding))],
                heading="Chart",
                name="charts",
                is_spoken=True,
            ),
            _levels(finding),
            _times(finding),
            Section([on_terminal(Notes([*_doubts(finding)]))]),
            again(document.command),
        ],
        engine_version=document.engine_version,
    )


def _charts(finding: SearchFigures) -> list["BoundChart"]:
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.find.report.find_charts import CHARTS

    return [chart.of(finding) for chart in CHARTS]


def _facts(finding: SearchFigures) -> list[tuple[str, str]]:
    """Return the facts, and what of the times is not known."""
    time = "; ".join(filter(None, (find_times.unknown(finding), find_times.not_divided(finding))))
    return [*say.facts(finding), *([("time", time)] if time else [])]


def _levels(finding: SearchFigures) -> Section:
    rows = [say.cells(finding, level) for level in finding.rows]
    verdicts = [
        phrase(f"{say.GLYPHS[level.outcome]}{numerals.NARROW}{verdict(level)}", say.TONES[level.outcome])
        for level in finding.rows
    ]
    columns = [
        Column(head, [row[at] for row in rows], right=True, whole=True)
        for at, head in enumerate(say.heads(finding))
    ]
    table = Table(
        [*columns, Column("", verdicts)],
        left_out_first=LEFT_OUT_FIRST,
        spared_first=SPARED_FIRST,
        is_named=False,
    )
    notes = (Paragraph(said, "note") for said in (*finding.problems, f"{say.READING} {BELOW_A_PART}"))
    return Section([table, on_page(*notes)], heading="Levels", name="levels")


def _times(finding: SearchFigures) -> Section:
    """Return where the time went: a row for each part, a column for each of some levels."""

    def by_width(columns: int) -> list[Table]:
        return [*_table_of_times(finding, (columns - NAME_COLUMNS) // TIME_COLUMNS)]

    on_pages = [*_table_of_times(finding, find_times.LEVELS_MAX)]
    note = [Paragraph(MAY_BE_NONE, "note")] if on_pages else []
    return Section(
        [on_terminal(ByWidth(by_width)), on_page(*on_pages, *note)],
        heading="Where the time goes",
        name="times",
    )


def _table_of_times(finding: SearchFigures, most: int) -> Iterator[Table]:
    levels = find_times.choose(finding, most)
    if levels:
        rows = find_times.rows(levels)
        names = f"time at {'requests/s' if finding.by_rate else 'connections'}"
        columns = [
            Column(
                head.replace(" ", numerals.NARROW), [cells[at] for _, cells in rows], right=True, whole=True
            )
            for at, head in enumerate(find_times.heads(finding, levels))
        ]
        yield Table([Column(names, [name for name, _ in rows]), *columns])


def _doubts(finding: SearchFigures) -> Iterator[Note]:
    """Yield what makes it doubtful."""
    yield from (Note("○", problem, "doubtful") for problem in finding.problems)
    yield from (Note("!", said, "doubtful") for said in finding.warnings)
