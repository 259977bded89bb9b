"""The document of one load: what is stored, printed with --json, and made into every screen and page."""

from functools import cached_property
from typing import Literal

from crumple.contract import Outcomes, TrialRecord
from crumple.documents.parts_of_documents import SaidField, TimeField
from crumple.documents.result import Result
from crumple.gate.condition import Outcome
from crumple.load.compression import Compressible
from crumple.load.report.load_figures import (
    NO_TIMES,
    SECOND_NS,
    HostFigures,
    RequestFigures,
    Spent,
    Spread,
    StepFigures,
    UnexpectedEnd,
)
from crumple.machine.program import Program
from crumple.observation.observed import WorkAlone
from crumple.record import failures, histogram
from crumple.record.failures import SilentConnections, Unexpected
from crumple.record.histogram import Times
from crumple.record.loss import Lost
from crumple.record.overload import Overload
from crumple.record.validity import Validity

# A server that closed 90 % of the connections that it answered on keeps none of them alive.
_CLOSES_SHARE = 0.9


class LoadDocument(Result):
    """One load. Times in ns, CPU time in µs, memory in bytes, shares from 0 to 1; null: not known."""

    kind: Literal["load"]
    version: Literal[1]
    url: str
    """As it was typed, without secrets."""
    validity: Validity
    """Whether the load measured the server."""
    overload: Overload | None = None
    """By how much the load was more than the server takes, in requests per second; null: it was not."""
    fail_if: tuple[Outcome, ...]
    """What came of each condition of --fail-if."""
    scheduled: int
    """Requests that were due."""
    outcomes: Outcomes
    """How every scheduled request ended."""
    failed_share: float | None
    """Failed requests as a share of those that ended."""
    statuses: dict[str, int]
    """Whole answers by status, expected or not."""
    unexpected: tuple[UnexpectedEnd, ...]
    """What came instead of the answers expected, the most frequent first."""
    requests: tuple[RequestFigures, ...]
    """Each kind of request."""
    load_hosts: tuple[HostFigures, ...] = ()
    """What each of several load hosts saw; empty: the load came from one machine."""
    users: int
    """Connections that had a request."""
    users_unanswered: int
    """Those of them that got no whole answer."""
    connections_opened: int
    """In the measured phase."""
    connections_closed_by_server: int
    """In the measured phase."""
    slow_connects: int
    """Connects that took a second or more."""
    throughput_per_s: float | None
    """Ok answers per second; null: the server was lost, and no figure is known of the time before."""
    received_bytes_per_s: float | None
    """Bytes received per second; null: as above."""
    sent_bytes_per_s: float | None
    """Bytes sent per second; null: as above."""
    times: dict[str, Spread]
    """Response time, service time, lateness and the others, as the record has them."""
    steps: tuple[StepFigures, ...]
    """The steps of an open schedule that has several."""
    engine: Spent | None
    """What the engine cost."""
    engine_share: float | None
    """The share of its cores that the engine used."""
    ceiling_per_s: float | None
    """What the engine reaches on this machine, if it was measured."""
    ceiling_at_least: bool
    """Whether the ceiling may be higher."""
    held_mean_ns: float | None
    """How long an answer lay unread until the engine read it, on average."""
    server: Spent | None
    """What the watched server cost."""
    stages: TimeField
    """Where the mean response time went."""
    kept_back_ns: float | None = None
    """How long the rest of an answer waited for its first part to be acknowledged, where that is shown."""
    program: Program | None = None
    """What runs at the URL, as a process of this machine."""
    unwatched: str | None = None
    """Why the server's side is not known, or not all of it, and what to do about it."""
    idle_cores: float | None
    """The cores that the watched server kept busy before the load."""
    alone: WorkAlone | None
    """Requests that were sent one at a time after the load."""
    compressible: Compressible | None = None
    """Sizes of an answer as it is and compressed, if the server compresses for clients that ask for it."""
    findings: tuple[SaidField, ...]
    """What limits the watched server, and what does not."""
    lost: Lost | None = None
    """How the server was lost in the load; null: it was not. Then all figures are of the time before."""
    record: TrialRecord
    """The whole record of the engine, from which all figures come."""

    @property
    def measured_s(self) -> float:
        """Length of the measured phase."""
        return self.record.measured_ns / SECOND_NS

    @property
    def counted_s(self) -> float:
        """How much of the measured phase figures are of; 0: no figure per second is known."""
        return counted_s(self.record, self.lost)

    @property
    def has_times(self) -> bool:
        """Whether response times are shown."""
        return has_times(self.lost)

    @property
    def due_per_s(self) -> float:
        """Requests per second that came due, until the server was lost."""
        return self.scheduled / self.counted_s if self.counted_s else 0.0

    @property
    def is_lossy(self) -> bool:
        """Whether over 1 % of requests were lost or of users unanswered: marked beside every speed."""
        lost = failures.lost_share(self.record.outcomes)
        silent = self.unanswered
        return (lost or 0.0) > failures.SHARE_MAX or (
            silent is not None and silent.connections > failures.SHARE_MAX * silent.of
        )

    @cached_property
    def unanswered(self) -> SilentConnections | None:
        """Users who got no answer; None if all did."""
        return failures.silent_connections(self.record)

    @cached_property
    def unexpected_ends(self) -> tuple[Unexpected, ...]:
        """What came instead of the answers expected, with a remedy for each, unless the server was lost."""
        found = failures.unexpected_ends(self.record)
        return found if self.lost is None else tuple(each.without_remedy() for each in found)

    def unexpected_ends_of(self, at: int) -> tuple[Unexpected, ...]:
        """Return the same of one of the requests."""
        record = self.record
        return failures.unexpected_ends_of(record, record.spec.requests[at], record.requests[at])

    @property
    def server_closes(self) -> bool:
        """Whether the server closed the connection after each answer although it was to be kept alive."""
        answered = sum(self.statuses.values())
        is_kept = self.record.spec.connection == "keep-alive"
        return is_kept and 0 < _CLOSES_SHARE * answered <= self.connections_closed_by_server

    @property
    def renewed_share(self) -> float:
        """Connections opened beyond each user's first, or broken, as a share of the requests that ended."""
        outcomes = self.record.outcomes
        renewed = max(self.connections_opened - self.users, outcomes.reset + outcomes.closed_early)
        ended = outcomes.ok + outcomes.failed
        return min(1.0, max(0, renewed) / ended) if ended else 0.0

    @cached_property
    def response_times(self) -> Times:
        """Response times of the ok answers."""
        return histogram.decoded(self.record.histograms.response_time) if self.has_times else NO_TIMES

    @cached_property
    def log_times(self) -> tuple[Times, ...]:
        """Response times of the ok answers, by interval of the log."""
        return tuple(histogram.decode(encoded) for encoded in self.record.log.response_time)


def has_times(lost: Lost | None) -> bool:
    """Return whether response times are known: not if the server was lost and answered again in the load."""
    return lost is None or not lost.gaps


def counted_s(record: TrialRecord, lost: Lost | None) -> float:
    """Return how much of the measured phase figures are of: all of it, unless the server was lost in it."""
    return record.measured_ns / SECOND_NS if lost is None else lost.measured_s
