"""Turns Ctrl-C, SIGTERM and a closed terminal into one `Interrupted`, so that everything can be cleaned up.

After the first of these signals the command is ending and ignores the others.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from crumple.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A key that is held down or hit twice sends several signals for one request. A signal is a second request if
# it comes ONE_WISH_S seconds or more after the one before,
ONE_WISH_S = 1.0
# or HELD_DOWN_S seconds or more after the first, since a key that is held down repeats without a pause.
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
    """Inside, the first of these signals calls `end`; a second request (ONE_WISH_S) raises Interrupted.

    If one came, all are ignored after the block. Main thread only.
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
    """Processes started inside do not receive Ctrl-C; their parent handles it."""
    # Blocked, not ignored: children inherit either, but this process still gets a blocked signal afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Inside, these signals are held back until the yielded function is called or the block ends.

    For the time between a process's start and the `try` that ends it. Outside the main thread no signal
    raises, so none is held back.
    """
    waiting: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        waiting.append(number)

    here = threading.current_thread() is threading.main_thread()
    # A handler, not SIG_IGN: a process started inside would inherit SIG_IGN, but inherits no handler.
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
    # A second signal must not interrupt the cleanup.
    _ignore()
    raise Interrupted(signal.Signals(number).name)


def _ignore() -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _heard() -> list[signal.Signals]:
    """The signals that are not ignored. Those ignored because of `nohup` or a first signal stay ignored."""
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
