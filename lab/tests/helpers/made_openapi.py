"""OpenAPI documents for tests, and what an import of them asks."""

import json
from pathlib import Path
from typing import Any

from crumple.importing import conversion
from crumple.importing.conversion import Converted

JSON = "application/json"


def imported(document: dict[str, Any], folder: Path) -> Converted:
    """What the import of a document comes to. GET /kept of it asks nothing, so that something is left."""
    whole = {**document, "paths": {"/kept": {"get": {}}, **document["paths"]}}
    file = folder / "described.json"
    file.write_text(json.dumps(whole))
    return conversion.convert(file, "openapi", None, 100)


def asked(document: dict[str, Any], folder: Path) -> tuple[str, str, dict[str, str], str]:
    """Method, path, headers and body of the one request beside GET /kept; what is said if there is none."""
    found = imported(document, folder)
    others = [each.request for each in found.chosen.kinds if each.request.path != "/kept"]
    assert len(others) == 1, found.said
    return others[0].method, others[0].path, dict(others[0].headers), others[0].body or ""


def left_out(document: dict[str, Any], folder: Path) -> str:
    """What is said of the one request that was left out."""
    found = imported(document, folder)
    assert [each.request.path for each in found.chosen.kinds] == ["/kept"]
    return next(line for line in found.said if line.startswith("left out: 1 request "))


def described(
    operation: dict[str, Any], path: str = "/a", method: str = "post", version: str = "3.0.3", **parts: Any
) -> dict[str, Any]:
    """A document of one operation."""
    named = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    return {**named, "paths": {path: {method: operation}}, **parts}


def sending(schema: Any, version: str = "3.0.3", kind: str = JSON, **parts: Any) -> dict[str, Any]:
    """A document of POST /a with a body of this schema. `parts`: schemas that it may refer to."""
    if version == "2.0":
        body = {"in": "body", "name": "b", "schema": schema}
        return described({"parameters": [body]}, version=version, definitions=parts)
    content = {kind: {"schema": schema}}
    return described({"requestBody": {"content": content}}, version=version, components={"schemas": parts})


def parameter(name: str = "p", place: str = "query", method: str = "get", **said: Any) -> dict[str, Any]:
    """A document of GET /a with a parameter that must be sent; of GET /a/{p} if it stands in the path."""
    path = f"/a/{{{name}}}" if place == "path" else "/a"
    one = {"name": name, "in": place, "required": True, **said}
    return described({"parameters": [one]}, path=path, method=method)
