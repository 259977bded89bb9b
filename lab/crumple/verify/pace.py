"""How fast this machine computes, read again and again: tells a machine that changed from a wrong server.

A loop of fixed work in this process, by the clock of its own CPU time. It says nothing of any server.
"""

from collections.abc import Callable
from time import thread_time

ROUNDS = 100_000
# Of several the shortest: what disturbs one makes it longer.
TRIES = 5
# Readings that differ by less are those of a machine that keeps its pace.
STEADY = 1.1


def loop_s() -> float:
    """CPU time that the fixed work takes now: some milliseconds."""
    return min(_one_s() for _ in range(TRIES))


def _one_s() -> float:
    began = thread_time()
    x = 1
    for _ in range(ROUNDS):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return thread_time() - began


class Pace:
    """Reads once as it is made, and whenever it is told to."""

    def __init__(self, read_s: Callable[[], float] = loop_s) -> None:
        self._read_s = read_s
        self._readings_s = [read_s()]

    def read(self) -> None:
        """Once more."""
        self._readings_s.append(self._read_s())

    @property
    def changed(self) -> float:
        """Slowest ÷ fastest of all readings; 1 where they are as near as those of a steady machine."""
        ratio = max(self._readings_s) / min(self._readings_s)
        return ratio if ratio >= STEADY else 1.0
