"""OpenAPI and Swagger documents: a request for each operation, from its examples; cycles end."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from crumple.errors import UsageError
from crumple.importing import conversion, openapi_document, openapi_operations, repeatable
from crumple.importing.conversion import Converted
from crumple.load import request, request_file
from crumple.load.typed_request import TypedRequest

YAML = """
# A shop
openapi: 3.0.3
servers:
  - url: https://{where}.example.org/v1/
    variables: {where: {default: shop}}
  - url: https://staging.example.org/v1
security: [{key: []}]
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 7}}
    get:
      operationId: order
      parameters:
        - {name: since, in: query, required: true, schema: {type: string, format: date}}
        - {name: page, in: query, schema: {type: integer}}
        - {name: X-Kept, in: header, required: true, example: a b, schema: {type: string}}
    delete: {}
  /orders:
    post:
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
  /up:
    post:
      requestBody: {content: {multipart/mixed: {schema: {type: object}}}}
  /elsewhere:
    get:
      parameters: [{$ref: 'common.yaml#/a'}]
  /round:
    get:
      parameters: [{$ref: '#/components/parameters/a'}]
  /nowhere:
    $ref: '#/paths/none'
components:
  parameters:
    a: {$ref: '#/components/parameters/b'}
    b: {$ref: '#/components/parameters/a'}
  schemas:
    Order:
      allOf:
        - type: object
          properties:
            id: {type: integer, readOnly: true}
            by: {type: string, format: email}
            parent: {$ref: '#/components/schemas/Order'}
            lines: {type: array, items: {$ref: '#/components/schemas/Line'}}
        - {type: object, properties: {size: {enum: [small, large]}}}
    Line:
      type: object
      required: [of]
      properties: {of: {$ref: '#/components/schemas/Order'}, number: {type: [integer, 'null'], default: 2}}
"""


# Texts by the core schema of YAML 1.2; some were numbers in YAML 1.1.
NEARLY_NUMBERS = [
    "1_000", "685.230_15", "0b11", "-0b11", "-0o17", "+0x1F", "0o18", "0xG", "1e", "e3", ".", "+", "1e3.5",
    "=",
]  # fmt: skip


def of(document: str | dict[str, Any], folder: Path, host: str | None = None) -> Converted:
    file = folder / "described"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return conversion.convert(file, None, host, 100)


def test_each_operation_is_a_request_with_examples(tmp_path: Path) -> None:
    found = of(YAML, tmp_path)
    assert found.chosen.origin == "https://shop.example.org"
    (tmp_path / "a.toml").write_text(found.toml("a.toml"))
    requests = request.make_all(request_file.read(tmp_path / "a.toml", TypedRequest(path="/")))
    assert [(each.name, each.method, each.path) for each in requests] == [
        ("order", "GET", "/v1/orders/7?since=2026-01-01"),
        ("DELETE /orders/{id}", "DELETE", "/v1/orders/7"),
        ("POST /orders", "POST", "/v1/orders"),
    ]
    assert ("X-Kept", "a b") in requests[0].headers
    order = {"by": "someone@example.org", "lines": [], "size": "small"}
    assert json.loads(str(requests[2].body)) == order


def test_what_no_request_can_be_made_of_is_named(tmp_path: Path) -> None:
    said = "\n".join(of(YAML, tmp_path).said)
    for line in (
        "left out: 3 requests to other hosts; choose one with --host, first staging.example.org (3)",
        "with a body that is neither JSON, a form nor text (multipart/mixed), first POST /up",
        "left out: 1 request with a $ref to another document (common.yaml), first GET /elsewhere",
        "with a $ref that leads back to itself (#/components/parameters/a), first GET /round",
        "left out: 1 request with a $ref to what is not there (#/paths/none), first /nowhere",
        "some operations ask for authorization: add it with -H or -a",
    ):
        assert line in said
    assert of(YAML, tmp_path, host="staging.example.org").chosen.origin == "https://staging.example.org"


def test_swagger_2_has_its_own_places(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    field = {"in": "formData", "name": "x", "type": "string", "required": True}
    document = {
        "swagger": "2.0", "host": "shop.example.org:8080", "basePath": "/v1", "schemes": ["http"],
        "paths": {
            "/a": {"post": {"parameters": [{"in": "body", "name": "b", "schema": schema}]}},
            "/f": {"post": {"parameters": [field]}},
        },
    }  # fmt: skip
    found = of(document, tmp_path)
    assert found.chosen.origin == "http://shop.example.org:8080"
    assert [(each.request.path, each.request.body) for each in found.chosen.kinds] == [
        ("/v1/a", '{"n": 1}'),
        ("/v1/f", "x=text"),
    ]


def test_a_schema_that_doubles_at_each_step_ends(tmp_path: Path) -> None:
    schemas: dict[str, Any] = {
        f"s{step}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/components/schemas/s{step + 1}"} for side in ("a", "b", "c")},
        }
        for step in range(30)
    }
    schemas["s30"] = {"type": "string"}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/a": {"post": {"requestBody": body}}},
        "components": {"schemas": schemas},
    }
    found = of(document, tmp_path)
    assert len(str(found.chosen.kinds[0].request.body)) < 200_000


def asking(example: str, more: str = "") -> str:
    """A document of two operations: GET /a asks nothing, POST /b has this body as its example."""
    body = f"requestBody: {{content: {{application/json: {{example: {example}}}}}}}"
    return f"openapi: 3.0.0\nx: &x [1]\n{more}paths: {{/a: {{get: {{}}}}, /b: {{post: {{{body}}}}}}}\n"


def left_out(found: Converted) -> str:
    """What is said of POST /b, of which no request was made."""
    assert [each.request.path for each in found.chosen.kinds] == ["/a"]
    (line,) = found.said[1:]
    assert line.startswith("left out: 1 request ") and line.endswith(", first POST /b")
    return line


@pytest.mark.parametrize(
    ("example", "body"),
    [
        ("{2026-01-02: 2026-01-03}", {"2026-01-02": "2026-01-03"}),
        ("{at: 2026-01-02T03:04:05Z, to: 2026-13-45}", {"at": "2026-01-02T03:04:05Z", "to": "2026-13-45"}),
        ("{2: .inf, true: .nan, null: 1.5}", {"2": None, "true": None, "null": 1.5}),
        ("[12:30, 1:30.5, -1:00, 190:20:30]", ["12:30", "1:30.5", "-1:00", "190:20:30"]),
        (
            "{no: yes, on: off, a: n, b: False, c: TRUE}",
            {"no": "yes", "on": "off", "a": "n", "b": False, "c": True},
        ),
        (
            "[0, -0, +7, 010, 07030, -09, 0o17, 0x1F]",
            [0, 0, 7, 10, 7030, -9, 15, 31],
        ),
        (
            "[1e3, 12e03, 1.5e3, -2E-2, .5, -.5, 2., 0., 1.5e+3, +12.5]",
            [1e3, 12e3, 1500.0, -0.02, 0.5, -0.5, 2.0, 0.0, 1500.0, 12.5],
        ),
        (f"[{', '.join(NEARLY_NUMBERS)}]", NEARLY_NUMBERS),
        ("['12']", ["12"]),
        ("[.inf, -.Inf, +.INF, .nan, .NaN, .NAN, ~, null, Null, NULL, ]", [None] * 10),
        ("[.iNF, -.nan, nULL, True, true, tRUE]", [".iNF", "-.nan", "nULL", True, True, "tRUE"]),
        ("[!!int '07', !!float 5, !!float '1e3']", [7, 5.0, 1000.0]),
        ("{<<: {a: 1}, b: *x, c: *x}", {"a": 1, "b": [1], "c": [1]}),
        ("!!set {b, a}", ["a", "b"]),
    ],
)
def test_what_yaml_has_beside_json_is_sent_as_json(example: str, body: Any, tmp_path: Path) -> None:
    found = of(asking(example), tmp_path)
    assert [json.loads(str(each.request.body)) for each in found.chosen.kinds[1:]] == [body]


@pytest.mark.parametrize("number", ["07030", "1.10", "1e3", "0o17", "0x1F", "+7", "2."])
def test_a_number_that_is_to_be_a_text_is_sent_as_it_is_written(number: str, tmp_path: Path) -> None:
    said = "name: zip, in: query, required: true, schema: {type: string}"
    parameter = f"{{{said}, example: {number}}}"
    found = of(f"openapi: 3.0.0\npaths: {{/a: {{get: {{parameters: [{parameter}]}}}}}}\n", tmp_path)
    assert found.chosen.kinds[0].request.path == f"/a?zip={number.replace('+', '%2B')}"
    assert found.made_up == 0


def test_a_number_of_json_that_is_to_be_a_text_is_sent_as_it_is_written(tmp_path: Path) -> None:
    said = {"name": "v", "in": "query", "required": True, "schema": {"type": "string"}, "example": 0}
    text = json.dumps(one_operation(parameters=[said])).replace('"example": 0', '"example": 1.10')
    assert "/b?v=1.10" in [each.request.path for each in of(text, tmp_path).chosen.kinds]


def test_a_bound_with_an_exponent_holds(tmp_path: Path) -> None:
    said = "name: n, in: query, required: true, schema: {type: integer, minimum: 1e3}"
    found = of(f"openapi: 3.0.0\npaths: {{/a: {{get: {{parameters: [{{{said}}}]}}}}}}\n", tmp_path)
    assert found.chosen.kinds[0].request.path == "/a?n=1000"


def test_an_example_that_holds_itself_is_left_out(tmp_path: Path) -> None:
    assert "with an example that holds itself" in left_out(of(asking("&e {a: [*e]}"), tmp_path))


@pytest.mark.long
def test_anchors_that_expand_without_end_are_left_out(tmp_path: Path) -> None:
    laughs = "".join(
        f"l{at}: &l{at} [{', '.join([f'*l{at - 1}' if at else '*x'] * 9)}]\n" for at in range(40)
    )
    found = of(asking("*l39", laughs), tmp_path)
    assert "with examples of more than 256 KiB" in left_out(found)
    merged = "".join(f"m{at}: &m{at} {{<<: [{', '.join([f'*m{at - 1}'] * 9)}]}}\n" for at in range(1, 40))
    with pytest.raises(UsageError, match=r"line \d+: << brings more than 50,000 entries; mend it$"):
        of(asking("1", f"m0: &m0 {{a: 1}}\n{merged}"), tmp_path)


@pytest.mark.long
def test_a_chain_of_anchors_is_left_out(tmp_path: Path) -> None:
    chain = "c0: &c0 [1]\n" + "".join(f"c{at}: &c{at} [*c{at - 1}]\n" for at in range(1, 2_000))
    assert "with an example that is nested too deep" in left_out(of(asking("*c1999", chain), tmp_path))


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_examples_that_are_huge_are_left_out_and_the_bound_is_said(kind: str, tmp_path: Path) -> None:
    for letters, is_made in ((200_000, True), (300_000, False)):
        media = {kind: {"example": {"a": "x" * letters} if "text" not in kind else "x" * letters}}
        document = {
            "openapi": "3.0.0",
            "paths": {"/a": {"get": {}}, "/b": {"post": {"requestBody": {"content": media}}}},
        }
        found = of(document, tmp_path)
        assert len(found.chosen.kinds) == 1 + is_made
        assert is_made or "with examples of more than 256 KiB" in left_out(found)


def test_a_value_that_stands_in_many_places_of_a_path_counts_in_each(tmp_path: Path) -> None:
    parameter = {"name": "i", "in": "path", "example": "x" * 1_000}
    operation = {"post": {"parameters": [parameter]}}
    document = {"openapi": "3.0.0", "paths": {"/a": {"get": {}}, f"/b{'{i}' * 300}": operation}}
    assert "with examples of more than 256 KiB" in of(document, tmp_path).said[1]


@pytest.mark.parametrize("schemes", [{"a": 1}, "https", 5, [5], [{}], [], None])
def test_schemes_of_another_type_are_taken_for_absent(schemes: Any, tmp_path: Path) -> None:
    document = {"swagger": "2.0", "host": "a", "schemes": schemes, "paths": {"/a": {"get": {}}}}
    assert of(document, tmp_path).chosen.origin == "http://a"


@pytest.mark.parametrize(
    "document",
    [
        {"openapi": "3.0.0", "servers": [{"url": "http://a;id/v1"}], "paths": {"/a": {"get": {}}}},
        {"swagger": "2.0", "host": "a;id", "paths": {"/a": {"get": {}}}},
    ],
)
def test_a_server_without_a_host_that_can_be_read_is_named(document: dict[str, Any], tmp_path: Path) -> None:
    found = of(document, tmp_path)
    assert found.chosen.origin == "" and "http://HOST:PORT" in found.command("a")
    assert found.said[1].startswith("a server has no host that can be read: write your own for http://a;id")


@pytest.mark.parametrize("servers", [5, "x", {"url": "http://b"}, [5], [[]], [{"url": {}}]])
def test_servers_of_another_type_are_taken_for_absent(servers: Any, tmp_path: Path) -> None:
    document = {"openapi": "3.0.0", "servers": servers, "paths": {"/a": {"get": {}}}}
    found = of(document, tmp_path)
    assert found.chosen.origin == "" and found.chosen.kinds[0].request.path == "/a"


@pytest.mark.parametrize("reference", ["#/paths/~1b/post", "#/x", "#/x/y", "#/y/99999999999999999999", 5])
def test_references_that_go_round_or_nowhere_are_named(reference: Any, tmp_path: Path) -> None:
    document = {
        "openapi": "3.0.0",
        "x": {"$ref": "#/x"},
        "y": [{"$ref": "#/y/0"}],
        "paths": {"/a": {"get": {}}, "/b": {"post": {"requestBody": {"$ref": reference}}}},
    }
    found = of(document, tmp_path)
    assert found.chosen.kinds[0].request.path == "/a"
    assert len(found.chosen.kinds) == 2 or "with a $ref" in left_out(found)


@pytest.mark.parametrize("deep", ["[" * 1_000, "{a: " * 1_000, "[" * 200_000, "\n" + "- " * 200_000])
def test_a_document_that_is_nested_without_end_is_a_sentence(deep: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is nested more than 200 deep; move inner parts out by \$ref$"):
        of(f"openapi: 3.0.0\npaths: {deep}", tmp_path)


@pytest.mark.parametrize(
    "value",
    ["!!bool 5", "!!timestamp x", "!!int ''", "!!float ''", "!!int x", "!!int 1:30", "!!float '1:30.5'"],
)
def test_a_value_that_does_not_fit_its_tag_is_a_sentence(value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is (no YAML|neither JSON)"):
        of(asking(value), tmp_path)


def test_a_broken_or_huge_document_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"is neither JSON nor YAML: line 4: .*; mend it$"):
        of("openapi: 3.0.0\npaths:\n  - [a\nb: {\n", tmp_path)
    monkeypatch.setattr(openapi_document, "BYTES_MAX", 1 << 20)
    with pytest.raises(UsageError, match=r"described: is longer than 1 MiB; split it by paths"):
        of("openapi: 3.0.0\n" + "#" * (1 << 20), tmp_path)


def one_operation(**parts: Any) -> dict[str, Any]:
    """A document of GET /a, which asks nothing, and POST /b with these parts."""
    return {"openapi": "3.0.0", "paths": {"/a": {"get": {}}, "/b": {"post": parts}}}


@pytest.mark.parametrize(("number", "is_made"), [(100, True), (101, False)])
def test_a_long_chain_of_references_is_left_out(number: int, is_made: bool, tmp_path: Path) -> None:
    chain: dict[str, Any] = {f"b{at}": {"$ref": f"#/x/b{at + 1}"} for at in range(number - 1)}
    chain[f"b{number - 1}"] = {}
    found = of(one_operation(requestBody={"$ref": "#/x/b0"}) | {"x": chain}, tmp_path)
    assert len(found.chosen.kinds) == 1 + is_made
    assert is_made or "with more than 100 $ref that lead to each other" in left_out(found)


def test_a_reference_without_end_is_left_out(tmp_path: Path) -> None:
    found = of(one_operation(requestBody={"$ref": f"#{'/x' * 1_000}"}), tmp_path)
    assert "with a $ref of more than 2,000 letters" in left_out(found)


@pytest.mark.parametrize(("number", "is_made"), [(1_000, True), (1_001, False)])
def test_an_operation_of_many_parameters_is_left_out(number: int, is_made: bool, tmp_path: Path) -> None:
    given = [{"name": f"n{at}", "in": "query", "example": "1"} for at in range(number)]
    found = of(one_operation(parameters=given), tmp_path)
    assert len(found.chosen.kinds) == 1 + is_made
    assert is_made or "with more than 1,000 parameters" in left_out(found)


def test_of_many_servers_and_variables_only_the_first_are_read(tmp_path: Path) -> None:
    servers = {"servers": [{"url": f"http://h{at}.example.org"} for at in range(101)]}
    found = of(one_operation() | servers, tmp_path)
    said = "\n".join(found.said)
    assert "more than 100 servers in a list: only the first are read" in said
    assert "left out: 198 requests to other hosts" in said
    variables = {f"v{at}": {"default": "x"} for at in range(101)}
    servers = {"servers": [{"url": "http://{v0}.example.org/{v100}", "variables": variables}]}
    found = of(one_operation() | servers, tmp_path)
    assert found.said[1:] == (
        "more than 100 variables of a server: only the first are read",
        "a server has {v100}, which has no default: write your own",
    )


def test_only_some_servers_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    servers = {"servers": [{"url": f"http://a;{at}/"} for at in range(50)]}
    said = of(one_operation() | servers, tmp_path).said
    assert sum("write your own for http://a;" in line for line in said) == 10
    assert sum("further servers have no host that can be read" in line for line in said) == 1


def test_a_list_of_servers_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = repeatable.split_url

    def placed(url: str) -> tuple[str, str]:
        read.append(url)
        return plain(url)

    seen = SimpleNamespace(split_url=placed, repeat=repeatable.repeat)
    monkeypatch.setattr(openapi_operations, "repeatable", seen)
    paths = "".join(f"  /a{at}: *i\n" for at in range(20))
    item = "{get: {}, post: {}, servers: [{url: 'http://h.example.org/'}]}"
    found = of(f"openapi: 3.0.0\nx: &i {item}\npaths:\n{paths}", tmp_path)
    assert len(found.chosen.kinds) == 40 and read == ["http://h.example.org/"]


def test_a_part_that_many_paths_share_does_not_multiply_without_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = "".join(f"  /a{at}: *i\n" for at in range(30))
    servers = ", ".join(f"{{url: 'http://h{at}.example.org'}}" for at in range(20))
    many = f"openapi: 3.0.0\nx: &i {{get: {{}}, put: {{}}, servers: [{servers}]}}\npaths:\n{paths}"
    parameters = ", ".join(f"{{name: n{at}, in: query, required: true}}" for at in range(50))
    wide = f"openapi: 3.0.0\nx: &i {{get: {{}}, parameters: [{parameters}]}}\npaths:\n{paths}"
    for document, kinds in ((many, 60), (wide, 30)):
        assert len(of(document, tmp_path).chosen.kinds) == kinds
    monkeypatch.setattr(openapi_operations, "REQUESTS_MAX", 1_000)
    with pytest.raises(UsageError, match=r"has more than 1,000 operations × servers; split it by paths$"):
        of(many, tmp_path)
    monkeypatch.setattr(openapi_document, "STEPS_MAX", 1_000)
    with pytest.raises(UsageError, match=r"takes more than 1,000 steps to read; split it by paths$"):
        of(wide, tmp_path)
