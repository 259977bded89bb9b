"""The entry point of the `crumple` command: while the command line is imported, Ctrl-C prints one line.

The import takes a fifth of a second, and `interrupt` handles signals only after it. During the import nothing
is open that needs cleanup.
"""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Handle Ctrl-C, then import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from crumple import cli

    cli.main()


def _end(_number: int, _frame: FrameType | None) -> None:
    # No exception: an import in progress could treat it as its own failure.
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
