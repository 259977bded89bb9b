"""What an experiment may use: the server, and something that puts a load on it."""

from collections.abc import Callable
from dataclasses import dataclass

from crumple import contract
from crumple.contract import Request, TrialRecord
from crumple.experiment.subject import Subject

# The requests, how many are in flight, when it stops, and after which warm-up it is measured.
PutOn = Callable[[tuple[Request, ...], int, contract.Stop, contract.Stop | None], TrialRecord]


@dataclass(frozen=True)
class Bench:
    """A server, and what puts loads on it. `alone_s`: how long a request of the work takes alone.

    `connections`: requests in flight in the loads of an experiment; `load_s`: for how long each is measured,
    `warm_s`: and is put on before.
    """

    subject: Subject
    put_on: PutOn
    alone_s: float
    connections: int
    load_s: float
    warm_s: float = 0.4

    def record(
        self, requests: tuple[Request, ...] | None = None, connections: int | None = None
    ) -> TrialRecord:
        """Put one load on the server; of the work, if no other requests are given."""
        warm_up, stop = (contract.AfterDuration(duration_s=each) for each in (self.warm_s, self.load_s))
        return self.put_on(requests or self.subject.work, connections or self.connections, stop, warm_up)

    def per_s(self, requests: tuple[Request, ...] | None = None, connections: int | None = None) -> float:
        """Return the answers per second of one load."""
        record = self.record(requests, connections)
        return record.outcomes.ok / (record.measured_ns / 1e9)
