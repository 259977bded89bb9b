"""A comparison of results in words, as rows, as its document and as a report. Pure."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from crumple.documents.parts_of_documents import IntervalData, finite
from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    Charts,
    Column,
    Note,
    Notes,
    Paragraph,
    Phrase,
    Report,
    Section,
    Table,
    Title,
    Tone,
    on_page,
    phrase,
)
from crumple.results.comparing import VERSUS, ResultComparison
from crumple.results.printed_documents import ChangedVerdict, ComparedKind, CompareDocument, DifferenceData
from crumple.run.report.run_sentences import difference as change
from crumple.verdict import comparison, verdict_sentences
from crumple.verdict.comparison import ANOTHER, ChangeWord, Comparison, Difference

if TYPE_CHECKING:
    from crumple.drawing.page import BoundChart

HEADINGS = ("experiment", "server", "metric", "after ÷ before", "seen above", "change")
NUMBERS = ("after ÷ before", "seen above")
SEEN_ABOVE = '"seen above": a change of more than that would have been seen in four cases of five.'
# The version of the JSON of a comparison, by which a reader knows its fields.
VERSION: Literal[3] = 3
TONES: Mapping[ChangeWord, Tone] = {
    "slower": "bad",
    "faster": "good",
    "as before": "dim",
    "not known": "doubtful",
}


def row(each: Difference) -> tuple[str, ...]:
    """Return the cells of a row, in the order of HEADINGS."""
    return each.experiment, each.server, each.metric, ratio(each), visible(each), each.change


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
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for each in differences:
        if each.reason not in (comparison.WITHIN_CHANCE, comparison.BEYOND_CHANCE):
            metrics.setdefault((each.experiment, each.server, each.reason), []).append(each.metric)
    return [
        f"{server} in {experiment}, {', '.join(names)}: {reason}"
        for (experiment, server, reason), names in metrics.items()
    ]


def summary(compared: Comparison) -> str:
    """Return how many figures are slower, faster and not known, and what would have been seen."""
    faster = sum(each.change == "faster" for each in compared.differences)
    unknown = sum(each.change == "not known" for each in compared.differences)
    parts = [f"{len(compared.slower)} slower", f"{faster} faster"]
    if unknown:
        parts.append(f"{unknown} not known")
    said = f"Of {numerals.count(len(compared.differences), 'figure')}: {', '.join(parts)}."
    known = [each.visible for each in compared.differences if each.visible is not None]
    seen = [found for found in known if math.isfinite(found)]
    if not seen:
        return said
    span = f"{change(min(seen))} to {change(max(seen))}"
    return f"{said} Changes above {span}, by figure, would have been seen in four runs of five."


def verdicts(compared: ResultComparison) -> list[str]:
    """Return the verdicts that changed, of runs."""
    found = compared.comparison.verdicts
    changed = [f"{claim}: {was} → {now}" for claim, (was, now) in found.items()]
    return changed or (["No verdict changed."] if compared.kind == "run" else [])


def why_undecided(compared: ResultComparison) -> str:
    """Return why nothing was judged, and what would decide it; empty if something was."""
    found = compared.comparison
    if any(each.change != "not known" for each in found.differences):
        return ""
    if found.other_machine and any(each.reason == ANOTHER for each in found.differences):
        how = "; ".join(found.other_machine)
        return (
            f"nothing was judged: the machine is another ({how}); measure both on one machine, or say "
            "--any-machine"
        )
    if not found.differences:
        return "nothing could be compared: no server has figures of the same experiment in both runs"
    if compared.kind == "run":
        # A ratio of which only a bound is known is not judged, and is compared.
        bound = any(each.limit for each in found.differences)
        return "" if bound else f"nothing could be compared: {found.differences[0].reason}"
    return f"nothing was judged: {found.differences[0].reason}; {VERSUS}"


def document(compared: ResultComparison) -> CompareDocument:
    """Return the comparison as it is printed: an end of an interval that is not known is null."""
    found = compared.comparison
    return CompareDocument(
        kind="compare",
        version=VERSION,
        compared=cast(ComparedKind, compared.kind),
        before=found.before,
        after=found.after,
        slower=len(found.slower),
        differences=tuple(map(_entry, found.differences)),
        verdicts_changed={
            claim: ChangedVerdict(before=was, after=now) for claim, (was, now) in found.verdicts.items()
        },
        other_machine=found.other_machine,
        undecided=why_undecided(compared) or None,
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
    return ResultComparison(document.compared, found)


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
    )


def _entry(each: Difference) -> DifferenceData:
    return DifferenceData(
        experiment=each.experiment,
        server=each.server,
        metric=each.metric,
        ratio=IntervalData.of(each.ratio),
        visible=finite(each.visible),
        limit=each.limit or None,
        change=each.change,
        reason=each.reason,
    )


def report(compared: ResultComparison) -> Report:
    """Return the comparison as a report, for a page or for Markdown."""
    found = compared.comparison
    between = f"{found.before} → {found.after}"
    why = why_undecided(compared)
    notes = (*reasons(found.differences), *verdicts(compared))
    return Report(
        verb="compare",
        title=between,
        head=[
            Title([between]),
            Paragraph(summary(found), "headline"),
            Notes([Note("caution:", caution, "doubtful") for caution in found.cautions]),
            *([Paragraph(why, "problem")] if why else []),
        ],
        sections=[
            Section(
                [_table(found.differences), *(Paragraph(line, "note") for line in (*notes, SEEN_ABOVE))],
                heading="What changed",
                name="differences",
            ),
            Section(
                [on_page(Charts(partial(_charts, compared)))], heading="Charts", name="charts", is_spoken=True
            ),
        ],
    )


def _table(differences: Sequence[Difference]) -> Table:
    rows = [row(each) for each in differences]
    columns = [
        Column(heading, [cells[at] for cells in rows], right=heading in NUMBERS)
        for at, heading in enumerate(HEADINGS[:-1])
    ]
    return Table([*columns, Column(HEADINGS[-1], [*map(change_of, differences)])], is_named=False)


def _charts(compared: ResultComparison) -> list["BoundChart"]:
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.results import compare_charts

    return compare_charts.charts(compared)
