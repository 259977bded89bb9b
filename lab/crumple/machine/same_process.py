"""Whether a process is still the one that it was: a pid may be given to another after it ended."""

from dataclasses import dataclass

from crumple.machine import process_tree


@dataclass(frozen=True)
class Process:
    """A process by its pid and the instant at which it began, in the kernel's ticks; None: never read."""

    pid: int
    began: int | None

    def lives(self) -> bool:
        """Whether it has not ended, as far as it could be read at first."""
        return self.began is None or _began(self.pid) == self.began


def process(pid: int) -> Process:
    """The process that has this pid now."""
    return Process(pid, _began(pid))


def _began(pid: int) -> int | None:
    """When it began; None: there is none, or it has ended and its parent has not waited for it."""
    try:
        fields = process_tree.stat(pid)
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
