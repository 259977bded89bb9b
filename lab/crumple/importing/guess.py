"""Which format a file has, by its structure: the keys at the top of a document, or the form of its lines."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

from crumple.errors import FileInvalid, NotFound, Problem
from crumple.importing import other_files, shape
from crumple.importing.log_lines import LogLines
from crumple.importing.shape import Shape
from crumple.importing.source import HEAD_BYTES, LINE_BYTES, Opened
from crumple.importing.targets import TARGET, is_of_targets
from crumple.parsing import did_you_mean

FORMATS = ("har", "openapi", "postman", "urls", "vegeta", "vegeta-json", "access-log")
# Keys that only documents of this format have.
_DOCUMENTS = (
    ("har", frozenset({("log", "entries")})),
    ("openapi", frozenset({("openapi",)})),
    ("openapi", frozenset({("swagger",)})),
    ("postman", frozenset({("info",), ("item",)})),
    ("postman", frozenset({("collection", "info"), ("collection", "item")})),
)
# Those of a target of vegeta.
_OF_TARGET = frozenset({"method", "url", "header", "body"})
_FLOW_YAML = re.compile(r"\{\s*[\"']?(?:openapi|swagger)[\"']?\s*:")
_AT_PORT = r"(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])?:\d{1,5}(?:[/?]\S*)?"
_URL = re.compile(rf"https?://\S*|/\S*|{_AT_PORT}|(?:[\w-]{{1,63}}\.){{1,10}}[A-Za-z]{{2,63}}/\S*")


def format_of(opened: Opened, named: str | None, file: Path) -> str:
    """Return the format: as `named`, or by the structure. Raises NotFound, FileInvalid."""
    if named is not None:
        if named not in FORMATS:
            raise NotFound(f'--from {named}: no format is called "{named}"', did_you_mean(named, FORMATS))
        return named
    text = opened.head.decode(errors="replace")
    begins = text.lstrip()
    if begins.startswith("{") or re.match(r"\[\s*\{", begins):
        return _of_json(opened, begins, file)
    return _of_lines(opened, text, file)


def _of_json(opened: Opened, begins: str, file: Path) -> str:
    # Of JSON lines, and of a short document, the first line is all of a table.
    first = begins.partition("\n")[0] if "\n" in begins or len(opened.head) < HEAD_BYTES else ""
    record = _table(first)
    if record is not None and "url" in record and set(record) <= _OF_TARGET:
        return "vegeta-json"
    found = shape.of_json(opened.ahead(), _document) if record is None else shape.of_table(record)
    if kind := _document(found):
        return kind
    if other := other_files.of_shape(found):
        raise other_files.refused(file, other)
    if _is_log(begins) or _is_log_array(begins):
        return "access-log"
    if not found and _FLOW_YAML.match(begins):
        return "openapi"
    keys = " ".join(", ".join(f'"{way[0]}"' for way in sorted(found) if len(way) == 1).split())[:200]
    raise _unknown(file, f" (JSON with {keys})" if keys else "")


def _of_lines(opened: Opened, text: str, file: Path) -> str:
    # The last one may be cut off.
    written = text.splitlines()[: -1 if len(opened.head) >= HEAD_BYTES else None]
    first = next((line.strip() for line in written if line.strip() and not line.startswith("#")), "")
    if TARGET.fullmatch(first) and is_of_targets(written):
        return "vegeta"
    if _is_log(first):
        return "access-log"
    if other := other_files.of_text(text):
        raise other_files.refused(file, other)
    if _is_log(text):
        return "access-log"
    if TARGET.fullmatch(first):
        return "vegeta"
    if _URL.fullmatch(first):
        return "urls"
    found = shape.of_yaml(_decoded(opened), _document)
    if kind := _document(found):
        return kind
    if other := other_files.of_shape(found):
        raise other_files.refused(file, other)
    raise _unknown(file, "")


def _document(found: Shape) -> str:
    """Return the format that has these keys; empty: none, or not yet."""
    return next((kind for kind, keys in _DOCUMENTS if keys <= found), "")


def _decoded(opened: Opened) -> Iterator[str]:
    ahead = opened.ahead()
    return (line.decode(errors="replace") for line in iter(lambda: ahead.readline(LINE_BYTES), b""))


def _is_log(text: str) -> bool:
    """Whether a line of the text is an entry of a log, or names the fields of those that follow."""
    read = LogLines()
    return any(read.entry(line.strip()) is not None or read.has_fields for line in io.StringIO(text))


def _is_log_array(begins: str) -> bool:
    """Whether the first record of an array is an entry of a log."""
    if not begins.startswith("["):
        return False
    try:
        record, _ = json.JSONDecoder().raw_decode(begins[1:].lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and LogLines().of_record(record) is not None


def _table(line: str) -> dict[str, object] | None:
    try:
        found = json.loads(line)
    # RecursionError: it is nested too deep.
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _unknown(file: Path, what: str) -> FileInvalid:
    remedy = f"say what it is: --from {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    return FileInvalid([Problem(file, "", f"has no format that is recognised{what}", remedy)])
