"""Names of results → names of pages: safe as files and in links on every system, and different. Pure."""

import hashlib
import re
from typing import Literal

FOLDERS = {"result": "results", "run": "runs", "series": "series", "compare": "compare"}
# The longest beginning of a name that stays in a page's name: two of them, as a comparison has, and a digest
# fit into the 143 bytes that an encrypted file system leaves a name.
NAME_MAX = 56
# Hexadecimal digits of the digest that tells changed names apart.
DIGITS = 10
# Small letters only, since some systems do not tell them from capitals.
_SAFE = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{NAME_MAX - 1}}}")
_UNSAFE = re.compile(r"[^a-z0-9_-]+")
# Names that Windows gives to devices.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def page_of(name: str, kind: Literal["result", "run", "series"]) -> str:
    """Return the page of a result, a run or a series, relative to the site's folder."""
    return f"{FOLDERS[kind]}/{safe(name)}.html"


def page_of_two(before: str, after: str) -> str:
    """Return the page that compares two results."""
    return f"{FOLDERS['compare']}/{safe(before)}.{safe(after)}.html"


def page_of_several(number: int, after: str) -> str:
    """Return the page that compares a result with so many before it."""
    return f"{FOLDERS['compare']}/{number}~.{safe(after)}.html"


def safe(name: str) -> str:
    """Return a name as it is if it is safe, else its safe letters and a digest."""
    if _SAFE.fullmatch(name) and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGITS]
    left = _UNSAFE.sub("-", name.lower()).strip("-")[: NAME_MAX - DIGITS - 1]
    return f"{left}~{digest}"
