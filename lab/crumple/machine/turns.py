"""One crumple at a time measures on a machine: several runs take turns, trial by trial.

Who has the turn listens at a name of which there is one: that of a unix socket in no file system. So it holds
for all users and homes of a machine (or container, which has names of its own), needs no folder to write to,
and ends with the process that has it.
"""

import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator

WAITING = "waiting for another crumple that measures on this machine"
NAME = "crumple"
# Between taking a name and listening at it another one finds nobody to wait for.
RETRY_S = 0.01


@contextlib.contextmanager
def turn(waiting: Callable[[], None]) -> Iterator[None]:
    """Inside, no other crumple measures; `waiting` is called if it has to wait for one.

    Whoever waits comes first: the next one in line holds the place behind whoever has the turn.
    """
    line = _at_once("line")
    with line or _waited("line", waiting):
        # Said already, where the line had to be waited for.
        held = _at_once("turn") or _waited("turn", waiting if line else lambda: None)
    with held:
        yield


@contextlib.contextmanager
def beside(disturbed: Callable[[], None]) -> Iterator[None]:
    """Like `turn`, but it waits for nobody: `disturbed` is called if another crumple measures now."""
    held = _at_once("turn")
    if held is None:
        disturbed()
    with held or contextlib.nullcontext():
        yield


def _address(place: str) -> str:
    # A zero at the beginning: the name is in no file system.
    return f"\0{NAME}-{place}"


def _at_once(place: str) -> socket.socket | None:
    """The place; None if another has it."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(_address(place))
        held.listen()
    except OSError as error:
        held.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return held


def _waited(place: str, waiting: Callable[[], None]) -> socket.socket:
    """The place, as soon as it is free."""
    waiting()
    while (held := _at_once(place)) is None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as other:
            other.connect(_address(place))
            # Nobody answers: it ends when who has the place is gone.
            other.recv(1)
            continue
        time.sleep(RETRY_S)
    return held
