"""Access logs in the common and the combined format, as nginx and Apache write them, also with the host."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from crumple.importing import repeatable
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.repeatable import Unplaced
from crumple.importing.source import lines

# "[host:port ]client ident user [time] "request" status bytes…"
LINE = re.compile(
    r'(?:(\S+:\d+) )?\S+ \S+ [^\[]{1,256}\[[^\]]{1,64}\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-)(?: |$)'
)
_REQUEST = re.compile(r"([A-Z]+) (\S+)(?: HTTP/[\d.]+)?")
_ESCAPED = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|([\\"]))')
# A log holds no bodies.
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests of a log, line by line."""
    for number, line in lines(stream):
        found = LINE.match(line)
        if found is None:
            if line:
                left_out.add("in lines without an entry of a log", f"line {number}")
            continue
        asked = _REQUEST.fullmatch(_ESCAPED.sub(_unescaped, found[2]))
        if asked is None:
            left_out.add("other than HTTP", f"line {number}")
        elif asked[1] in _WITH_BODY:
            left_out.add("whose body a log does not hold", f"{asked[1]} in line {number}")
        elif (one := _one(asked[1], asked[2], found[1], int(found[3]), left_out)) is not None:
            yield one


def _one(method: str, asked: str, host: str | None, status: int, left_out: LeftOut) -> Recorded | None:
    if not asked.startswith("/"):
        return repeatable.repeated(method, asked, (), None, left_out, status=status)
    path, mark, query = asked.partition("?")
    try:
        return Recorded(_origin(host), method, repeatable.path_of(path, query if mark else None), status=status)
    except Unplaced as why:
        left_out.add(str(why), f"{method} {host}{path}")
        return None


def _origin(host: str | None) -> str:
    if host is None:
        return ""
    scheme = "https" if host.endswith(":443") else "http"
    return repeatable.placed(f"{scheme}://{host}")[0]


def _unescaped(found: re.Match[str]) -> str:
    """Return what an escape stands for, percent-encoded where it is no letter of a URL."""
    return f"%{found[1]}" if found[1] else found[2]
