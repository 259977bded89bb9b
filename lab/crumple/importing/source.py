"""The file to import: its first bytes, by which its format is guessed, and then all of it, as a stream."""

import gzip
import io
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from crumple.errors import FileInvalid, Problem

# Bytes at the beginning of a file, by which its format is known if it is no document.
HEAD_BYTES = 64 << 10
# Bytes that may be read, and are then kept, to know the structure of a document: as many as one of OpenAPI
# has.
AHEAD_BYTES = 32 << 20
# Bytes of a line. A longer one is no URL, target or entry of a log, and the rest counts as a line of its own.
LINE_BYTES = 1 << 20
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a]")
# What begins so, and what to do about it.
_BINARY = (
    (b"PK\x03\x04", "is a zip, such as a session of Fiddler (.saz)", "unpack it, or export it as HAR"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd", "decompress it with unzstd"),
    (b"BZh", "is compressed by bzip2", "decompress it with bunzip2"),
    (b"\xfd7zXZ\x00", "is compressed by xz", "decompress it with unxz"),
    *(
        (magic, "is a capture of packets", "record a HAR instead; it holds requests")
        for magic in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x0a\x0d\x0d\x0a", b"\x4d\x3c\xb2\xa1")
    ),
)


class _Counted(io.RawIOBase):
    """A stream that calls `read` with how many bytes each read gave."""

    def __init__(self, of: IO[bytes], read: Callable[[int], None]) -> None:
        self._of, self._read_bytes = of, read

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        part = self._of.read(len(room))
        room[: len(part)] = part
        self._read_bytes(len(part))
        return len(part)


class _Whole(io.RawIOBase):
    """The first bytes of a stream, which have been read, and then the rest of it."""

    def __init__(self, first: bytes | bytearray, rest: IO[bytes]) -> None:
        self._first, self._rest = io.BytesIO(first), rest

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        part = self._first.read(len(room)) or self._rest.read(len(room))
        room[: len(part)] = part
        return len(part)


class Opened:
    """A file while it is open. `head`: its first bytes."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self.head = head
        self._kept, self._rest = bytearray(head), stream

    def ahead(self) -> IO[bytes]:
        """Return the beginning of the file, AHEAD_BYTES at most, as a stream; what is read of it is kept."""
        return cast(IO[bytes], io.BufferedReader(_Ahead(self), HEAD_BYTES))

    def whole(self) -> IO[bytes]:
        """Return all of the file as a stream. Nothing can be read ahead then."""
        kept, self._kept = self._kept, bytearray()
        return cast(IO[bytes], io.BufferedReader(_Whole(kept, self._rest), HEAD_BYTES))

    def part(self, begin: int, length: int) -> bytes:
        """Return bytes of the beginning, and keep what is read for them; empty at its end."""
        missing = min(begin + length, AHEAD_BYTES) - len(self._kept)
        if missing > 0:
            self._kept += self._rest.read(missing)
        return bytes(self._kept[begin : begin + length])


class _Ahead(io.RawIOBase):
    """The beginning of a file, which stays to be read."""

    def __init__(self, of: Opened) -> None:
        self._of, self._at = of, 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        part = self._of.part(self._at, len(room))
        room[: len(part)] = part
        self._at += len(part)
        return len(part)


@contextmanager
def open_file(file: Path, read: Callable[[int], None]) -> Iterator[Opened]:
    """Open a file, "-" for stdin. Raises FileInvalid.

    A file compressed by gzip is decompressed. `read` is called with the number of its bytes that
    each read gave.
    """
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as whole:
            raw = io.BufferedReader(_Counted(whole, read), HEAD_BYTES)
            stream: IO[bytes] = cast(IO[bytes], raw)
            head = _head(stream)
            if head.startswith(_GZIP):
                packed = io.BufferedReader(_Whole(head, stream))
                stream = cast(IO[bytes], gzip.GzipFile(fileobj=packed))
                head = _head(stream)
            _check(head, file)
            yield Opened(head.removeprefix(_BOM), stream)
    except FileNotFoundError:
        raise FileInvalid([Problem(file, "", "does not exist", "check the path")]) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise FileInvalid([Problem(file, "", "is cut off or no gzip", "decompress it with gunzip")]) from None
    except OSError as error:
        why = f"cannot be read: {error.strerror or error}"
        raise FileInvalid([Problem(file, "", why, "check the path")]) from None


def bytes_of(file: Path) -> int | None:
    """Return how long a file is; None if that is not known, as of stdin."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _head(stream: IO[bytes]) -> bytes:
    parts: list[bytes] = []
    while (missing := HEAD_BYTES - sum(map(len, parts))) > 0 and (part := stream.read(missing)):
        parts.append(part)
    return b"".join(parts)


def _check(head: bytes, file: Path) -> None:
    if not head.strip():
        raise FileInvalid([Problem(file, "", "is empty", "name a file with requests")])
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileInvalid([Problem(file, "", "is UTF-16", "save it as UTF-8")])
    for magic, what, remedy in _BINARY:
        if head.startswith(magic):
            raise FileInvalid([Problem(file, "", what, remedy)])
    if _CONTROL.search(head[:1024]):
        raise FileInvalid([Problem(file, "", "is no text", "name a file with requests")])


def lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Return the lines with their numbers, from 1 on, without blank ends."""
    for number, line in enumerate(iter(lambda: stream.readline(LINE_BYTES), b""), 1):
        yield number, line.decode(errors="replace").strip()
