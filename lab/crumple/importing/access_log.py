"""Access logs, line by line: each entry that holds all of its request becomes one."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import ijson
from ijson.common import JSONError

from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.har_answer import UNANSWERED
from crumple.importing.har_strings import Shortened, TooDeep
from crumple.importing.json_values import table
from crumple.importing.log_fields import Entry
from crumple.importing.log_lines import NO_HTTP, SPACED, LogLines
from crumple.importing.recorded import LeftOut, Recorded, listed
from crumple.importing.repeatable import Unplaced
from crumple.importing.shape import begins_array
from crumple.importing.source import lines

# A log holds no bodies.
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
HOSTS_MAX = 10_000
_NO_ENTRY = "in lines without an entry of a log"


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the requests of a log. Raises FileInvalid."""
    # By host: an entry that does not say its scheme has that of one that does.
    schemes: dict[str, str] = {}
    read = LogLines()
    for where, found in _entries(read, stream, file):
        if found is None:
            left_out.add(_NO_ENTRY, where)
            continue
        if found.scheme and len(schemes) < HOSTS_MAX:
            schemes.setdefault(found.host, found.scheme)
        if one := _one(found, where, schemes, left_out):
            yield one
    if len(read.services) > 1:
        named = f"the lines are of {len(read.services):,} services, {listed(read.services)}"
        twice = "a request that one of them passes on to another is counted in both"
        left_out.note(f"{named}; {twice}: import the log of one alone")


def _entries(read: LogLines, stream: IO[bytes], file: Path) -> Iterator[tuple[str, Entry | None]]:
    """Yield each entry, and where it is; None for what is none. Raises FileInvalid."""
    if begins_array(stream):
        try:
            for number, record in enumerate(ijson.items(Shortened(stream), "item", use_float=True), 1):
                yield f"record {number}", read.of_record(table(record))
        except (TooDeep, JSONError, ValueError):
            raise FileInvalid([Problem(file, "", "is cut off or no JSON", "save it again")]) from None
        return
    for number, line in lines(stream):
        found = read.entry(line)
        # What begins so is a comment of W3C's format.
        if line and not line.startswith("#"):
            yield f"line {number}", found


def _one(entry: Entry, where: str, schemes: Mapping[str, str], left_out: LeftOut) -> Recorded | None:
    shown = f"{entry.method} in {where}"
    if entry is NO_HTTP or (entry.method, entry.url) == ("PRI", "*"):
        left_out.add("other than HTTP", where)
    elif entry is SPACED:
        left_out.add("with a space in its URL, which HTTP does not allow", where)
    elif entry.status is not None and entry.status <= 0:
        left_out.add(UNANSWERED, shown)
    elif entry.status == repeatable.SWITCHED:
        left_out.add(repeatable.UPGRADED, shown)
    elif entry.scheme in ("ws", "wss"):
        left_out.add(repeatable.WEBSOCKET, shown)
    elif entry.method in _WITH_BODY:
        left_out.add("whose body a log does not hold", shown)
    elif not entry.url.startswith("/"):
        return repeatable.repeated(entry.method, entry.url, (), None, left_out, status=entry.status)
    else:
        return _of_path(entry, entry.scheme or schemes.get(entry.host, ""), left_out)
    return None


def _of_path(entry: Entry, scheme: str, left_out: LeftOut) -> Recorded | None:
    shown = f"{entry.method} {entry.host}{entry.url.partition('?')[0]}"
    try:
        origin = _origin(scheme, entry.host)
    except Unplaced as why:
        left_out.add(str(why), shown)
        return None
    asked = repeatable.path_alone(entry.url, shown, left_out)
    return Recorded(origin, entry.method, asked, status=entry.status)


def _origin(scheme: str, host: str) -> str:
    if not host:
        return ""
    scheme = scheme or ("https" if host.endswith(":443") else "http")
    return repeatable.placed(f"{scheme}://{host}")[0]
