"""What an experiment may use: the server, and something that puts a load on it."""

from collections.abc import Callable
from dataclasses import dataclass

from crumple import contract
from crumple.contract import RequestSpec, TrialRecord
from crumple.experiment.subject import Subject

# The shortest load in seconds, its length as a multiple of a request alone, and the longest load in seconds.
# In a shorter one a window may hold the answers of one turn of a pool more or less.
LOAD_S, TURNS, LOAD_S_MAX = 0.6, 5, 6.0


def lasting_s(alone_s: float) -> float:
    """Return how long a load takes whose requests take `alone_s` alone."""
    return min(LOAD_S_MAX, max(LOAD_S, TURNS * alone_s))


# The requests, how many are in flight, when it stops, and after which warm-up it is measured.
PutOn = Callable[[tuple[RequestSpec, ...], int, contract.StopSpec, contract.StopSpec | None], TrialRecord]


@dataclass(frozen=True)
class Bench:
    """A server, and what puts loads on it. `alone_s`: how long a request of the work takes alone.

    `connections`: requests in flight in the loads of an experiment; `load_s`: for how long each is measured,
    `warm_s`: and is put on before, at least; 0: it is measured from its first request on.
    """

    subject: Subject
    put_on: PutOn
    alone_s: float
    connections: int
    load_s: float
    warm_s: float = 0.4

    @property
    def warming_s(self) -> float:
        """For how long each load is put on before it is measured: the first requests are answered by then."""
        return max(self.warm_s, self.alone_s) if self.warm_s else 0.0

    def record(
        self, requests: tuple[RequestSpec, ...] | None = None, connections: int | None = None
    ) -> TrialRecord:
        """Put one load on the server; of the work, if no other requests are given."""
        warm_up = contract.DurationStopSpec(duration_s=self.warming_s) if self.warm_s else None
        stop = contract.DurationStopSpec(duration_s=self.load_s)
        return self.put_on(requests or self.subject.work, connections or self.connections, stop, warm_up)

    def per_s(self, requests: tuple[RequestSpec, ...] | None = None, connections: int | None = None) -> float:
        """Return the answers per second of one load."""
        return answered_per_s(self.record(requests, connections))


def answered_per_s(record: TrialRecord) -> float:
    """Return the answers per second of the measured phase."""
    return record.outcomes.ok / (record.measured_ns / 1e9)
