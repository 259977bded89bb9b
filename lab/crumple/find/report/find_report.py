"""One search as a report, and as JSON, which rounds nothing. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    Charts,
    Circumstances,
    Column,
    Facts,
    Fitted,
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
from crumple.find.report import find_plot, find_times
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import Finding
from crumple.find.report.level_sentences import verdict
from crumple.find.search import Found
from crumple.gate.condition import Outcome, for_page
from crumple.words import cause_sentences, time_sentences

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


def report(finding: Finding, outcomes: Sequence[Outcome] = ()) -> Report:
    """Return the search as a report. `outcomes`: of the conditions of --fail-if."""
    headline = say.headline(finding)
    good = finding.found.point is not None and finding.found.lost is None and not finding.decided_nothing
    return Report(
        verb="find",
        title=finding.asked,
        head=[
            Title([finding.asked]),
            on_page(Paragraph(headline, "headline")),
            Paragraph(f"objective {finding.question.objective}", "source", breaks_words=True),
            Circumstances(say.circumstances(finding)),
        ],
        sections=[
            Section(
                [
                    on_terminal(Paragraph(phrase(headline, "good" if good else "doubtful", strong=True))),
                    Facts(_facts(finding)),
                    for_page(outcomes),
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
            again(finding.command),
        ],
        engine_version=finding.engine_version,
    )


def _charts(finding: Finding) -> list["BoundChart"]:
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.find.report.find_charts import CHARTS

    return [chart.of(finding) for chart in CHARTS]


def _facts(finding: Finding) -> list[tuple[str, str]]:
    """Return the facts, and what of the times is not known."""
    time = "; ".join(filter(None, (find_times.unknown(finding), find_times.not_divided(finding))))
    return [*say.facts(finding), *([("time", time)] if time else [])]


def _levels(finding: Finding) -> Section:
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


def _times(finding: Finding) -> Section:
    """Return where the time went: a row for each part, a column for each of some levels."""

    def by_width(columns: int) -> list[Table]:
        return [*_table_of_times(finding, (columns - NAME_COLUMNS) // TIME_COLUMNS)]

    on_pages = [*_table_of_times(finding, find_times.LEVELS_MAX)]
    note = [Paragraph(MAY_BE_NONE, "note")] if on_pages else []
    return Section(
        [on_terminal(Fitted(by_width)), on_page(*on_pages, *note)],
        heading="Where the time goes",
        name="times",
    )


def _table_of_times(finding: Finding, most: int) -> Iterator[Table]:
    levels = find_times.chosen(finding, most)
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


def _doubts(finding: Finding) -> Iterator[Note]:
    """Yield what makes it doubtful."""
    yield from (Note("○", problem, "doubtful") for problem in finding.problems)
    yield from (Note("!", said, "doubtful") for said in finding.warnings)


VERSION = 2


def document(finding: Finding) -> dict[str, Any]:
    """The search as data. Times in ns, shares 0..1; loads in requests per second or connections, see `by`."""
    found, question = finding.found, finding.question
    return {
        "version": VERSION,
        "asked": finding.asked,
        "command": finding.command,
        "objective": str(question.objective),
        "by": question.by,
        "seed": question.seed,
        **search_data(found),
        "decided": finding.is_decided,
        "headline": say.headline(finding),
        "why": say.why(finding),
        "highest_held": found.highest_held,
        "broke_first": asdict(finding.first_broken) if finding.first_broken else None,
        "broke_first_at": finding.first_broken_level.load if finding.first_broken_level else None,
        "used_up": [asdict(sign) for sign in finding.signs],
        "starts": finding.starts,
        "afresh": finding.afresh,
        "server_cores": finding.server_cores,
        "flat_out": found.is_flat_out,
        "budget_s": question.budget_s,
        "warm_up_s": question.warm_up_s,
        "connections_most": question.connections_most,
        "arrivals": question.arrivals,
        "pause_ms": question.pause_ms,
        "pause": question.pause,
        "is_local": finding.is_local,
        "warnings": list(finding.warnings),
        "engine_version": finding.engine_version,
        "findings": cause_sentences.as_data(finding.said),
    }


def search_data(found: Found) -> dict[str, Any]:
    """What a search found, as data."""
    return {
        "ending": found.ending,
        "breaking_point": asdict(found.point) if found.point else None,
        "breaks_by": found.breaks_by,
        "queue": found.queue,
        "guess": asdict(found.guess) if found.guess else None,
        "calm": asdict(found.calm) if found.calm else None,
        "took_s": found.took_s,
        "lost": asdict(found.lost) if found.lost else None,
        "lost_at": found.lost_at,
        "levels": [{**asdict(level), "time": time_sentences.as_data(level.time)} for level in found.levels],
    }
