"""One search as a summary in a terminal, as an HTML page that needs no network, as JSON and as CSV.

Pure: Finding → text. JSON and CSV round nothing, and only the headline and its reason are sentences.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from crumple.drawing import fitting, numerals, terminal
from crumple.drawing.fitting import Column
from crumple.drawing.terminal import Axis
from crumple.find.level import Part
from crumple.find.report import find_sentences as say
from crumple.find.report import find_times
from crumple.find.report.find_figures import LOGARITHMIC_FROM, Finding, Mark
from crumple.find.report.level_sentences import OUTCOMES, verdict
from crumple.find.search import Found
from crumple.gate.condition import Outcome
from crumple.words import cause_sentences, time_sentences


def html(finding: Finding, outcomes: Sequence[Outcome] = ()) -> str:
    """The whole page. `outcomes`: of the conditions of --fail-if."""
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.drawing import page
    from crumple.find.report.find_charts import CHARTS

    template = page.templates().get_template("find.html.j2")
    return template.render(
        finding=finding,
        found=finding.found,
        say=say,
        facts=_facts(finding),
        outcomes=outcomes,
        style=page.style(),
        drawings=page.drawings(CHARTS, finding),
        heads=say.heads(finding),
        levels=[(say.cells(finding, level), verdict(level)) for level in finding.rows],
        time_heads=find_times.heads(finding, find_times.chosen(finding)),
        times=find_times.rows(find_times.chosen(finding)) if finding.divided else [],
    )


WIDTH_MAX = 100
ROWS = 12
LABEL_COLUMNS = 11
# What the table of times takes for its names, and for each level.
NAME_COLUMNS, TIME_COLUMNS = 28, 11
# Which columns of a table go while verdicts would wrap, and which while words would be broken.
SPARED_FIRST = ("server CPU", "for")
LEFT_OUT_FIRST = ("failed", "ok", "p50", "start")
# Words that belong together stay so.
_JOINED = numerals.NARROW
STYLES = {"held": "green", "broke": "red", "limited": "yellow", "undecided": "dim"}
# Levels farther below the breaking point are left out, since they would take room from those near it.
FARTHEST_FACTOR = 4.0
_MEDIAN, _LIMIT, _POINT = "·", "╌", "░"
_APART = "   "


def text(finding: Finding, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary as text. `width` and `styled` None: as the terminal has it; plain without one."""
    columns = width or terminal.width(WIDTH_MAX)
    return terminal.printed(Group(*_parts(finding, columns)), columns, styled)


def _parts(finding: Finding, columns: int) -> Iterator[RenderableType]:
    found = finding.found
    good = found.point is not None and found.lost is None and not finding.decided_nothing
    yield Text(finding.asked, style="bold", overflow="fold")
    yield Text(f"objective {finding.question.objective}", overflow="fold")
    yield Text(", ".join(say.circumstances(finding)), style="dim")
    yield Text()
    yield Text(say.headline(finding), style="bold green" if good else "bold yellow")
    yield terminal.named(_facts(finding))
    yield Text()
    drawn = plot(finding, columns)
    yield from drawn
    if drawn:
        yield Text()
    yield from _levels(finding, columns)
    yield from _times(finding, columns)
    if marked := _problems(finding):
        yield Text()
        yield terminal.marked((glyph, said, "yellow") for glyph, said in marked)


def _facts(finding: Finding) -> list[tuple[str, str]]:
    """The facts, and what of the times is not known."""
    time = "; ".join(filter(None, (find_times.unknown(finding), find_times.not_divided(finding))))
    return [*say.facts(finding), *([("time", time)] if time else [])]


def _levels(finding: Finding, columns: int) -> Iterator[RenderableType]:
    if not finding.rows:
        return
    verdicts = [
        Text(f"{say.GLYPHS[level.outcome]}{_JOINED}{verdict(level)}", style=STYLES[level.outcome])
        for level in finding.rows
    ]
    rows = [say.cells(finding, level) for level in finding.rows]
    heads = say.heads(finding)
    table = [
        *(Column(head, [Text(row[at]) for row in rows], True, True) for at, head in enumerate(heads)),
        Column("", verdicts),
    ]
    kept = fitting.fitted(table, columns, spared_first=SPARED_FIRST, left_out_first=LEFT_OUT_FIRST)
    yield fitting.table(kept, columns)
    if gone := fitting.left_out(table, kept, columns):
        yield Text(gone, style="dim")


def _times(finding: Finding, columns: int) -> Iterator[RenderableType]:
    """Where the time went: a row for each part, a column for each of some levels."""
    levels = find_times.chosen(finding, (columns - NAME_COLUMNS) // TIME_COLUMNS)
    if levels:
        yield Text()
        rows = find_times.rows(levels)
        names = f"time at {'requests/s' if finding.by_rate else 'connections'}"
        table = [Column(names, [Text(name) for name, _ in rows])]
        for at, head in enumerate(find_times.heads(finding, levels)):
            table.append(
                Column(head.replace(" ", _JOINED), [Text(cells[at]) for _, cells in rows], True, True)
            )
        yield fitting.table(table, columns)


def _problems(finding: Finding) -> list[tuple[str, str]]:
    """What makes it doubtful: each with its sign."""
    return [*(("○", problem) for problem in finding.problems), *(("!", said) for said in finding.warnings)]


def plot(finding: Finding, columns: int) -> list[Text]:
    """The chart, its axes and its legend; empty where no level has a time."""
    marks = _in_sight(finding)
    if not marks:
        return []
    wide = columns - LABEL_COLUMNS
    across, up = _across(finding, marks), _up(finding, marks)
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * wide for _ in range(ROWS)]

    def column(load: float) -> int:
        return round(across.place(load) * (wide - 1))

    def row(ns: float) -> int:
        return round((1 - up.place(ns)) * (ROWS - 1))

    point = finding.found.point
    if point is not None:
        for cells in grid:
            for at in range(column(point.low), column(point.high) + 1):
                cells[at] = (_POINT, "dim")
    if finding.time_limit_ns is not None:
        grid[row(finding.time_limit_ns)] = [(_LIMIT, "red dim")] * wide
    for mark in marks:
        if mark.p50_ns is not None:
            grid[row(mark.p50_ns)][column(mark.level.load)] = (_MEDIAN, "")
    for mark in marks:
        if mark.time_ns is not None:
            glyph = say.GLYPHS[mark.level.outcome]
            grid[row(mark.time_ns)][column(mark.level.load)] = (glyph, STYLES[mark.level.outcome])
    return [*_framed(grid, up), *_ruler(finding, across, wide), *_legend(finding, marks, columns)]


def _in_sight(finding: Finding) -> list[Mark]:
    marks = [mark for mark in finding.marks if mark.time_ns is not None or mark.p50_ns is not None]
    point = finding.found.point
    return [mark for mark in marks if point is None or mark.level.load * FARTHEST_FACTOR >= point.estimate]


def _across(finding: Finding, marks: Sequence[Mark]) -> Axis:
    loads = [mark.level.load for mark in marks]
    point = finding.found.point
    if point is not None:
        loads += [point.low, point.high]
    low, high = min(loads), max(loads)
    if high <= low:
        return Axis(low / 2, high * 2, logarithmic=True)
    return Axis(low, high, logarithmic=high > LOGARITHMIC_FROM * low)


def _up(finding: Finding, marks: Sequence[Mark]) -> Axis:
    times = [ns for mark in marks for ns in (mark.time_ns, mark.p50_ns) if ns]
    times += [finding.time_limit_ns] if finding.time_limit_ns else []
    low = terminal.rounded_down(min(times))
    return Axis(low, max(terminal.rounded_up(max(times)), 2 * low), logarithmic=True)


def _framed(grid: list[list[tuple[str, str]]], up: Axis) -> list[Text]:
    labels = {round((1 - up.place(ns)) * (ROWS - 1)): ns for ns in terminal.round_between(up.low, up.high)}
    lines = []
    for number, cells in enumerate(grid):
        label = numerals.duration(labels[number]) if number in labels else ""
        line = Text(f"{label:>{LABEL_COLUMNS - 2}} {'┤' if label else '│'}", style="dim", no_wrap=True)
        for glyph, style in cells:
            line.append(glyph, style=style)
        lines.append(line)
    return lines


def _ruler(finding: Finding, across: Axis, wide: int) -> list[Text]:
    """The lowest and the highest load shown, and between them the breaking point."""
    point = finding.found.point
    loads = [*([point.estimate] if point else []), across.high, across.low]
    marks = [(say.figure(load, finding.by_rate), load) for load in loads]
    line, indent = terminal.ruler(marks, across, wide, apart=2), " " * (LABEL_COLUMNS - 1)
    return [Text(f"{indent}└{'─' * wide}", style="dim"), Text(f"{indent} {line}", style="dim")]


def _legend(finding: Finding, marks: Sequence[Mark], columns: int) -> list[Text]:
    """What is drawn over what, and each sign beside what it stands for, on as many lines as that takes."""
    unit = "requests/s" if finding.by_rate else "connections"
    entries = [
        Text.assemble((f"{glyph} ", STYLES[outcome]), (OUTCOMES[outcome], "dim"))
        for outcome, glyph in say.GLYPHS.items()
        if any(mark.level.outcome == outcome for mark in marks)
    ]
    entries.append(Text(f"{_MEDIAN} p50", style="dim"))
    if finding.time_limit_ns is not None:
        entries.append(Text(f"{_LIMIT} limit", style="dim"))
    if finding.found.point is not None:
        entries.append(Text(f"{_POINT} 95{numerals.NARROW}% interval", style="dim"))
    indent = " " * LABEL_COLUMNS
    lines = [Text.assemble(indent, (f"{finding.time_name} over {unit}:", "dim"))]
    for at, entry in enumerate(entries):
        apart = _APART if at else "  "
        if lines[-1].cell_len + len(apart) + entry.cell_len <= columns:
            lines[-1].append(apart).append_text(entry)
        else:
            lines.append(Text.assemble(indent, entry))
    return lines


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
