"""The entry of the command `crumple`: Ctrl-C prints one line while the command line is imported.

The import takes a tenth of a second, and `interrupt` handles signals only after it. During the import nothing
is open that needs cleanup. Nothing imports this module: what it imports itself waits until Ctrl-C is handled.
"""

import gc
import os
import re
import resource
import signal
import sys
from types import FrameType

# The engine waits with epoll_pwait2, which takes nanoseconds and came with this version of the kernel.
KERNEL_MIN = (5, 11)
# How many more objects are made than freed before Python looks for garbage; its own number is 700.
# A search for garbage among what was imported finds none, since it stays, and takes time.
GARBAGE_FROM = 50_000
# The memory that a process may address. With less, the libraries that compute quantiles cannot be loaded.
ADDRESSED_MIN_BYTES = 192 << 20


def main() -> None:
    """Handle Ctrl-C, then import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    if why := unfit(sys.platform, os.uname().release):
        sys.exit(f"crumple: {why}")
    from crumple import streams
    from crumple.shell import COMPLETE

    streams.mend_streams()
    if sys.argv[1:2] == [COMPLETE]:
        # A shell waits for this at each Tab: without the command line, which takes longer to import.
        sys.exit(_complete(sys.argv[2:]))
    if why := short_of_memory(resource.getrlimit(resource.RLIMIT_AS)[0]):
        sys.exit(why)
    gc.set_threshold(GARBAGE_FROM)
    from crumple import cli

    cli.main()


def _complete(arguments: list[str]) -> int:
    from crumple.shell import complete, kept

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


def short_of_memory(limit_bytes: int) -> str:
    """Why crumple cannot run where a process may address that much memory (ulimit -v); empty if it can."""
    if limit_bytes == resource.RLIM_INFINITY or limit_bytes >= ADDRESSED_MIN_BYTES:
        return ""
    allowed = f"no more than {limit_bytes >> 10:,} KiB of memory may be addressed here"
    return f"{allowed}; raise the limit: ulimit -v {ADDRESSED_MIN_BYTES >> 10}"


def _end(number: int, _frame: FrameType | None) -> None:
    # No exception: an import in progress could treat it as its own failure.
    os.write(2, b"interrupted\n")
    # The code of a command that a signal ended, as shells have it.
    os._exit(128 + number)
