"""An OpenAPI or Swagger document, as JSON or YAML → a request for each operation, from its examples.

Nothing is fetched: a reference to another document is left out, and named.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

from crumple.importing import openapi_document, repeatable
from crumple.importing.example_text import ExampleText
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_examples import Examples, NoExample, pointed
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.repeatable import Unplaced
from crumple.load.report import masked

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# A longer URL of a server is none.
URL_LETTERS_MAX = 8 << 10
_FORM = "application/x-www-form-urlencoded"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    document = openapi_document.read(stream, file)
    examples = Examples(document)
    for path, item in table(document.get("paths")).items():
        # Others are additions, such as x-notes.
        if not path.startswith("/"):
            continue
        try:
            found = table(pointed(document, item))
        except NoExample as why:
            left_out.add(str(why), path)
            continue
        for method in METHODS:
            if isinstance(operation := found.get(method), dict):
                made = _Operation(document, examples, path, method, found, operation)
                yield from made.requests(left_out)


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
        name = text(self._operation.get("operationId")) or where
        for origin, base in self._servers(left_out):
            url = f"{origin or 'http://unknown'}{base}{path}"
            made = repeatable.repeated(self._method, url, headers, body, left_out)
            if made is not None:
                yield Recorded(origin, made.method, made.path, made.headers, made.body, name=name)

    def _servers(self, left_out: LeftOut) -> list[tuple[str, str]]:
        """Return origin and base path of each server; an empty origin where the document names no host."""
        document = self._document
        if "swagger" in document:
            schemes, host = listed(document.get("schemes")), text(document.get("host"))
            scheme = next((each for each in schemes if isinstance(each, str)), "http")
            base = text(document.get("basePath")).strip("/")
            origin = _placed(f"{scheme}://{host}", left_out)[0] if host else ""
            return [(origin, f"/{base}" if base else "")]
        levels = (self._operation, self._item, document)
        named = (listed(level.get("servers")) for level in levels)
        given: Sequence[Any] = next(filter(None, named), [{}])
        return list(dict.fromkeys(_server(table(each), left_out) for each in given))

    def _asked(self, left_out: LeftOut) -> tuple[str, list[tuple[str, str]], str | None]:
        """Return path, headers and body. Raises NoExample."""
        path, query, headers = self._path, list[tuple[str, str]](), list[tuple[str, str]]()
        form: dict[str, Any] = {}
        body: str | None = None
        written = ExampleText()
        for (name, place), each in self._parameters().items():
            required = bool(each.get("required")) or place == "path"
            if place == "body":
                headers.append(("Content-Type", "application/json"))
                body = written.json(self._examples.of_schema(each.get("schema")))
            elif required or "example" in each:
                value = written.plain(self._examples.of_media(each))
                if place == "path":
                    path = written.filled(path, name, value)
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
        kind, sent = self._body(written)
        if kind:
            headers.append(("Content-Type", kind))
            body = sent
        return path + (f"?{urlencode(query)}" if query else ""), headers, body

    def _parameters(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Return the parameters by name and place; those of the operation replace those of its path."""
        found = {}
        for level in (self._item, self._operation):
            for each in listed(level.get("parameters")):
                meant = table(pointed(self._document, each))
                found[text(meant.get("name")), text(meant.get("in"))] = meant
        return found

    def _body(self, written: ExampleText) -> tuple[str, str | None]:
        """Return Content-Type and body; empty if there is none. Raises NoExample."""
        content = table(table(pointed(self._document, self._operation.get("requestBody"))).get("content"))
        kinds = {kind.partition(";")[0].strip().lower(): each for kind, each in content.items()}
        for kind, media in kinds.items():
            if kind == "application/json" or kind.endswith("+json"):
                return kind, written.json(self._examples.of_media(table(media)))
        if _FORM in kinds:
            found = table(self._examples.of_media(table(kinds[_FORM])))
            return _FORM, written.form(found)
        words = next((kind for kind in kinds if kind.startswith("text/")), None)
        if words is not None:
            return words, written.plain(self._examples.of_media(table(kinds[words])))
        if kinds:
            raise NoExample(f"with a body that is neither JSON, a form nor text ({next(iter(kinds))})")
        return "", None


def _server(server: Mapping[str, Any], left_out: LeftOut) -> tuple[str, str]:
    url = text(server.get("url"))[: URL_LETTERS_MAX + 1]
    for name, variable in table(server.get("variables")).items():
        value = text(table(variable).get("default"))[: URL_LETTERS_MAX + 1]
        url = url.replace(f"{{{name}}}", value)[: URL_LETTERS_MAX + 1]
    if len(url) > URL_LETTERS_MAX:
        left_out.note(f"the URL of a server is longer than {URL_LETTERS_MAX >> 10} KiB: write your own")
        return "", ""
    if "://" not in url:
        return "", f"/{url.strip('/')}" if url.strip("/") else ""
    origin, path = _placed(url, left_out)
    return origin, path.rstrip("/")


def _placed(url: str, left_out: LeftOut) -> tuple[str, str]:
    """Return origin and path of a server's URL; empty where no load can go there, and `left_out` says so."""
    try:
        return repeatable.placed(url)
    except Unplaced:
        left_out.note(f"a server has no host that can be read: write your own for {masked.url(url)[:80]}")
        return "", ""
