"""A comparison of results in words, as rows, as its document and as a report. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from crumple.documents.parts_of_documents import IntervalData, finite
from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    FILES,
    Charts,
    Column,
    Fold,
    Note,
    Notes,
    Only,
    Paragraph,
    Phrase,
    Report,
    Section,
    Table,
    Tone,
    on_page,
    on_terminal,
    phrase,
)
from crumple.results import compare_answer, compare_charts
from crumple.results.comparing import ResultComparison
from crumple.results.printed_documents import ChangedVerdict, ComparedKind, CompareDocument, DifferenceData
from crumple.run.report.run_sentences import difference as change
from crumple.verdict import comparison, verdict_sentences
from crumple.verdict.comparison import ChangeWord, Comparison, Difference

# What the experiment of a place is called where there is none.
UNNAMED = ("load", "find", "versus")
NUMBERS = ("before", "after", "after ÷ before", "seen above")
# A ratio with its interval tells more than both values.
LEFT_OUT_FIRST = ("seen above", "before", "after", "experiment")
SEEN_ABOVE = '"seen above": a change of more than that would have been seen in four cases of five.'
# The version of the JSON of a comparison, by which a reader knows its fields.
VERSION: Literal[3] = 3
TONES: Mapping[ChangeWord, Tone] = {
    "slower": "bad",
    "faster": "good",
    "as before": "dim",
    "not known": "doubtful",
}


def change_of(difference: Difference) -> Phrase:
    """Return the last cell of a row with its tone."""
    return phrase(difference.change, TONES[difference.change], strong=difference.change == "slower")


def ratio(difference: Difference) -> str:
    """Return after ÷ before, with its interval if that is known."""
    found = difference.ratio
    if found is None:
        return numerals.ABSENT
    if not difference.limit and not math.isfinite(found.high):
        # How much it may differ by chance is not known, so a third digit would say nothing.
        return numerals.significant(found.estimate, 3)
    low, middle, high = verdict_sentences.ends(found)
    if difference.limit:
        return f"{difference.limit} {low if difference.limit == 'at least' else high}"
    return f"{middle} [{low}–{high}]"


def visible(difference: Difference) -> str:
    """Return above which change it would have been seen in four cases of five."""
    found = difference.visible
    return change(found) if found is not None and math.isfinite(found) else numerals.ABSENT


def reasons(differences: Sequence[Difference]) -> list[str]:
    """Return a line for each reason other than chance, with all metrics of a server that it applies to."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for each in differences:
        if each.reason not in (comparison.WITHIN_CHANCE, comparison.BEYOND_CHANCE):
            of = f"{each.server} in {each.experiment}" if each.experiment not in UNNAMED else each.server
            metrics.setdefault((of, each.reason), []).append(compare_answer.name(each))
    return [f"{of}, {', '.join(names)}: {reason}" for (of, reason), names in metrics.items()]


def verdicts(compared: ResultComparison) -> list[str]:
    """Return the verdicts that changed, of runs."""
    found = compared.comparison.verdicts
    changed = [f"{claim}: {was} → {now}" for claim, (was, now) in found.items()]
    return changed or (["No verdict changed."] if compared.kind == "run" else [])


def document(compared: ResultComparison) -> CompareDocument:
    """Return the comparison as it is printed: an end of an interval that is not known is null."""
    found = compared.comparison
    return CompareDocument(
        kind="compare",
        version=VERSION,
        compared=cast(ComparedKind, compared.kind),
        before=found.before,
        after=found.after,
        measured=tuple(compared.measured),
        slower=len(found.slower),
        differences=tuple(map(_entry, found.differences)),
        verdicts_changed={
            claim: ChangedVerdict(before=was, after=now) for claim, (was, now) in found.verdicts.items()
        },
        other_machine=found.other_machine,
        undecided=compare_answer.why_undecided(compared) or None,
        cautions=found.cautions,
    )


def restored(document: CompareDocument) -> ResultComparison:
    """Return the comparison that a document says, without the quantiles and searches that charts draw."""
    found = Comparison(
        before=document.before,
        after=document.after,
        differences=tuple(map(_difference, document.differences)),
        verdicts={claim: (each.before, each.after) for claim, each in document.verdicts_changed.items()},
        cautions=document.cautions,
        other_machine=document.other_machine,
    )
    return ResultComparison(document.compared, found, measured=document.measured)


def _difference(each: DifferenceData) -> Difference:
    return Difference(
        experiment=each.experiment,
        server=each.server,
        metric=each.metric,
        ratio=each.ratio.interval if each.ratio else None,
        visible=each.visible,
        change=each.change,
        reason=each.reason,
        limit=each.limit or "",
        was=each.was,
        now=each.now,
    )


def _entry(each: Difference) -> DifferenceData:
    return DifferenceData(
        experiment=each.experiment,
        server=each.server,
        metric=each.metric,
        was=each.was,
        now=each.now,
        ratio=IntervalData.of(each.ratio),
        visible=finite(each.visible),
        limit=each.limit or None,
        change=each.change,
        reason=each.reason,
    )


def report(compared: ResultComparison) -> Report:
    """Return the comparison as a report."""
    found = compared.comparison
    # A reason that nothing was judged for is part of the answer.
    why = compare_answer.why_undecided(compared)
    own = [each for each in found.differences if not why or each.reason not in why]
    notes = [*reasons(own), *verdicts(compared)]
    charts, is_many = Charts(compare_charts.charts(compared)), len(compared.quantiles) > 1
    return Report(
        verb="compare",
        title=compare_answer.title(compared),
        head=[Only(FILES, [Notes([Note("caution:", caution, "doubtful") for caution in found.cautions])])],
        sections=[
            Section(
                [
                    _table(compared),
                    on_terminal(*map(Paragraph, notes)),
                    Only(FILES, [Paragraph(line, "note") for line in (*notes, SEEN_ABOVE)]),
                    on_page(*([Fold("Response times by quantile", [charts])] if is_many else [])),
                ],
                heading="What changed",
                name="differences",
            )
        ],
        answer=compare_answer.of(compared, None if is_many else charts),
        circumstances=compared.measured,
    )


def _table(compared: ResultComparison) -> Table:
    every = compared.comparison.differences
    places = (
        {}
        if compare_answer.only_subject(compared)
        else {
            "experiment": [each.experiment for each in every],
            "server": [each.server for each in every],
        }
    )
    cells = {
        **places,
        "figure": [compare_answer.name(each) for each in every],
        "before": [compare_answer.value(compared, each, each.was) for each in every],
        "after": [compare_answer.value(compared, each, each.now) for each in every],
        "after ÷ before": [*map(ratio, every)],
        "seen above": [*map(visible, every)],
    }
    columns = [
        Column(name, column, right=name in NUMBERS, whole=name in NUMBERS) for name, column in cells.items()
    ]
    change = Column("change", [*map(change_of, every)], whole=True)
    return Table([*columns, change], is_named=False, left_out_first=LEFT_OUT_FIRST)
