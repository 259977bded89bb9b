"""Several runs on one screen: an answer to each study, surprises first; then each claim in one line.

What is shown fits the columns; `overview` prints it. Rich renderables only, of RunViews.
"""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import numerals
from crumple.report import answers, circumstances, findings, plain_names, sentences, tables
from crumple.report.answers import StudyAnswer
from crumple.report.findings import Finding
from crumple.report.text import GLYPHS
from crumple.report.view import RunView
from crumple.study.claim import Claim
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.sentences import amount

# Between columns; what a claim's text has at least; and how wide the figures may get beside it.
PADDING = 2
CLAIM_MIN = 30
WIDE, FIGURE_WIDE, FIGURE_NARROW = 96, 30, 22
ELLIPSIS = "…"
# What stands between two clauses of a claim, where its text may end early.
_CLAUSES = (": ", "; ", ", ")


def screen(views: Sequence[RunView], columns: int, closing: Sequence[str] = ()) -> Group:
    """All of it. `closing`: what is left to say, a line each."""
    parts: list[RenderableType] = [_answers(answers.answers(views))]
    found = [(view, each) for view in views for each in findings.findings(view)]
    if found:
        parts += [Text(), _legend([each for _, each in found]), _claims(found, columns)]
    said = [line for line in (circumstances.of_all(views), *closing) if line]
    return Group(*parts, Text(), *(Text(line, style="dim") for line in said))


def _answers(given: Sequence[StudyAnswer]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, PADDING, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for each in given:
        glyph, style = GLYPHS.get(each.badge, ("", ""))
        said = Text.assemble((each.view.run.study.title, "bold"), " ")
        if each.word:
            said.append(f"{each.word}: ", style=style)
        table.add_row(Text(glyph, style=style), said.append(each.sentence))
    return table


def _legend(found: Sequence[Finding]) -> Text:
    """How many claims came out in which way, and by which mark each is known below."""
    counted = Counter(sentences.answer(each.verdict) for each in found)
    legend = Text(f"{numerals.count(len(found), 'claim')}:")
    for at, badge in enumerate(badge for badge in GLYPHS if counted[badge]):
        glyph, style = GLYPHS[badge]
        legend.append("," if at else "").append(f" {glyph} {counted[badge]} {badge}", style=style)
    return legend


def _claims(found: Sequence[tuple[RunView, Finding]], columns: int) -> Table:
    """A line each: those that are contradicted first, then as the studies have them."""
    order = [*GLYPHS]
    ids = Counter(each.verdict.claim_id for _, each in found)
    figures = FIGURE_WIDE if columns >= WIDE else FIGURE_NARROW
    rows = sorted(found, key=lambda row: order.index(sentences.answer(row[1].verdict)))
    cells = [_cells(view, each, figures, ids) for view, each in rows]
    widths = [max(len(row[at]) for row in cells) for at in (0, 2, 3)]
    room = max(CLAIM_MIN, columns - 1 - sum(widths) - 4 * PADDING)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, PADDING, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("claim", no_wrap=True, ratio=1)
    table.add_column("here", no_wrap=True)
    table.add_column("claimed", no_wrap=True)
    for (_, each), (name, text, here, claimed) in zip(rows, cells, strict=True):
        glyph, style = GLYPHS[sentences.answer(each.verdict)]
        table.add_row(
            Text(glyph, style=style), Text(name), Text(shortened(text, room)), Text(here), Text(claimed, "dim")
        )
    return table


def _cells(view: RunView, each: Finding, longest: int, ids: Counter[str]) -> tuple[str, str, str, str]:
    name = each.verdict.claim_id
    # Of one screen two studies may have claims of one name.
    unique = name if ids[name] == 1 else f"{view.run.study.name} {name}"
    effect = each.lead
    here, claimed = (
        (_here(view, each, effect, longest), _claimed(each.claim, effect)) if effect else (numerals.ABSENT, "")
    )
    text = " ".join(each.verdict.text.split()).removesuffix(".")
    return unique, text, here.replace(numerals.NARROW, " "), claimed.replace(numerals.NARROW, " ")


def _here(view: RunView, each: Finding, effect: Effect, longest: int) -> str:
    """The figure with its interval, and whose it is where the claim is about several."""
    figure = tables.measured(effect)
    said = str(figure).replace(f"{numerals.NARROW}–{numerals.NARROW}", "–")
    whose = _whose(view, each, effect)
    for text in (f"{whose} {said}".strip(), said, figure.estimate):
        if len(text) <= longest:
            return text
    return shortened(figure.estimate, longest)


def _whose(view: RunView, each: Finding, effect: Effect) -> str:
    every = each.verdict.effects
    if len({(one.of, one.to) for one in every}) < 2:
        return ""
    labels = [label for one in every for label in (one.of, one.to) if label]
    names = plain_names.plain(view, labels)
    return f"{names[effect.of]} ÷ {names[effect.to]}" if effect.to else names[effect.of]


def _claimed(claim: Claim, effect: Effect) -> str:
    """What it is held against, in a word or two."""
    if effect.published is not None:
        return numerals.published(effect.published)
    if effect.expected is not None:
        return f"{numerals.published(effect.expected)}*"
    if claim.kind == "order":
        # One of the two sides is where the claim has it; the other it lies on if it is refuted.
        above = (effect.ratio is not None and effect.ratio.estimate > 1) == (effect.answer is Answer.SUPPORTED)
        return f"{'above' if above else 'below'} 1" if effect.answer is not Answer.UNDECIDED else "not 1"
    if claim.kind == "stall":
        return "waits" if claim.stalls else "does not wait"
    if claim.kind in ("growth", "share", "flatness") and len(effect.bounds) == 1:
        side = " ".join(effect.bound.split()[: 2 if effect.bound.startswith("at ") else 1])
        return f"{side} {amount(effect.bounds[0], effect.unit)}"
    if effect.bound.startswith("expected "):
        return f"{effect.bound.removeprefix('expected ')}*"
    return effect.bound


def shortened(text: str, room: int) -> str:
    """The text, or so much of it as fits: to the end of a clause if that is most of it, else of a word."""
    if len(text) <= room:
        return text
    begun = text[: room - 1]
    ends = [begun.rfind(clause) for clause in _CLAUSES]
    if max(ends) >= room // 2:
        return begun[: max(ends)] + ELLIPSIS
    word, space, _ = begun.rpartition(" ")
    return (word if space and len(word) >= room // 2 else begun).rstrip(" ,;:") + ELLIPSIS
