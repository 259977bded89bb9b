"""A server that was lost in a load: what the load and its process show of that. `load/lost.py` finds it."""

from dataclasses import dataclass

from crumple.machine.life import End
from crumple.record.outage import Gap, Outage

# When a server was lost may be known to an interval only. It counts as known if that interval is shorter than
# 0.1 s or 5 % of the time before, which then bounds the error of every rate.
UNKNOWN_S, UNKNOWN_SHARE = 0.1, 0.05
# The process ended when the answers ceased if the two are at most 0.2 s apart: its exit is noticed later.
SAME_S = 0.2


@dataclass(frozen=True)
class Lost:
    """A server that is lost, and how."""

    outage: Outage | None = None
    """What the load shows of it at its end; None: nothing, as when it was lost between two loads."""
    gaps: tuple[Gap, ...] = ()
    """When it was lost within the load, and answered again."""
    end: End | None = None
    """How its process ended; None: it has not, as far as is known."""
    is_stopped: bool = False
    """Whether a signal has stopped the process."""
    refuses: bool = False
    """Whether nobody listens any more."""
    statuses: tuple[int, ...] = ()
    """What it answers instead of what is expected."""
    instead: str = ""
    """The outcome of a request that was sent afterwards and got no answer."""
    is_cut: bool = False
    """Whether that request ended within the body of its answer."""
    silent_s: float | None = None
    """How long a request that was sent afterwards waited in vain."""
    alone_s: float | None = None
    """How long it took, if it was answered after much longer than before."""
    answers_again: bool = False
    """Whether it answered that request."""
    address: str = ""
    """Where the server listened."""
    began_unix_s: float = 0.0
    """When the load began."""
    warm_up_s: float = 0.0
    """How long the load warmed up."""
    over_s: float = 0.0
    """When the load was over, in seconds since measuring began."""

    @property
    def since_s(self) -> float | None:
        """When it was first lost, since measuring began; less than 0: before. None: not within the load."""
        if self._ended_s is None or self._seen_s is None:
            return self._seen_s if self._ended_s is None else self._ended_s
        is_exact = not self.gaps and self.outage is not None and self.outage.is_exact
        return min(self._seen_s, self._ended_s) if is_exact else self._ended_s

    @property
    def measured_s(self) -> float:
        """How much of the measured phase figures are of; 0: none, or not known well enough.

        A mean over times with and without a server is of neither.
        """
        seen, since_s = self.outage, self.since_s
        if seen is None or self.gaps or since_s is None or since_s <= 0:
            return 0.0
        is_exact = seen.is_exact or self._ended_s is not None
        return since_s if is_exact or UNKNOWN_SHARE * since_s >= UNKNOWN_S else 0.0

    @property
    def hangs(self) -> bool:
        """Whether its process runs on and takes connections, and no more than answers are missing."""
        is_known = self.end is not None or self.is_stopped or self.refuses or bool(self.statuses)
        return self.silent_s is not None and not is_known

    @property
    def _seen_s(self) -> float | None:
        """When answers ceased for the first time."""
        first = next(iter(self.gaps), self.outage)
        return None if first is None else first.since_s

    @property
    def _ended_s(self) -> float | None:
        """When the process ended within the load; None: at another time than answers ceased, or not known."""
        if self.end is None or self.end.at_unix_s is None:
            return None
        ended_s = self.end.at_unix_s - self.began_unix_s - self.warm_up_s
        if self._seen_s is not None:
            return ended_s if abs(ended_s - self._seen_s) <= SAME_S else None
        return ended_s if -self.warm_up_s <= ended_s <= self.over_s else None
