"""A command's output: its end is kept to be shown, and a flood of it does not fill the disk."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from crumple.machine import guard
from crumple.machine.guard import KEPT_BYTES, Guarded
from crumple.machine.leftovers import ScratchFolder

LINE = "to be forgotten"
FLOOD_BYTES = (len(LINE) + 1) << 22
FLOODS = f"yes {LINE} | head -c {FLOOD_BYTES}; {{}}; sleep 600"
# Written at the shared file position, and through a path, as by a server that opens its log by name.
LAST_LINES = ("echo the end", "echo the end >> /proc/self/fd/2")


def _launched(folder: Path, script: str) -> Guarded:
    command = ["sh", "-c", script]
    return guard.launch("start", command, cwd=folder, env=os.environ, cores=(), scratch=ScratchFolder.made())


def _eventually(what: Callable[[], bool], within_s: float = 20.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("last", LAST_LINES)
def test_the_end_of_much_output_is_kept_and_the_rest_freed(tmp_path: Path, last: str) -> None:
    flooding = _launched(tmp_path, FLOODS.format(last))
    try:
        assert _eventually(lambda: flooding.output_tail()[-1:] == ["the end"])
        file = flooding._written.fileno()
        assert os.fstat(file).st_size > FLOOD_BYTES
        assert _eventually(lambda: os.fstat(file).st_blocks * 512 <= KEPT_BYTES)
        assert flooding.output_tail()[-2:] == [LINE, "the end"]
    finally:
        flooding.end()


@pytest.mark.starts
@pytest.mark.parallel
def test_little_output_is_kept_completely(tmp_path: Path) -> None:
    command = _launched(tmp_path, "echo one; echo two >&2; exit 3")
    try:
        ended = command.ended(10)
        assert ended is not None and ended.exit == 3
        assert command.output_tail() == ["one", "two"]
    finally:
        command.end()
