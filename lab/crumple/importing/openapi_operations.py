"""An OpenAPI or Swagger document, as JSON or YAML → a request for each operation, from its examples.

Nothing is fetched: a reference to another document is left out, and named. What is asked satisfies the
schemas of the document, or the operation is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from crumple.errors import FileInvalid, Problem
from crumple.importing import openapi_document, repeatable
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_bodies import Bodies
from crumple.importing.openapi_document import NoExample, Parts, TooManySteps
from crumple.importing.openapi_examples import Examples
from crumple.importing.openapi_parameters import ExampleText, Parameters
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.repeatable import Unplaced
from crumple.words import masked

# Letters of the URL of a server; a longer one is none.
URL_LETTERS_MAX = 8 << 10
# Servers that are read of one list; variables of the URL of one; and unreadable servers that are named.
SERVERS_MAX, VARIABLES_MAX, NAMED_MAX = 100, 100, 10
Placed = tuple[str, str]
_PLACE = re.compile(r"\{[^{}]*\}")


class Servers:
    """Reads the servers of one document. `left_out` collects what cannot be read."""

    def __init__(self, document: Mapping[str, Any], parts: Parts, left_out: LeftOut) -> None:
        self._document, self._parts, self._left_out = document, parts, left_out
        # By identity, as YAML's anchors may put one list at many operations.
        self._known: dict[int, Sequence[Placed]] = {}
        self._unread: set[str] = set()
        self._plain = self._of_swagger() if "swagger" in document else [self._server({})]

    def of(self, operation: Mapping[str, Any], item: Mapping[str, Any]) -> Sequence[Placed]:
        """Return origin and base path of each; an empty origin where the document names no host."""
        if "swagger" in self._document:
            return self._plain
        named = (listed(level.get("servers")) for level in (operation, item, self._document))
        given = next(filter(None, named), None)
        if given is None:
            return self._plain
        if id(given) not in self._known:
            if len(given) > SERVERS_MAX:
                self._left_out.note(f"more than {SERVERS_MAX} servers in a list: only the first are read")
            each = (self._server(table(one)) for one in given[:SERVERS_MAX])
            self._known[id(given)] = list(dict.fromkeys(each))
        return self._known[id(given)]

    def _of_swagger(self) -> list[Placed]:
        schemes, host = listed(self._document.get("schemes")), text(self._document.get("host"))
        scheme = next((each for each in schemes if isinstance(each, str)), "http")
        base = text(self._document.get("basePath")).strip("/")
        origin = self._placed(f"{scheme}://{host}")[0] if host else ""
        return [(origin, f"/{base}" if base else "")]

    def _server(self, server: Mapping[str, Any]) -> Placed:
        self._parts.take()
        url = text(server.get("url"))[: URL_LETTERS_MAX + 1]
        variables = table(server.get("variables"))
        if len(variables) > VARIABLES_MAX:
            self._left_out.note(f"more than {VARIABLES_MAX} variables of a server: only the first are read")
        for name, variable in islice(variables.items(), VARIABLES_MAX):
            # Each may fill in the whole URL.
            self._parts.take(letters=len(name) + URL_LETTERS_MAX)
            given = table(variable).get("default", next(iter(listed(table(variable).get("enum"))), ""))
            value = text(given)[: URL_LETTERS_MAX + 1]
            url = url.replace(f"{{{name}}}", value)[: URL_LETTERS_MAX + 1]
        if len(url) > URL_LETTERS_MAX:
            self._left_out.note(
                f"the URL of a server is longer than {URL_LETTERS_MAX >> 10} KiB: write your own"
            )
            return "", ""
        if place := _PLACE.search(url):
            self._left_out.note(f"a server has {place[0][:80]}, which has no default: write your own")
            return "", ""
        # A query or a fragment would stand before the paths.
        url = url.partition("?")[0].partition("#")[0]
        if "://" not in url:
            return "", f"/{url.strip('/')}" if url.strip("/") else ""
        origin, path = self._placed(url)
        return origin, path.rstrip("/")

    def _placed(self, url: str) -> Placed:
        """Return origin and path of a server's URL; empty where no load can go there."""
        self._parts.take(letters=len(url))
        try:
            return repeatable.split_url(url)
        except Unplaced:
            shown = masked.url(url)[:80]
            if len(self._unread) < NAMED_MAX:
                self._unread.add(shown)
                self._left_out.note(f"a server has no host that can be read: write your own for {shown}")
            elif shown not in self._unread:
                self._left_out.note("further servers have no host that can be read: write your own")
            return "", ""


METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Operations × servers; a document with more is refused.
REQUESTS_MAX = 100_000
MADE_UP = "with values of which only the schema is in the document"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    document = openapi_document.read(stream, file)
    try:
        yield from _Operations(document, left_out).requests()
    except TooManySteps:
        most = openapi_document.STEPS_MAX
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
            made = repeatable.repeat(
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
                key = openapi_document.short(text(scheme.get("name")))
                self._left_out.note(f"some operations ask for a key in the query: add {key}=… to their paths")
