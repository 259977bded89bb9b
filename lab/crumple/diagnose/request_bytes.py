"""A request of a spec as bytes, for connections that are not the engine's; what varies has one value."""

import re
from pathlib import Path

from crumple.contract import BodyPart, Request
from crumple.load.request import PLACE

# Their length is written though they have no body (RFC 9110, 8.6).
_FORESEE_CONTENT = ("POST", "PUT", "PATCH")


def whole(host: str, request: Request) -> bytes:
    """Return all of the request. `host`: where it names none. Raises OSError if a file of it is gone."""
    body = _body(request)
    length = f"Content-Length: {len(body)}\r\n" if body or request.method in _FORESEE_CONTENT else ""
    return head(host, request) + length.encode() + b"\r\n" + body


def head(host: str, request: Request) -> bytes:
    """Return its beginning, after which the server waits for the rest."""
    given = [(name, _filled(request, value)) for name, value in request.headers]
    if all(name.lower() != "host" for name, _ in given):
        given.insert(0, ("Host", host))
    lines = [f"{request.method} {_filled(request, request.path)} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in given]
    return _bytes("".join(f"{line}\r\n" for line in lines))


def _body(request: Request) -> bytes:
    if request.body is not None:
        return _bytes(_filled(request, request.body))
    if request.body_file is not None:
        return Path(request.body_file).read_bytes()
    return b"".join(_part(request, part) for part in request.body_parts or ())


def _part(request: Request, part: BodyPart) -> bytes:
    if part.file is not None:
        return Path(part.file).read_bytes()
    return _bytes(_filled(request, part.text or ""))


def _filled(request: Request, text: str) -> str:
    if not request.varies:
        return text

    def value(found: re.Match[str]) -> str:
        if found[1] == "line":
            return next(line for line in Path(found[2]).read_text().splitlines() if line)
        return (found[2] or "1").partition("-")[0]

    # In a template a brace that stands for itself is doubled.
    return PLACE.sub(value, text).replace("{{", "{")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
