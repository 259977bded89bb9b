"""Ctrl-C, SIGTERM and a closed terminal, turned into one `Interrupted` that lets everything be put away."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from crumple.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, the first of these signals raises Interrupted and the rest are ignored. Main thread only."""

    def stop(number: int, _frame: object) -> None:
        # Once is enough: a second one must not cut off the clearing away.
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(signal.Signals(number).name)

    before = {each: signal.signal(each, stop) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
