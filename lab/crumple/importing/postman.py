"""A collection of Postman, version 2.0 or 2.1 → its requests.

Variables have the values that the collection gives them. Scripts are not run. A request with what Postman
makes up itself, such as {{$guid}}, is left out.
"""

import json
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from crumple.errors import FileInvalid, Problem
from crumple.importing import postman_request, repeatable
from crumple.importing.json_values import listed, table, text
from crumple.importing.postman_request import Unread, Variables
from crumple.importing.recorded import LeftOut, Recorded

BYTES_MAX = 32 << 20
# Of folders.
DEPTH_MAX = 50
_NO_AUTH = frozenset({"", "noauth"})


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests, folder by folder. Raises FileInvalid."""
    whole = _read(stream, file)
    collection = table(whole.get("collection")) if "item" not in whole else whole
    if "item" not in collection or "info" not in collection:
        remedy = "export it from Postman as Collection v2.1"
        raise FileInvalid([Problem(file, "", "is no collection of Postman: it has no info and item", remedy)])
    yield from _Folders(left_out).requests(collection, Variables(ChainMap()), "", 0)


def _read(stream: IO[bytes], file: Path) -> Mapping[str, Any]:
    whole = stream.read(BYTES_MAX + 1)
    if len(whole) > BYTES_MAX:
        why = f"is longer than {BYTES_MAX >> 20} MiB"
        raise FileInvalid([Problem(file, "", why, "export its folders one by one")])
    try:
        return table(json.loads(whole))
    # RecursionError: it is nested too deep.
    except (ValueError, RecursionError) as error:
        why = str(error).partition("\n")[0] if isinstance(error, ValueError) else "it is nested too deep"
        raise FileInvalid([Problem(file, "", f"is no JSON: {why}", "export it again")]) from None


class _Folders:
    """Reads folders within folders. `left_out` is told what is left out."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out

    def requests(
        self, folder: Mapping[str, Any], variables: Variables, auth: str, depth: int
    ) -> Iterator[Recorded]:
        """Yield the requests of a folder, or of a collection, and of those in it."""
        known = variables.and_those_of(folder)
        auth = _auth(folder, auth)
        self._scripts(folder)
        for item in map(table, listed(folder.get("item"))):
            if "request" in item:
                yield from self._one(item, known.and_those_of(item), auth)
            elif depth < DEPTH_MAX:
                yield from self.requests(item, known, auth, depth + 1)
            else:
                self._left_out.add(f"in a folder more than {DEPTH_MAX} levels deep", text(item.get("name")))

    def _one(self, item: Mapping[str, Any], variables: Variables, auth: str) -> Iterator[Recorded]:
        self._scripts(item)
        given = item["request"]
        asked = {"url": given} if isinstance(given, str) else table(given)
        name = text(item.get("name"))
        prunes = table(item.get("protocolProfileBehavior")).get("disableBodyPruning") is not True
        try:
            made = postman_request.made(asked, variables, prunes)
        except Unread as why:
            self._left_out.add(str(why), f"{name} ({why.part})" if why.part else name)
            return
        if _auth(asked, auth) not in _NO_AUTH:
            self._left_out.header("Authorization")
        found = repeatable.repeated(
            made.method, made.url, made.headers, made.body, self._left_out, typed=True, is_whole=True
        )
        if found is not None:
            yield Recorded(found.origin, found.method, found.path, found.headers, found.body, name=name)

    def _scripts(self, of: Mapping[str, Any]) -> None:
        for event in map(table, listed(of.get("event"))):
            lines = table(event.get("script")).get("exec")
            if lines and any(text(line).strip() for line in (listed(lines) or [lines])):
                self._left_out.note("left out: scripts, which may set variables and headers; none is run")


def _auth(of: Mapping[str, Any], above: str) -> str:
    """Return the kind of authorization; that of the folder above, unless there is one of its own."""
    own = of.get("auth")
    return text(own.get("type")).lower() if isinstance(own, dict) else above
