"""The fields of a body that is multipart/form-data in an OpenAPI document. A file in it is not sent."""

from collections.abc import Iterator, Mapping
from typing import Any

from crumple.importing.example_text import ExampleText
from crumple.importing.json_values import table, text
from crumple.importing.multipart import Field
from crumple.importing.openapi_examples import Examples
from crumple.importing.openapi_parameters import is_json
from crumple.importing.openapi_parts import NoExample
from crumple.importing.openapi_styles import UNDEFINED
from crumple.importing.recorded import LeftOut

FILES = "with a form that holds a file"
_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


def fields(
    values: Mapping[str, Any],
    media: Mapping[str, Any],
    encodings: Mapping[str, Any],
    examples: Examples,
    written: ExampleText,
    left_out: LeftOut,
) -> list[Field]:
    """Return the fields of a form with these values. Raises NoExample, TooManySteps."""
    needed, files = examples.required(media), examples.files(media)
    found = list[Field]()
    for name, value in values.items():
        encoding = table(encodings.get(name))
        try:
            if name in files or _is_file(text(encoding.get("contentType"))):
                raise NoExample(FILES, name)
            found += _of(name, value, encoding, written)
        except NoExample as why:
            if name in needed or str(why) not in (FILES, UNDEFINED):
                raise
            left_out.note("fields of forms that need not be sent and are files, or null, are not sent")
    return found


def _is_file(kinds: str) -> bool:
    return bool(kinds) and not any(
        is_json(each) or each.strip().startswith("text/") for each in kinds.split(",")
    )


def _of(name: str, value: Any, encoding: Mapping[str, Any], written: ExampleText) -> Iterator[Field]:
    """Yield a field for each value of a list, and one for anything else; a table is JSON."""
    # Several may be named; the first is taken.
    kind = text(encoding.get("contentType")).partition(",")[0].strip()
    style, explode = text(encoding.get("style")), encoding.get("explode")
    if isinstance(value, list) and not is_json(kind):
        if explode is False or style in _DELIMITERS:
            yield Field(name, _DELIMITERS.get(style, ",").join(map(written.plain, value)), kind)
            return
        for each in value:
            yield from _of(
                name,
                each,
                {"contentType": "application/json"} if isinstance(each, list) else encoding,
                written,
            )
    elif isinstance(value, dict | list):
        yield Field(name, written.compact(value), kind or "application/json")
    elif value is None:
        raise NoExample(UNDEFINED, name)
    else:
        yield Field(name, written.plain(value), kind)
