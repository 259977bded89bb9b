"""A command with three streams whose lines arrive late, as over a long way. Not a test itself.

As a program: SECONDS COMMAND…: what is written to it, and what the command writes, arrives so much later.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue


def words(seconds: float) -> list[str]:
    """What `--from` names: the shell that follows is so many seconds away, each way."""
    return [sys.executable, str(Path(__file__).resolve()), str(seconds), "env"]


def _carry(source: int, sink: int, seconds: float) -> None:
    """Pass on what is read, each part late by so much, and close the sink after the last."""
    parts: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

    def read() -> None:
        while part := os.read(source, 1 << 16):
            parts.put((time.monotonic() + seconds, part))
        parts.put((time.monotonic() + seconds, b""))

    threading.Thread(target=read, daemon=True).start()
    while True:
        at_s, part = parts.get()
        time.sleep(max(0.0, at_s - time.monotonic()))
        if not part:
            os.close(sink)
            return
        while part:
            part = part[os.write(sink, part) :]


def _main(seconds: float, command: list[str]) -> int:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin and process.stdout
        there, back = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
        process.stdin.close()
        threading.Thread(target=_carry, args=(0, there, seconds), daemon=True).start()
        _carry(back, 1, seconds)
        return process.wait()


if __name__ == "__main__":
    sys.exit(_main(float(sys.argv[1]), sys.argv[2:]))
