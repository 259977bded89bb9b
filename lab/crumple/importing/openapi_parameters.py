"""The parameters of an operation → its path, its query and its headers, as `style` and `explode` say."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crumple.errors import Mistakes
from crumple.importing import openapi_styles
from crumple.importing.example_text import ExampleText
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_examples import Examples
from crumple.importing.openapi_parts import NoExample, Parts
from crumple.importing.openapi_styles import Style
from crumple.importing.recorded import LeftOut
from crumple.load import header_lines

PARAMETERS_MAX = 1_000
# Its example is made and written, too.
PARAMETER_STEPS = 10
_PLACE = re.compile(r"\{([^{}/]*)\}")
# OpenAPI 3 says that these are no parameters; in Swagger 2 `consumes` names the type of a body.
_NO_PARAMETERS = ("accept", "content-type", "authorization")


@dataclass
class Asked:
    """What the parameters of an operation come to. `fields`: those of a form. `body`: that of Swagger 2."""

    path: str
    query: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    fields: list[Mapping[str, Any]] = field(default_factory=list)
    body: Mapping[str, Any] | None = None
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

    def asked(self, path: str, levels: Sequence[Mapping[str, Any]], written: ExampleText) -> Asked:
        """Return what an operation asks. `levels`: its path and itself; its own parameters replace those."""
        asked = Asked(path)
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
        self, asked: Asked, name: str, place: str, parameter: Mapping[str, Any], written: ExampleText
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
        self, asked: Asked, name: str, place: str, parameter: Mapping[str, Any], written: ExampleText
    ) -> None:
        content = table(parameter.get("content"))
        kind, media = next(iter(content.items()), ("", parameter))
        made = self._examples.of_media(table(media))
        if made.value is None and not content:
            # Another value that the schema allows can be written, and null cannot.
            made = self._examples.of_schema(parameter.get("schema", parameter))
        asked.is_made_up = asked.is_made_up or made.is_made_up
        style = openapi_styles.of(parameter, place, is_swagger=self._is_swagger)
        value, plain = made.value, written.plain
        if content:
            # As one text, whatever its type.
            value = written.compact(value) if is_json(kind) else value
        elif self._is_swagger and isinstance(value, list):
            value = openapi_styles.joined(value, table(parameter.get("items")), plain)
        try:
            self._place(asked, name, place, value, style, written)
        except NoExample as why:
            if not made.is_made_up or not isinstance(value, dict) or str(why) != openapi_styles.UNDEFINED:
                raise
            # Of a table that was made, what cannot be written may be left away.
            needed = self._examples.required(parameter)
            kept = {key: each for key, each in value.items() if key in needed or _is_flat(each)}
            if not self._examples.is_satisfied(parameter, kept):
                raise
            self._place(asked, name, place, kept, style, written)

    def _place(
        self, asked: Asked, name: str, place: str, value: Any, style: Style, written: ExampleText
    ) -> None:
        if place == "path":
            self._fill(asked, name, openapi_styles.in_path(name, value, style, written.plain), written)
        elif place == "header":
            asked.headers.append(header(name, openapi_styles.in_header(value, style, written.plain)))
        else:
            asked.query += openapi_styles.in_query(name, value, style, written.plain)

    def _fill(self, asked: Asked, name: str, value: str, written: ExampleText) -> None:
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
    style = openapi_styles.of(encoding, "query", is_swagger=False)
    if any(key in encoding for key in ("style", "explode", "allowReserved")):
        return style, value
    if isinstance(value, dict) or (isinstance(value, list) and is_json(text(encoding.get("contentType")))):
        return style, compact(value)
    if isinstance(value, list):
        return style, [compact(each) if isinstance(each, dict | list) else each for each in value]
    return style, value
