"""The body of an operation: which of its media types is sent, and what of it.

JSON comes first, then a form, then text, then a multipart form. What is none of these is sent only as the
example that the document gives for it. A form that needs a file is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crumple.importing import multipart, openapi_parameters
from crumple.importing.json_values import listed, table, text
from crumple.importing.multipart import Field
from crumple.importing.openapi_document import NoExample, Parts
from crumple.importing.openapi_examples import Examples
from crumple.importing.openapi_parameters import (
    UNDEFINED,
    ExampleText,
    OperationParts,
    header,
    is_json,
    style_of_field,
)
from crumple.importing.openapi_whole import read_json
from crumple.importing.recorded import LeftOut

FILES = "with a form that holds a file"
_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


def _multipart_fields(
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
            found += _fields_of(name, value, encoding, written)
        except NoExample as why:
            if name in needed or str(why) not in (FILES, UNDEFINED):
                raise
            left_out.note("fields of forms that need not be sent and are files, or null, are not sent")
    return found


def _is_file(kinds: str) -> bool:
    return bool(kinds) and not any(
        is_json(each) or each.strip().startswith("text/") for each in kinds.split(",")
    )


def _fields_of(name: str, value: Any, encoding: Mapping[str, Any], written: ExampleText) -> Iterator[Field]:
    """Yield a field for each value of a list, and one for anything else; a table is JSON."""
    # Several may be named; the first is taken.
    kind = text(encoding.get("contentType")).partition(",")[0].strip()
    style, explode = text(encoding.get("style")), encoding.get("explode")
    if isinstance(value, list) and not is_json(kind):
        if explode is False or style in _DELIMITERS:
            yield Field(name, _DELIMITERS.get(style, ",").join(map(written.plain, value)), kind)
            return
        for each in value:
            yield from _fields_of(
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


FORM = "application/x-www-form-urlencoded"
_PATCH = "application/json-patch+json"
_JSON = "application/json"
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)
# A body without other letters than those of ASCII is the same in most other charsets.
_UTF_8 = ("utf-8", "utf8")
_ANY = ("*/*", "application/*")
# In the older documents they have no meaning.
_WITHOUT_BODY = ("get", "head", "trace")
NOT_DESCRIBED = "with a body that the document does not describe"


@dataclass(frozen=True)
class Body:
    """The body that is sent."""

    kind: str = ""
    """Its Content-Type; empty if nothing is sent."""
    sent: str | None = None
    is_made_up: bool = False


@dataclass(frozen=True)
class _Kind:
    """A media type."""

    written: str
    """The text in the document."""
    plain: str
    """The media type without its parameters, in small letters."""

    @staticmethod
    def of(written: str) -> "_Kind":
        return _Kind(written.strip(), written.partition(";")[0].strip().lower())

    def described(self, body: Body) -> Body:
        """Return a body with this media type as the document has it. Raises NoExample."""
        if body.kind != self.plain:
            return body
        charset = _CHARSET.search(self.written)
        if charset and charset[1].lower() not in _UTF_8 and not (body.sent or "").isascii():
            raise NoExample("with a body in another charset than UTF-8", charset[1])
        return replace(body, kind=header("Content-Type", self.written)[1])


class Bodies:
    """Makes the bodies of one document. Its methods raise NoExample and TooManySteps."""

    def __init__(
        self, document: Mapping[str, Any], parts: Parts, examples: Examples, left_out: LeftOut
    ) -> None:
        self._document, self._parts = document, parts
        self._examples, self._left_out = examples, left_out

    def of(
        self, method: str, operation: Mapping[str, Any], asked: OperationParts, written: ExampleText
    ) -> Body:
        """Return the body of an operation, of which the parameters are read_json."""
        if "swagger" in self._document:
            content: Mapping[str, Any] = self._of_swagger(operation, asked)
            encodings = _collections(asked.fields)
        else:
            described = table(self._parts.pointed(operation.get("requestBody")))
            content, encodings = table(described.get("content")), {}
            if content and method in _WITHOUT_BODY and text(self._document.get("openapi")).startswith("3.0"):
                if described.get("required") is True:
                    raise NoExample("with a body that OpenAPI 3.0 does not define for its method")
                self._left_out.note("GET and HEAD are sent without a body, as OpenAPI 3.0 defines none")
                return Body()
        self._parts.take(len(content))
        kinds = [(_Kind.of(kind), table(self._parts.pointed(each))) for kind, each in content.items()]
        failed: NoExample | None = None
        for kind, media in sorted(kinds, key=lambda each: _rank(each[0].plain)):
            try:
                if found := self._as(kind.plain, media, encodings, written):
                    return kind.described(found)
            except NoExample as why:
                failed = failed or why
        if kinds:
            unknown = f"with a body that is neither JSON, a form nor text ({kinds[0][0].plain})"
            raise failed or NoExample(unknown)
        return Body()

    def _of_swagger(self, operation: Mapping[str, Any], asked: OperationParts) -> dict[str, Any]:
        consumes = operation.get("consumes", self._document.get("consumes"))
        kinds = [each for each in listed(consumes) if isinstance(each, str)]
        if asked.fields:
            if any(each.get("type") == "file" for each in asked.fields):
                raise NoExample(FILES)
            forms = [each for each in kinds if each.lower().startswith((FORM, "multipart/"))]
            return {kind: {"schema": _form_schema(asked.fields)} for kind in forms or [FORM]}
        if asked.body is None:
            return {}
        return dict.fromkeys(kinds or [_JSON], asked.body)

    def _as(
        self, kind: str, media: Mapping[str, Any], encodings: Mapping[str, Any], written: ExampleText
    ) -> Body | None:
        """Return the body as one media type; None if nothing of that type can be sent."""
        if kind in _ANY or kind in (_JSON, "text/json") or kind.endswith("+json"):
            self._check(media)
            made = self._examples.of_media(media)
            value = made.value
            if (
                "schema" not in media
                and isinstance(value, str)
                and isinstance(found := read_json(value), dict | list)
            ):
                value = found
            if kind == _PATCH and not isinstance(value, list):
                return None
            return Body(_JSON if kind in _ANY else kind, written.json(value), made.is_made_up)
        if kind == FORM:
            self._check(media)
            made = self._examples.of_media(media)
            if isinstance(made.value, str):
                # The form as it is sent.
                return Body(kind, written.plain(made.value), made.is_made_up)
            fields = encodings or table(media.get("encoding"))
            sent = self._form(table(made.value), fields, self._examples.required(media), written)
            return Body(kind, sent, made.is_made_up) if sent else Body()
        if kind.startswith("text/") and kind != "text/xml":
            self._check(media)
            made = self._examples.of_media(media)
            if not isinstance(made.value, dict | list):
                return Body(kind, written.plain(made.value), made.is_made_up)
        if kind == multipart.KIND:
            return self._multipart(media, encodings, written)
        if kind.startswith("multipart/"):
            return None
        without_schema = {name: each for name, each in media.items() if name != "schema"}
        if "example" in media or "examples" in media:
            value = self._examples.of_media(without_schema).value
            return Body(kind, written.plain(value)) if isinstance(value, str) else None
        return None

    def _multipart(
        self, media: Mapping[str, Any], encodings: Mapping[str, Any], written: ExampleText
    ) -> Body | None:
        self._check(media)
        made = self._examples.of_media(media)
        if not isinstance(made.value, dict):
            return None
        named = encodings or table(media.get("encoding"))
        fields = _multipart_fields(made.value, media, named, self._examples, written, self._left_out)
        return Body(*multipart.write(fields), made.is_made_up) if fields else Body()

    def _check(self, media: Mapping[str, Any]) -> None:
        if not any(key in media for key in ("schema", "example", "examples")):
            raise NoExample(NOT_DESCRIBED)

    def _form(
        self,
        values: Mapping[str, Any],
        encodings: Mapping[str, Any],
        needed: set[str],
        written: ExampleText,
    ) -> str:
        pieces = list[str]()
        for name, value in values.items():
            try:
                style, whole = style_of_field(table(encodings.get(name)), value, written.compact)
                pieces += openapi_parameters.in_query(name, whole, style, written.plain)
            except NoExample as why:
                if name in needed or str(why) != openapi_parameters.UNDEFINED:
                    raise
                self._left_out.note("fields of forms whose form OpenAPI does not define are not sent")
        return "&".join(pieces).replace("%20", "+")


def _rank(kind: str) -> int:
    """Return which media type is tried first."""
    if kind == _JSON or (kind.endswith("+json") and kind != _PATCH):
        return 0
    ranks = [kind == _PATCH or kind in _ANY or kind == "text/json", kind == FORM]
    ranks += [kind.startswith("text/"), kind == multipart.KIND]
    return next((number for number, holds in enumerate(ranks, 1) if holds), 9)


def _form_schema(fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of a form of Swagger 2, whose fields are parameters."""
    named = {text(each.get("name")): each for each in fields}
    needed = [name for name, each in named.items() if each.get("required") is True]
    return {"type": "object", "properties": named, "required": needed}


def _collections(fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how the lists of a form of Swagger 2 are written, as OpenAPI 3 says it."""
    styles = {
        text(each.get("name")): openapi_parameters.style_of(each, "query", is_swagger=True) for each in fields
    }
    return {name: {"style": each.name, "explode": each.explode} for name, each in styles.items()}
