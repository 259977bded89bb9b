"""How a command starts: Ctrl-C prints one line while the command line is imported; then streams and memory.

The import takes a tenth of a second, and `interrupt` handles signals only after it. During the import nothing
is open that needs cleanup. A result that took minutes must not be lost because a stream is closed or an
encoding lacks a character.
"""

import errno
import gc
import io
import os
import re
import resource
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

# About when the program was called.
BEGAN_S = time.monotonic()
INTERRUPTED = 130
# What TERM names a terminal without colours.
DUMB = ("dumb", "unknown")
# The engine waits with epoll_pwait2, which takes nanoseconds.
KERNEL_MIN = (5, 11)
COMPLETE = "--complete"
# So many more objects are made than freed before Python looks for garbage; its own number is 700.
GARBAGE_FROM = 50_000
# With less, the libraries that compute quantiles cannot be loaded.
ADDRESSED_MIN_BYTES = 192 << 20


def main() -> None:
    """Handle Ctrl-C, then import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    if why := unfit(sys.platform, os.uname().release):
        sys.exit(f"crumple: {why}")
    if sys.argv[1:2] == [COMPLETE]:
        # A shell waits for this at each Tab: without the command line, which takes longer to import.
        sys.exit(_complete(sys.argv[2:]))
    # What is imported stays, so looking through it for garbage only takes time.
    gc.set_threshold(GARBAGE_FROM)
    from crumple import cli

    cli.main()


def _complete(arguments: list[str]) -> int:
    from crumple.shell import complete, kept

    mend_streams()
    known = kept.read()
    if known is None:
        from crumple import cli

        known = kept.keep(cli.described())
    return complete.main(known, arguments)


def unfit(platform: str, kernel: str) -> str:
    """Why crumple cannot run on a platform with that kernel release; empty if it can."""
    needed = f"Linux {'.'.join(map(str, KERNEL_MIN))}"
    if platform != "linux":
        return f"needs {needed} or later, and this is {platform}; run it on Linux"
    numbers = re.match(r"(\d+)\.(\d+)", kernel)
    if numbers and (int(numbers[1]), int(numbers[2])) < KERNEL_MIN:
        return f"needs {needed} or later, and this kernel is {kernel}; use a newer one"
    return ""


def _end(_number: int, _frame: FrameType | None) -> None:
    # No exception: an import in progress could treat it as its own failure.
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def mend_streams() -> None:
    """Replace closed standard streams by /dev/null; characters that an encoding lacks become "?"."""
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
            stream.reconfigure(errors="replace")


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
    from crumple.errors import UsageError

    if when not in ("auto", "always", "never"):
        raise UsageError(f"--color {when}: that is not known", "write auto, always or never")
    if when == "never":
        os.environ["NO_COLOR"] = "1"
    elif when == "always":
        os.environ.pop("NO_COLOR", None)
        os.environ["FORCE_COLOR"] = "1"


def refusal(folder: "Path") -> str:
    """Why a folder, which need not exist yet, cannot be written to; empty if it can."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR)
    if os.access(there, os.W_OK | os.X_OK):
        return ""
    read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES)


def check_memory() -> None:
    """Raises CrumpleError if the limit of addressed memory (ulimit -v) is too low."""
    # Imported here, so that `main` handles Ctrl-C as early as it can.
    from crumple.errors import CrumpleError

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSED_MIN_BYTES:
        needed = ADDRESSED_MIN_BYTES >> 10
        message = f"no more than {limit >> 10:,} KiB of memory may be addressed here"
        raise CrumpleError(message, f"raise the limit: ulimit -v {needed}")


def _nothing(mode: Literal["r", "w"]) -> io.TextIOWrapper:
    # By name: if a stream was missing from the start, another file may have its number by now.
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123
