"""The document of one load: its class, and the load again as the reports draw it."""

from typing import Literal

from crumple.contract import Example, Outcomes, RateSpec, Reason, TrialRecord
from crumple.contract_base import Lenient
from crumple.gate.condition import Outcome
from crumple.load.compression import Compressible
from crumple.load.report.load_figures import Load, Spent
from crumple.load.report.parts_of_documents import SaidData, TimeData, said
from crumple.load.report.result import Result
from crumple.machine.program import Program
from crumple.observation.observed import WorkAlone
from crumple.record.loss import Lost
from crumple.record.overload import Overload
from crumple.record.validity import Validity


class SpreadData(Lenient):
    """Times of one kind, in ns. `quantile_ns`: quantile → time, where there are samples enough.

    `at_most`: the quantiles that are upper bounds, as they include the engine's lateness.
    """

    count: int
    mean_ns: float | None
    max_ns: int | None
    quantile_ns: dict[str, float]
    at_most: list[str]


class UnexpectedData(Lenient):
    """Requests that ended in the same unexpected way, and the first of them.

    `since_ns`: when the first of them ended, since measuring began.
    """

    outcome: str
    status: int | None
    count: int
    reason: Reason | None = None
    since_ns: int | None = None
    tls_fault: str | None
    bodies_compared: int | None
    first: Example | None


class KindData(Lenient):
    """One kind of request. `share`: of all that were sent."""

    name: str
    share: float
    scheduled: int
    outcomes: Outcomes
    statuses: dict[str, int]
    response_time: SpreadData


class StepData(Lenient):
    """One step of an open schedule. Seconds count from when measuring began."""

    rate: RateSpec
    from_s: float
    to_s: float
    scheduled: int
    ok: int
    failed: int
    throughput_per_s: float
    response_time: SpreadData


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
    unexpected: tuple[UnexpectedData, ...]
    """What came instead of the answers expected, the most frequent first."""
    requests: tuple[KindData, ...]
    """Each kind of request."""
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
    times: dict[str, SpreadData]
    """Response time, service time, lateness and the others, as the record has them."""
    steps: tuple[StepData, ...]
    """The steps of an open schedule that has several."""
    engine: Spent | None
    """What the engine cost."""
    engine_share: float | None
    """Of its cores, how much of the time the engine used."""
    ceiling_per_s: float | None
    """What the engine reaches on this machine, if it was measured."""
    ceiling_at_least: bool
    """Whether the ceiling may be higher."""
    held_mean_ns: float | None
    """How long an answer lay unread until the engine read it, on average."""
    server: Spent | None
    """What the watched server cost."""
    stages: TimeData | None
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
    findings: tuple[SaidData, ...]
    """What limits the watched server, and what does not."""
    lost: Lost | None = None
    """How the server was lost in the load; null: it was not. Then all figures are of the time before."""
    record: TrialRecord
    """The whole record of the engine, from which all figures come."""

    def restored(self) -> Load:
        """Return the load as the reports draw it."""
        return Load(
            record=self.record,
            validity=self.validity,
            url=self.url,
            command=self.command,
            fail_if=self.fail_if,
            ceiling_per_s=self.ceiling_per_s,
            ceiling_at_least=self.ceiling_at_least,
            idle_cores=self.idle_cores,
            alone=self.alone,
            said=said(self.findings),
            compressible=self.compressible,
            unwatched=self.unwatched or "",
            program=self.program,
            lost=self.lost,
        )
