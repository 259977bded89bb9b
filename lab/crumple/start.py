"""The `crumple` command from its first instruction on: Ctrl-C while the command line is imported is one line.

That takes a fifth of a second, and `interrupt` listens only behind it. Nothing is open meanwhile that would
have to be put away.
"""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Hear Ctrl-C, import the command line and call it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from crumple import cli

    cli.main()


def _end(_number: int, _frame: FrameType | None) -> None:
    # No exception: an import in progress may take it for its own failure.
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
