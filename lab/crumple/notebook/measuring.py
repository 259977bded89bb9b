"""Measure from Python: a command of crumple in a process of its own, whose JSON becomes a result.

In a process of its own a measurement takes no memory of the notebook, handles Ctrl-C as in a terminal, and is
the same as on the command line.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crumple import project
from crumple.errors import EXIT_USAGE, CrumpleError, UsageError
from crumple.load import load_flags
from crumple.notebook.kept_result import KeptResult
from crumple.results import selection

# What the result is read from, and who shows it, is not the caller's to choose.
_OWN = ("json", "quiet", "debug")


def open_result(what: str) -> KeptResult:
    """Return a stored result or run. Raises NotFound, NotStored."""
    return KeptResult(selection.one(what, project.runs(project.root())))


def measure(verb: str, what: str, flags: Mapping[str, Any]) -> KeptResult:
    """Run `crumple VERB WHAT` with the flags, and return its result, which is also stored.

    A flag is named as on the command line, with _ for -: `rate=500`, `duration="10s"`, `no_store=True`,
    `tag=["a", "b"]`. A number of a duration is seconds. Raises UsageError for wrong usage, and CrumpleError
    if there is no result. Ctrl-C ends the measurement and raises KeyboardInterrupt; what was measured before
    is stored, and marked.
    """
    arguments = [verb, what, *_arguments(flags), "--json", "--quiet"]
    child = subprocess.Popen(
        [sys.executable, "-m", "crumple", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    with child:
        try:
            out, err = child.communicate()
        except KeyboardInterrupt:
            # In a terminal it has got the signal already; two within a second count as one.
            child.send_signal(signal.SIGINT)
            child.communicate()
            raise
    if not out:
        error = UsageError if child.returncode == EXIT_USAGE else CrumpleError
        raise error(err.strip() or f"crumple {verb} ended with code {child.returncode}")
    document = json.loads(out)
    page = str(flags.get("html") or "")
    return KeptResult(selection.of_document(document), child.returncode, tuple(err.splitlines()), page)


def _arguments(flags: Mapping[str, Any]) -> Iterator[str]:
    """Yield the flags as they are typed. Raises UsageError."""
    for name, value in flags.items():
        if name in _OWN:
            raise UsageError(f"{name} is not for the Python API", "leave it out")
        flag = f"--{load_flags.long_name(name)}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                yield flag
            elif each is not None and each is not False:
                yield f"{flag}={each if isinstance(each, str | int | float | Path) else _refuse(flag, each)}"


def _refuse(flag: str, value: object) -> str:
    raise UsageError(f"{flag}: {value!r} cannot be typed", "give it text, a number, True, or a list of these")
