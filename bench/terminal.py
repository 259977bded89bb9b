"""Runs `crumple` on a terminal of its own, as if it were typed."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROWS, COLUMNS = 40, 120
CRUMPLE = Path(sys.executable).parent / "crumple"
INSTALL = "make develop"


@dataclass(frozen=True)
class Said:
    """The result of a command. `screen` is what it drew, `answer` is its standard output, which is a file.

    `entered_s` is when it was started, by the monotonic clock.
    """

    code: int
    screen: str
    answer: str
    entered_s: float


def call(*arguments: str) -> Said:
    """Runs `crumple` with these arguments until it ends."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = bytearray()
    reader = threading.Thread(target=_read_to_end, args=(ours, screen))
    with tempfile.TemporaryFile() as answer:
        environment = {**os.environ, "TERM": "xterm-256color"}
        entered_s = time.monotonic()
        try:
            process = subprocess.Popen(
                [str(CRUMPLE), *arguments], stdin=its, stdout=answer, stderr=its, env=environment
            )
        finally:
            os.close(its)
        reader.start()
        code = process.wait()
        reader.join()
        os.close(ours)
        answer.seek(0)
        return Said(code, screen.decode(errors="replace"), answer.read().decode(), entered_s)


def _read_to_end(terminal: int, screen: bytearray) -> None:
    """Reads what is drawn, so that the command never waits for the terminal."""
    while True:
        try:
            drawn = os.read(terminal, 65536)
        except OSError:  # The last program that held the other end has ended.
            return
        if not drawn:
            return
        screen += drawn
