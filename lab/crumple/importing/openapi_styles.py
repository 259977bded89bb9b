"""How a value stands in a path, a query, a header or a form, by `style` and `explode` of OpenAPI. Pure.

Where OpenAPI does not say how a value is written, as a list in a table or null, there is none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from crumple.importing.openapi_parts import NoExample

UNDEFINED = "with a value whose form in a URL, header or form OpenAPI does not define"
# With `allowReserved`; # and & would end the value.
_RESERVED = ":/?[]@!$'()*+,;="
# In a name; brackets as curl and browsers send them.
_IN_NAMES = "[]$:@!'()*,;"
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_OF_PLACE = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
# Of Swagger 2.
_OF_COLLECTION = {
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "tsv": ("tabDelimited", False),
    "multi": ("form", True),
}
Written = Callable[[Any], str]


@dataclass(frozen=True)
class Style:
    """How a value is written. `quoted`: percent-encodes a text."""

    name: str
    explode: bool
    quoted: Callable[[str], str]


def of(parameter: Mapping[str, Any], place: str, *, is_swagger: bool) -> Style:
    """Return the style that a parameter names, or that of its place."""
    quoted = _quoting(parameter.get("allowReserved") is True, place)
    if is_swagger:
        name, explode = _OF_COLLECTION.get(str(parameter.get("collectionFormat")), (_OF_PLACE[place], False))
        return Style(name, explode, quoted)
    named = parameter.get("style")
    style = named if isinstance(named, str) else _OF_PLACE[place]
    written = parameter.get("explode")
    return Style(style, written if isinstance(written, bool) else style == "form", quoted)


def _quoting(is_reserved_allowed: bool, place: str) -> Callable[[str], str]:
    if place == "header":
        return lambda text: text
    return lambda text: quote(text, safe=_RESERVED if is_reserved_allowed else "")


def in_path(name: str, value: Any, style: Style, written: Written) -> str:
    """Return what stands for {name} in a path. Raises NoExample."""
    found = pairs(value, style, written)
    if style.name == "matrix":
        if found is None or not style.explode:
            return f";{quote(name)}={_listed(value, style, written, ',')}"
        parts = [(key or quote(name), text) for key, text in found]
        return "".join(f";{key}={text}" for key, text in parts)
    if style.name == "label":
        return f".{_listed(value, style, written, '.' if style.explode else ',')}"
    return _listed(value, style, written, ",")


def in_header(value: Any, style: Style, written: Written) -> str:
    """Return a header's value. Raises NoExample."""
    return _listed(value, style, written, ",")


def in_query(name: str, value: Any, style: Style, written: Written) -> list[str]:
    """Return the pieces of a query or a form, percent-encoded; none for an empty list. Raises NoExample."""
    at = quote(name, safe=_IN_NAMES)
    if style.name == "deepObject" and isinstance(value, dict):
        return _deep(at, value, style, written)
    found = pairs(value, style, written)
    if found is None:
        return [f"{at}={style.quoted(_plain(value, written))}"]
    if not found:
        return []
    if style.name == "deepObject":
        raise NoExample(UNDEFINED, f"a list as {name}")
    if style.explode:
        return [f"{key or at}={text}" for key, text in found]
    return [f"{at}={_listed(value, style, written, _DELIMITERS.get(style.name, ','))}"]


def _deep(at: str, value: Mapping[str, Any], style: Style, written: Written) -> list[str]:
    pieces = []
    for key, each in value.items():
        inner = f"{at}[{quote(key, safe=_IN_NAMES)}]"
        if isinstance(each, dict):
            pieces += _deep(inner, each, style, written)
        elif isinstance(each, list):
            # An empty one is not sent, as in a query.
            if each:
                raise NoExample(UNDEFINED, f"a list in {at}")
        else:
            pieces.append(f"{inner}={style.quoted(_plain(each, written))}")
    return pieces


def pairs(value: Any, style: Style, written: Written) -> list[tuple[str, str]] | None:
    """Return keys and texts of a table, empty keys and texts of a list, None of anything else."""
    if isinstance(value, dict):
        return [
            (quote(key, safe=_IN_NAMES), style.quoted(_plain(each, written))) for key, each in value.items()
        ]
    if isinstance(value, list):
        return [("", style.quoted(_plain(each, written))) for each in value]
    return None


def _listed(value: Any, style: Style, written: Written, delimiter: str) -> str:
    """Return a value on one line: a,b of a list, key,a of a table, or key=a if it explodes."""
    found = pairs(value, style, written)
    if found is None:
        return style.quoted(_plain(value, written))
    between = "=" if style.explode else delimiter
    return delimiter.join(f"{key}{between}{text}" if key else text for key, text in found)


def _plain(value: Any, written: Written) -> str:
    if isinstance(value, dict | list):
        raise NoExample(UNDEFINED, "a table or a list in another")
    if value is None:
        raise NoExample(UNDEFINED, "null")
    return written(value)


def joined(values: Sequence[Any], inner: Mapping[str, Any], written: Written) -> list[Any]:
    """Return a list of Swagger 2 whose own lists are joined as `collectionFormat` of their schema says."""
    between = {"ssv": " ", "tsv": "\t", "pipes": "|"}.get(str(inner.get("collectionFormat")), ",")
    return [
        between.join(_plain(one, written) for one in each) if isinstance(each, list) else each
        for each in values
    ]
