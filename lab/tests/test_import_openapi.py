"""OpenAPI and Swagger documents: a request for each operation, from its examples; cycles end."""

import json
from pathlib import Path
from typing import Any

import pytest
from crumple.errors import UsageError
from crumple.importing import conversion, openapi
from crumple.importing.conversion import Converted
from crumple.load import request
from crumple.load.request import Written

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
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
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


def of(document: str | dict[str, Any], folder: Path, host: str | None = None) -> Converted:
    file = folder / "described"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return conversion.converted(file, None, host, 100)


def test_each_operation_is_a_request_with_examples(tmp_path: Path) -> None:
    found = of(YAML, tmp_path)
    assert found.chosen.origin == "https://shop.example.org"
    (tmp_path / "a.toml").write_text(found.toml("a.toml"))
    requests = request.several(tmp_path / "a.toml", Written(path="/"))
    assert [(each.name, each.method, each.path) for each in requests] == [
        ("order", "GET", "/v1/orders/7?since=2026-01-01"),
        ("DELETE /orders/{id}", "DELETE", "/v1/orders/7"),
        ("POST /orders", "POST", "/v1/orders"),
    ]
    assert ("X-Kept", "a b") in requests[0].headers
    order = {"by": "someone@example.org", "lines": [{"of": None, "number": 2}], "size": "small"}
    assert json.loads(str(requests[2].body)) == order


def test_what_no_request_can_be_made_of_is_named(tmp_path: Path) -> None:
    said = "\n".join(of(YAML, tmp_path).said)
    for line in (
        "left out: 3 requests to other hosts; choose one with --host, first staging.example.org (3)",
        "with a body that is neither JSON, a form nor text (multipart/form-data), first POST /up",
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


def test_a_broken_or_huge_document_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"is neither JSON nor YAML: line 4: .*; mend it$"):
        of("openapi: 3.0.0\npaths:\n  - [a\nb: {\n", tmp_path)
    monkeypatch.setattr(openapi, "BYTES_MAX", 1 << 20)
    with pytest.raises(UsageError, match=r"described: is longer than 1 MiB; split it by paths"):
        of("openapi: 3.0.0\n" + "#" * (1 << 20), tmp_path)
