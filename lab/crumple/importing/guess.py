"""Which format a file has, from its first bytes."""

import json
import re
from pathlib import Path

from crumple.errors import FileInvalid, NotFound, Problem
from crumple.importing import access_log
from crumple.parsing import did_you_mean

FORMATS = ("har", "openapi", "postman", "urls", "vegeta", "vegeta-json", "access-log")
_KEY = re.compile(r'"(log|openapi|swagger)"\s*:')
_YAML = re.compile(r"^[\"']?(openapi|swagger)[\"']?\s*:", re.MULTILINE)
_TARGET = re.compile(r"[A-Z]+ +https?://\S+")
_URL = re.compile(r"(https?://|/)\S*")


def format_of(head: bytes, named: str | None, file: Path) -> str:
    """Return the format: as `named`, or guessed. Raises NotFound, FileInvalid."""
    if named is not None:
        if named not in FORMATS:
            raise NotFound(f'--from {named}: no format is called "{named}"', did_you_mean(named, FORMATS))
        return named
    found = _guessed(head.decode(errors="replace"))
    if found is None:
        remedy = f"say what it is: --from {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise FileInvalid([Problem(file, "", "has no format that is recognised", remedy)])
    return found


def _guessed(text: str) -> str | None:
    written = (line.strip() for line in text.splitlines())
    first = next((line for line in written if line and not line.startswith("#")), "")
    if text.lstrip().startswith("{"):
        if _is_target(first):
            return "vegeta-json"
        key = _KEY.search(text)
        return "har" if key and key[1] == "log" else "openapi"
    if access_log.LINE.match(first):
        return "access-log"
    if _TARGET.fullmatch(first):
        return "vegeta"
    if _URL.fullmatch(first):
        return "urls"
    return "openapi" if _YAML.search(text) else None


def _is_target(line: str) -> bool:
    try:
        found = json.loads(line)
    # RecursionError: it is nested too deep.
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "url" in found
