"""An OpenAPI or Swagger document, as JSON or YAML → a request for each operation, from its examples.

Nothing is fetched: a reference to another document is left out, and named.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode

import yaml

from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.openapi_examples import Examples, NoExample, pointed, table
from crumple.importing.recorded import LeftOut, Recorded

BYTES_MAX = 32 << 20
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# The one in C is ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORM = "application/x-www-form-urlencoded"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    document = _read(stream, file)
    examples = Examples(document)
    for path, item in table(document.get("paths")).items():
        try:
            found = table(pointed(document, item))
        except NoExample as why:
            left_out.add(str(why), str(path))
            continue
        for method in METHODS:
            if isinstance(operation := found.get(method), dict):
                yield from _Operation(document, examples, str(path), method, found, operation).requests(
                    left_out
                )


def _read(stream: IO[bytes], file: Path) -> dict[str, Any]:
    text = stream.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        most = f"is longer than {BYTES_MAX >> 20} MiB"
        raise FileInvalid([Problem(file, "", most, "split it by paths")])
    try:
        is_json = text.lstrip().startswith(b"{")
        document = json.loads(text) if is_json else yaml.load(text, _LOADER)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else str(error)
        raise FileInvalid([Problem(file, "", f"is neither JSON nor YAML: {where}", "mend it")]) from None
    if not isinstance(document, dict) or not {"openapi", "swagger"} & set(document):
        raise FileInvalid(
            [Problem(file, "", "has neither log.entries nor openapi", "say what it is with --from")]
        )
    return document


class _Operation:
    """One operation, with what its path says for all of them."""

    def __init__(
        self,
        document: dict[str, Any],
        examples: Examples,
        path: str,
        method: str,
        item: Mapping[str, Any],
        operation: Mapping[str, Any],
    ) -> None:
        self._document, self._examples, self._path, self._method = document, examples, path, method
        self._item, self._operation = item, operation

    def requests(self, left_out: LeftOut) -> Iterator[Recorded]:
        """Yield the request for each server; none if it cannot be made, and `left_out` says why."""
        where = f"{self._method.upper()} {self._path}"
        if self._operation.get("security", self._document.get("security")):
            left_out.note("some operations ask for authorization: add it with -H or -a")
        try:
            path, headers, body = self._asked(left_out)
        except NoExample as why:
            left_out.add(str(why), where)
            return
        name = str(self._operation.get("operationId") or where)
        for origin, base in self._servers():
            url = f"{origin or 'http://unknown'}{base}{path}"
            made = repeatable.repeated(self._method, url, headers, body, left_out)
            if made is not None:
                yield Recorded(origin, made.method, made.path, made.headers, made.body, name=name)

    def _servers(self) -> list[tuple[str, str]]:
        """Return origin and base path of each server; an empty origin where the document names no host."""
        document = self._document
        if "swagger" in document:
            schemes = document.get("schemes") or ["http"]
            host = document.get("host")
            base = str(document.get("basePath") or "").rstrip("/")
            placed = repeatable.placed(f"{schemes[0]}://{host}") if host else None
            return [(placed[0] if placed else "", base)]
        given = self._operation.get("servers") or self._item.get("servers") or document.get("servers") or [{}]
        return list(dict.fromkeys(_server(table(each)) for each in given if isinstance(given, list)))

    def _asked(self, left_out: LeftOut) -> tuple[str, list[tuple[str, str]], str | None]:
        """Return path, headers and body. Raises NoExample."""
        path, query, headers = self._path, list[tuple[str, str]](), list[tuple[str, str]]()
        form: dict[str, Any] = {}
        body: str | None = None
        for (name, place), each in self._parameters().items():
            required = bool(each.get("required")) or place == "path"
            if place == "body":
                headers.append(("Content-Type", "application/json"))
                body = _json(self._examples.of_schema(each.get("schema")))
            elif required or "example" in each:
                value = _plain(self._examples.of_media(each))
                if place == "path":
                    path = path.replace(f"{{{name}}}", quote(value, safe=""))
                elif place == "query":
                    query.append((name, value))
                elif place == "header":
                    headers.append((name, value))
                elif place == "formData":
                    form[name] = value
                else:
                    left_out.header("Cookie")
        if form:
            headers.append(("Content-Type", _FORM))
            body = urlencode(form)
        kind, sent = self._body()
        if kind:
            headers.append(("Content-Type", kind))
            body = sent
        return path + (f"?{urlencode(query)}" if query else ""), headers, body

    def _parameters(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Return the parameters by name and place; those of the operation replace those of its path."""
        found = {}
        for given in (self._item.get("parameters"), self._operation.get("parameters")):
            for each in given if isinstance(given, list) else ():
                meant = table(pointed(self._document, each))
                found[str(meant.get("name")), str(meant.get("in"))] = meant
        return found

    def _body(self) -> tuple[str, str | None]:
        """Return Content-Type and body; empty if there is none. Raises NoExample."""
        content = table(table(pointed(self._document, self._operation.get("requestBody"))).get("content"))
        kinds = {str(kind).partition(";")[0].strip().lower(): each for kind, each in content.items()}
        for kind, media in kinds.items():
            if kind == "application/json" or kind.endswith("+json"):
                return kind, _json(self._examples.of_media(table(media)))
        if _FORM in kinds:
            found = table(self._examples.of_media(table(kinds[_FORM])))
            return _FORM, urlencode({name: _plain(value) for name, value in found.items()})
        text = next((kind for kind in kinds if kind.startswith("text/")), None)
        if text is not None:
            return text, _plain(self._examples.of_media(table(kinds[text])))
        if kinds:
            raise NoExample(f"with a body that is neither JSON, a form nor text ({next(iter(kinds))})")
        return "", None


def _server(server: Mapping[str, Any]) -> tuple[str, str]:
    url = str(server.get("url") or "")
    for name, variable in table(server.get("variables")).items():
        url = url.replace(f"{{{name}}}", str(table(variable).get("default", "")))
    if "://" not in url:
        return "", f"/{url.strip('/')}" if url.strip("/") else ""
    placed = repeatable.placed(url)
    return ("", "") if placed is None else (placed[0], placed[1].rstrip("/"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: Any) -> str:
    """Return a value as it stands in a path, a query or a form."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(map(_plain, value))
    return _json(value)
