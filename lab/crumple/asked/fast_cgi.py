"""One request of FastCGI as bytes, and the answer's text. Pure. As much as a status page needs."""

import struct
from collections.abc import Mapping

# Version, type, request, length of content and of padding, reserved.
_HEAD = struct.Struct(">BBHHBx")
_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6
_RESPONDER = struct.pack(">HB5x", 1, 0)
_SHORT = 0x7F


def request(parameters: Mapping[str, str]) -> bytes:
    """A request without a body; it asks to close the connection after the answer."""
    pairs = b"".join(_pair(name.encode(), value.encode()) for name, value in parameters.items())
    parts = ((_BEGIN, _RESPONDER), (_PARAMS, pairs), (_PARAMS, b""), (_STDIN, b""))
    return b"".join(_HEAD.pack(1, kind, 1, len(content), 0) + content for kind, content in parts)


def is_whole(read: bytes) -> bool:
    """Whether the answer has ended."""
    return any(kind == _END for kind, _ in _records(read))


def body(read: bytes) -> tuple[int, str]:
    """The status and the text of an answer."""
    out = b"".join(content for kind, content in _records(read) if kind == _STDOUT)
    head, _, text = out.partition(b"\r\n\r\n")
    lines = [line for line in head.decode("latin-1").splitlines() if line.lower().startswith("status:")]
    status = lines[0].split()[1] if lines and len(lines[0].split()) > 1 else "200"
    return int(status) if status.isdecimal() else 0, text.decode("utf-8", "replace")


def _pair(name: bytes, value: bytes) -> bytes:
    return _length(name) + _length(value) + name + value


def _length(text: bytes) -> bytes:
    return bytes([len(text)]) if len(text) <= _SHORT else struct.pack(">I", len(text) | 1 << 31)


def _records(read: bytes) -> list[tuple[int, bytes]]:
    """The whole records that have come so far, each with its type."""
    found = []
    at = 0
    while at + _HEAD.size <= len(read):
        _, kind, _, length, padding = _HEAD.unpack_from(read, at)
        begins = at + _HEAD.size
        if begins + length > len(read):
            break
        found.append((kind, bytes(read[begins : begins + length])))
        at = begins + length + padding
    return found
