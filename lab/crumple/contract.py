"""The seam between lab and engine: `TrialSpec` goes in, `TrialRecord` comes out. Nothing else is exchanged.

The engine's Rust types own the schema; these mirror them field by field, refuse what they do not know, and
never change once read. No meaning is added here.
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
    """A document that knows all its fields and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Count = Annotated[int, Field(ge=0)]
Header = tuple[str, str]


class Tls(Frozen):
    """The name the certificate must be for; whether it is verified; the authorities, if not the system's."""

    server_name: str
    verify: bool = True
    ca_file: str | None = None


class Target(Frozen):
    """Where to connect (`address`: "ip:port" or "unix:/path") and what to say in the Host header (`host`).

    `sources`: local addresses to connect from, in turn; none leaves it to the kernel.
    """

    address: str
    host: str
    tls: Tls | None = None
    sources: tuple[str, ...] = ()


class Expect(Frozen):
    """What counts as `ok`. Of the bodies one in `hash_one_in` is hashed in full; None is not checked.

    `status` None: any from 200 to 299.
    """

    status: int | None
    body_bytes: int | None
    body_sha256: str | None
    hash_one_in: int


class Request(Frozen):
    """What a request sends and the answer it expects; of several, each as often as its `weight` says.

    `name`: what the record calls it; empty: its method and path. `body_file` instead of `body`: its bytes.
    `varies`: {seq}, {random:1-1000}, {line:FILE} are filled in.
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
    """`connections` of them, each sending its next request `pause_ms` (on average) after the reply."""

    kind: Literal["closed"] = "closed"
    connections: int
    pause_ms: float = 0.0
    pause: PauseKind = "fixed"


class RampShape(Frozen):
    """Closed, with connections that rise evenly over `over_s` from the first instant of measuring."""

    kind: Literal["ramp"] = "ramp"
    from_connections: int
    to_connections: int
    over_s: float
    pause_ms: float = 0.0
    pause: PauseKind = "fixed"


class Rate(Frozen):
    """A stretch of an open schedule: requests per second, evenly from one to the other."""

    from_per_s: float
    to_per_s: float
    duration_s: float


class OpenShape(Frozen):
    """One schedule that waits for no reply; up to `connections` are opened as needed, beyond it queues."""

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
    """Load before the measured window; `connections` None means as many as the shape has.

    `pauses`: whether they pause as the shape says; if not, each sends its next request at once.
    """

    connections: int | None
    pauses: bool
    stop: Stop


class Timeouts(Frozen):
    """When the engine gives up on a connection and on a request."""

    connect_s: float
    request_s: float


class Probe(Frozen):
    """How often processes are sampled, and whose besides the engine's own."""

    interval_ms: int
    server_pid: int | None


class ProgressSpec(Frozen):
    """How often the engine writes a line of progress; it counts what takes longer than `slower_than_ns`."""

    every_ms: int = 1000
    slower_than_ns: tuple[int, ...] = ()


class TrialSpec(Frozen):
    """All the engine needs to know for one trial. `cores` empty: not pinned."""

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
    """How the scheduled requests ended, each as exactly one."""

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
        """Glossary name of the outcome → requests that ended so."""
        return self.model_dump(by_alias=True)

    @property
    def total(self) -> int:
        """All of them; equals the scheduled requests, or the record is broken."""
        return sum(self.as_dict().values())

    @property
    def failed(self) -> int:
        """Requests that ended otherwise than `ok`; those not sent or unfinished at the end are in neither."""
        return self.total - self.ok - self.not_sent - self.unfinished


class NotSent(Frozen):
    """Why requests were not sent; adds up to the outcome. `too_late`: no connection was free in time."""

    too_late: Count
    ports: Count
    descriptors: Count
    memory: Count
    forbidden: Count


class ArrivalRecord(Frozen):
    """Whose clock said when an answer had arrived. `held_ns`: how long they lay unread, all together."""

    clock: Literal["kernel", "engine"]
    unstamped: Count
    held_ns: Count


class WarmUpRecord(Frozen):
    """What became of the warm-up's requests."""

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
    """Of the measured window. `response_time`: answers that were ok; the others never mix into it.

    `service_time` and `lateness` are None in closed shapes, which send when it is due. `engine_lateness` has
    there only the requests whose due time was known ahead: after a pause, and of users who set out later.
    `carried_over`: how long requests of the warm-up went on in a window that does not count them.
    `taken_over`: how long before the window those were due that it counts as its own.
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
    """What became of one request of the spec in the measured phase; `examples`: warm-up included.

    These may add up to less than the trial's: a request that found no connection in time is of no kind.
    `statuses`: whole answers by status, expected or not.
    """

    name: str
    scheduled: Count
    outcomes: Outcomes
    statuses: dict[int, Count]
    response_time: Histogram
    bodies_hashed: Count
    examples: tuple[Example, ...]


class Series(Frozen):
    """The trial in steps of `interval_ms`, warm-up included; all lists are of one length."""

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
    """Response times of the measured phase, an encoded histogram per interval; `at_ns` from its beginning."""

    interval_ms: int
    at_ns: tuple[int, ...]
    duration_ns: tuple[int, ...]
    response_time: tuple[str, ...]


class Samples(Frozen):
    """Readings of one process tree; CPU times and switches are cumulative, `late_ns`: how late each was."""

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
    """The measured window only: what was spent in it, and the most that was held in it."""

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
        """CPU time, the program's own and the kernel's."""
        return self.cpu_user_ns + self.cpu_kernel_ns


class Unread(Frozen):
    """A field that could not be read, and why: absence never looks like zero."""

    field: str
    why: str


class ProbeRecord(Frozen):
    """What was seen of one process tree. `window` None: not read over the window, see `unread`."""

    samples: Samples
    window: ProbeWindow | None
    unread: tuple[Unread, ...]


class ThreadWindow(Frozen):
    """One thread over the measured window: CPU time, and time it was ready to run and did not.

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
    """CPU time of all cores: what everybody used, engine and server included; what the hypervisor took."""

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
    """All the engine saw of one trial.

    `users`: connections that had a request in flight while measuring; `users_unanswered`: those of them that
    got no whole answer, right or wrong. `users_waited_ns`: how long users of a closed shape had nothing in
    flight because the engine had not got to them, all together.
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
    """The measured phase so far. `slower`: right answers that took longer than each of the spec's times, and
    requests that have waited for longer.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    seconds: float
    scheduled: int
    outcomes: Outcomes
    slower: tuple[int, ...]


class Progress(Frozen):
    """One line the engine writes on stderr as often as the spec says. `phase`: "warm-up" or "measured".

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
