"""The unit in which the kernel counts CPU time, and what cannot be read because of it. Pure."""

from crumple.contract import ProcessWindow

TICK_NS = 10_000_000
# The kernel truncates user and kernel time of each process to whole ticks. With fewer ticks per process than
# this, what is cut off decides the split (docs/method.md).
TICKS_TO_SPLIT = 5


def is_split(window: ProcessWindow) -> bool:
    """Whether ticks were enough to tell user from kernel time."""
    return window.cpu_ns >= TICKS_TO_SPLIT * TICK_NS * window.processes_max
