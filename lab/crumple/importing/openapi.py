"""An OpenAPI or Swagger document, as JSON or YAML → a request for each operation, from its examples.

Nothing is fetched: a reference to another document is left out, and named.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

from crumple.errors import FileInvalid, Problem
from crumple.importing import openapi_document, openapi_examples, repeatable
from crumple.importing.example_text import ExampleText
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_examples import Examples, NoExample, TooManySteps
from crumple.importing.openapi_servers import Servers
from crumple.importing.recorded import LeftOut, Recorded

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
PARAMETERS_MAX = 1_000
# Its example is made and written, too.
PARAMETER_STEPS = 10
# Operations × servers.
REQUESTS_MAX = 100_000
_FORM = "application/x-www-form-urlencoded"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    document = openapi_document.read(stream, file)
    examples = Examples(document)
    try:
        yield from _requests(document, examples, left_out)
    except TooManySteps:
        most = openapi_examples.STEPS_MAX
        raise _invalid(file, f"takes more than {most:,} steps to read") from None
    except _TooManyRequestsError:
        raise _invalid(file, f"has more than {REQUESTS_MAX:,} operations × servers") from None


def _invalid(file: Path, what: str) -> FileInvalid:
    return FileInvalid([Problem(file, "", what, "split it by paths")])


class _TooManyRequestsError(Exception):
    """The document has more than REQUESTS_MAX operations × servers."""


def _requests(document: dict[str, Any], examples: Examples, left_out: LeftOut) -> Iterator[Recorded]:
    servers, made = Servers(document, examples, left_out), 0
    for path, item in table(document.get("paths")).items():
        # Others are additions, such as x-notes.
        if not path.startswith("/"):
            continue
        try:
            found = table(examples.pointed(item))
        except NoExample as why:
            left_out.add(str(why), path)
            continue
        for method in METHODS:
            if isinstance(operation := found.get(method), dict):
                at = servers.of(operation, found)
                made += len(at)
                if made > REQUESTS_MAX:
                    raise _TooManyRequestsError
                one = _Operation(document, examples, path, method, found, operation)
                yield from one.requests(at, left_out)


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

    def requests(self, servers: Sequence[tuple[str, str]], left_out: LeftOut) -> Iterator[Recorded]:
        """Yield the request for each server; none if it cannot be made, and `left_out` says why."""
        where = f"{self._method.upper()} {self._path}"
        if self._operation.get("security", self._document.get("security")):
            left_out.note("some operations ask for authorization: add it with -H or -a")
        written = ExampleText()
        try:
            path, headers, body = self._asked(written, left_out)
        except NoExample as why:
            left_out.add(str(why), where)
            return
        finally:
            self._examples.take(letters=written.letters)
        name = text(self._operation.get("operationId")) or where
        for origin, base in servers:
            url = f"{origin or 'http://unknown'}{base}{path}"
            self._examples.take(letters=len(url) + written.letters)
            made = repeatable.repeated(self._method, url, headers, body, left_out)
            if made is not None:
                yield Recorded(origin, made.method, made.path, made.headers, made.body, name=name)

    def _asked(
        self, written: ExampleText, left_out: LeftOut
    ) -> tuple[str, list[tuple[str, str]], str | None]:
        """Return path, headers and body. Raises NoExample."""
        path, query, headers = self._path, list[tuple[str, str]](), list[tuple[str, str]]()
        form: dict[str, Any] = {}
        body: str | None = None
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
        """Return the parameters by name and place; those of the operation replace those of its path.

        Raises NoExample.
        """
        levels = [listed(level.get("parameters")) for level in (self._item, self._operation)]
        if sum(map(len, levels)) > PARAMETERS_MAX:
            raise NoExample(f"with more than {PARAMETERS_MAX:,} parameters")
        found = {}
        for each in (each for level in levels for each in level):
            meant = table(self._examples.pointed(each))
            name = text(meant.get("name"))
            self._examples.take(PARAMETER_STEPS, letters=len(name))
            found[name, text(meant.get("in"))] = meant
        return found

    def _body(self, written: ExampleText) -> tuple[str, str | None]:
        """Return Content-Type and body; empty if there is none. Raises NoExample."""
        content = table(table(self._examples.pointed(self._operation.get("requestBody"))).get("content"))
        self._examples.take(len(content))
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
