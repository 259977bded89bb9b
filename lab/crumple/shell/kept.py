"""The commands as data, kept in a file, so that a shell's Tab need not import them.

A wheel holds the file. In a checkout it is made anew when a source of the command line has changed since.
"""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import cast

from crumple import project
from crumple.shell.described import Described

CARRIED = project.PACKAGE / "commands.json"
_SOURCES = ("*.py", "*/*_flags.py", "commands/describe.py", "shell/described.py", "record/metrics.py")


def read() -> Described | None:
    """Return the data; None: there are none, or they are older than a source."""
    place = CARRIED if CARRIED.is_file() else _place()
    try:
        if place != CARRIED and place.stat().st_mtime_ns < _changed_ns():
            return None
        return cast(Described, json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def keep(described: Described) -> Described:
    """Write the data into the user's cache, if that can be written to, and return them."""
    place = _place()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(described), encoding="utf-8")
        unfinished.replace(place)
    return described


def _place() -> Path:
    """A file for each place where crumple is installed."""
    where = hashlib.sha256(os.fsencode(project.PACKAGE)).hexdigest()[:16]
    return project.cache() / "commands" / f"{where}.json"


def _changed_ns() -> int:
    files = (file for pattern in _SOURCES for file in project.PACKAGE.glob(pattern))
    return max(file.stat().st_mtime_ns for file in files)
