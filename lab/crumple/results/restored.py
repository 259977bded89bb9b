"""A stored document → the same screen, page and figures as when it was measured.

A kind of result is added here: its class, and what draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from crumple import parsing
from crumple.documents.result import Result
from crumple.drawing import report_text
from crumple.drawing.report_parts import Report
from crumple.errors import NotStored
from crumple.gate.condition import Outcome


@dataclass(frozen=True)
class Drawn:
    """How one kind of result is read and drawn."""

    model: type[Result]
    """The class of its document."""
    report: Callable[[Any], Report]
    """Takes a document."""


def _load() -> Drawn:
    from crumple.load.report import load_report
    from crumple.load.report.load_document import LoadDocument

    return Drawn(LoadDocument, load_report.report)


def _find() -> Drawn:
    from crumple.find.report import find_report
    from crumple.find.report.find_document import FindDocument

    return Drawn(FindDocument, find_report.report)


def _diagnose() -> Drawn:
    from crumple.diagnose.report import diagnose_report
    from crumple.diagnose.report.diagnose_document import DiagnoseDocument

    return Drawn(DiagnoseDocument, diagnose_report.report)


def _versus() -> Drawn:
    from crumple.versus.report import versus_report
    from crumple.versus.report.versus_document import VersusDocument

    return Drawn(VersusDocument, versus_report.report)


# Each is imported when a result of its kind is read.
KINDS: dict[str, Callable[[], Drawn]] = {
    "load": _load,
    "find": _find,
    "diagnose": _diagnose,
    "versus": _versus,
}


def read(document: Mapping[str, Any], where: str) -> Any:
    """Return the document as its class. `where`: for messages. Raises NotStored if this version has none."""
    return _model(document, _drawn(document, where).model, where)


def text(document: Mapping[str, Any], where: str) -> str:
    """Return the screen that the command printed. Raises NotStored as `read`."""
    drawn = _drawn(document, where)
    return report_text.text(drawn.report(_model(document, drawn.model, where)))


def html(document: Mapping[str, Any], where: str) -> str:
    """Return the page of the result. Raises NotStored as `read`."""
    # Imported here because charts take a second to import, and only a page has them.
    from crumple.drawing import report_page

    drawn = _drawn(document, where)
    return report_page.html(drawn.report(_model(document, drawn.model, where)))


def outcomes(document: Mapping[str, Any], where: str) -> tuple[Outcome, ...]:
    """Return what came of the conditions that its screen does not show. Raises NotStored as `read`."""
    found = read(document, where)
    return () if found.kind == "load" else tuple(found.fail_if)


def _drawn(document: Mapping[str, Any], where: str) -> Drawn:
    kind = document.get("kind")
    if kind not in KINDS:
        raise NotStored(f"{where} is a result of a kind that this version of crumple does not know: {kind}")
    return KINDS[kind]()


def _model(document: Mapping[str, Any], model: type[Result], where: str) -> Any:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        why = parsing.first_fault(error, dict(document))
        raise NotStored(
            f"{where} is not a result of this version of crumple ({why})",
            "read it with the version that wrote it, or measure again",
        ) from None
