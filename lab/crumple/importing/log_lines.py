"""Lines of an access log → entries, in whichever format each line is: one of a table, JSON, W3C's or logfmt.

Pure.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from crumple.importing import log_fields
from crumple.importing.host_names import is_host
from crumple.importing.log_fields import Entry
from crumple.importing.log_formats import COLORS, FORMATS, LogFormat, split_prefix
from crumple.importing.recorded import NAMES_MAX

FIELDS = "#Fields:"
# A line that holds a line that holds a line.
_DEPTH_MAX = 3
# Of what stands before an entry.
_BEFORE_LETTERS = 1024
_REQUEST = re.compile(r"([A-Za-z]{3,20}) (\S+)(?: (?:HTTP/)?[\d.]{1,4})?")
_WITH_SPACE = re.compile(r"[A-Za-z]{3,20} /.* HTTP/[\d.]{1,4}")
_ESCAPED = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|([\\"]))')
_WITH_PORT = re.compile(r"[^\s,]+:\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_ADDRESS = re.compile(r"[\d.]{7,15}|[\da-fA-F:]*:[\da-fA-F:.]+")
# Only CloudFront has it, and it encodes what it writes.
_OF_CLOUDFRONT = "x-edge-location"

NO_HTTP, SPACED = Entry("", ""), Entry("", " ")


class LogLines:
    """Reads the lines of one log, one after the other."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        # How many entries each service has, if lines name the service that wrote them.
        self.services = Counter[str]()

    def entry(self, line: str) -> Entry | None:
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

    def _of_line(self, line: str, depth: int) -> Entry | None:
        if line.endswith("}") and (begin := line.find("{")) >= 0:
            found = self._of_json(line[begin:], depth)
            if found is not None:
                return found
        for each in FORMATS:
            if each.holds in line and (match := each.pattern.search(line)):
                return _of_match(match, each)
        if "ethod=" in line:
            return log_fields.entry_of(log_fields.pairs_of(line))
        return None

    def _of_json(self, written: str, depth: int) -> Entry | None:
        try:
            record = json.loads(written)
        # RecursionError: it is nested too deep.
        except (ValueError, RecursionError):
            return None
        return self.of_record(record, depth) if isinstance(record, dict) else None

    def of_record(self, record: Mapping[str, Any], depth: int = 0) -> Entry | None:
        """Return the request of a record of JSON, as `entry` does."""
        if found := log_fields.entry_of(record):
            return found
        inner = log_fields.inner_of(record)
        return self._of_line(split_prefix(inner)[1], depth + 1) if inner and depth < _DEPTH_MAX else None

    def _of_w3c(self, line: str) -> Entry | None:
        values = line.split("\t") if "\t" in line else line.split(" ")
        if len(values) != len(self._fields):
            return None
        record = dict(zip(self._fields, values, strict=True))
        if _OF_CLOUDFRONT in record:
            record = {name: unquote(said, errors="replace") for name, said in record.items()}
        return log_fields.entry_of(record)


def _of_match(match: re.Match[str], format_: LogFormat) -> Entry:
    found = match.groupdict()
    method, url = found.get("method"), found.get("url")
    if (request := found.get("request")) is not None:
        asked = _REQUEST.fullmatch(_ESCAPED.sub(_unescaped, request))
        if asked is None:
            return SPACED if _WITH_SPACE.fullmatch(request) else NO_HTTP
        method, url = asked[1], asked[2]
    host = found.get("host") or ""
    if format_.has_host_before:
        host = _host_before(match.string[max(0, match.start() - _BEFORE_LETTERS) : match.start()])
    return Entry(
        (method or "").upper(),
        url or "",
        "" if host == "-" else host,
        status=log_fields.status_of(found.get("status") or ""),
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
