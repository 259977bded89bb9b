"""The parameters of an operation → its path, its query and its headers, as `style` and `explode` say.

Where OpenAPI does not say how a value is written, as a list in a table or null, there is none. The length of
what is written is bounded: an example from YAML may name one part a million times, or hold itself.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from crumple.errors import Mistakes
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_document import NoExample, Parts
from crumple.importing.openapi_examples import Examples
from crumple.importing.recorded import LeftOut
from crumple.load import header_lines

# Letters of all examples of one request: as much as a body in a HAR may have.
LETTERS_MAX = 256 << 10
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class ExampleText:
    """Writes the examples of one request, which have LETTERS_MAX letters together at most."""

    def __init__(self) -> None:
        self._left = LETTERS_MAX

    @property
    def letters(self) -> int:
        """How many letters were written, or tried."""
        return LETTERS_MAX - self._left

    def json(self, value: Any, encoder: json.JSONEncoder = _ENCODER) -> str:
        """Return a value as JSON. Raises NoExample."""
        try:
            return self._joined(encoder.iterencode(value))
        except ValueError:
            raise NoExample("with an example that holds itself") from None
        except RecursionError:
            raise NoExample("with an example that is nested too deep") from None

    def compact(self, value: Any) -> str:
        """Return a value as JSON without spaces, as it stands in a parameter or a field. Raises NoExample."""
        return self.json(value, _COMPACT)

    def plain(self, value: Any) -> str:
        """Return a value as it stands in a path, a query or a form. Raises NoExample."""
        return self._joined([value]) if isinstance(value, str) else self.compact(value)

    def _joined(self, pieces: Iterable[str]) -> str:
        parts = []
        for piece in pieces:
            self.take(len(piece))
            parts.append(piece)
        return "".join(parts)

    def take(self, letters: int) -> None:
        """Count letters that are written. Raises NoExample."""
        self._left -= letters
        if self._left < 0:
            raise NoExample(f"with examples of more than {LETTERS_MAX >> 10} KiB")


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
    """How a value is written."""

    name: str
    explode: bool
    quoted: Callable[[str], str]
    """The function that percent-encodes a text."""


def style_of(parameter: Mapping[str, Any], place: str, *, is_swagger: bool) -> Style:
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


def join(values: Sequence[Any], inner: Mapping[str, Any], written: Written) -> list[Any]:
    """Return a list of Swagger 2 whose own lists are joined as `collectionFormat` of their schema says."""
    between = {"ssv": " ", "tsv": "\t", "pipes": "|"}.get(str(inner.get("collectionFormat")), ",")
    return [
        between.join(_plain(one, written) for one in each) if isinstance(each, list) else each
        for each in values
    ]


# The most parameters of an operation; one with more is left out.
PARAMETERS_MAX = 1_000
# A parameter takes as long as ten steps, since its example is made and written, too.
PARAMETER_STEPS = 10
_PLACE = re.compile(r"\{([^{}/]*)\}")
# OpenAPI 3 says that these are no parameters; in Swagger 2 `consumes` names the type of a body.
_NO_PARAMETERS = ("accept", "content-type", "authorization")


@dataclass
class OperationParts:
    """What the parameters of an operation come to."""

    path: str
    query: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    fields: list[Mapping[str, Any]] = field(default_factory=list)
    """The fields of a form, in Swagger 2."""
    body: Mapping[str, Any] | None = None
    """The parameter that is the body, in Swagger 2."""
    is_made_up: bool = False

    @property
    def target(self) -> str:
        """Return path and query."""
        between = "&" if "?" in self.path else "?"
        return f"{self.path}{between}{'&'.join(self.query)}" if self.query else self.path


class Parameters:
    """Reads the parameters of one document. Its methods raise NoExample and TooManySteps."""

    def __init__(self, parts: Parts, examples: Examples, left_out: LeftOut, *, is_swagger: bool) -> None:
        self._parts, self._examples, self._left_out = parts, examples, left_out
        self._is_swagger = is_swagger

    def asked(self, path: str, levels: Sequence[Mapping[str, Any]], written: ExampleText) -> OperationParts:
        """Return what an operation asks. `levels`: its path and itself; its own parameters replace those."""
        asked = OperationParts(path)
        for (name, place), each in self._named(levels).items():
            if place == "body":
                asked.body = each
            elif place == "formData":
                if each.get("required") is True or self._examples.is_given(each):
                    asked.fields.append(each)
            elif place == "cookie":
                self._left_out.header("Cookie")
            elif place in ("path", "query", "header"):
                self._take(asked, name, place, each, written)
            elif each.get("required") is True:
                raise NoExample("with a parameter in a place that is not known", f"{name} in {place}")
        # What stands in values has been quoted.
        if missing := _PLACE.search(asked.path):
            raise NoExample("whose path has a place that no parameter describes", missing[0])
        return asked

    def _named(self, levels: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
        given = [listed(level.get("parameters")) for level in levels]
        if sum(map(len, given)) > PARAMETERS_MAX:
            raise NoExample(f"with more than {PARAMETERS_MAX:,} parameters")
        found = {}
        for each in (each for level in given for each in level):
            meant = table(self._parts.pointed(each))
            name = text(meant.get("name"))
            self._parts.take(PARAMETER_STEPS, letters=len(name))
            found[name, text(meant.get("in"))] = meant
        return found

    def _take(
        self, asked: OperationParts, name: str, place: str, parameter: Mapping[str, Any], written: ExampleText
    ) -> None:
        if place == "header" and name.lower() in _NO_PARAMETERS:
            if name.lower() == "authorization":
                self._left_out.header(name)
            return
        is_needed = place == "path" or parameter.get("required") is True
        if not is_needed and not self._examples.is_given(parameter):
            return
        try:
            self._write(asked, name, place, parameter, written)
        except NoExample as why:
            if is_needed:
                raise NoExample(str(why), f"{name}: {why.detail}" if why.detail else name) from None
            self._left_out.note("some parameters that need not be sent have no example that can be sent")

    def _write(
        self, asked: OperationParts, name: str, place: str, parameter: Mapping[str, Any], written: ExampleText
    ) -> None:
        content = table(parameter.get("content"))
        kind, media = next(iter(content.items()), ("", parameter))
        made = self._examples.of_media(table(media))
        if made.value is None and not content:
            # Another value that the schema allows can be written, and null cannot.
            made = self._examples.of_schema(parameter.get("schema", parameter))
        asked.is_made_up = asked.is_made_up or made.is_made_up
        style = style_of(parameter, place, is_swagger=self._is_swagger)
        value, plain = made.value, written.plain
        if content:
            # As one text, whatever its type.
            value = written.compact(value) if is_json(kind) else value
        elif self._is_swagger and isinstance(value, list):
            value = join(value, table(parameter.get("items")), plain)
        try:
            self._place(asked, name, place, value, style, written)
        except NoExample as why:
            if not made.is_made_up or not isinstance(value, dict) or str(why) != UNDEFINED:
                raise
            # What cannot be written of a table that was made may be left away.
            needed = self._examples.required(parameter)
            kept = {key: each for key, each in value.items() if key in needed or _is_flat(each)}
            if not self._examples.is_satisfied(parameter, kept):
                raise
            self._place(asked, name, place, kept, style, written)

    def _place(
        self, asked: OperationParts, name: str, place: str, value: Any, style: Style, written: ExampleText
    ) -> None:
        if place == "path":
            self._fill(asked, name, in_path(name, value, style, written.plain), written)
        elif place == "header":
            asked.headers.append(header(name, in_header(value, style, written.plain)))
        else:
            asked.query += in_query(name, value, style, written.plain)

    def _fill(self, asked: OperationParts, name: str, value: str, written: ExampleText) -> None:
        if not value:
            raise NoExample("with a path of which a part would be empty")
        place = f"{{{name}}}"
        filled = [part.replace(place, value) for part in asked.path.split("/") if place in part]
        if any(part in (".", "..") for part in filled):
            raise NoExample("with . or .. as a part of its path, which clients resolve", value)
        written.take(asked.path.count(place) * len(value))
        asked.path = asked.path.replace(place, value)


def header(name: str, value: str) -> tuple[str, str]:
    """Return a header. Raises NoExample if HTTP does not allow it."""
    mistakes = Mistakes()
    header_lines.check(name, value, mistakes)
    if mistakes.any:
        raise NoExample("with a header that HTTP does not allow")
    return name, value


def _is_flat(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def is_json(kind: str) -> bool:
    """Whether a media type is JSON, or may be."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "text/json", "*/*", "application/*") or plain.endswith("+json")


def style_of_field(
    encoding: Mapping[str, Any], value: Any, compact: Callable[[Any], str]
) -> tuple[Style, Any]:
    """Return how a field of a form is written, and its value. `encoding`: what OpenAPI 3 says of it.

    Without a style, a table stands as JSON, and a list as a field for each value.
    """
    style = style_of(encoding, "query", is_swagger=False)
    if any(key in encoding for key in ("style", "explode", "allowReserved")):
        return style, value
    if isinstance(value, dict) or (isinstance(value, list) and is_json(text(encoding.get("contentType")))):
        return style, compact(value)
    if isinstance(value, list):
        return style, [compact(each) if isinstance(each, dict | list) else each for each in value]
    return style, value
