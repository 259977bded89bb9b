"""Targets of vegeta: as text, with headers and @FILE for a body behind each; or as JSON, one on each line."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from crumple.errors import FileInvalid, Problem
from crumple.importing import repeatable
from crumple.importing.import_format import Format, Sample
from crumple.importing.recorded import LeftOut, Recorded
from crumple.importing.source import lines
from crumple.load import header_lines

_TARGET = re.compile(r"([A-Z]+) +(\S+://\S+)")
# Keys that only a target of vegeta has.
_KEYS = frozenset({"method", "url", "header", "body"})
# A variable, or its value.
_OF_HTTP_FILE = re.compile(r"\{\{|^@[\w.-]+\s*=")


@dataclass
class _Target:
    method: str
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body_file: str | None = None

    def request(self, left_out: LeftOut) -> Recorded | None:
        return repeatable.repeat(
            self.method, self.url, self.headers, None, left_out, body_file=self.body_file, typed=True
        )


def _is_of_targets(sample: Sample) -> bool:
    """Return whether a target is first, and each line is one of targets, and not only of an .http file."""
    if not _may_be(sample):
        return False
    for line in map(str.strip, sample.lines):
        name, colon, _ = line.partition(":")
        is_header = bool(colon) and header_lines.TOKEN.fullmatch(name.strip()) is not None
        fits = line.startswith(("#", "@")) or _TARGET.fullmatch(line) or is_header
        if line and (not fits or _OF_HTTP_FILE.search(line)):
            return False
    return True


def _may_be(sample: Sample) -> bool:
    return _TARGET.fullmatch(sample.first_line) is not None


def _is_of_json(sample: Sample) -> bool:
    return sample.record is not None and "url" in sample.record and set(sample.record) <= _KEYS


def requests_of_text(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the targets of a text. Raises FileInvalid."""
    target: _Target | None = None
    for number, line in lines(stream):
        if not line or line.startswith("#"):
            continue
        begins = _TARGET.fullmatch(line)
        name, colon, value = line.partition(":")
        if begins:
            if target and (found := target.request(left_out)):
                yield found
            target = _Target(begins[1], begins[2])
        elif target and line.startswith("@"):
            # As vegeta does, from the folder in which the command runs.
            target.body_file = str(Path(line[1:]).absolute())
        elif target and colon and name.strip():
            target.headers.append((name.strip(), value.strip()))
        else:
            raise _wrong(
                file,
                number,
                "is neither a target, a header nor a body",
                "write GET http://HOST/PATH, and @FILE for a body",
            )
    if target and (found := target.request(left_out)):
        yield found


def requests_of_json(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield the targets of lines of JSON. Raises FileInvalid."""
    for number, line in lines(stream):
        if line:
            try:
                headers, method, url, raw = _parts(json.loads(line))
            # RecursionError: its JSON is nested too deep.
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise _wrong(
                    file, number, "is no target", 'write {"method": "GET", "url": "http://HOST/PATH"}'
                ) from None
            body = raw.decode(errors="replace")
            if found := repeatable.repeat(method, url, headers, body, left_out, typed=True):
                yield found


def _parts(target: Any) -> tuple[list[tuple[str, str]], str, str, bytes]:
    """Return headers, method, URL and body. Raises ValueError, TypeError, KeyError or AttributeError."""
    given = target.get("header") or {}
    headers = [(name, _text(value)) for name, values in given.items() for value in _values(values)]
    body = base64.b64decode(target.get("body") or "", validate=True)
    return headers, _text(target.get("method") or "GET"), _text(target["url"]), body


def _values(found: Any) -> list[Any]:
    if not isinstance(found, list | str):
        raise TypeError
    return [found] if isinstance(found, str) else found


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError
    return found


def _wrong(file: Path, line: int, what: str, remedy: str) -> FileInvalid:
    return FileInvalid([Problem(file, "", f"line {line} {what}", remedy)])


VEGETA = Format("vegeta", requests_of_text, sniff=_is_of_targets, may_be=_may_be)
VEGETA_JSON = Format("vegeta-json", requests_of_json, sniff=_is_of_json)
