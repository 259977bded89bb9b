"""What a command finds when it is called: its standard streams, which may be closed, and their colours.

A result that took minutes must not be lost because a stream is closed or an encoding lacks a character.
"""

import codecs
import io
import os
import sys
import time
from typing import Literal

from crumple.errors import UsageError

# About when the command was called: its entry imports this first.
BEGAN_S = time.monotonic()
# What TERM names a terminal without colours.
DUMB = ("dumb", "unknown")


# What stands for a character that an encoding lacks: "?" would say that something is undecided.
PLAIN = {
    **dict(zip("✗✕●○◇↗·╌×÷−–‹›─│┤└░\u202f\u00a0\u2800µ", "xx*oo/--x/--<>-||+:   u", strict=True)),
    **{"✓": "ok", "→": "->", "…": "...", "±": "+-", "≤": "<=", "≥": ">=", "≠": "!="},
    **dict.fromkeys("▁▂▃▄", "."), **dict.fromkeys("▅▆▇█", "#"),
}  # fmt: skip
# The characters of which lines of dots are made: each holds eight dots.
_BRAILLE = range(0x2801, 0x2900)


def mend_streams() -> None:
    """Replace closed standard streams by /dev/null; characters that an encoding lacks become plain ones."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # open() returns the lowest free number, so no file or socket opened later gets this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or _nothing("r")
    sys.stdout = sys.stdout or _nothing("w")
    sys.stderr = sys.stderr or _nothing("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="crumple-plain")


def takes_colours() -> bool:
    """Whether stdout gets colours: it is a terminal that has some, or FORCE_COLOR is set; not with NO_COLOR.

    See no-color.org and force-color.org.
    """
    if os.environ.get("NO_COLOR"):
        return False
    dumb = os.environ.get("TERM", "").lower() in DUMB
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and not dumb)


def choose_colours(when: str) -> None:
    """Let all that is shown from now on have colours "always", "never", or on a terminal ("auto").

    Raises UsageError. It sets the variables that rich reads, too.
    """
    if when not in ("auto", "always", "never"):
        raise UsageError(f"--color {when}: that is not known", "write auto, always or never")
    if when == "never":
        os.environ["NO_COLOR"] = "1"
    elif when == "always":
        os.environ.pop("NO_COLOR", None)
        os.environ["FORCE_COLOR"] = "1"


def _as_plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    plain = (PLAIN.get(each, "#" if ord(each) in _BRAILLE else "?") for each in lacking)
    return "".join(plain), error.end


codecs.register_error("crumple-plain", _as_plain)


def _nothing(mode: Literal["r", "w"]) -> io.TextIOWrapper:
    # By name: if a stream was missing from the start, another file may have its number by now.
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123
