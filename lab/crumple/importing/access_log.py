"""Access logs, line by line: each entry that holds all of its request becomes one.

Each line may have another format: one of `log_formats`, JSON, W3C's or logfmt.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import ijson
from ijson.common import JSONError

from crumple.errors import FileInvalid, Problem
from crumple.importing import log_formats, repeatable
from crumple.importing.import_format import Format, Sample, parsed_table
from crumple.importing.json_stream import Shortened, TooDeep
from crumple.importing.json_values import table
from crumple.importing.log_formats import COLORS, FORMATS, REQUEST_LINE, LogEntry, LogFormat, split_prefix
from crumple.importing.recorded import NAMES_MAX, LeftOut, Recorded, list_names
from crumple.importing.repeatable import Unplaced, is_host
from crumple.importing.shape import begins_array
from crumple.importing.source import lines

FIELDS = "#Fields:"
# A line may hold a line of another program, as of one that collects logs; levels that are looked into.
_DEPTH_MAX = 3
# Letters before an entry that are searched for its host.
_BEFORE_LETTERS = 1024
_WITH_SPACE = re.compile(r"[A-Za-z]{3,20} /.* HTTP/[\d.]{1,4}")
_ESCAPED = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|([\\"]))')
_WITH_PORT = re.compile(r"[^\s,]+:\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_ADDRESS = re.compile(r"[\d.]{7,15}|[\da-fA-F:]*:[\da-fA-F:.]+")
# Only CloudFront has it, and it encodes what it writes.
_OF_CLOUDFRONT = "x-edge-location"

NO_HTTP, SPACED = LogEntry("", ""), LogEntry("", " ")


class LogLines:
    """Reads the lines of one log, one after the other."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        # How many entries each service has, if lines name the service that wrote them.
        self.services = Counter[str]()

    def entry(self, line: str) -> LogEntry | None:
        """Return the request of a line; None: it is about something else.

        NO_HTTP: it is no HTTP; SPACED: its URL has a space, so it is not known where the URL ends.
        """
        service, bare = split_prefix(COLORS.sub("", line) if "\x1b" in line else line)
        if bare.startswith("#"):
            if bare.startswith(FIELDS):
                self._fields = bare.removeprefix(FIELDS).split()
            return None
        found = (self._of_w3c(bare) if self._fields else None) or self._of_line(bare, 0)
        if (
            found
            and found.method
            and service
            and (service in self.services or len(self.services) < NAMES_MAX)
        ):
            self.services[service] += 1
        return found

    @property
    def has_fields(self) -> bool:
        """Whether a line named the fields of those behind it."""
        return "cs-method" in self._fields

    def _of_line(self, line: str, depth: int) -> LogEntry | None:
        if line.endswith("}") and (begin := line.find("{")) >= 0:
            found = self._of_json(line[begin:], depth)
            if found is not None:
                return found
        for each in FORMATS:
            if each.holds in line and (match := each.pattern.search(line)):
                return _of_match(match, each)
        if "ethod=" in line:
            return log_formats.entry_of(log_formats.pairs_of(line))
        return None

    def _of_json(self, written: str, depth: int) -> LogEntry | None:
        record = parsed_table(written)
        return None if record is None else self.of_record(record, depth)

    def of_record(self, record: Mapping[str, Any], depth: int = 0) -> LogEntry | None:
        """Return the request of a record of JSON, as `entry` does."""
        if found := log_formats.entry_of(record):
            return found
        inner = log_formats.inner_of(record)
        return self._of_line(split_prefix(inner)[1], depth + 1) if inner and depth < _DEPTH_MAX else None

    def _of_w3c(self, line: str) -> LogEntry | None:
        values = line.split("\t") if "\t" in line else line.split(" ")
        if len(values) != len(self._fields):
            return None
        record = dict(zip(self._fields, values, strict=True))
        if _OF_CLOUDFRONT in record:
            record = {name: unquote(said, errors="replace") for name, said in record.items()}
        return log_formats.entry_of(record)


def _of_match(match: re.Match[str], format_: LogFormat) -> LogEntry:
    found = match.groupdict()
    method, url = found.get("method"), found.get("url")
    if (request := found.get("request")) is not None:
        asked = REQUEST_LINE.fullmatch(_ESCAPED.sub(_unescaped, request))
        if asked is None:
            return SPACED if _WITH_SPACE.fullmatch(request) else NO_HTTP
        method, url = asked[1], asked[2]
    host = found.get("host") or ""
    if format_.has_host_before:
        host = _host_before(match.string[max(0, match.start() - _BEFORE_LETTERS) : match.start()])
    return LogEntry(
        (method or "").upper(),
        url or "",
        "" if host == "-" else host,
        status=log_formats.status_of(found.get("status") or ""),
    )


def _host_before(before: str) -> str:
    """Return the host that stands before client, identity and user; empty if there is none."""
    words = [word for word in before.split() if not _TIME.match(word)]
    if len(words) < 4:
        return ""
    if _WITH_PORT.fullmatch(words[0]):
        return words[0]
    is_name = "." in words[0] and is_host(words[0]) and not _ADDRESS.fullmatch(words[0])
    return words[0] if is_name and _ADDRESS.fullmatch(words[1]) else ""


def _unescaped(found: re.Match[str]) -> str:
    """Return what an escape stands for, percent-encoded where it is no letter of a URL."""
    return f"%{found[1]}" if found[1] else found[2]


# A log holds no bodies.
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
# Hosts whose scheme is kept, so that memory does not grow with the log.
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
        named = f"the lines are of {len(read.services):,} services, {list_names(read.services)}"
        twice = "a request that one of them passes on to another is counted in both"
        left_out.note(f"{named}; {twice}: import the log of one alone")


def _entries(read: LogLines, stream: IO[bytes], file: Path) -> Iterator[tuple[str, LogEntry | None]]:
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


def _one(entry: LogEntry, where: str, schemes: Mapping[str, str], left_out: LeftOut) -> Recorded | None:
    shown = f"{entry.method} in {where}"
    if entry is NO_HTTP or (entry.method, entry.url) == ("PRI", "*"):
        left_out.add("other than HTTP", where)
    elif entry is SPACED:
        left_out.add("with a space in its URL, which HTTP does not allow", where)
    elif entry.status is not None and entry.status <= 0:
        left_out.add(repeatable.UNANSWERED, shown)
    elif entry.status == repeatable.SWITCHED:
        left_out.add(repeatable.UPGRADED, shown)
    elif entry.scheme in ("ws", "wss"):
        left_out.add(repeatable.WEBSOCKET, shown)
    elif entry.method in _WITH_BODY:
        left_out.add("whose body a log does not hold", shown)
    elif not entry.url.startswith("/"):
        return repeatable.repeat(entry.method, entry.url, (), None, left_out, status=entry.status)
    else:
        return _of_path(entry, entry.scheme or schemes.get(entry.host, ""), left_out)
    return None


def _of_path(entry: LogEntry, scheme: str, left_out: LeftOut) -> Recorded | None:
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
    return repeatable.split_url(f"{scheme}://{host}")[0]


def _begins_with_entry(sample: Sample) -> bool:
    return not sample.is_json and _has_entry(sample.first_line)


def _may_be(sample: Sample) -> bool:
    return _has_entry(sample.text) or _is_array(sample.text.lstrip())


def _has_entry(text: str) -> bool:
    """Whether a line of the text is an entry of a log, or names the fields of those that follow."""
    read = LogLines()
    return any(read.entry(line.strip()) is not None or read.has_fields for line in io.StringIO(text))


def _is_array(text: str) -> bool:
    """Whether the text is an array whose first record is an entry of a log."""
    if not text.startswith("["):
        return False
    try:
        record, _ = json.JSONDecoder().raw_decode(text[1:].lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and LogLines().of_record(record) is not None


ACCESS_LOG = Format("access-log", requests, sniff=_begins_with_entry, may_be=_may_be)
