"""The documents that lab and engine exchange: `TrialSpec` goes in, `Progress` and `TrialRecord` come out.

The engine's Rust types define the schema. These types mirror them field by field, are immutable, and reject
fields they do not know; only `Progress` ignores those.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

CONTRACT_VERSION = 4

OUTCOMES = (
    "ok",
    "wrong-status",
    "wrong-body",
    "refused",
    "reset",
    "closed-early",
    "connect-timeout",
    "timeout",
    "malformed",
    "not-sent",
    "unfinished",
)


class Frozen(BaseModel):
    """An immutable document that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Count = Annotated[int, Field(ge=0)]
Header = tuple[str, str]


class Tls(Frozen):
    """`server_name`: the certificate must be for it. `ca_file`: authorities instead of the system's."""

    server_name: str
    verify: bool = True
    ca_file: str | None = None


class Target(Frozen):
    """Where to connect (`address`: "ip:port" or "unix:/path") and what to send in the Host header (`host`).

    `sources`: local addresses to connect from, in turn; empty: the kernel chooses.
    """

    address: str
    host: str
    tls: Tls | None = None
    sources: tuple[str, ...] = ()


class Expect(Frozen):
    """The answer that counts as `ok`. `status` None: any from 200 to 299; other fields None: not checked.

    `hash_one_in`: the body of one answer in so many is hashed in full.
    """

    status: int | None
    body_bytes: int | None
    body_sha256: str | None
    hash_one_in: int


class Request(Frozen):
    """What a request sends and the answer it expects; several are sent in proportion to their `weight`.

    `name`: what the record calls it; empty: its method and path. `body_file`: a file whose bytes are sent
    instead of `body`. `varies`: {seq}, {random:1-1000}, {line:FILE} are filled in.
    """

    name: str = ""
    method: str
    path: str
    headers: tuple[Header, ...] = ()
    body: str | None = None
    body_file: str | None = None
    varies: bool = False
    weight: int = 1
    expect: Expect


PauseKind = Literal["fixed", "exponential"]


class ClosedShape(Frozen):
    """`connections` that each send the next request `pause_ms` (fixed, or on average) after the reply."""

    kind: Literal["closed"] = "closed"
    connections: int
    pause_ms: float = 0.0
    pause: PauseKind = "fixed"


class RampShape(Frozen):
    """A closed shape whose connections rise evenly over `over_s` from the first instant of measuring."""

    kind: Literal["ramp"] = "ramp"
    from_connections: int
    to_connections: int
    over_s: float
    pause_ms: float = 0.0
    pause: PauseKind = "fixed"


class Rate(Frozen):
    """A part of an open schedule: requests per second, which change evenly from one rate to the other."""

    from_per_s: float
    to_per_s: float
    duration_s: float


class OpenShape(Frozen):
    """A schedule that waits for no reply; it opens up to `connections` as needed, further requests queue."""

    kind: Literal["open"] = "open"
    connections: int
    arrivals: Literal["even", "poisson"] = "poisson"
    rates: tuple[Rate, ...]


Shape = Annotated[ClosedShape | RampShape | OpenShape, Field(discriminator="kind")]


class AfterRequests(Frozen):
    """Stops when `requests` were sent and ended, or after `within_s`, whichever is first."""

    kind: Literal["requests"] = "requests"
    requests: int
    within_s: float


class AfterDuration(Frozen):
    """Stops after `duration_s`."""

    kind: Literal["duration"] = "duration"
    duration_s: float


Stop = Annotated[AfterRequests | AfterDuration, Field(discriminator="kind")]


class WarmUp(Frozen):
    """Load before the measured window; `connections` None: as many as the shape has.

    `pauses`: whether users pause as the shape says; if not, each sends its next request at once.
    """

    connections: int | None
    pauses: bool
    stop: Stop


class Timeouts(Frozen):
    """When the engine gives up on a connection and on a request."""

    connect_s: float
    request_s: float


class Probe(Frozen):
    """How often processes are sampled: the engine's own and, if given, those of the server."""

    interval_ms: int
    server_pid: int | None


class ProgressSpec(Frozen):
    """How often the engine writes a line of progress, and the limits for which `Measured.slower` counts."""

    every_ms: int = 1000
    slower_than_ns: tuple[int, ...] = ()


class TrialSpec(Frozen):
    """All that the engine needs for one trial. `cores` empty: its threads are not pinned."""

    version: Literal[4] = CONTRACT_VERSION
    label: str
    target: Target
    requests: tuple[Request, ...]
    shape: Shape
    connection: Literal["keep-alive", "per-request"]
    kernel_timestamps: bool = True
    pacing: Literal["sleep", "spin"] = "sleep"
    warm_up: WarmUp | None
    stop: Stop
    timeouts: Timeouts
    threads: int
    cores: tuple[int, ...]
    probe: Probe
    progress: ProgressSpec = ProgressSpec()
    examples: Literal["unexpected", "all"] = "unexpected"
    seed: int


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Outcomes(Frozen):
    """The scheduled requests by outcome; each has exactly one."""

    model_config = ConfigDict(alias_generator=_kebab, populate_by_name=True, serialize_by_alias=True)

    ok: Count
    wrong_status: Count
    wrong_body: Count
    refused: Count
    reset: Count
    closed_early: Count
    connect_timeout: Count
    timeout: Count
    malformed: Count
    not_sent: Count
    unfinished: Count

    def as_dict(self) -> dict[str, int]:
        """Name of the outcome, as in the glossary → requests that ended so."""
        return self.model_dump(by_alias=True)

    @property
    def total(self) -> int:
        """The sum over all outcomes, which in a sound record equals the scheduled requests."""
        return sum(self.as_dict().values())

    @property
    def failed(self) -> int:
        """Requests with any outcome but `ok`, `not-sent` and `unfinished`."""
        return self.total - self.ok - self.not_sent - self.unfinished


class NotSent(Frozen):
    """Requests not sent, by reason; the sum is the outcome. `too_late`: no connection was free in time."""

    too_late: Count
    ports: Count
    descriptors: Count
    memory: Count
    forbidden: Count


class ArrivalRecord(Frozen):
    """Which clock stamped the arrivals of answers. `held_ns`: how long answers lay unread, in total."""

    clock: Literal["kernel", "engine"]
    unstamped: Count
    held_ns: Count


class WarmUpRecord(Frozen):
    """The warm-up's requests and how they ended."""

    scheduled: Count
    outcomes: Outcomes


class Histogram(Frozen):
    """Times in nanoseconds; `encoded` is HdrHistogram V2, compressed, base64, three digits."""

    count: Count
    min_ns: int | None
    mean_ns: float | None
    max_ns: int | None
    encoded: str


class Histograms(Frozen):
    """Times in the measured window. `response_time` holds only answers that were ok.

    `service_time` and `lateness` are None in closed shapes, where requests are sent when they are due. There
    `engine_lateness` holds only requests whose due time was known ahead: after a pause, and the first of a
    user who starts later. `carried_over`: how long requests of the warm-up went on in a window that does not
    count them. `taken_over`: of requests that were due before the window but are counted in it, how long
    before.
    """

    response_time: Histogram
    service_time: Histogram | None
    time_to_first_byte: Histogram
    lateness: Histogram | None
    engine_lateness: Histogram
    connect_time: Histogram
    failed: Histogram
    timed_out: Histogram
    unfinished_age: Histogram
    carried_over: Histogram
    taken_over: Histogram


class Example(Frozen):
    """One exchange; nothing in it is escaped. `at_ns`: when it ended, since the first instant.

    `request`, `head`: the first 4 KiB as they went over the wire; `body`: the first KiB. `status` None: no
    head came.
    """

    outcome: str
    status: int | None
    at_ns: Count
    request: str
    head: str
    body: str


class RequestRecord(Frozen):
    """The measured results of one of the spec's requests; `examples` may be from the warm-up.

    All of these may add up to less than the trial's totals: a request that found no connection in time is
    counted in none. `statuses`: whole answers by status, expected or not.
    """

    name: str
    scheduled: Count
    outcomes: Outcomes
    statuses: dict[int, Count]
    response_time: Histogram
    bodies_hashed: Count
    examples: tuple[Example, ...]


class Series(Frozen):
    """The trial in steps of `interval_ms`, warm-up included; all lists have the same length."""

    interval_ms: int
    at_ns: tuple[int, ...]
    duration_ns: tuple[int, ...]
    phase: tuple[str, ...]
    ok: tuple[int, ...]
    failed: tuple[int, ...]
    p50_ns: tuple[int | None, ...]
    p99_ns: tuple[int | None, ...]
    max_ns: tuple[int | None, ...]
    scheduled: tuple[int, ...]
    engine_late_p99_ns: tuple[int | None, ...]
    connections: tuple[int, ...]


class Log(Frozen):
    """Response times of the measured phase: one encoded histogram per interval; `at_ns`: since it began."""

    interval_ms: int
    at_ns: tuple[int, ...]
    duration_ns: tuple[int, ...]
    response_time: tuple[str, ...]


class Samples(Frozen):
    """Readings of one process tree; CPU times and switches are cumulative. `late_ns`: how late each was."""

    at_ns: tuple[int, ...]
    late_ns: tuple[int, ...]
    cpu_user_ns: tuple[int, ...]
    cpu_kernel_ns: tuple[int, ...]
    rss_bytes: tuple[int, ...]
    pss_bytes: tuple[int | None, ...]
    processes: tuple[int, ...]
    threads: tuple[int, ...]
    voluntary_switches: tuple[int | None, ...]
    involuntary_switches: tuple[int | None, ...]


class ProbeWindow(Frozen):
    """Over the measured window only: CPU time and switches in it, and the maxima of the rest."""

    cpu_user_ns: int
    cpu_kernel_ns: int
    voluntary_switches: int | None
    involuntary_switches: int | None
    rss_max_bytes: int
    pss_max_bytes: int | None
    processes_max: int
    threads_max: int

    @property
    def cpu_ns(self) -> int:
        """CPU time in user and kernel mode together, in ns."""
        return self.cpu_user_ns + self.cpu_kernel_ns


class Unread(Frozen):
    """A field that could not be read, and why, so that a missing value never looks like zero."""

    field: str
    why: str


class ProbeRecord(Frozen):
    """The readings of one process tree. `window` None: not read over the window, see `unread`."""

    samples: Samples
    window: ProbeWindow | None
    unread: tuple[Unread, ...]


class ThreadWindow(Frozen):
    """One thread over the measured window: CPU time, and time it was ready to run but did not.

    `run_queue_ns` None: the kernel does not count it.
    """

    cpu_ns: int
    run_queue_ns: int | None


class ThreadRecord(Frozen):
    """One of the engine's sending threads, cumulative; None: could not be read."""

    at_ns: tuple[int, ...]
    cpu_ns: tuple[int | None, ...]
    run_queue_ns: tuple[int | None, ...]
    window: ThreadWindow | None


class SocketRecord(Frozen):
    """TCP of the whole machine: segments sent again (cumulative), sockets in use, ports in TIME_WAIT."""

    at_ns: tuple[int, ...]
    retransmitted: tuple[int | None, ...]
    in_use: tuple[int | None, ...]
    time_wait: tuple[int | None, ...]
    unread: tuple[Unread, ...]


class MachineWindow(Frozen):
    """CPU time of all cores: used by all processes, engine and server included; taken by the hypervisor."""

    busy_ns: Count
    steal_ns: Count
    cores: Count


class MachineRecord(Frozen):
    """The whole machine over the measured phase; `window` None: not read at both its ends."""

    window: MachineWindow | None
    unread: tuple[Unread, ...]


class Probes(Frozen):
    """The engine's own tree and threads, the server's tree if its pid was given, the machine as a whole."""

    engine: ProbeRecord
    server: ProbeRecord | None
    threads: tuple[ThreadRecord, ...]
    sockets: SocketRecord
    machine: MachineRecord


class TrialRecord(Frozen):
    """All that the engine measured in one trial.

    `users`: connections that had a request in flight while measuring; `users_unanswered`: those of them that
    got no whole answer, right or wrong. `users_waited_ns`: how long users of a closed shape, in total, had
    nothing in flight because the engine had not yet begun their request or connection.
    """

    version: Literal[4]
    engine_version: str
    spec: TrialSpec
    began_unix_ns: int
    warm_up_ns: int
    measured_ns: int
    scheduled: Count
    outcomes: Outcomes
    not_sent: NotSent
    retried: Count
    tls_fault: str | None = None
    head_fault: str | None = None
    warm_up: WarmUpRecord
    bodies_hashed: Count
    received_bytes: Count
    sent_bytes: Count
    connections_opened: Count
    connections_closed_by_server: Count
    users: Count
    users_unanswered: Count
    users_waited_ns: Count
    requests: tuple[RequestRecord, ...]
    arrivals: ArrivalRecord
    histograms: Histograms
    series: Series
    log: Log
    probes: Probes


class Measured(Frozen):
    """The measured phase so far.

    `slower`: for each of the spec's `slower_than_ns`, the right answers that took longer and the requests
    that have waited for longer.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    seconds: float
    scheduled: int
    outcomes: Outcomes
    slower: tuple[int, ...]


class Progress(Frozen):
    """One line of progress, which the engine writes to stderr. `phase`: "warm-up" or "measured".

    `statuses`: whole answers so far by status, warm-up included.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    at_s: float
    phase: str
    ok: int
    failed: int
    throughput_per_s: float
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    connections: int
    left_s: float | None
    statuses: dict[int, int] = {}
    measured: Measured | None = None
