"""Load hosts that do as an engine does until, at one line of it, they write something else."""

import sys
from pathlib import Path

from crumple.load_host import where
from crumple.load_host.where import Where

# It is between this machine and a shell of it, and passes on what both write.
BETWEEN = """
import os, subprocess, sys, threading
how, beginning, at, instead = sys.argv[1:5]
shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def down():
    while data := os.read(0, 1 << 16):
        os.write(shell.stdin.fileno(), data)
    shell.stdin.close()
threading.Thread(target=down, daemon=True).start()
def say(line):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
instead = instead.encode().decode("unicode_escape").encode()
for line in shell.stdout:
    at = int(at) - line.startswith(beginning.encode())
    if at or not line.startswith(beginning.encode()):
        say(line)
    elif how == "once":
        say(instead)
    else:
        say(line)
        while True:
            say(instead * 1_000)
"""


def writing(folder: Path, instead: str, beginning: str, *, at: int = 1, ever: bool = False) -> Where:
    """A load host that writes `instead` in place of its line number `at` of those that begin so.

    `ever`: it writes that line, and then `instead` without an end.
    """
    program = folder / "between.py"
    program.write_text(BETWEEN, encoding="utf-8")
    how = "ever" if ever else "once"
    command = f"{sys.executable} {program} {how} '{beginning}' {at} '{_escaped(instead)}'"
    return where.read(f"env XDG_CACHE_HOME={folder} {command}")


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode().replace("'", "\\x27")
