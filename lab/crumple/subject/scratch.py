"""Fills a server's scratch folder, with the file to hash and a folder for its own files, and looks into it.

`machine.guard` removes the folder with the server.
"""

import os
import time
from pathlib import Path

from crumple.errors import ServerFailed
from crumple.machine.leftovers import ScratchFolder
from crumple.subject import right_answers

HASH_FILE = "hash.bin"
FILES_FOLDER = "files"
SETTLED_S = 2.0
POLL_S = 0.02


def made() -> ScratchFolder:
    """A new scratch folder with both in it. Raises ServerFailed("start") if they cannot be written."""
    try:
        folder = ScratchFolder.made()
        try:
            _fill(folder.path)
        except BaseException:
            # The caller does not have the folder yet, and so cannot remove it.
            folder.remove()
            raise
    except OSError as error:
        where = error.filename or "there"
        message = f"cannot make a scratch folder: {where}: {error.strerror}"
        raise ServerFailed(
            "start", message, remedy="free some space, or name another place in TMPDIR"
        ) from None
    return folder


def _fill(folder: Path) -> None:
    files = folder / FILES_FOLDER
    (folder / HASH_FILE).write_bytes(right_answers.content())
    files.mkdir()
    if os.geteuid() == 0:
        # A server that root starts may run its workers as another user. They can use both paths, but cannot
        # list the scratch folder.
        folder.chmod(0o711)
        (folder / HASH_FILE).chmod(0o644)
        files.chmod(0o1777)


def environment(scratch: Path) -> dict[str, str]:
    """The variables that tell a server both paths."""
    return {"HASH_FILE": str(scratch / HASH_FILE), "FILES_FOLDER": str(scratch / FILES_FOLDER)}


def files_left(scratch: Path, within_s: float = SETTLED_S) -> int:
    """How many files remain in the server's folder; waits up to `within_s` for those in use to be removed."""
    deadline = time.monotonic() + within_s
    while (left := _count(scratch / FILES_FOLDER)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def fault(left: int, connections: int) -> str:
    """A sentence about `left` files; empty if so many may have been in use when the load ended."""
    if left <= connections:
        return ""
    return f"the server left {left:,} of its files behind; it must remove each with its answer"


def _count(folder: Path) -> int:
    try:
        with os.scandir(folder) as files:
            return sum(1 for _ in files)
    except FileNotFoundError:
        return 0
