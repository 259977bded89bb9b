"""Reports in a terminal: one run in full; several on one screen, an answer to each study, surprises first.

Pure: RunViews → text, with or without ANSI styles, that fits the columns.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import fitting, numerals, terminal
from crumple.drawing.fitting import Column
from crumple.drawing.terminal import shown_text
from crumple.run.report import (
    findings,
    left_sentences,
    run_sentences,
    run_tables,
    server_names,
    why_sentences,
)
from crumple.run.report.findings import Finding, StudyAnswer
from crumple.run.report.view import ExperimentView, RunView, ServerView, Start
from crumple.study.claim import Claim
from crumple.verdict.effect import EXPECTED, Effect, VerdictWord
from crumple.verdict.verdict_sentences import amount

WIDTH_MAX = 110
# The least of the screen of several runs, where a claim takes one line.
SCREEN_MIN = 80
WIDE = 100
# Blanks between the columns of a table.
PADDING = fitting.GAP
# The least width of a claim's text if figures follow it in its line.
CLAIM_MIN = 36
SKIPPED_SHOWN, UNSOUND_SHOWN, WARNED_SHOWN = 4, 4, 1
GLYPHS = {
    "supported": ("✓", "green"),
    "contradicted": ("✗", "red"),
    "contradicted in size only": ("↗", "yellow"),
    "undecided": ("?", "cyan"),
    "undecided in size only": ("~", "cyan"),
    "not testable here": ("–", "dim"),
}


def text(view: RunView, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary of a run.

    `width`, `styled`: those of the terminal if None; without a terminal the text is plain.
    """
    chosen = width or terminal.width(WIDTH_MAX)
    return terminal.printed(_page(view, chosen), chosen, styled)


def _page(view: RunView, columns: int) -> Group:
    parts: list[Text | Table] = [
        Text(view.run.study.title, style="bold"),
        Text(f"{view.run.id}: {', '.join(run_sentences.circumstances(view))}", style="dim"),
    ]
    if view.verdicts:
        parts += [_answer(view), _claims(view, columns)]
        parts.append(Text(server_names.of_all([view]), style="dim"))
    for shown in view.experiments:
        heading = Text.assemble((shown.name, "bold"), f"  {shown.experiment.title}")
        parts += [Text(), heading, _servers(shown, columns), *_marks(shown), *_limits(shown), _noise(shown)]
    parts += [Text(), *_validity(view)]
    if said := run_sentences.twins(view):
        parts.append(Text(said, style="dim"))
    parts.append(Text(run_sentences.LOOPBACK, style="dim"))
    parts += [Text(said) for said in (left_sentences.undecided(view), left_sentences.stopped(view)) if said]
    parts.append(Text(f"In full, with charts: crumple report {view.run.id} --open"))
    return Group(*parts)


def _answer(view: RunView) -> Text:
    """Return the study's answer, and how many of its claims have each answer."""
    given = findings.answer(view)
    if not given.badge:
        return Text(given.sentence)
    return Text.assemble(
        (given.word, GLYPHS[given.badge][1]), given.sentence, " ", run_sentences.summary(view)
    )


def _claims(view: RunView, columns: int) -> Table:
    """Return a row for each claim; figures are in its line if all claims have room for that, else below."""
    claims = run_tables.claims(view)
    heads = (
        _longest(claim.verdict.claim_id for claim in claims),
        _longest(claim.answer for claim in claims),
    )
    room = columns - 1 - sum(heads) - CLAIM_MIN - 4 * PADDING
    behind = all(_longest(_measured(claim)) <= room for claim in claims)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, PADDING, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    if behind:
        table.add_column(no_wrap=True, justify="right")
    for claim in claims:
        glyph, style = GLYPHS[claim.answer]
        text = Text(claim.verdict.text)
        for line in [] if behind else _measured(claim, told_apart=True):
            text.append(f"\n{line}", style="dim")
        row = [Text(glyph, style=style), Text(claim.verdict.claim_id), text, Text(claim.answer, style=style)]
        table.add_row(*row, *([Text("\n".join(_measured(claim)))] if behind else []))
    return table


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _measured(claim: run_tables.ClaimRow, told_apart: bool = False) -> list[str]:
    """Return a line for each effect shown with a figure; `told_apart`: name the servers if they differ."""
    if claim.closest:
        return [f"closest {effect.measured}" for effect in claim.shown]
    # The verdict's sentence says why there is no figure.
    seen = [effect for effect in claim.shown if effect.measured.estimate != numerals.ABSENT]
    several = told_apart and len({effect.label for effect in claim.shown}) > 1
    return [
        f"{effect.label}: {_held_against(effect)}" if several else _held_against(effect) for effect in seen
    ]


def _held_against(effect: run_tables.EffectRow) -> str:
    if effect.published == numerals.ABSENT:
        return str(effect.measured)
    if effect.published.startswith(EXPECTED):
        return f"{effect.measured} {effect.published}"
    return f"{effect.measured} {'claimed' if effect.claimed else 'published'} {effect.published}"


def _servers(shown: ExperimentView, columns: int) -> Table:
    heads = ("throughput /s [95 %]", "p50", "p99", "CPU/request", "memory", "failed")
    names = server_names.short([row.name for row in shown.servers])
    rows = run_tables.servers(shown)
    figures = [
        [str(row.throughput), *(cell.estimate for cell in (row.p50, row.p99, row.cpu, row.memory))]
        for row in rows
    ]
    failed = [
        Text(numerals.share(row.server.failed_share), style="bold red" if row.server.lossy else "")
        for row in rows
    ]
    table = [
        Column("", [Text(names[row.server.name]) for row in rows], whole=True),
        *(
            Column(head, [Text(row[at]) for row in figures], whole=True, right=True)
            for at, head in enumerate(heads[:-1])
        ),
        Column(heads[-1], failed, whole=True, right=True),
    ]
    spared = () if columns >= WIDE else ("p50", "memory")
    kept = [column for column in table if column.heading not in spared]
    kept = fitting.fitted(kept, columns, left_out_first=("CPU/request", "p99"))
    return fitting.table(kept, columns)


def _marks(shown: ExperimentView) -> list[Text]:
    marked = [(row, run_sentences.marks(row)) for row in shown.servers]
    return [Text(f"{row.name}: {said}{_besides(row)}", style="yellow") for row, said in marked if said]


def _limits(shown: ExperimentView) -> list[Text]:
    said = why_sentences.in_short(shown)
    return [Text(said)] if said else []


def _besides(row: ServerView) -> str:
    ranked = "" if row.ranked else f"; {run_sentences.NOT_RANKED}"
    return f"{ranked}; {run_sentences.OF_THE_OTHERS}" if run_sentences.unanswered(row) else ranked


def _noise(shown: ExperimentView) -> Text:
    of = shown.noise["throughput"]
    if of.visible is None:
        return Text(f"what differences it could see: not known, {of.why}", style="dim")
    between = f" between servers with {numerals.count(of.blocks, 'block')}" if of.some_have_fewer else ""
    seen = run_sentences.difference(of.visible)
    return Text(f"sees differences of {seen} in throughput{between}", style="dim")


def _validity(view: RunView) -> list[Text]:
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    return [
        Text(run_sentences.trials(view), style="yellow" if unsound or skipped else ""),
        *_first(skipped, SKIPPED_SHOWN, ""),
        *_first(_remarks(unsound), UNSOUND_SHOWN, ""),
        *_first(_remarks(view.warned), WARNED_SHOWN, "dim"),
    ]


def _remarks(starts: Sequence[Start]) -> list[str]:
    return [f"{start.trial.trial.id}: {run_sentences.remark(start)}" for start in starts]


def _first(lines: Sequence[str], at_most: int, style: str) -> list[Text]:
    more = [f"and {len(lines) - at_most} more"] if len(lines) > at_most else []
    return [Text(f"  {line}", style=style) for line in (*lines[:at_most], *more)]


# The order of claims on the screen.
ORDER = (
    "contradicted", "contradicted in size only", "supported", "undecided in size only", "undecided",
    "not testable here",
)  # fmt: skip
# The gap between columns, and the greatest widths of ids and of what was claimed.
GAP = "  "
ID_MAX, CLAIMED_MAX = 16, 16
# The least width of a claim's text in the line that it shares with its figure.
CLAIM_ROOM_MIN = 28
ELLIPSIS = "…"
NO_BADGE = ("–", "dim")
EXPECTS = "* is what the study expects; no article has it."
# Separators between two clauses of a claim, where its text may be cut.
_CLAUSES = (": ", "; ", ", ")


@dataclass(frozen=True)
class _Row:
    """One claim's line. `figures`: ways to write what was measured, the longest first."""

    badge: str
    name: str
    text: str
    figures: tuple[str, ...]
    claimed: str


def screen(views: Sequence[RunView], columns: int, closing: Sequence[str] = ()) -> Group:
    """Return the screen of several runs. `closing`: sentences that end it."""
    parts: list[RenderableType] = [_answers(findings.answers(views))]
    found = [(view, each) for view in views for each in findings.findings(view)]
    if found:
        rows = _rows(found)
        parts += [Text(), _legend(rows), *_claim_lines(rows, columns)]
    said = [line for line in (server_names.of_all(views), *closing) if line]
    return Group(*parts, Text(), *(Text(_plain(line), style="dim") for line in said))


def answer_line(view: RunView) -> Text:
    """Return the answer of one study, as the screen of several runs begins with it."""
    return Text(" ").join(_marked(findings.answer(view)))


def _answers(given: Sequence[StudyAnswer]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for each in given:
        table.add_row(*_marked(each))
    return table


def _marked(given: StudyAnswer) -> tuple[Text, Text]:
    glyph, style = GLYPHS.get(given.badge, NO_BADGE)
    title = f"{_plain(given.view.run.study.title)}."
    said = Text.assemble((title, "bold"), " ", (given.word, style), _plain(given.sentence))
    return Text(glyph, style=style), said


def _legend(rows: Sequence[_Row]) -> Text:
    """Return how many claims have each answer, with the mark of each answer."""
    kinds = Counter(row.badge for row in rows)
    legend = Text(f"{numerals.count(len(rows), 'claim')}:")
    for at, badge in enumerate(badge for badge in ORDER if kinds[badge]):
        glyph, style = GLYPHS[badge]
        # Beside "7 contradicted" the word need not be repeated.
        whole = badge.removeprefix("contradicted ") if kinds["contradicted"] else badge
        legend.append("," if at else "").append(f" {glyph} {kinds[badge]} {whole}", style=style)
    return legend


def _claim_lines(rows: Sequence[_Row], columns: int) -> list[Text]:
    """Return a head and a line for each claim; its text gets the room that its figure leaves."""
    ids = min(ID_MAX, max(len(row.name) for row in rows))
    claimed = min(CLAIMED_MAX, max(len("claimed"), *(len(row.claimed) for row in rows)))
    room = columns - 3 * len(GAP) - ids - claimed
    until_claimed = len(GAP) + ids + len(GAP) + room
    note = EXPECTS if any(row.claimed.endswith("*") for row in rows) else ""
    here = "here [95 % interval]"
    lines = [Text(f"{note:<{until_claimed - len(here)}}{here}{GAP}claimed", style="dim")]
    for row in rows:
        glyph, style = GLYPHS[row.badge]
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{glyph} ", style=style).append(f"{shortened(row.name, ids):<{ids}}{GAP}")
        if row.claimed:
            text, figure = _filled(row, room)
            line.append(f"{text}{figure}{GAP}").append(shortened(row.claimed, claimed), style="dim")
        else:
            text, reason = _filled(row, room + len(GAP) + claimed)
            line.append(text).append(reason, style="dim")
        lines.append(line)
    return lines


def _filled(row: _Row, room: int) -> tuple[str, str]:
    """Return the claim's text, padded, and what was measured, or why nothing was."""
    short = [each for each in row.figures if len(each) + len(GAP) + CLAIM_ROOM_MIN <= room]
    figure = short[0] if short else shortened(row.figures[-1], room - CLAIM_ROOM_MIN - len(GAP))
    left = room - len(figure) - (len(GAP) if figure else 0)
    return f"{shortened(row.text, left):<{room - len(figure)}}", figure


def _rows(found: Sequence[tuple[RunView, Finding]]) -> list[_Row]:
    """Return the claims by answer, the greatest surprises first, others in the order of the studies."""
    # Two studies on one screen may use the same claim id.
    ids = Counter(each.verdict.claim_id for _, each in found)

    def place(row: tuple[RunView, Finding]) -> tuple[int, tuple[float, ...]]:
        _, each = row
        against = each.verdict.answer is VerdictWord.CONTRADICTED
        return ORDER.index(run_sentences.answer(each.verdict)), each.rank if against else ()

    ranked = sorted(found, key=place)
    return [_row(view, each, ids[each.verdict.claim_id] == 1) for view, each in ranked]


def _row(view: RunView, each: Finding, is_unique: bool) -> _Row:
    name = each.verdict.claim_id if is_unique else f"{view.run.study.name} {each.verdict.claim_id}"
    figures = _figures(view, each, each.lead) if each.lead else (findings.why_untestable(each.verdict), "")
    return _Row(
        badge=run_sentences.answer(each.verdict),
        name=_plain(name),
        text=_plain(each.verdict.text).removesuffix("."),
        figures=tuple(map(_plain, figures)),
        claimed=_plain(_claimed(each.claim, each.lead)) if each.lead else "",
    )


def _plain(text: str) -> str:
    """Return the text on one line, with control characters written out before widths are counted."""
    return shown_text(" ".join(text.split()))


def _figures(view: RunView, each: Finding, effect: Effect) -> tuple[str, ...]:
    """Return ways to write the figure, the longest first, with the server's name if the claim has several."""
    if effect.measured is None:
        return ("",)
    figure, interval = findings.measured(effect)
    said = f"{figure} [{interval}]" if interval else figure
    whose = _whose(view, each, effect)
    return (f"{whose} {said}", said, figure) if whose else (said, figure)


def _whose(view: RunView, each: Finding, effect: Effect) -> str:
    every = each.verdict.effects
    if len({(one.of, one.to) for one in every}) < 2:
        return ""
    names = server_names.plain(view, [label for one in every for label in (one.of, one.to) if label])
    return f"{names[effect.of]} ÷ {names[effect.to]}" if effect.to else names[effect.of]


def _claimed(claim: Claim, effect: Effect) -> str:
    """Return what the figure is compared with, in a word or two; an asterisk if no article prints it."""
    if effect.published is not None:
        return numerals.published(effect.published)
    if effect.expected is not None:
        return f"{numerals.published(effect.expected)}*"
    if claim.kind == "order":
        return _side_of_1(effect)
    if claim.kind == "stall":
        return "waits" if claim.stalls else "does not wait"
    if claim.kind in ("growth", "share", "flatness") and len(effect.bounds) == 1:
        side = " ".join(effect.bound.split()[: 2 if effect.bound.startswith("at ") else 1])
        # The figure beside it shows the unit of a count.
        unit = effect.unit if effect.unit in ("ns", "bytes", "share", "µs") else ""
        return f"{side} {amount(effect.bounds[0], unit)}"
    if effect.bound.startswith(EXPECTED):
        return f"{effect.bound.removeprefix(EXPECTED)}*"
    return effect.bound


def _side_of_1(effect: Effect) -> str:
    """Return the side of 1 that an order claims: where the ratio is if supported, else the other side."""
    if effect.ratio is None or effect.answer is VerdictWord.UNDECIDED:
        return "not 1"
    above = (effect.ratio.estimate > 1) == (effect.answer is VerdictWord.SUPPORTED)
    return "above 1" if above else "below 1"


def shortened(text: str, room: int) -> str:
    """Return the text, cut to fit `room`: at the end of a clause if most of it remains, else of a word."""
    if len(text) <= room:
        return text
    begun = text[: max(0, room - 1)]
    end = max(begun.rfind(clause) for clause in _CLAUSES)
    if end >= room * 2 // 3:
        return begun[:end] + ELLIPSIS
    word, space, _ = begun.rpartition(" ")
    return (word if space and len(word) >= room // 2 else begun).rstrip(" ,;:") + ELLIPSIS
