"""A document → the screen and the page that its command showed, whether it was stored or lies in a file."""

from collections.abc import Callable, Mapping
from typing import Any

from crumple.drawing import report_text
from crumple.drawing.report_parts import Report
from crumple.errors import NotStored
from crumple.gate.condition import Outcome
from crumple.results import restored
from crumple.results.restored import KINDS, Drawn


def _report() -> Drawn:
    from crumple.run.report import reported_run
    from crumple.run.report.report_document import ReportDocument

    why = "the page of a run is drawn from its trials; where they are stored: crumple report RUN --open"
    return Drawn(ReportDocument, reported_run.report, why)


def _compare() -> Drawn:
    from crumple.results import compare_report
    from crumple.results.printed_documents import CompareDocument

    why = "the page of a comparison is drawn from its results; compare them again: crumple compare A B"
    return Drawn(CompareDocument, lambda found: compare_report.report(compare_report.restored(found)), why)


# All that is shown: results, and what a command makes of stored results or runs and does not store.
SHOWN: dict[str, Callable[[], Drawn]] = {**KINDS, "report": _report, "compare": _compare}


def text(document: Mapping[str, Any], where: str) -> str:
    """Return the screen that the command printed. `where`: for messages. Raises NotStored."""
    return report_text.text(report(document, where))


def report(document: Mapping[str, Any], where: str) -> Report:
    """Return the report of the document. Raises NotStored."""
    drawn, found = restored.of(document, SHOWN, where)
    return drawn.report(found)


def html(document: Mapping[str, Any], where: str) -> str:
    """Return the page of the document. Raises NotStored, also if a page shows more than the document has."""
    # Imported here because its templates take a tenth of a second, and belong to an extra.
    from crumple.drawing import report_page

    drawn, found = restored.of(document, SHOWN, where)
    if drawn.no_page:
        raise NotStored(f"{where} has not all that its page shows", drawn.no_page)
    return report_page.html(drawn.report(found), document)


def headline(document: Mapping[str, Any]) -> str:
    """Return what it came to, in a line; of a comparison only what was compared."""
    said = document.get("headline") or document.get("answer")
    return str(said) if said else f"{document.get('before')} → {document.get('after')}"


def outcomes(document: Mapping[str, Any], where: str) -> tuple[Outcome, ...]:
    """Return what came of the conditions that its screen does not show. Raises NotStored."""
    kind = document["kind"]
    return () if kind == "load" or kind not in KINDS else tuple(restored.read(document, where).fail_if)
