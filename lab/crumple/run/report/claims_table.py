"""The table of claims of a run: what was published, what was measured, and below each claim why it is so."""

from collections.abc import Iterator, Mapping, Sequence

from crumple.drawing import numerals
from crumple.drawing.report_parts import Column, Fold, Items, Paragraph, Part, Span, Table, Words, join
from crumple.run.report import left_sentences, run_sentences, run_tables
from crumple.run.report.run_tables import ClaimRow, EffectRow
from crumple.run.report.view import RunView


def table(view: RunView, limits: Mapping[str, str], prefix: str = "", *, circumstances: bool = True) -> Table:
    """Return the claims that a run asks. `limits`: claim → a sentence on what limits its servers.

    `prefix`: of the addresses of the rows, for a page of several runs. `circumstances`: with which runtimes
    and on which machine each was found.
    """
    claims = run_tables.claims(view)
    claim_cells: list[Words | None] = []
    answers: list[Words | None] = []
    published: list[Words] = []
    figures: list[Words] = []
    names: list[str] = []
    below: list[Sequence[Part]] = []
    for claim in claims:
        verdict = claim.verdict
        others = max(0, len(claim.shown) - 1)
        name = join(Span(verdict.claim_id, form="aside"), " ", Span(verdict.text, strong=True))
        claim_cells += [name, *[None] * others]
        answers += [join(Span(claim.answer, form="badge")), *[None] * others]
        published += [effect.published for effect in claim.shown] or [numerals.ABSENT]
        figures += [_figure_cell(claim, effect) for effect in claim.shown] or [numerals.ABSENT]
        names += [f"{prefix}{verdict.claim_id}", *[""] * others]
        below += [
            *[()] * others,
            [*_below(claim, claim.circumstances if circumstances else "", limits.get(verdict.claim_id, ""))],
        ]
    return Table(
        [
            Column("Claim", claim_cells),
            Column("Verdict", answers),
            Column("Published", published, right=True),
            Column("Measured, 95 % interval", figures, right=True),
        ],
        style="claims",
        is_named=False,
        row_names=names,
        below=below,
    )


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
    if not measured.interval:
        return join(Span(measured.estimate, form="figure"))
    return join(Span(measured.estimate, form="figure"), " ", Span(f"[{measured.interval}]", form="aside"))


def _figure_cell(claim: ClaimRow, effect: EffectRow) -> Words:
    words = figure(effect.measured)
    if effect.label:
        words = join(words, " ", Span(effect.label, form="label"))
    if claim.closest:
        words = join(words, Span(f"the closest of {len(claim.effects)}", form="below"))
    return words


def _below(claim: ClaimRow, circumstances: str, limit: str) -> Iterator[Part]:
    verdict = claim.verdict
    yield Paragraph(" ".join(filter(None, (run_sentences.reason(verdict), circumstances))))
    for words in (*run_sentences.conditions(verdict), limit):
        if words:
            yield Paragraph(words, "condition")
    if verdict.kind == "order" and len(claim.effects) > 1:
        comparisons = Table(
            [
                Column("Comparison", [effect.label for effect in claim.effects]),
                Column("Measured", [figure(effect.measured) for effect in claim.effects], right=True),
                Column("Verdict", [effect.answer for effect in claim.effects]),
            ],
            style="comparisons",
        )
        yield Fold(f"All {len(claim.effects)} comparisons", [comparisons])
