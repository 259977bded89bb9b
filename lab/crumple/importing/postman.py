"""A collection of Postman, version 2.0 or 2.1 → its requests, as Postman would send them.

Variables have the values that the collection gives them. Scripts are not run. A request with what Postman
makes up itself, such as {{$guid}}, is left out.
"""

import json
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from crumple.errors import FileInvalid, Problem
from crumple.importing import multipart, repeatable, shape
from crumple.importing.import_format import Format
from crumple.importing.json_values import listed, table, text
from crumple.importing.recorded import LeftOut, Recorded

# Rounds in which variables are filled in, as what one stands for may hold others.
ROUNDS_MAX = 10
# Letters that the variables of a text may come to.
_LETTERS_MAX = 256 << 10
_VARIABLE = re.compile(r"\{\{([^{}]{1,200})\}\}")
_IN_PATH = re.compile(r"(?<=/):([^/?#:]+)")
_KINDS = {
    "json": "application/json", "xml": "application/xml", "html": "text/html", "text": "text/plain",
    "javascript": "application/javascript",
}  # fmt: skip
# Methods whose body Postman leaves out unless a setting says otherwise.
_PRUNED = frozenset({"GET", "HEAD", "COPY", "PURGE", "UNLOCK"})


class CannotCompose(Exception):  # noqa: N818 - says what happened
    """Why a request cannot be made, as the end of a sentence about it. `part`: because of what."""

    def __init__(self, why: str, part: str = "") -> None:
        super().__init__(why)
        self.part = part


@dataclass(frozen=True)
class PostmanRequest:
    """A request as Postman would send it, without its authorization."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: str | None


@dataclass(frozen=True)
class PostmanVariables:
    """The values of variables, the innermost first."""

    values: ChainMap[str, str]

    def and_those_of(self, part: Mapping[str, Any]) -> "PostmanVariables":
        """Return these with those of a folder or a request."""
        own = {
            text(each.get("key") or each.get("id")): text(each.get("value"))
            for each in map(table, listed(part.get("variable")))
            if each.get("disabled") is not True and each.get("value") is not None
        }
        return PostmanVariables(self.values.new_child(own)) if own else self

    def filled(self, written: str) -> str:
        """Return a text with the values of its variables. Raises CannotCompose."""
        for _ in range(ROUNDS_MAX):
            filled = self._once(written)
            if filled == written:
                return written
            written = filled
        raise CannotCompose("with a variable that stands for itself")

    def _once(self, written: str) -> str:
        parts, end, letters = list[str](), 0, len(written)
        for found in _VARIABLE.finditer(written):
            value = self._value(found)
            letters += len(value)
            if letters > _LETTERS_MAX:
                raise CannotCompose(f"with more than {_LETTERS_MAX >> 10} KiB", found[0])
            parts += [written[end : found.start()], value]
            end = found.end()
        return "".join([*parts, written[end:]])

    def _value(self, found: re.Match[str]) -> str:
        name = found[1].strip()
        if name.startswith("$"):
            raise CannotCompose("with a value that Postman makes up", found[0])
        if not self.values.get(name):
            raise CannotCompose(
                "with a variable whose value the collection does not hold; give it one there", found[0]
            )
        return self.values[name]


def compose(asked: Mapping[str, Any], variables: PostmanVariables, prunes: bool) -> PostmanRequest:
    """Return the request. Raises CannotCompose. `prunes`: it has no body if its method usually has none."""
    method = variables.filled(text(asked.get("method")) or "GET").strip().upper()
    headers = [
        (variables.filled(name), variables.filled(said)) for name, said in _headers(asked.get("header"))
    ]
    kind, body = "", None
    given = table(asked.get("body"))
    if given.get("disabled") is not True and not (prunes and method in _PRUNED):
        kind, body = _body(given, variables)
    if body and kind and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", kind))
    return PostmanRequest(method, _url(asked.get("url"), variables), headers, body or None)


def _headers(found: Any) -> list[tuple[str, str]]:
    if isinstance(found, str):
        lines = [line.partition(":") for line in found.splitlines() if line.strip()]
        return [(name.strip(), said.strip()) for name, _, said in lines]
    return [(name.strip(), said) for name, said in _fields(found) if name.strip()]


def _fields(found: Any) -> list[tuple[str, str]]:
    """Return keys and values, without those that are turned off."""
    return [
        (text(each.get("key")), text(each.get("value")))
        for each in map(table, listed(found))
        if each.get("disabled") is not True
    ]


def _url(found: Any, variables: PostmanVariables) -> str:
    parts = table(found)
    written = (found if isinstance(found, str) else text(parts.get("raw")) or _joined(parts)).strip()
    if not written:
        raise CannotCompose("without a URL")
    own = {
        text(each.get("key")): text(each.get("value")) for each in map(table, listed(parts.get("variable")))
    }

    def value(match: re.Match[str]) -> str:
        if match[1] not in own:
            return match[0]
        if not own[match[1]]:
            raise CannotCompose("with a part of the path that has no value", match[0])
        return own[match[1]]

    path, mark, query = written.partition("?")
    before, slashes, rest = path.rpartition("://")
    host, slash, segments = rest.partition("/")
    if slash:
        segments = _IN_PATH.sub(value, slash + segments)
    whole = variables.filled(f"{before}{slashes}{host}{segments}{mark}{query}")
    return whole if "://" in whole.partition("?")[0] else f"http://{whole}"


def _joined(parts: Mapping[str, Any]) -> str:
    """Return the URL of its parts, where it is not written as a whole."""
    host = parts.get("host")
    at = host if isinstance(host, str) else ".".join(map(text, listed(host)))
    path = parts.get("path")
    steps = (
        path.lstrip("/")
        if isinstance(path, str)
        else "/".join(
            text(each.get("value")) if isinstance(each, dict) else text(each) for each in listed(path)
        )
    )
    if not at:
        return ""
    port = f":{text(parts.get('port'))}" if parts.get("port") else ""
    query = "&".join(f"{name}={said}" for name, said in _fields(parts.get("query")))
    scheme = (text(parts.get("protocol")) or "http").removesuffix("://")
    return f"{scheme}://{at}{port}/{steps}{'?' if query else ''}{query}"


def _body(given: Mapping[str, Any], variables: PostmanVariables) -> tuple[str, str | None]:
    """Return the Content-Type that Postman adds, and the body. Raises CannotCompose."""
    mode = text(given.get("mode"))
    if mode == "raw":
        language = text(table(table(given.get("options")).get("raw")).get("language"))
        return _KINDS.get(language, "text/plain"), variables.filled(text(given.get("raw")))
    if mode == "urlencoded":
        fields = [(variables.filled(name), variables.filled(said)) for name, said in _fields(given.get(mode))]
        body = "&".join(f"{_quoted(name)}={_quoted(said)}" for name, said in fields)
        return "application/x-www-form-urlencoded", body
    if mode == "formdata":
        return _multipart(given.get(mode), variables)
    if mode == "graphql":
        return "application/json", _graphql(table(given.get(mode)), variables)
    if mode == "file" and given.get("file"):
        raise CannotCompose("with a file as its body")
    return "", None


def _quoted(written: str) -> str:
    return quote(written, safe="", errors="replace")


def _multipart(found: Any, variables: PostmanVariables) -> tuple[str, str]:
    parts = [each for each in map(table, listed(found)) if each.get("disabled") is not True]
    if any(text(each.get("type")) == "file" for each in parts):
        raise CannotCompose("with a multipart body, whose files are not in it")
    fields = list[multipart.Field]()
    for each in parts:
        name, value = (variables.filled(text(each.get(key))) for key in ("key", "value"))
        fields.append(multipart.Field(name, value, text(each.get("contentType"))))
    return multipart.write(fields)


def _graphql(given: Mapping[str, Any], variables: PostmanVariables) -> str:
    written = variables.filled(text(given.get("variables"))) or "{}"
    try:
        values = json.loads(written)
    except (ValueError, RecursionError):
        raise CannotCompose("with variables of GraphQL that are no JSON") from None
    asked: dict[str, Any] = {"query": variables.filled(text(given.get("query")))}
    if name := text(given.get("operationName")):
        asked["operationName"] = name
    return json.dumps(asked | {"variables": values}, ensure_ascii=False)


# Bytes of a collection that is read, which is kept in memory as a whole.
BYTES_MAX = 32 << 20
# Levels of folders within folders.
DEPTH_MAX = 50
_NO_AUTH = frozenset({"", "noauth"})


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests, folder by folder. Raises FileInvalid."""
    whole = _read(stream, file)
    collection = table(whole.get("collection")) if "item" not in whole else whole
    if "item" not in collection or "info" not in collection:
        remedy = "export it from Postman as Collection v2.1"
        raise FileInvalid([Problem(file, "", "is no collection of Postman: it has no info and item", remedy)])
    yield from _Folders(left_out).requests(collection, PostmanVariables(ChainMap()), "", 0)


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
    """Reads folders within folders. `left_out` collects what is left out."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out

    def requests(
        self, folder: Mapping[str, Any], variables: PostmanVariables, auth: str, depth: int
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

    def _one(self, item: Mapping[str, Any], variables: PostmanVariables, auth: str) -> Iterator[Recorded]:
        self._scripts(item)
        given = item["request"]
        asked = {"url": given} if isinstance(given, str) else table(given)
        name = text(item.get("name"))
        prunes = table(item.get("protocolProfileBehavior")).get("disableBodyPruning") is not True
        try:
            composed = compose(asked, variables, prunes)
        except CannotCompose as why:
            self._left_out.add(str(why), f"{name} ({why.part})" if why.part else name)
            return
        if _auth(asked, auth) not in _NO_AUTH:
            self._left_out.header("Authorization")
        found = repeatable.repeat(
            composed.method,
            composed.url,
            composed.headers,
            composed.body,
            self._left_out,
            typed=True,
            is_whole=True,
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


POSTMAN = Format("postman", requests, keys=shape.keys("info item", "collection/info collection/item"))
