"""Ctrl-C, SIGTERM and a closed terminal, turned into one `Interrupted` that lets everything be put away.

After that one the command is about to end, and hears no other.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from crumple.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A key held down, or hit twice, is one wish: so long after the last, or so long after the first, it is another.
ONE_WISH_S = 1.0
HELD_DOWN_S = 5.0


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, the first of these signals raises Interrupted, and the rest are ignored, also afterwards.

    Main thread only.
    """
    with _handled(_stop):
        yield


@contextmanager
def ending_early(end: Callable[[], None]) -> Iterator[None]:
    """Inside, the first of these signals calls `end`, and one that is another wish raises Interrupted.

    After the first all are ignored in the end. Main thread only.
    """

    def end_then_stop(_number: int, _frame: FrameType | None) -> None:
        first_s = last_s = time.monotonic()

        def stop_later(number: int, frame: FrameType | None) -> None:
            nonlocal last_s
            before_s, last_s = last_s, time.monotonic()
            if last_s - before_s >= ONE_WISH_S or last_s - first_s >= HELD_DOWN_S:
                _stop(number, frame)

        for each in _heard():
            signal.signal(each, stop_later)
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


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Inside, these signals wait: until the function that it yields is called, or else for the end.

    For the moment between a process's start and the `try` that ends it. Off the main thread nothing is
    raised, so nothing waits.
    """
    waiting: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        waiting.append(number)

    here = threading.current_thread() is threading.main_thread()
    # A process started inside inherits that one is ignored, but no handler.
    before = [(each, signal.signal(each, wait)) for each in (_heard() if here else ())]

    def let_through() -> None:
        for each, previous in before:
            if signal.getsignal(each) is wait:
                signal.signal(each, previous)
        while waiting:
            signal.raise_signal(waiting.pop())

    try:
        yield let_through
    finally:
        let_through()


def _stop(number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second one must not cut off the clearing away.
    _ignore()
    raise Interrupted(signal.Signals(number).name)


def _ignore() -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _heard() -> list[signal.Signals]:
    """One that is ignored stays so: by `nohup`, or after the first."""
    return [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {each: signal.signal(each, handler) for each in _heard()}
    try:
        yield
    finally:
        if all(signal.getsignal(each) is handler for each in before):
            for each, previous in before.items():
                signal.signal(each, previous)
        else:
            _ignore()
