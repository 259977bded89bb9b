"""A stored document → the same screen, page and figures as when it was measured.

A kind of result is added here: its class, and what draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from crumple import parsing
from crumple.errors import NotStored
from crumple.results.result import Result


@dataclass(frozen=True)
class Drawn:
    """How one kind of result is read and drawn. `text` and `html` take what `restored` of `model` gives."""

    model: type[Result]
    text: Callable[[Any], str]
    html: Callable[[Any], str]


def _load() -> Drawn:
    from crumple.load.report import load_files, load_summary
    from crumple.results.load_document import LoadDocument

    return Drawn(LoadDocument, load_summary.text, load_files.html)


def _find() -> Drawn:
    from crumple.find.report import find_output
    from crumple.results.find_document import FindDocument

    return Drawn(FindDocument, find_output.text, find_output.html)


def _diagnose() -> Drawn:
    from crumple.diagnose.report import diagnose_output
    from crumple.results.diagnose_document import DiagnoseDocument

    return Drawn(DiagnoseDocument, diagnose_output.text, diagnose_output.html)


# Each is imported when a result of its kind is read.
KINDS: dict[str, Callable[[], Drawn]] = {"load": _load, "find": _find, "diagnose": _diagnose}


def read(document: Mapping[str, Any], where: str) -> Any:
    """Return the document as its class. `where`: for messages. Raises NotStored if this version has none."""
    return _model(document, _drawn(document, where).model, where)


def text(document: Mapping[str, Any], where: str) -> str:
    """Return the screen that the command printed. Raises NotStored as `read`."""
    drawn = _drawn(document, where)
    return drawn.text(_model(document, drawn.model, where).restored())


def html(document: Mapping[str, Any], where: str) -> str:
    """Return the page of the result. Raises NotStored as `read`."""
    drawn = _drawn(document, where)
    return drawn.html(_model(document, drawn.model, where).restored())


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
