"""An OpenAPI or Swagger document, as JSON or YAML → a request for each operation, from its examples.

Nothing is fetched: a reference to another document is left out, and named. What is asked satisfies the
schemas of the document, or the operation is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from crumple.errors import FileInvalid, Problem
from crumple.importing import openapi_document, openapi_parts, repeatable
from crumple.importing.example_text import ExampleText
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_bodies import Bodies
from crumple.importing.openapi_examples import Examples
from crumple.importing.openapi_parameters import Parameters
from crumple.importing.openapi_parts import NoExample, Parts, TooManySteps
from crumple.importing.openapi_servers import Servers
from crumple.importing.recorded import LeftOut, Recorded

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Operations × servers.
REQUESTS_MAX = 100_000
MADE_UP = "with values of which only the schema is in the document"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    document = openapi_document.read(stream, file)
    try:
        yield from _Operations(document, left_out).requests()
    except TooManySteps:
        most = openapi_parts.STEPS_MAX
        raise _invalid(file, f"takes more than {most:,} steps to read") from None
    except _TooManyRequestsError:
        raise _invalid(file, f"has more than {REQUESTS_MAX:,} operations × servers") from None


def _invalid(file: Path, what: str) -> FileInvalid:
    return FileInvalid([Problem(file, "", what, "split it by paths")])


class _TooManyRequestsError(Exception):
    """The document has more than REQUESTS_MAX operations × servers."""


class _Operations:
    """The operations of one document."""

    def __init__(self, document: dict[str, Any], left_out: LeftOut) -> None:
        self._document, self._left_out = document, left_out
        self._parts = Parts(document)
        self._examples = Examples(self._parts)
        self._servers = Servers(document, self._parts, left_out)
        is_swagger = "swagger" in document
        self._parameters = Parameters(self._parts, self._examples, left_out, is_swagger=is_swagger)
        self._bodies = Bodies(document, self._parts, self._examples, left_out)

    def requests(self) -> Iterator[Recorded]:
        """Yield the requests. Raises TooManySteps, _TooManyRequestsError."""
        made = 0
        for path, item in table(self._document.get("paths")).items():
            # Others are additions, such as x-notes.
            if not path.startswith("/"):
                continue
            try:
                found = table(self._parts.pointed(item))
            except NoExample as why:
                self._left_out.add(str(why), path)
                continue
            for method in METHODS:
                if isinstance(operation := found.get(method), dict):
                    servers = self._servers.of(operation, found)
                    made += len(servers)
                    if made > REQUESTS_MAX:
                        raise _TooManyRequestsError
                    yield from self._of(path, method, (found, operation), servers)
        for faults in self._examples.faults():
            self._left_out.note(faults)

    def _of(
        self,
        path: str,
        method: str,
        levels: tuple[Mapping[str, Any], Mapping[str, Any]],
        servers: Sequence[tuple[str, str]],
    ) -> Iterator[Recorded]:
        """Yield the request of an operation for each server; none if it cannot be made, and say why."""
        operation, where = levels[1], f"{method.upper()} {path}"
        self._examples.begin(where)
        self._note_security(operation)
        written = ExampleText()
        # What is behind # is not sent, and a query must stand before it.
        path, sign, fragment = path.partition("#")
        try:
            asked = self._parameters.asked(path, levels, written)
            body = self._bodies.of(method, operation, asked, written)
        except NoExample as why:
            self._left_out.add(str(why), f"{where} ({why.detail})" if why.detail else where)
            return
        finally:
            self._parts.take(letters=written.letters)
        headers = [*asked.headers, *([("Content-Type", body.kind)] if body.kind else [])]
        made_up = MADE_UP if asked.is_made_up or body.is_made_up else ""
        name = text(operation.get("operationId")) or where
        for origin, base in servers:
            url = f"{origin or 'http://unknown'}{base}{asked.target}{sign}{fragment}"
            self._parts.take(letters=len(url) + written.letters)
            made = repeatable.repeated(
                method, url, headers, body.sent, self._left_out, typed=True, is_whole=True
            )
            if made is not None:
                yield replace(made, origin=origin, name=name, made_up=made_up)

    def _note_security(self, operation: Mapping[str, Any]) -> None:
        asked = listed(operation.get("security", self._document.get("security")))
        # An empty one says that none is needed.
        if not asked or {} in asked:
            return
        self._left_out.note("some operations ask for authorization: add it with -H or -a")
        components = table(table(self._document.get("components")).get("securitySchemes"))
        schemes = components or table(self._document.get("securityDefinitions"))
        for name in table(asked[0]):
            scheme = table(schemes.get(name))
            if scheme.get("type") == "apiKey" and scheme.get("in") == "query":
                key = openapi_parts.short(text(scheme.get("name")))
                self._left_out.note(f"some operations ask for a key in the query: add {key}=… to their paths")
