"""Where the values of an OpenAPI document stand in a request: path, query, headers, body by media type."""

import json
from email import message_from_string
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from made_openapi import JSON, asked, described, imported, left_out, parameter

LIST, TABLE = ["blue", "black"], {"R": 100, "G": 200}
FORM = "application/x-www-form-urlencoded"


def query(found: str) -> str:
    return urlsplit(found).query


@pytest.mark.parametrize(
    ("style", "explode", "value", "sent"),
    [
        (None, None, LIST, "c=blue&c=black"),
        (None, None, TABLE, "R=100&G=200"),
        ("form", False, LIST, "c=blue,black"),
        ("form", False, TABLE, "c=R,100,G,200"),
        ("form", True, "a b&c", "c=a%20b%26c"),
        ("form", False, ["a,b", "c"], "c=a%2Cb,c"),
        ("spaceDelimited", None, LIST, "c=blue%20black"),
        ("spaceDelimited", None, TABLE, "c=R%20100%20G%20200"),
        ("pipeDelimited", None, LIST, "c=blue%7Cblack"),
        ("pipeDelimited", True, LIST, "c=blue&c=black"),
        ("deepObject", None, TABLE, "c[R]=100&c[G]=200"),
        ("deepObject", True, {"a": {"b": "x y"}, "none": []}, "c[a][b]=x%20y"),
        (None, None, True, "c=true"),
        (None, None, 1.5, "c=1.5"),
    ],
)
def test_a_query_is_written_as_its_style_says(
    style: Any, explode: Any, value: Any, sent: str, tmp_path: Path
) -> None:
    said = {"style": style, "explode": explode, "example": value, "schema": {}}
    document = parameter("c", **{name: each for name, each in said.items() if each is not None})
    assert query(asked(document, tmp_path)[1]) == sent


@pytest.mark.parametrize(("style", "sent"), [("form", "a=1"), ("deepObject", "c[a]=1")])
def test_what_cannot_be_written_of_a_table_is_not_sent_if_it_need_not_be(
    style: str, sent: str, tmp_path: Path
) -> None:
    inner = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": inner}}
    assert query(asked(parameter("c", style=style, schema=schema), tmp_path)[1]) == sent
    needed = {**schema, "required": ["b"]}
    assert "OpenAPI does not define" in left_out(parameter("c", style=style, schema=needed), tmp_path)


@pytest.mark.parametrize(
    ("style", "explode", "value", "sent"),
    [
        (None, None, "blue", "blue"),
        (None, None, LIST, "blue,black"),
        (None, None, TABLE, "R,100,G,200"),
        ("simple", True, TABLE, "R=100,G=200"),
        ("label", None, "blue", ".blue"),
        ("label", None, LIST, ".blue,black"),
        ("label", True, LIST, ".blue.black"),
        ("label", True, TABLE, ".R=100.G=200"),
        ("matrix", None, "blue", ";c=blue"),
        ("matrix", None, LIST, ";c=blue,black"),
        ("matrix", True, LIST, ";c=blue;c=black"),
        ("matrix", None, TABLE, ";c=R,100,G,200"),
        ("matrix", True, TABLE, ";R=100;G=200"),
        (None, None, "a/b", "a%2Fb"),
    ],
)
def test_a_path_is_written_as_its_style_says(
    style: Any, explode: Any, value: Any, sent: str, tmp_path: Path
) -> None:
    said = {"style": style, "explode": explode, "example": value, "schema": {}}
    document = parameter("c", "path", **{name: each for name, each in said.items() if each is not None})
    assert asked(document, tmp_path)[1] == f"/a/{sent}"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ({}, "c=1,2"),
        ({"collectionFormat": "csv"}, "c=1,2"),
        ({"collectionFormat": "ssv"}, "c=1%202"),
        ({"collectionFormat": "tsv"}, "c=1%092"),
        ({"collectionFormat": "pipes"}, "c=1%7C2"),
        ({"collectionFormat": "multi"}, "c=1&c=2"),
    ],
)
def test_a_list_of_swagger_2_is_written_as_its_format_says(said: Any, sent: str, tmp_path: Path) -> None:
    one = {"name": "c", "in": "query", "required": True, "type": "array", "items": {"type": "integer"},
           "default": [1, 2], **said}  # fmt: skip
    assert query(asked(described({"parameters": [one]}, method="get", version="2.0"), tmp_path)[1]) == sent
    assert asked(described({"parameters": [{**one, "in": "formData"}]}, version="2.0"), tmp_path)[
        3
    ] == sent.replace("%20", "+")


def test_lists_in_lists_of_swagger_2_have_formats_of_their_own(tmp_path: Path) -> None:
    inner = {"type": "array", "items": {"type": "integer"}, "collectionFormat": "pipes"}
    one = {
        "name": "c",
        "in": "query",
        "required": True,
        "type": "array",
        "items": inner,
        "default": [[1, 2], [3]],
    }
    assert (
        query(asked(described({"parameters": [one]}, method="get", version="2.0"), tmp_path)[1])
        == "c=1%7C2,3"
    )


@pytest.mark.parametrize("place", ["query", "path", "header"])
def test_null_is_not_sent_as_a_text(place: str, tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "string", "nullable": True, "enum": [None]}
    line = left_out(parameter("p", place, schema=schema), tmp_path)
    assert "whose form in a URL, header or form OpenAPI does not define" in line and "(p: null)" in line
    schema["enum"] = [None, "a"]
    _, path, headers, _ = asked(parameter("p", place, schema=schema, example=None), tmp_path)
    assert (path, headers) in [("/a?p=a", {}), ("/a/a", {}), ("/a", {"p": "a"})]


def test_null_in_a_form_or_a_table_is_not_sent(tmp_path: Path) -> None:
    inner = {"a": {"enum": [None], "nullable": True}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": inner}
    document = described({"requestBody": {"content": {FORM: {"schema": schema}}}})
    assert asked(document, tmp_path)[3] == "b=1"
    assert query(asked(parameter(schema=schema), tmp_path)[1]) == "b=1"


@pytest.mark.parametrize("path", ["/a/{s}", "/a/{s}/b", "/a/.{s}", "/a/{s}."])
def test_a_part_of_a_path_is_no_dots(path: str, tmp_path: Path) -> None:
    one = {"name": "s", "in": "path", "required": True, "example": ".", "schema": {"type": "string"}}
    document = described({"parameters": [one]}, path=path, method="get")
    line = "left out: 1 request with . or .. as a part of its path, which clients resolve"
    assert left_out(document, tmp_path) == f"{line}, first GET {path} (s: .)"
    kept = described({"parameters": [{**one, "example": ".."}]}, path="/a/x{s}", method="get")
    assert asked(kept, tmp_path)[1] == "/a/x.."
    empty = described(
        {"parameters": [{**one, "example": "", "schema": {"enum": [""]}}]}, path=path, method="get"
    )
    assert left_out(empty, tmp_path).endswith(f"of which a part would be empty, first GET {path} (s)")


@pytest.mark.parametrize(("name", "value"), [("X-A", "a\r\nb"), ("X-A", "a\0"), ("X A", "a")])
def test_an_operation_needs_its_required_headers(name: str, value: str, tmp_path: Path) -> None:
    document = parameter(name, "header", example=value)
    line = f"left out: 1 request with a header that HTTP does not allow, first GET /a ({name})"
    assert left_out(document, tmp_path) == line
    document["paths"]["/a"]["get"]["parameters"][0]["required"] = False
    assert asked(document, tmp_path)[2] == {}
    note = "some parameters that need not be sent have no example that can be sent"
    assert note in imported(document, tmp_path).said


@pytest.mark.parametrize("name", ["User-Agent", "Cache-Control", "Referer"])
def test_a_header_that_browsers_add_is_sent_where_the_document_asks_for_it(name: str, tmp_path: Path) -> None:
    assert asked(parameter(name, "header", example="a"), tmp_path)[2] == {name: "a"}


def test_allowed_reserved_letters_stay(tmp_path: Path) -> None:
    said = {"schema": {}, "example": "a/b?c=d&e#f g", "allowReserved": True}
    assert query(asked(parameter("c", **said), tmp_path)[1]) == "c=a/b?c=d%26e%23f%20g"


@pytest.mark.parametrize("place", ["query", "path", "header"])
def test_a_parameter_with_content_is_written_as_that(place: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    _, path, headers, _ = asked(parameter("c", place, content={JSON: {"schema": schema}}), tmp_path)
    if place == "query":
        assert parse_qsl(query(path)) == [("c", '{"a":1}')]
    else:
        assert path == "/a/%7B%22a%22%3A1%7D" if place == "path" else headers == {"c": '{"a":1}'}


def test_a_header_is_written_plainly(tmp_path: Path) -> None:
    assert asked(parameter("X-A", "header", example=["a b", "c"], schema={}), tmp_path)[2] == {"X-A": "a b,c"}
    assert asked(parameter("X-A", "header", example={"a": 1}, explode=True, schema={}), tmp_path)[2] == {
        "X-A": "a=1"
    }


@pytest.mark.parametrize("name", ["Content-Type", "Accept", "authorization"])
def test_headers_that_are_no_parameters_are_not_sent_twice(name: str, tmp_path: Path) -> None:
    body = {"content": {JSON: {"example": 1}}}
    one = {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
    found = asked(described({"parameters": [one], "requestBody": body}), tmp_path)
    assert found[2] == {"Content-Type": JSON}


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ({"example": 1}, "c=1"),
        ({"examples": {"one": {"value": 2}}}, "c=2"),
        ({"schema": {"type": "integer", "example": 3}}, "c=3"),
        ({"schema": {"type": "integer"}}, ""),
        ({"schema": {"type": "integer", "default": 4}}, ""),
        ({"schema": {"type": "integer", "maximum": 3}, "example": 5}, "c=1"),
        ({"schema": {"type": "array", "items": {"type": "integer"}}, "example": "1,2"}, "c=1&c=2"),
    ],
)
def test_what_need_not_be_sent_is_sent_if_it_has_an_example(said: Any, sent: str, tmp_path: Path) -> None:
    one = {"name": "c", "in": "query", **said}
    assert query(asked(described({"parameters": [one]}, method="get"), tmp_path)[1]) == sent


@pytest.mark.parametrize(
    ("path", "parameters", "why"),
    [
        ("/a/{id}", [], "whose path has a place that no parameter describes, first POST /a/{id} ({id})"),
        (
            "/a/{id}",
            [{"name": "id", "in": "path", "example": ""}],
            "with a path of which a part would be empty",
        ),
        (
            "/a",
            [{"name": "c", "in": "body?", "required": True}],
            "with a parameter in a place that is not known",
        ),
        (
            "/a",
            [{"name": "c", "in": "query", "required": True, "style": "deepObject", "example": {"a": [1]}}],
            "whose form in a URL, header or form OpenAPI does not define, first POST /a (c: a list in",
        ),
    ],
)
def test_a_request_that_would_be_another_is_left_out(
    path: str, parameters: Any, why: str, tmp_path: Path
) -> None:
    assert why in left_out(described({"parameters": parameters}, path=path), tmp_path)


def test_parameters_of_the_operation_replace_those_of_its_path(tmp_path: Path) -> None:
    both = [{"name": name, "in": "query", "required": True, "example": "of the path"} for name in "ab"]
    own = [{"name": "b", "in": "query", "required": True, "example": "own"}]
    document = {"openapi": "3.0.3", "paths": {"/a": {"parameters": both, "get": {"parameters": own}}}}
    assert query(asked(document, tmp_path)[1]) == "a=of%20the%20path&b=own"


@pytest.mark.parametrize(
    ("path", "sent"), [("/?Action=Get", "/?Action=Get&c=1"), ("/a#Action=Get", "/a?c=1")]
)
def test_a_path_may_hold_a_query_or_a_fragment(path: str, sent: str, tmp_path: Path) -> None:
    one = {"name": "c", "in": "query", "required": True, "example": 1}
    assert asked(described({"parameters": [one]}, path=path), tmp_path)[1] == sent


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("consumes", "kind"),
    [
        (None, JSON),
        (["application/merge-patch+json"], "application/merge-patch+json"),
        (["application/xml", "application/vnd.api+json"], "application/vnd.api+json"),
        (["application/json-patch+json", "application/merge-patch+json"], "application/merge-patch+json"),
        (["*/*"], JSON),
        (["application/xml", JSON], JSON),
        (["application/json; charset=utf-8"], "application/json; charset=utf-8"),
    ],
)
@pytest.mark.parametrize("is_global", [True, False])
def test_the_type_of_a_body_of_swagger_2_is_one_that_it_consumes(
    consumes: Any, kind: str, is_global: bool, tmp_path: Path
) -> None:
    said = {} if consumes is None else {"consumes": consumes}
    operation: dict[str, Any] = {"parameters": [{"in": "body", "name": "b", "schema": SCHEMA}]}
    parts = said if is_global else {"consumes": ["application/xml"]} if said else {}
    document = described({**operation, **({} if is_global else said)}, version="2.0", **parts)
    assert asked(document, tmp_path)[2:] == ({"Content-Type": kind}, '{"a": "text"}')


@pytest.mark.parametrize(
    ("kinds", "kind", "body"),
    [
        ({"application/xml": {"schema": SCHEMA}, JSON: {"schema": SCHEMA}}, JSON, '{"a": "text"}'),
        ({FORM: {"schema": SCHEMA}, "multipart/form-data": {"schema": SCHEMA}}, FORM, "a=text"),
        ({"text/plain": {"schema": {"type": "string"}}}, "text/plain", "text"),
        ({"text/plain": {"schema": {"type": "integer"}}}, "text/plain", "1"),
        ({"application/xml": {"schema": SCHEMA, "example": "<a/>"}}, "application/xml", "<a/>"),
        ({"application/octet-stream": {"examples": {"e": {"value": "x"}}}}, "application/octet-stream", "x"),
        ({"application/hal+json": {"schema": SCHEMA}}, "application/hal+json", '{"a": "text"}'),
        ({"application/json-patch+json": {"schema": {"type": "array", "items": {}}}},
         "application/json-patch+json", '["text"]'),
        ({JSON: {"example": '{"a": 1}'}}, JSON, '{"a": 1}'),
        ({FORM: {"schema": {"properties": {"a": {"type": "boolean"}, "b": {"type": "array", "items": {}}}},
                 "example": {"a": "true", "b": "x"}}}, FORM, "a=true&b=x"),
    ],
)  # fmt: skip
def test_the_type_of_a_body_is_one_that_can_be_made(kinds: Any, kind: str, body: str, tmp_path: Path) -> None:
    document = described({"requestBody": {"content": kinds}})
    assert asked(document, tmp_path)[2:] == ({"Content-Type": kind}, body)


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-8", "Application/JSON", "application/vnd.a+json;v=2",
     "text/plain;charset=UTF-8", f"{FORM}; charset=latin1"],
)  # fmt: skip
def test_the_type_of_a_body_is_sent_as_it_is_written(kind: str, tmp_path: Path) -> None:
    media = {"example": "a" if "text" in kind else {"a": 1}}
    assert asked(described({"requestBody": {"content": {kind: media}}}), tmp_path)[2] == {
        "Content-Type": kind
    }
    body = {"in": "body", "name": "b", "schema": SCHEMA}
    swagger = described({"parameters": [body], "consumes": [kind]}, version="2.0")
    if "json" in kind.lower():
        assert asked(swagger, tmp_path)[2] == {"Content-Type": kind}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("text/plain; charset=latin1", "with a body in another charset than UTF-8, first POST /a (latin1)"),
        ("text/plain;\na=b", "with a header that HTTP does not allow, first POST /a"),
    ],
)
def test_a_body_whose_type_cannot_be_sent_is_left_out(kind: str, why: str, tmp_path: Path) -> None:
    document = described({"requestBody": {"content": {kind: {"example": "ä"}}}})
    assert left_out(document, tmp_path) == f"left out: 1 request {why}"


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (
            {"application/xml": {"schema": SCHEMA}},
            "neither JSON, a form nor text (application/xml), first POST /a",
        ),
        ({"text/xml": {"schema": SCHEMA}}, "neither JSON, a form nor text (text/xml), first POST /a"),
        ({"application/octet-stream": {"schema": {"type": "string"}}}, "neither JSON, a form nor text"),
        ({"multipart/mixed": {"schema": SCHEMA}}, "neither JSON, a form nor text (multipart/mixed)"),
        ({JSON: {}}, "with a body that the document does not describe"),
        ({"application/json-patch+json": {"schema": SCHEMA}}, "neither JSON, a form nor text"),
    ],
)
def test_a_body_that_cannot_be_made_is_left_out_with_its_type(kinds: Any, why: str, tmp_path: Path) -> None:
    assert why in left_out(described({"requestBody": {"content": kinds}}), tmp_path)


MULTIPART = "multipart/form-data"


@pytest.mark.parametrize(
    ("value", "encoding", "fields"),
    [
        ("a\nb", {}, [("", "a\nb")]),
        ("crumple-part-of-a-form", {}, [("", "crumple-part-of-a-form")]),
        ("<a/>", {"contentType": "text/xml"}, [("text/xml", "<a/>")]),
        (True, {}, [("", "true")]),
        ([1, "x"], {}, [("", "1"), ("", "x")]),
        ([1, 2], {"contentType": JSON}, [(JSON, "[1,2]")]),
        ([1, 2], {"explode": False}, [("", "1,2")]),
        ({"x": 1}, {}, [(JSON, '{"x":1}')]),
        ([{"x": 1}, [2]], {}, [(JSON, '{"x":1}'), (JSON, "[2]")]),
    ],
)
def test_a_multipart_form_of_texts_is_sent(value: Any, encoding: Any, fields: Any, tmp_path: Path) -> None:
    media = {"schema": {"type": "object"}, "example": {"f": value}, "encoding": {"f": encoding}}
    sent = asked(described({"requestBody": {"content": {MULTIPART: media}}}), tmp_path)
    kind = sent[2]["Content-Type"]
    parts: Any = message_from_string(f"Content-Type: {kind}\r\n\r\n{sent[3]}", policy=HTTP).get_payload()
    found = [(part["Content-Type"] or "", part.get_payload()) for part in parts]
    assert found == fields
    assert {part.get_param("name", header="content-disposition") for part in parts} == {"f"}


@pytest.mark.parametrize(
    ("file", "encoding"),
    [
        ({"type": "string", "format": "binary"}, {}),
        ({"type": "array", "items": {"type": "string", "format": "binary"}}, {}),
        ({"type": "string", "contentMediaType": "image/png"}, {}),
        ({"type": "string"}, {"file": {"contentType": "image/png, image/jpeg"}}),
    ],
)
def test_a_multipart_form_that_needs_a_file_is_left_out(file: Any, encoding: Any, tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"note": {"type": "string"}, "file": file}}
    document = described({"requestBody": {"content": {MULTIPART: {"schema": schema, "encoding": encoding}}}})
    sent = asked(document, tmp_path)[3]
    assert 'name="note"' in sent and 'name="file"' not in sent
    note = "fields of forms that need not be sent and are files, or null, are not sent"
    assert note in imported(document, tmp_path).said
    schema["required"] = ["file"]
    assert "with a form that holds a file, first POST /a (file)" in left_out(document, tmp_path)


def test_a_multipart_form_of_swagger_2_is_sent(tmp_path: Path) -> None:
    one = {"in": "formData", "name": "note", "type": "string", "required": True, "default": "a"}
    document = described({"parameters": [one], "consumes": [MULTIPART]}, version="2.0")
    assert asked(document, tmp_path)[3].split("\r\n")[1:4] == [
        'Content-Disposition: form-data; name="note"', "", "a",
    ]  # fmt: skip


def test_a_file_of_swagger_2_is_left_out_and_no_field_of_text(tmp_path: Path) -> None:
    fields = [
        {"in": "formData", "name": "file", "type": "file", "required": True},
        {"in": "formData", "name": "note", "type": "string", "required": True},
    ]
    assert "with a form that holds a file" in left_out(
        described({"parameters": fields, "consumes": ["multipart/form-data"]}, version="2.0"), tmp_path
    )
    document = described({"parameters": fields[1:], "consumes": [FORM, "multipart/form-data"]}, version="2.0")
    assert asked(document, tmp_path)[2:] == ({"Content-Type": FORM}, "note=text")


@pytest.mark.parametrize(
    ("value", "encoding", "sent"),
    [
        ("a b", {}, "f=a+b"),
        ([1, 2], {}, "f=1&f=2"),
        ([1, 2], {"style": "form", "explode": False}, "f=1,2"),
        ([1, 2], {"contentType": JSON}, "f=%5B1%2C2%5D"),
        ({"x": 1}, {}, "f=%7B%22x%22%3A1%7D"),
        ({"x": 1}, {"style": "deepObject", "explode": True}, "f[x]=1"),
        ([{"x": 1}], {}, "f=%7B%22x%22%3A1%7D"),
    ],
)
def test_a_form_is_written_as_its_encoding_says(value: Any, encoding: Any, sent: str, tmp_path: Path) -> None:
    media = {"schema": {"type": "object"}, "example": {"f": value}, "encoding": {"f": encoding}}
    assert asked(described({"requestBody": {"content": {FORM: media}}}), tmp_path)[3] == sent


def test_a_field_whose_form_is_not_defined_is_not_sent_if_it_need_not_be(tmp_path: Path) -> None:
    media = {
        "example": {"f": [1], "g": 2}, "schema": {"type": "object"},
        "encoding": {"f": {"style": "deepObject"}},
    }  # fmt: skip
    document = described({"requestBody": {"content": {FORM: media}}})
    assert asked(document, tmp_path)[3] == "g=2"
    assert (
        "fields of forms whose form OpenAPI does not define are not sent" in imported(document, tmp_path).said
    )
    media["schema"] = {"type": "object", "required": ["f"]}
    assert "OpenAPI does not define" in left_out(document, tmp_path)


def test_get_has_no_body_in_the_older_documents(tmp_path: Path) -> None:
    operation = {"requestBody": {"content": {JSON: {"example": 1}}}}
    assert asked(described(operation, method="get"), tmp_path)[3] == ""
    assert asked(described(operation, method="get", version="3.1.0"), tmp_path)[3] == "1"
    assert asked(described(operation, method="delete"), tmp_path)[3] == "1"


@pytest.mark.parametrize(
    ("url", "variables", "origin", "path"),
    [
        ("https://{h}.example.org/{v}", {"h": {"default": "a"}, "v": {"enum": ["v1"]}},
         "https://a.example.org", "/v1/a"),
        ("https://a.example.org/{v}/x", {}, "", "/a"),
        ("https://a.example.org/x?key=1#top", {}, "https://a.example.org", "/x/a"),
        ("/api/{v}", {"v": {"default": 2}}, "", "/api/2/a"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("level", ["document", "path", "operation"])
def test_servers_at_each_level_are_read(
    url: str, variables: Any, origin: str, path: str, level: str, tmp_path: Path
) -> None:
    servers = {"servers": [{"url": url, "variables": variables}]}
    item = {"get": servers if level == "operation" else {}, **(servers if level == "path" else {})}
    document = {"openapi": "3.0.3", "paths": {"/a": item}, **(servers if level == "document" else {})}
    file = tmp_path / "d.json"
    file.write_text(json.dumps(document))
    from crumple.importing import conversion

    found = conversion.convert(file, None, None, 10)
    assert (found.chosen.origin, found.chosen.kinds[0].request.path) == (origin, path)
    assert origin or url.startswith("/") or "a server has {v}, which has no default" in found.said[1]


@pytest.mark.parametrize(
    ("security", "said"),
    [
        ([{"key": []}], "some operations ask for a key in the query: add api_key=… to their paths"),
        ([{"key": []}], "some operations ask for authorization: add it with -H or -a"),
        ([{}], ""),
        ([{"key": []}, {}], ""),
        ([], ""),
    ],
)
def test_what_an_operation_asks_for_in_secret_is_named(security: Any, said: str, tmp_path: Path) -> None:
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}
    document = described({"security": security}, components={"securitySchemes": schemes})
    lines = "\n".join(imported(document, tmp_path).said)
    assert said in lines and ("some operations ask" in lines) is bool(said)
