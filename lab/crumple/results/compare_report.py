"""A comparison in words, as rows, as JSON, as Markdown and as a page. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from crumple.drawing import numerals
from crumple.load.report.parts_of_documents import IntervalData, finite
from crumple.results.comparing import VERSUS, ResultComparison
from crumple.run.report.run_sentences import difference as change
from crumple.verdict import comparison, verdict_sentences
from crumple.verdict.comparison import ANOTHER, Comparison, Difference

HEADINGS = ("experiment", "server", "metric", "after ÷ before", "seen above", "change")
VERSION = 2


def row(each: Difference) -> tuple[str, ...]:
    """Return the cells of a row, in the order of HEADINGS."""
    return each.experiment, each.server, each.metric, ratio(each), visible(each), each.change


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


def undecided(compared: ResultComparison) -> str:
    """Return why nothing was judged, and what would tell; empty if something was."""
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


def document(compared: ResultComparison) -> dict[str, Any]:
    """Return the comparison as JSON: an end of an interval that is not known is null."""
    found = compared.comparison
    return {
        "version": VERSION,
        "kind": compared.kind,
        "before": found.before,
        "after": found.after,
        "slower": len(found.slower),
        "differences": [_entry(each) for each in found.differences],
        "verdicts_changed": {
            claim: {"before": was, "after": now} for claim, (was, now) in found.verdicts.items()
        },
        "other_machine": list(found.other_machine),
        "undecided": undecided(compared) or None,
        "cautions": list(found.cautions),
    }


def _entry(each: Difference) -> dict[str, Any]:
    ratio = IntervalData.of(each.ratio)
    return {
        "experiment": each.experiment,
        "server": each.server,
        "metric": each.metric,
        "ratio": ratio and ratio.model_dump(),
        "visible": finite(each.visible),
        "limit": each.limit or None,
        "change": each.change,
        "reason": each.reason,
    }


def markdown(compared: ResultComparison) -> str:
    """Return the comparison in Markdown, for a comment or a job's summary."""
    return "\n".join(_markdown(compared)).rstrip() + "\n"


def _markdown(compared: ResultComparison) -> Iterator[str]:
    found = compared.comparison
    yield f"# {_cell(found.before)} → {_cell(found.after)}\n"
    yield f"{summary(found)}\n"
    for caution in found.cautions:
        yield f"- caution: {_cell(caution)}"
    if found.cautions:
        yield ""
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---|---|---|--:|--:|---|"
    for each in found.differences:
        *cells, said = map(_cell, row(each))
        yield f"| {' | '.join(cells)} | {f'**{said}**' if each.change == 'slower' else said} |"
    yield ""
    for line in (*reasons(found.differences), *verdicts(compared), undecided(compared)):
        if line:
            yield f"{_cell(line)}\n"


def _cell(text: str) -> str:
    """Return text that Markdown takes as it is, also within a table."""
    for letter in "\\|<*_`[]":
        text = text.replace(letter, f"\\{letter}" if letter != "<" else "&lt;")
    return text


def html(compared: ResultComparison) -> str:
    """Return the page."""
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.drawing import page
    from crumple.results import compare_charts

    found = compared.comparison
    template = page.templates().get_template("compare.html.j2")
    return template.render(
        found=found,
        summary=summary(found),
        headings=HEADINGS,
        rows=[row(each) for each in found.differences],
        reasons=reasons(found.differences),
        verdicts=verdicts(compared),
        undecided=undecided(compared),
        style=page.style(),
        drawings=compare_charts.drawings(compared),
    )
