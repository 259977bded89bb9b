"""Ctrl-C, SIGTERM and a closed terminal, turned into one `Interrupted` that lets everything be put away."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from crumple.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, the first of these signals raises Interrupted and the rest are ignored. Main thread only."""
    with _handled(_stop):
        yield


@contextmanager
def ending_early(end: Callable[[], None]) -> Iterator[None]:
    """Inside, the first of these signals calls `end`, the second raises Interrupted and the rest are ignored.

    Main thread only.
    """

    def end_then_stop(_number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, _stop)
        end()

    with _handled(end_then_stop):
        yield


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C, which their parent answers for them."""
    # Blocked and not ignored: a process inherits either, and this one is to hear it, if later.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _stop(number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second one must not cut off the clearing away.
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(signal.Signals(number).name)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {each: signal.signal(each, handler) for each in SIGNALS}
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)
