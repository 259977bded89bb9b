"""A request of a spec as bytes, for connections that are not the engine's; what varies has one value."""

import re
from pathlib import Path

from crumple.contract import BodyPartSpec, RequestSpec
from crumple.errors import CrumpleError
from crumple.load.varying import PLACE

# Their length is written though they have no body (RFC 9110, 8.6).
_FORESEE_CONTENT = ("POST", "PUT", "PATCH")
# What a template holds beside text. A brace that stands for itself is doubled.
_BRACE_OR_PLACE = re.compile(rf"\{{\{{|{PLACE.pattern}")


def whole(host: str, request: RequestSpec) -> bytes:
    """Return all of the request. `host`: where it names none. Raises CrumpleError if a file of it is gone."""
    body = _body(request)
    length = f"Content-Length: {len(body)}\r\n" if body or request.method in _FORESEE_CONTENT else ""
    return head(host, request) + length.encode() + b"\r\n" + body


def head(host: str, request: RequestSpec) -> bytes:
    """Return its beginning, after which the server waits for the rest. Raises as `whole` does."""
    given = [(name.encode(), _filled(request, value)) for name, value in request.headers]
    if all(name.lower() != b"host" for name, _ in given):
        given.insert(0, (b"Host", host.encode()))
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), _filled(request, request.path))]
    lines += [b"%s: %s" % each for each in given]
    return b"".join(line + b"\r\n" for line in lines)


def _body(request: RequestSpec) -> bytes:
    if request.body is not None:
        return _filled(request, request.body)
    if request.body_file is not None:
        return _read(request.body_file)
    return b"".join(_part(request, part) for part in request.body_parts or ())


def _part(request: RequestSpec, part: BodyPartSpec) -> bytes:
    return _read(part.file) if part.file is not None else _filled(request, part.text or "")


def _filled(request: RequestSpec, text: str) -> bytes:
    """Return the text with one value for each place. What a value holds is sent as it is."""
    if not request.varies:
        return _bytes(text)
    filled, end = [], 0
    for found in _BRACE_OR_PLACE.finditer(text):
        filled += [_bytes(text[end : found.start()]), _value(found)]
        end = found.end()
    return b"".join([*filled, _bytes(text[end:])])


def _value(found: re.Match[str]) -> bytes:
    if found[1] is None:
        return b"{"
    if found[1] == "line":
        return _first_line(found[2])
    return (found[2] or "1").partition("-")[0].encode()


def _first_line(file: str) -> bytes:
    """Return the first line that is not empty. Lines are bytes, which end with LF or CR LF."""
    try:
        with Path(file).open("rb") as read:
            lines = (line.removesuffix(b"\n").removesuffix(b"\r") for line in read)
            return next((line for line in lines if line), b"")
    except OSError as error:
        raise _unread(file, error) from None


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise _unread(file, error) from None


def _unread(file: str, error: OSError) -> CrumpleError:
    message = f"cannot read {file}, which a request names: {error.strerror}"
    return CrumpleError(message, "leave it there until the diagnosis is over")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
