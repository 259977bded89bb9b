"""Ctrl-C, SIGTERM and a closed terminal, turned into one `Interrupted` that lets everything be put away."""

import signal
import threading
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
    # One that is ignored stays so: a process started inside inherits that, but no handler.
    heard = [each for each in SIGNALS if here and signal.getsignal(each) is not signal.SIG_IGN]
    before = [(each, signal.signal(each, wait)) for each in heard]

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
