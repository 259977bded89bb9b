"""The other documents that commands print with --json: their classes, from which schemas are generated."""

from typing import Any, Literal

from crumple.contract import Example, RequestSpec
from crumple.contract_base import Lenient
from crumple.documents.parts_of_documents import IntervalData
from crumple.subject.server_check import CheckResult
from crumple.subject.server_toml import IoModel

ComparedKind = Literal["load", "find", "versus", "run"]


class DifferenceData(Lenient):
    """One figure of one server: after ÷ before, and whether it changed."""

    experiment: str
    server: str
    metric: str
    was: float | None
    """The figure before, in the unit of the metric; null: nothing counts."""
    now: float | None
    """The figure after."""
    ratio: IntervalData | None
    """With the interval that it is judged by."""
    visible: float | None
    """A change above this factor would have been seen in four cases of five."""
    limit: Literal["at least", "at most"] | None
    """The ratio is only a bound, because the engine was the limit."""
    change: Literal["slower", "faster", "as before", "not known"]
    reason: str


class ChangedVerdict(Lenient):
    """The answer to a claim before and after."""

    before: str
    after: str


class CompareDocument(Lenient):
    """What changed from one load, search, comparison of versions or run to another."""

    kind: Literal["compare"]
    """The command that made it."""
    version: Literal[3]
    """Of this kind of document."""
    compared: ComparedKind
    """What was compared."""
    before: str
    """The earlier result, or how many there are, and the last of them."""
    after: str
    """The later one."""
    measured: tuple[str, ...]
    """When each was measured, and on which machine."""
    slower: int
    """How many figures became slower beyond chance."""
    differences: tuple[DifferenceData, ...]
    """Every figure that was compared."""
    verdicts_changed: dict[str, ChangedVerdict]
    """Claim → its answers, of runs."""
    other_machine: tuple[str, ...]
    """The facts in which the machines differ."""
    undecided: str | None
    """Why nothing was judged."""
    cautions: tuple[str, ...]
    """What else is known to differ."""


class ExchangeData(Lenient):
    """One request that was sent once, and what came back."""

    request: RequestSpec
    outcome: str
    met: bool
    connect_time_ns: int | None
    response_time_ns: int | None
    tls_fault: str | None
    received_bytes: int
    example: Example | None


class ServerRow(Lenient):
    """A server, and whether it can run here."""

    name: str
    title: str
    language: str
    io_model: IoModel
    workloads: tuple[str, ...]
    about: str
    libraries: dict[str, str]
    settings: dict[str, dict[str, Any]]
    versions: dict[str, str]
    ready: bool
    reason: str | None
    remedy: str | None


class WorkloadRow(Lenient):
    """A workload: what a request asks, and the size of its answer."""

    name: str
    title: str
    about: str
    request: str
    parameters: dict[str, dict[str, Any]]
    status: int
    content_type: str
    body_bytes: int


class StudyRow(Lenient):
    """A study."""

    name: str
    title: str
    question: str
    experiments: tuple[str, ...]
    claims: tuple[str, ...]
    scales: tuple[str, ...]


class StudyFault(Lenient):
    """A study that cannot be read, and why."""

    name: str
    error: str


class PreparedRow(Lenient):
    """A server after `crumple setup`."""

    name: str
    reason: str | None
    remedy: str
    versions: dict[str, str]
    build_s: float
    """0: it was built before."""
    ready: bool


class VerifiedRow(Lenient):
    """One check of one server."""

    server: str
    check: str
    state: CheckResult
    reason: str


class NewServer(Lenient):
    """The folder of a new server, and what was written."""

    folder: str
    files: tuple[str, ...]
