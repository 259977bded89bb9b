"""What an experiment may use: the server, and something that puts a load on it."""

from dataclasses import dataclass
from typing import Protocol

from crumple import contract
from crumple.contract import Request, TrialRecord
from crumple.experiment.subject import Subject

# A load takes at least the first, and this multiple of a request alone, so that it holds some turns of the
# slowest pool; but not more than the last.
LOAD_S, TURNS, LOAD_S_MAX = 0.6, 5, 6.0


def lasting_s(alone_s: float) -> float:
    """Return how long a load takes whose requests take so long alone."""
    return min(LOAD_S_MAX, max(LOAD_S, TURNS * alone_s))


class PutOn(Protocol):
    """Puts one load on the server, and returns its record."""

    def __call__(
        self,
        requests: tuple[Request, ...],
        connections: int,
        stop: contract.Stop,
        warm_up: contract.Stop | None,
        /,
        **changed: object,
    ) -> TrialRecord:
        """`connections`: requests in flight; `changed`: fields of the spec that differ from other loads."""


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
        self,
        requests: tuple[Request, ...] | None = None,
        connections: int | None = None,
        **changed: object,
    ) -> TrialRecord:
        """Put one load on the server; of the work, if no other requests are given.

        `changed`: fields of the spec that differ from other loads.
        """
        warm_up = contract.AfterDuration(duration_s=self.warming_s) if self.warm_s else None
        stop = contract.AfterDuration(duration_s=self.load_s)
        number = connections or self.connections
        return self.put_on(requests or self.subject.work, number, stop, warm_up, **changed)

    def per_s(
        self,
        requests: tuple[Request, ...] | None = None,
        connections: int | None = None,
        **changed: object,
    ) -> float:
        """Return the answers per second of one load."""
        return answered_per_s(self.record(requests, connections, **changed))


def answered_per_s(record: TrialRecord) -> float:
    """Return the answers per second of the measured phase."""
    return record.outcomes.ok / (record.measured_ns / 1e9)
