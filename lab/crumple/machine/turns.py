"""One crumple at a time measures on a machine: several runs take turns, trial by trial.

A lock of the user's, held while something is measured or built; it ends with the process that holds it.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from crumple.errors import NotWritable

WAITING = "waiting for another crumple that measures on this machine"


def folder() -> Path:
    """Where the locks lie."""
    return platformdirs.user_cache_path("crumple") / "turns"


@contextlib.contextmanager
def turn(waiting: Callable[[], None]) -> Iterator[None]:
    """Inside, no other crumple measures; `waiting` is called if it has to wait for one. Raises NotWritable.

    Whoever waits comes first: the next one in line holds the place behind whoever has the turn.
    """
    with _open("line") as line, _open("turn") as held:
        if not (_at_once(line) and _at_once(held)):
            waiting()
        _wait(line)
        _wait(held)
        fcntl.flock(line, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def beside(disturbed: Callable[[], None]) -> Iterator[None]:
    """Like `turn`, but it waits for nobody: `disturbed` is called if another crumple measures now."""
    with _open("turn") as held:
        if not _at_once(held):
            disturbed()
        yield


@contextlib.contextmanager
def _open(name: str) -> Iterator[int]:
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = os.open(place / name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        message = f"cannot write {place}: {error.strerror}"
        raise NotWritable(message, "name another place in XDG_CACHE_HOME") from None
    try:
        yield file
    finally:
        os.close(file)


def _at_once(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_EX)
