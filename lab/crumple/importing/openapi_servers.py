"""The servers of an OpenAPI or Swagger document: origin and base path of each. Each list is read once."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from crumple.importing import repeatable
from crumple.importing.json_values import listed, table, text
from crumple.importing.openapi_parts import Parts
from crumple.importing.recorded import LeftOut
from crumple.importing.repeatable import Unplaced
from crumple.words import masked

# A longer URL of a server is none.
URL_LETTERS_MAX = 8 << 10
# Of one list of servers, of the URL of one, and of those that cannot be read.
SERVERS_MAX, VARIABLES_MAX, NAMED_MAX = 100, 100, 10
Placed = tuple[str, str]
_PLACE = re.compile(r"\{[^{}]*\}")


class Servers:
    """Reads the servers of one document. `left_out` is told what cannot be read."""

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
            return repeatable.placed(url)
        except Unplaced:
            shown = masked.url(url)[:80]
            if len(self._unread) < NAMED_MAX:
                self._unread.add(shown)
                self._left_out.note(f"a server has no host that can be read: write your own for {shown}")
            elif shown not in self._unread:
                self._left_out.note("further servers have no host that can be read: write your own")
            return "", ""
