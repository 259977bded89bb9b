"""Whatever is given as HAR, OpenAPI, Postman, targets, URLs or a log ends in a request file that `load`
reads, or in a sentence.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crumple.errors import CrumpleError
from crumple.importing import conversion
from crumple.importing.guess import FORMATS
from crumple.load import request, request_file
from crumple.load.typed_request import TypedRequest
from hypothesis import given, settings
from hypothesis import strategies as st

# What the formats call their parts, so that what is made up gets beyond their first level.
NAMES = [
    "log", "entries", "request", "response", "method", "url", "headers", "name", "value", "postData", "text",
    "mimeType", "params", "status", "bodySize", "cookies", "encoding", "header", "body", "openapi", "swagger",
    "paths", "/a", "/a/{id}", "get", "post", "parameters", "in", "schema", "example", "examples", "$ref",
    "requestBody", "content", "application/json", "servers", "variables", "default", "host", "basePath",
    "schemes", "operationId", "security", "type", "properties", "items", "allOf", "required", "enum",
    "info", "item", "raw", "key", "variable", "auth", "event", "script", "exec", "mode", "urlencoded",
    "formdata",
    "graphql", "query", "variables", "disabled", "queryString", "cache", "_fetchType", "_error", "uri",
    "path",
    "oneOf", "anyOf", "not", "if", "then", "const", "minimum", "multipleOf", "maxLength", "minItems",
    "uniqueItems", "pattern", "format", "additionalProperties", "patternProperties", "discriminator",
    "propertyName", "mapping", "nullable", "readOnly", "style", "explode", "collectionFormat", "consumes",
    "encoding", "unevaluatedProperties", "prefixItems", "contains", "$dynamicRef", "$schema", "$id",
    "minProperties", "propertyNames",
]  # fmt: skip
TEXTS = [
    "GET", "http://a/", "http://a;b/", "https://[::1]:8/b?c={seq}", "#/paths", "path", "query", "formData",
    "array", "object", "base64", "{{a}}", "raw", "formdata", "graphql", "GET / HTTP/1.1", "\ud800", "\x00",
    "é", "\n", "application/x-www-form-urlencoded",
    "integer", "string", "boolean", "date-time", "deepObject", "matrix", "multi", "^(a+)+$", "^[a-z]{2,}$",
    "#/components/a",
]  # fmt: skip
FEW = settings(derandomize=True, max_examples=15, database=None)
LEAVES = st.sampled_from([*TEXTS, None, True, 0, -1, 10**30, 2.5, float("inf"), float("nan"), "", 200])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


def spoilt(whole: Any) -> st.SearchStrategy[Any]:
    """The document with one part of it replaced by any value."""
    return st.tuples(st.sampled_from(list(ways(whole))), VALUES).map(lambda found: replaced(whole, *found))


def ways(part: Any) -> Iterator[tuple[Any, ...]]:
    """The way to each part."""
    yield ()
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for name, each in inner:
        yield from ((name, *way) for way in ways(each))


def replaced(part: Any, way: tuple[Any, ...], by: Any) -> Any:
    """The document with what lies at the end of the way replaced."""
    if not way:
        return by
    copy = dict(part) if isinstance(part, dict) else list(part)
    copy[way[0]] = replaced(part[way[0]], way[1:], by)
    return copy


HEADERS = [{"name": "a", "value": "b"}]
SENT = {"mimeType": "application/x-www-form-urlencoded", "params": HEADERS, "text": "", "encoding": "x"}
ASKED = {"method": "GET", "url": "http://a/", "headers": HEADERS, "bodySize": 0, "postData": SENT}
HAR = {"log": {"entries": [{"request": ASKED, "response": {"status": 301}}]}}
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "string", "minLength": 2}}}
PARAMETERS = [
    {"name": "id", "in": "path", "schema": {"type": ["integer"], "minimum": 3}},
    {"name": "q", "in": "query", "example": [1, "b"]},
]
BODY = {"content": {"application/json": {"schema": {"allOf": [SCHEMA, {"$ref": "#/components/a"}]}}}}
POSTED = {"operationId": "p", "parameters": PARAMETERS, "requestBody": BODY, "security": []}
OPENAPI = {
    "openapi": "3.0.0",
    "servers": [{"url": "http://{h}/v1", "variables": {"h": {"default": "a"}}}],
    "paths": {"/a/{id}": {"post": POSTED, "parameters": PARAMETERS}},
    "components": {"a": {"oneOf": [SCHEMA]}},
}
NODE = {
    "type": "object", "required": ["kind"],
    "discriminator": {"propertyName": "kind", "mapping": {"x": "#/components/a"}},
    "properties": {
        "kind": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9, "example": "a"},
        "n": {"type": ["number", "null"], "exclusiveMinimum": 0, "multipleOf": 0.5},
        "more": {"type": "array", "items": {"$ref": "#/components/a"}, "minItems": 0, "uniqueItems": True},
        "other": {"anyOf": [{"const": 1}, {"not": {"type": "string"}}]},
    },
    "additionalProperties": {"type": "string"}, "minProperties": 2,
}  # fmt: skip
STYLED = [
    {"name": "id", "in": "path", "style": "matrix", "explode": True,
     "schema": {"type": "array", "items": {"type": "integer"}}},
    {"name": "f", "in": "query", "required": True, "style": "deepObject",
     "schema": {"$ref": "#/components/a"}},
    {"name": "j", "in": "header", "required": True,
     "content": {"application/json": {"schema": {"$ref": "#/components/a"}}}},
]  # fmt: skip
FIELDS = {
    "schema": {"$ref": "#/components/a"},
    "encoding": {"more": {"style": "form"}},
    "examples": {"e": {"value": 1}},
}
OPENAPI_31 = {
    "openapi": "3.1.0",
    "paths": {"/a/{id}": {"post": {
        "parameters": STYLED, "requestBody": {"content": {"application/x-www-form-urlencoded": FIELDS}},
    }}},
    "components": {"a": NODE},
}  # fmt: skip
FORM = [{"name": "f", "in": "formData", "type": "array", "items": {"enum": [1]}, "required": True}]
SWAGGER = {
    "swagger": "2.0", "host": "a:80", "basePath": "/v1", "schemes": ["https"],
    "paths": {"/a": {"put": {"parameters": FORM}, "get": {}}},
}  # fmt: skip
ITEM = {
    "name": "n", "event": [{"script": {"exec": ["a"]}}],
    "request": {
        "method": "POST", "header": [{"key": "A", "value": "{{v}}"}], "auth": {"type": "basic"},
        "url": {"raw": "{{u}}/:id", "variable": [{"key": "id", "value": "1"}]},
        "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "b"}]},
    },
}  # fmt: skip
POSTMAN = {
    "info": {}, "item": [{"name": "f", "item": [ITEM]}],
    "variable": [{"key": "u", "value": "http://a"}, {"key": "v", "value": "{{u}}"}],
}  # fmt: skip
RECORD = {"request": {"method": "GET", "uri": "/a", "host": "b", "tls": {}}, "status": 200, "message": "a"}
TARGET = {"method": "POST", "url": "http://a/", "header": {"a": ["b"], "c": "d"}, "body": "aGk="}


def imported(content: bytes, format_: str | None) -> bool:
    """Whether the file becomes requests, which `load` then reads; if not, a sentence has said why."""
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder) / "given", Path(folder) / "made.toml"
        file.write_bytes(content)
        try:
            found = conversion.convert(file, format_, None, 100)
        except CrumpleError as why:
            assert "\n" not in str(why)
            return False
        assert not any("\n" in line for line in (*found.said, found.command("made.toml")))
        json.loads(found.json().encode())
        made.write_bytes(found.toml("made.toml").encode())
        assert request.make_all(request_file.read(made, TypedRequest(path="/")))
        return True


@pytest.mark.parametrize(
    ("whole", "format_"),
    [
        (HAR, "har"),
        (OPENAPI, "openapi"),
        (OPENAPI_31, "openapi"),
        (SWAGGER, "openapi"),
        (TARGET, "vegeta-json"),
        (POSTMAN, "postman"),
        (RECORD, "access-log"),
    ],
)
def test_a_document_of_which_one_part_is_anything(whole: Any, format_: str) -> None:
    assert imported(json.dumps(whole).encode(), format_)

    @FEW
    @given(spoilt(whole))
    def tried(document: Any) -> None:
        imported(json.dumps(document).encode(), format_)

    tried()


@FEW
@given(VALUES, st.sampled_from(["har", "openapi", "postman", "access-log", "vegeta-json", None]))
def test_any_json(document: Any, format_: str | None) -> None:
    imported(json.dumps(document).encode(), format_)


PIECES = [
    "openapi: ", "paths:", "\n", "  ", "- ", "/a:", "get:", "{", "}", "[", "]", "&a ", "*a", "<<: ", "? ",
    ": ", "2026-01-01", "2026-13-45", ".inf", "!!bool ", "!!timestamp ", "!!set ", "!!binary ", "0x1f", "~",
    "'", '"', "|", "a", ",", "#", "\t", "%", "1:30",
]  # fmt: skip


@FEW
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_yaml(text: str) -> None:
    imported(f"openapi: 3.0.0\n{text}".encode(), "openapi")
    imported(f"openapi: 3.0.0\npaths: {{/a: {{get: {{x: {text}}}}}}}".encode(), "openapi")


LINES = [
    b"GET ", b"http://a/", b"https://", b"://", b"/", b"a;b", b"[::1]", b":", b"99999", b"\n", b"@", b"@/x",
    b"X-A: b", b"#", b"?", b"{seq}", b"\xff", b"\x00", b" ", b'"', b"\\x", b"%", b"\xc3\xa9", b"\x1f\x8b",
    b"#Fields: cs-method cs-uri-stem", b"\t", b" | ", b'method=GET path="/a"',
    b'{"method": "GET", "path": "/a"}', b"{{",
    b'10.0.0.1 - - [now] "GET /a HTTP/1.1" 200 5\n', b'a;b:80 10.0.0.1 - - [now] "GET /a" 200 5\n',
]  # fmt: skip


@FEW
@given(
    st.binary(max_size=60) | st.lists(st.sampled_from(LINES), max_size=12).map(b"".join),
    st.sampled_from([*FORMATS, None]),
)
def test_any_bytes(content: bytes, format_: str | None) -> None:
    imported(content, format_)


DEEP = 100_000


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        b"[" * DEEP,
        b'{"log": {"entries": [' + b"[" * DEEP + b"]" * DEEP + b"]}}",
        b'{"openapi": "3", "paths": ' + b'{"/a": ' * DEEP + b"}" * DEEP + b"}",
        b'{"url": "http://a/", "header": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b"openapi: 3\npaths: " + b"[" * DEEP,
        b"openapi: 3\npaths:\n " + b"- " * DEEP,
    ],
)
def test_what_is_nested_without_end_is_a_sentence(content: bytes, format_: str) -> None:
    assert not imported(content, format_)
    assert not imported(content, None)
