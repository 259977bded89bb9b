"""A stored document → the figures that were measured, as the class of its kind.

A kind of result is added here: its class, and what draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from crumple import parsing
from crumple.drawing.report_parts import Report
from crumple.errors import NotStored


@dataclass(frozen=True)
class Drawn:
    """How one kind of result is read and drawn."""

    model: type[BaseModel]
    """The class of its document."""
    report: Callable[[Any], Report]
    """Takes a document."""
    no_page: str = ""
    """Why no page can be drawn from the document alone, and what draws it; empty: one can."""


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
    return of(document, KINDS, where)[1]


def of(
    document: Mapping[str, Any], kinds: Mapping[str, Callable[[], Drawn]], where: str
) -> tuple[Drawn, Any]:
    """Return how a document of one of these kinds is drawn, and it as its class. Raises NotStored."""
    kind = document["kind"]
    if kind not in kinds:
        raise NotStored(f"{where} is a result of a kind that this version of crumple does not know: {kind}")
    drawn = kinds[kind]()
    try:
        return drawn, drawn.model.model_validate(document)
    except ValidationError as error:
        why = parsing.first_fault(error, dict(document))
        raise NotStored(
            f"{where} is not a result of this version of crumple ({why})",
            "read it with the version that wrote it, or measure again",
        ) from None
