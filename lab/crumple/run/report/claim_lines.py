"""Claims as lines of a terminal: with their figures for one run, and a line each for several runs.

Pure: RunViews → what a terminal prints, as wide as its columns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import fitting, numerals
from crumple.drawing.report_parts import Tone
from crumple.drawing.report_text import STYLES
from crumple.drawing.terminal import shown_text
from crumple.run.report import findings, run_sentences, run_tables, server_names
from crumple.run.report.findings import ClaimResult, StudyAnswer
from crumple.run.report.view import RunView
from crumple.study.claim import Claim
from crumple.verdict.effect import EXPECTED, Effect, VerdictWord
from crumple.verdict.verdict_sentences import amount

# Columns between the columns of a table.
PADDING = fitting.GAP
# The fewest columns that a claim's text has if figures follow it in its line; with less than 36, most claims
# would take three lines or more.
CLAIM_MIN = 36
# Badge → its sign and tone, in the order of the screen of several runs.
MARKS: Mapping[str, tuple[str, Tone]] = {
    "contradicted": ("✗", "bad"),
    "contradicted in size only": ("↗", "doubtful"),
    "supported": ("✓", "good"),
    "undecided in size only": ("~", "open"),
    "undecided": ("?", "open"),
    "not testable here": ("–", "dim"),
}
# What stands between the columns of the screen of several runs.
GAP = "  "
# An id, and what was claimed, have at most 16 columns on that screen: longer ones are rare, and are cut.
ID_MAX, CLAIMED_MAX = 16, 16
# A claim's text has at least 28 columns in the line that it shares with its figure: about five words.
CLAIM_ROOM_MIN = 28
ELLIPSIS = "…"
NO_BADGE: tuple[str, Tone] = ("–", "dim")
EXPECTS = "* is what the study expects; no article has it."
# What stands between two clauses of a claim, where its text may be cut.
_CLAUSES = (": ", "; ", ", ")


def of_run(view: RunView, columns: int) -> list[RenderableType]:
    """Return a table with a row for each claim.

    Figures are in its line if all claims have room for that, else below.
    """
    claims = run_tables.claims(view)
    heads = (
        _longest(claim.verdict.claim_id for claim in claims),
        _longest(claim.answer for claim in claims),
    )
    room = columns - 1 - sum(heads) - CLAIM_MIN - 4 * PADDING
    behind = all(_longest(_figure_lines(claim)) <= room for claim in claims)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, PADDING, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    if behind:
        table.add_column(no_wrap=True, justify="right")
    for claim in claims:
        sign, style = _mark(claim.answer)
        text = Text(claim.verdict.text)
        for line in [] if behind else _figure_lines(claim, names_servers=True):
            text.append(f"\n{line}", style="dim")
        row = [Text(sign, style=style), Text(claim.verdict.claim_id), text, Text(claim.answer, style=style)]
        table.add_row(*row, *([Text("\n".join(_figure_lines(claim)))] if behind else []))
    return [table]


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _figure_lines(claim: run_tables.ClaimRow, names_servers: bool = False) -> list[str]:
    """Return a line for each effect shown with a figure; `names_servers`: name the servers if they differ."""
    if claim.closest:
        return [f"closest {effect.measured}" for effect in claim.shown]
    # The verdict's sentence says why there is no figure.
    seen = [effect for effect in claim.shown if effect.measured.estimate != numerals.ABSENT]
    several = names_servers and len({effect.label for effect in claim.shown}) > 1
    return [f"{effect.label}: {_comparison(effect)}" if several else _comparison(effect) for effect in seen]


def _comparison(effect: run_tables.EffectRow) -> str:
    if effect.published == numerals.ABSENT:
        return str(effect.measured)
    if effect.published.startswith(EXPECTED):
        return f"{effect.measured} {effect.published}"
    return f"{effect.measured} {'claimed' if effect.claimed else 'published'} {effect.published}"


@dataclass(frozen=True)
class _ClaimLine:
    """One claim's line."""

    badge: str
    name: str
    text: str
    figures: tuple[str, ...]
    """Ways to write what was measured, the longest first."""
    claimed: str


def of_runs(views: Sequence[RunView], columns: int) -> list[RenderableType]:
    """Return an answer to each study, surprises first, and a line for each claim."""
    answers: list[RenderableType] = [_answers(findings.answers(views))]
    found = [(view, each) for view in views for each in findings.findings(view)]
    if not found:
        return answers
    rows = _rows(found)
    return [*answers, Text(), _legend(rows), *_claim_lines(rows, columns)]


def answer_line(view: RunView) -> Text:
    """Return the answer of one study, as the screen of several runs begins with it."""
    return Text(" ").join(_mark_and_answer(findings.answer(view)))


def _answers(given: Sequence[StudyAnswer]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for each in given:
        table.add_row(*_mark_and_answer(each))
    return table


def _mark_and_answer(given: StudyAnswer) -> tuple[Text, Text]:
    sign, style = _mark(given.badge)
    title = f"{on_one_line(given.view.run.study.title)}."
    said = Text.assemble((title, "bold"), " ", (given.word, style), on_one_line(given.sentence))
    return Text(sign, style=style), said


def _legend(rows: Sequence[_ClaimLine]) -> Text:
    """Return how many claims have each answer, with the mark of each answer."""
    kinds = Counter(row.badge for row in rows)
    legend = Text(f"{numerals.count(len(rows), 'claim')}:")
    for at, badge in enumerate(badge for badge in MARKS if kinds[badge]):
        sign, style = _mark(badge)
        # Beside "7 contradicted" the word need not be repeated.
        whole = badge.removeprefix("contradicted ") if kinds["contradicted"] else badge
        legend.append("," if at else "").append(f" {sign} {kinds[badge]} {whole}", style=style)
    return legend


def _claim_lines(rows: Sequence[_ClaimLine], columns: int) -> list[Text]:
    """Return a head and a line for each claim; its text gets the room that its figure leaves."""
    ids = min(ID_MAX, max(len(row.name) for row in rows))
    claimed = min(CLAIMED_MAX, max(len("claimed"), *(len(row.claimed) for row in rows)))
    room = columns - 3 * len(GAP) - ids - claimed
    until_claimed = len(GAP) + ids + len(GAP) + room
    note = EXPECTS if any(row.claimed.endswith("*") for row in rows) else ""
    here = "here [95 % interval]"
    lines = [Text(f"{note:<{until_claimed - len(here)}}{here}{GAP}claimed", style="dim")]
    for row in rows:
        sign, style = _mark(row.badge)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{sign} ", style=style).append(f"{shorten(row.name, ids):<{ids}}{GAP}")
        if row.claimed:
            text, figure = _fill(row, room)
            line.append(f"{text}{figure}{GAP}").append(shorten(row.claimed, claimed), style="dim")
        else:
            text, reason = _fill(row, room + len(GAP) + claimed)
            line.append(text).append(reason, style="dim")
        lines.append(line)
    return lines


def _fill(row: _ClaimLine, room: int) -> tuple[str, str]:
    """Return the claim's text, padded, and what was measured, or why nothing was."""
    short = [each for each in row.figures if len(each) + len(GAP) + CLAIM_ROOM_MIN <= room]
    figure = short[0] if short else shorten(row.figures[-1], room - CLAIM_ROOM_MIN - len(GAP))
    left = room - len(figure) - (len(GAP) if figure else 0)
    return f"{shorten(row.text, left):<{room - len(figure)}}", figure


def _rows(found: Sequence[tuple[RunView, ClaimResult]]) -> list[_ClaimLine]:
    """Return the claims by answer, the greatest surprises first, others in the order of the studies."""
    # Two studies on one screen may use the same claim id.
    ids = Counter(each.verdict.claim_id for _, each in found)
    order = [*MARKS]

    def place(row: tuple[RunView, ClaimResult]) -> tuple[int, tuple[float, ...]]:
        _, each = row
        against = each.verdict.answer is VerdictWord.CONTRADICTED
        return order.index(run_sentences.answer(each.verdict)), each.rank if against else ()

    ranked = sorted(found, key=place)
    return [_row(view, each, ids[each.verdict.claim_id] == 1) for view, each in ranked]


def _row(view: RunView, each: ClaimResult, is_unique: bool) -> _ClaimLine:
    name = each.verdict.claim_id if is_unique else f"{view.run.study.name} {each.verdict.claim_id}"
    figures = _figures(view, each, each.lead) if each.lead else (findings.why_untestable(each.verdict), "")
    return _ClaimLine(
        badge=run_sentences.answer(each.verdict),
        name=on_one_line(name),
        text=on_one_line(each.verdict.text).removesuffix("."),
        figures=tuple(map(on_one_line, figures)),
        claimed=on_one_line(_claimed(each.claim, each.lead)) if each.lead else "",
    )


def _mark(badge: str) -> tuple[str, str]:
    """Return the sign of a badge, and its style."""
    sign, tone = MARKS.get(badge, NO_BADGE)
    return sign, STYLES[tone]


def on_one_line(text: str) -> str:
    """Return the text on one line, with control characters written out before widths are counted."""
    return shown_text(" ".join(text.split()))


def _figures(view: RunView, each: ClaimResult, effect: Effect) -> tuple[str, ...]:
    """Return ways to write the figure, the longest first, with the server's name if the claim has several."""
    if effect.measured is None:
        return ("",)
    figure, interval = findings.figure_and_interval(effect)
    said = f"{figure} [{interval}]" if interval else figure
    whose = _whose(view, each, effect)
    return (f"{whose} {said}", said, figure) if whose else (said, figure)


def _whose(view: RunView, each: ClaimResult, effect: Effect) -> str:
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


def shorten(text: str, room: int) -> str:
    """Return the text, cut to fit `room`: at the end of a clause if most of it remains, else of a word."""
    if len(text) <= room:
        return text
    begun = text[: max(0, room - 1)]
    end = max(begun.rfind(clause) for clause in _CLAUSES)
    if end >= room * 2 // 3:
        return begun[:end] + ELLIPSIS
    word, space, _ = begun.rpartition(" ")
    return (word if space and len(word) >= room // 2 else begun).rstrip(" ,;:") + ELLIPSIS
