"""One search as a summary in a terminal, as an HTML page that needs no network, as JSON and as CSV.

Pure: Finding → text. JSON and CSV round nothing, and only the headline and its reason are sentences.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import page, terminal
from crumple.drawing.page import drawings
from crumple.find.level import Level, Part
from crumple.find.report import find_sentences
from crumple.find.report import find_sentences as say
from crumple.find.report.find_charts import CHARTS, STYLES, plot
from crumple.find.report.find_figures import Finding


def html(finding: Finding) -> str:
    """The whole page."""
    return (
        page.templates()
        .get_template("find.html.j2")
        .render(
            finding=finding,
            found=finding.found,
            say=say,
            style=page.style(),
            drawings=drawings(CHARTS, finding),
            heads=find_sentences.heads(finding),
            levels=[
                (find_sentences.cells(finding, level), find_sentences.verdict(level))
                for level in finding.rows
            ],
        )
    )


WIDTH_MIN, WIDTH_MAX = 80, 100


def text(finding: Finding, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary as text. `width` and `styled` None: as the terminal has it; plain without one."""
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
    for head in find_sentences.heads(finding):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for level in finding.rows:
        table.add_row(*find_sentences.cells(finding, level), _verdict(level))
    return table


def _verdict(level: Level) -> Text:
    return Text(
        f"{find_sentences.GLYPHS[level.outcome]} {find_sentences.verdict(level)}",
        style=STYLES[level.outcome],
    )


def _problems(finding: Finding) -> list[str]:
    return [*(f"○ {problem}" for problem in finding.problems), *(f"! {said}" for said in finding.warnings)]


VERSION = 2
# The fields of a level in its row.
COLUMNS = (
    "start", "load", "purpose", "outcome", "word", "measured_s", "scheduled", "ok", "throughput_per_s",
    "p50_ns", "p90_ns", "p95_ns", "p99_ns", "failed_share", "not_sent", "backlog_grew", "connections_most",
    "connections_limit", "server_cores_busy", "engine_share", "retransmitted",
)  # fmt: skip


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
        "ending": found.ending,
        "headline": say.headline(finding),
        "why": say.why(finding),
        "breaking_point": asdict(found.point) if found.point else None,
        "breaks_by": found.breaks_by,
        "queue": found.queue,
        "highest_held": found.highest_held,
        "broke_first": asdict(finding.first_broken) if finding.first_broken else None,
        "broke_first_at": finding.first_broken_level.load if finding.first_broken_level else None,
        "used_up": [asdict(sign) for sign in finding.signs],
        "starts": finding.starts,
        "afresh": finding.afresh,
        "server_cores": finding.server_cores,
        "guess": asdict(found.guess) if found.guess else None,
        "flat_out": found.is_flat_out,
        "budget_s": question.budget_s,
        "took_s": found.took_s,
        "warnings": list(finding.warnings),
        "engine_version": finding.engine_version,
        "levels": [asdict(level) for level in found.levels],
    }


def levels_csv(finding: Finding) -> str:
    """A row per level in the order of trying; for each part how many requests are known, and missed it.

    An empty cell: no value.
    """
    names = [str(term) for term in finding.question.objective.terms]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    told = [f"{name} {what}" for name in names for what in ("holds", "known", "missed")]
    writer.writerow([*COLUMNS, *told, "problems"])
    for level in finding.found.levels:
        parts = {part.name: part for part in level.parts}
        of_parts = [cell for name in names for cell in _of_part(parts.get(name))]
        own = [getattr(level, column) for column in COLUMNS]
        writer.writerow([*own, *of_parts, "; ".join(level.problems)])
    return written.getvalue()


def _of_part(part: Part | None) -> tuple[bool | str | None, int | str, int | str]:
    return (part.holds, part.known, part.against) if part else ("", "", "")
