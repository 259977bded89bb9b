"""All claims in one table: what was measured beside what was claimed, and below each row why it is so."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.drawing.numerals import ABSENT
from crumple.drawing.report_parts import (
    PAGE,
    Column,
    Fold,
    Items,
    Paragraph,
    Part,
    Span,
    Table,
    Words,
    join,
)
from crumple.run.report import forest, left_sentences, run_sentences, run_tables, server_names
from crumple.run.report.claim_lines import claimed, shorten
from crumple.run.report.findings import ClaimResult, as_claimed, figure_and_interval, findings
from crumple.run.report.forest import Forest, ForestRow
from crumple.run.report.study_answer import MARKS
from crumple.run.report.view import RunView
from crumple.verdict.effect import EXPECTED, Effect, VerdictWord

# A claim's text has two lines in its row; a longer one is cut, and stands in full below it.
TEXT_MAX = 88


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a run that was judged."""

    view: RunView
    result: ClaimResult
    limit: str = ""
    """A sentence on what limits its servers; empty: not known."""
    circumstances: str = ""
    """A sentence with the runtimes and the machine; empty: the page says it once for all claims."""


def in_full(view: RunView, limits: Mapping[str, str]) -> list[JudgedClaim]:
    """Return the claims of one run that were judged. `limits`: claim → what limits its servers."""
    return [
        replace(
            each,
            limit=limits.get(each.result.claim.id, ""),
            circumstances=server_names.circumstances(view, each.result.verdict),
        )
        for each in judged(view)
    ]


def judged(view: RunView) -> list[JudgedClaim]:
    """Return the claims that were judged: contradicted ones first, the greatest surprises first of these."""
    found = [each for each in findings(view) if each.verdict.answer is not VerdictWord.NOT_TESTABLE]
    order = [*MARKS]

    def place(each: ClaimResult) -> tuple[int, tuple[float, ...]]:
        against = each.verdict.answer is VerdictWord.CONTRADICTED
        return order.index(run_sentences.answer(each.verdict)), each.rank if against else ()

    return [JudgedClaim(view, each) for each in sorted(found, key=place)]


def table(claims: Sequence[JudgedClaim], prefix: str = "", drawn: Forest | None = None) -> Table:
    """Return the claims as a table whose rows unfold.

    `prefix`: of the rows' addresses, where a page has several runs. `drawn`: the forest of several tables.
    """
    drawn = drawn or forest_of(claims)
    badges = [run_sentences.answer(each.result.verdict) for each in claims]
    figures = [_figure(each) for each in claims]
    picture = [Column("", [drawn.cell(_row(each)) for each in claims], media=PAGE, axis=drawn.heading)]
    return Table(
        [
            Column("", [join(Span(MARKS[badge][0], MARKS[badge][1], strong=True)) for badge in badges]),
            Column("Claim", [_name(each) for each in claims]),
            *(picture if drawn.rows else []),
            Column("Measured, 95 % interval", [_worded(*figure[:2]) for figure in figures], right=True),
            Column("Claimed", [claimed_here(each) for each in claims], right=True),
            Column("Verdict", [join(Span(badge, form="badge")) for badge in badges]),
        ],
        style="forest",
        row_names=[f"{prefix}{each.result.claim.id}" for each in claims],
        below=[[*_below(each)] for each in claims],
        unfolds=True,
    )


def forest_of(claims: Iterable[JudgedClaim]) -> Forest:
    """Return the drawings of claims over one axis."""
    return Forest([row for each in claims if (row := _row(each))])


def _row(each: JudgedClaim) -> ForestRow | None:
    claim, lead = each.result.claim, each.result.lead
    return forest.row(claim, lead, turned=as_claimed(claim, lead) is not lead) if lead else None


def claimed_here(each: JudgedClaim) -> str:
    """Return what was claimed, in a word or two."""
    claim, lead = each.result.claim, each.result.lead
    said = claimed(claim, as_claimed(claim, lead)) if lead else ""
    # A terminal explains the asterisk below its lines.
    return f"{EXPECTED}{said.removesuffix('*')}" if said.endswith("*") else said


def claims_not_asked(view: RunView) -> Iterator[Fold]:
    """Yield the claims that only other runs ask, folded; nothing if all are asked."""
    rows = run_tables.claims_not_asked(view)
    if rows:
        items = [
            join(Span(row.claim_id, form="aside"), f" {row.text}", *([f" ({row.why})"] if row.why else []))
            for row in rows
        ]
        yield Fold(left_sentences.claims_not_asked([view]), [Items(items)], style="unasked")


def figure(measured: run_tables.WordedFigure) -> Words:
    """Return a worded estimate, with its interval if it has one."""
    return _worded(measured.estimate, measured.interval)


def _name(each: JudgedClaim) -> Words:
    """Return the claim, with what is compared where its text leaves that open."""
    claim, (_, _, whose) = each.result.claim, _figure(each)
    below = [Span(whose, form="label")] if whose else []
    return join(Span(claim.id, form="aside"), " ", shorten(claim.text, TEXT_MAX), *below)


def _figure(each: JudgedClaim) -> tuple[str, str, str]:
    """Return the figure, its interval or nothing, and whose it is if the claim's text leaves that open."""
    lead = each.result.lead
    if lead is None or lead.measured is None:
        return ABSENT, "", ""
    shown = as_claimed(each.result.claim, lead)
    figure, interval = figure_and_interval(shown)
    effects = each.result.verdict.effects
    if len(effects) == 1 and shown is lead:
        return figure, interval, ""
    names = server_names.plain(each.view, [name for one in effects for name in (one.of, one.to) if name])
    return figure, interval, f"{names[shown.of]} ÷ {names[shown.to]}" if shown.to else names[shown.of]


def _worded(figure: str, interval: str) -> Words:
    between: list[Words | Span] = [" ", Span(f"[{interval}]", form="aside")] if interval else []
    return join(Span(figure, form="figure"), *between)


def _below(each: JudgedClaim) -> Iterator[Part]:
    verdict = each.result.verdict
    if len(verdict.text) > TEXT_MAX:
        yield Paragraph(join(Span(verdict.text, strong=True)))
    yield Paragraph(" ".join(filter(None, (run_sentences.reason(verdict), each.circumstances))))
    for words in (*run_sentences.conditions(verdict), each.limit):
        if words:
            yield Paragraph(words, "condition")
    if verdict.kind == "order" and len(verdict.effects) > 1:
        yield _comparisons(each)


def _comparisons(each: JudgedClaim) -> Table:
    effects = each.result.verdict.effects
    return Table(
        [
            Column("Comparison", [effect.label for effect in effects]),
            Column("Measured", [*map(_measured, effects)], right=True),
            Column("Verdict", [run_sentences.answer(effect) for effect in effects]),
        ],
        style="comparisons",
    )


def _measured(effect: Effect) -> Words:
    return _worded(*figure_and_interval(effect)) if effect.measured else ABSENT
