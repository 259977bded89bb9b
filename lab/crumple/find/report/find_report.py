"""The document of a search, made of what it found, and its report. Pure."""

from collections.abc import Iterator
from functools import partial

from crumple.documents import result
from crumple.drawing import numerals
from crumple.drawing.chart import Chart
from crumple.drawing.report_parts import (
    ByWidth,
    Charts,
    Circumstances,
    Column,
    Facts,
    Fold,
    Note,
    Notes,
    Paragraph,
    Part,
    Plot,
    Report,
    Section,
    Table,
    again,
    on_page,
    on_terminal,
    phrase,
)
from crumple.find.report import find_answer, find_charts, find_document, find_plot, find_times
from crumple.find.report import find_sentences as say
from crumple.find.report.find_document import FindDocument
from crumple.find.report.find_figures import SearchFigures
from crumple.find.report.level_sentences import verdict
from crumple.find.search import SearchQuestion, SearchResult
from crumple.gate.condition import for_page

# What the table of times takes for its names, and for each level.
NAME_COLUMNS, TIME_COLUMNS = 28, 11
# Which columns of a table go while verdicts would wrap, and which while words would be broken.
SPARED_FIRST = ("server CPU", "for")
LEFT_OUT_FIRST = ("failed", "ok", "p50", "start")
BELOW_A_PART = (
    "Below a part of the objective stand the requests that missed it: those that took longer, failed, or had "
    "waited for longer when the level ended."
)
# The most warnings that a page shows unfolded: with more, the picture leaves the first screen.
WARNINGS_MAX = 2
# The facts about the method, which a page folds.
_FOLDED = frozenset(("weighed as", "not decided", "highest held", "flat out", "first guess", "machine"))


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
    answer = find_answer.of(finding, _charts(finding, find_charts.RESPONSE_OVER_LOAD))
    said = find_answer.names(finding)
    facts = [row for row in say.facts(finding) if row[0] not in said]
    return Report(
        verb="find",
        title=f"{document.headline} – {document.asked}",
        head=[
            on_terminal(
                Paragraph(f"objective {document.objective}", "source", breaks_words=True),
                Circumstances(say.circumstances(finding)),
            ),
            for_page(document.fail_if),
            on_page(*(Paragraph(said, "problem") for said in finding.problems)),
            on_page(*_warnings(finding)),
        ],
        sections=[
            Section(
                [on_terminal(Facts([*facts, *_not_known(finding)])), on_page(_told(facts))], name="facts"
            ),
            Section([Plot(partial(find_plot.plot, finding))]),
            Section(
                [on_page(_charts(finding, find_charts.LEVELS_BY_START))],
                heading="Levels by start",
                name="starts",
                is_spoken=True,
            ),
            _times(finding),
            Section([on_terminal(_levels(finding))]),
            _more(finding, facts),
            Section([on_terminal(Notes([*_doubts(finding)]))]),
            again(document.command),
        ],
        engine_version=document.engine_version,
        has_contents=True,
        answer=result.located(answer, document),
        circumstances=document.circumstances,
    )


def _warnings(finding: SearchFigures) -> Iterator[Part]:
    """Yield the warnings for a page, many of them folded."""
    said = [Paragraph(each, "caution") for each in finding.warnings]
    yield from said[:WARNINGS_MAX]
    if rest := said[WARNINGS_MAX:]:
        yield Fold(f"{numerals.count(len(rest), 'more warning')}", rest)


def _charts(finding: SearchFigures, chart: Chart[SearchFigures]) -> Charts:
    return Charts([chart.of(finding)])


def _not_known(finding: SearchFigures) -> list[tuple[str, str]]:
    """Return what of the times is not known."""
    time = "; ".join(filter(None, (find_times.unknown(finding), find_times.not_divided(finding))))
    return [("time", time)] if time else []


def _told(facts: list[tuple[str, str]]) -> Facts:
    return Facts([row for row in facts if row[0] not in _FOLDED])


def _more(finding: SearchFigures, facts: list[tuple[str, str]]) -> Section:
    """Return for a page what few readers need, folded: what was asked in full, and how it was weighed."""
    how = [
        ("objective", finding.document.objective),
        ("search", ", ".join(say.circumstances(finding)[:3])),
        *(row for row in facts if row[0] in _FOLDED),
        *_not_known(finding),
    ]
    levels = Fold(
        f"All {numerals.count(len(finding.rows), 'level')}",
        [_levels(finding), Paragraph(f"{say.READING} {BELOW_A_PART}", "note")],
    )
    return Section([on_page(levels, Fold("How it was searched", [Facts(how)]))], heading="More", name="more")


def _levels(finding: SearchFigures) -> Table:
    """Return a row for each level."""
    rows = [say.cells(finding, level) for level in finding.rows]
    verdicts = [
        phrase(f"{say.GLYPHS[level.outcome]}{numerals.NARROW}{verdict(level)}", say.TONES[level.outcome])
        for level in finding.rows
    ]
    columns = [
        Column(head, [row[at] for row in rows], right=True, whole=True)
        for at, head in enumerate(say.heads(finding))
    ]
    return Table(
        [*columns, Column("verdict", verdicts)],
        left_out_first=LEFT_OUT_FIRST,
        spared_first=SPARED_FIRST,
        is_named=False,
        row_names=[f"level-{at}" for at in range(1, len(rows) + 1)],
    )


def _times(finding: SearchFigures) -> Section:
    """Return where the time went: a bar for each of some levels; in a terminal a row for each part."""

    if not finding.divided:
        return Section([])

    def by_width(columns: int) -> list[Table]:
        return [*_table_of_times(finding, (columns - NAME_COLUMNS) // TIME_COLUMNS)]

    return Section(
        [on_terminal(ByWidth(by_width)), on_page(_charts(finding, find_charts.TIME_BY_LEVEL))],
        heading="Where the time goes",
        name="times",
        is_spoken=True,
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
