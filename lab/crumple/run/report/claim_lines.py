"""Claims as lines of a terminal, and the answers of several studies.

Pure: RunViews → what a terminal prints, as wide as its columns.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import numerals
from crumple.drawing.report_text import STYLES, rich_text
from crumple.drawing.terminal import shown_text
from crumple.run.report import findings, run_sentences, server_names, study_answer
from crumple.run.report.findings import ClaimResult
from crumple.run.report.view import RunView
from crumple.study.claim import Claim
from crumple.verdict.effect import EXPECTED, Effect, VerdictWord
from crumple.verdict.verdict_sentences import amount

# What stands between the columns of the screen of several runs.
GAP = "  "
# An id, and what was claimed, have at most 16 columns on that screen: longer ones are rare, and are cut.
ID_MAX, CLAIMED_MAX = 16, 16
# A claim's text has at least 28 columns in the line that it shares with its figure: about five words.
CLAIM_ROOM_MIN = 28
ELLIPSIS = "…"
EXPECTS = "* is what the study expects; no article has it."
# What stands between two clauses of a claim, where its text may be cut.
_CLAUSES = (": ", "; ", ", ")


@dataclass(frozen=True)
class _ClaimLine:
    """One claim's line."""

    badge: str
    name: str
    text: str
    figures: tuple[str, ...]
    """Ways to write what was measured, the longest first."""
    claimed: str


def lines(views: Sequence[RunView], columns: int, *, has_legend: bool = True) -> list[RenderableType]:
    """Return a line for each claim that was judged, below a count of the answers with their signs."""
    found = [(view, each) for view in views for each in findings.findings(view)]
    rows = _rows(found)
    shown = [row for row in rows if row.badge != VerdictWord.NOT_TESTABLE.value]
    legend = [_legend(rows)] if rows and has_legend else []
    return [*legend, *(_claim_lines(shown, columns) if shown else [])]


def answer_line(view: RunView) -> Text:
    """Return the answer of one study in a line, as a session of several shows it once the study is over."""
    given = study_answer.answer(view)
    sign, style = _mark(given.badge)
    return Text.assemble(
        (sign, style), " ", (f"{on_one_line(view.run.study.title)}.", "bold"), f" {given.said}"
    )


def answers(views: Sequence[RunView]) -> list[RenderableType]:
    """Return the first sentence of the answer to each study, surprises first."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for given in study_answer.answers(views):
        sign, style = _mark(given.badge)
        title = f"{on_one_line(given.view.run.study.title)}. "
        table.add_row(
            Text(sign, style=style), Text.assemble((title, "bold"), rich_text(given.of_question[0]))
        )
    return [table] if views else []


def _legend(rows: Sequence[_ClaimLine]) -> Text:
    """Return how many claims have each answer, with the mark of each answer."""
    kinds = Counter(row.badge for row in rows)
    legend = Text(f"{numerals.count(len(rows), 'claim')}:")
    for at, badge in enumerate(badge for badge in study_answer.MARKS if kinds[badge]):
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
    order = [*study_answer.MARKS]

    def place(row: tuple[RunView, ClaimResult]) -> tuple[int, tuple[float, ...]]:
        _, each = row
        against = each.verdict.answer is VerdictWord.CONTRADICTED
        return order.index(run_sentences.answer(each.verdict)), each.rank if against else ()

    ranked = sorted(found, key=place)
    return [_row(view, each, ids[each.verdict.claim_id] == 1) for view, each in ranked]


def _row(view: RunView, each: ClaimResult, is_unique: bool) -> _ClaimLine:
    name = each.verdict.claim_id if is_unique else f"{view.run.study.name} {each.verdict.claim_id}"
    lead = each.lead and findings.as_claimed(each.claim, each.lead)
    figures = _figures(view, each, lead) if lead else (findings.why_untestable(each.verdict), "")
    return _ClaimLine(
        badge=run_sentences.answer(each.verdict),
        name=on_one_line(name),
        text=on_one_line(each.verdict.text).removesuffix("."),
        figures=tuple(map(on_one_line, figures)),
        claimed=on_one_line(claimed(each.claim, lead)) if lead else "",
    )


def _mark(badge: str) -> tuple[str, str]:
    """Return the sign of a badge, and its style."""
    sign, tone = study_answer.MARKS.get(badge, study_answer.NO_BADGE)
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
    # Of a ratio that is told from its other side the claim's text does not say whose it is.
    others = () if effect is not each.lead and effect.to and whose else (said, figure)
    return (f"{whose} {said}", *(others or (f"{whose} {figure}",))) if whose else others


def _whose(view: RunView, each: ClaimResult, effect: Effect) -> str:
    places = {(one.of, one.to) for one in each.verdict.effects}
    if len(places) < 2 and (effect.of, effect.to) in places:
        return ""
    every = [label for one in each.verdict.effects for label in (one.of, one.to) if label]
    names = server_names.plain(view, every)
    return f"{names[effect.of]} ÷ {names[effect.to]}" if effect.to else names[effect.of]


def claimed(claim: Claim, effect: Effect) -> str:
    """Return what the figure is compared with, in a word or two; an asterisk if no article prints it."""
    if size := effect.published or effect.expected:
        times = findings.times_of(size) if size >= 1 else f"1 ÷ {findings.times_of(1 / size)}"
        return times if effect.published else f"{times}*"
    if claim.kind == "order":
        return "above 1" if findings.claims_more(claim, effect) else "below 1"
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
