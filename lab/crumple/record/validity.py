"""Whether a trial measured the server: a record → one word, its problems, its warnings.

Pure. Two problems do not show in a record: files that the server left behind, and queries to its database.
The trial adds them. Other modules store an invalid trial, show it and leave it out of verdicts. The reasons
for the limits are in docs/method.md; docs/reference/validity.md is made from the docstrings here.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from crumple.contract import OUTCOMES, OpenShapeSpec, RequestsStopSpec, TrialRecord
from crumple.record import engine_limits, failures, histogram, hosts_compared, invariants, reasons
from crumple.record.disturbance import Disturbance
from crumple.record.lateness import Limits

if TYPE_CHECKING:
    from crumple.machine.capacity import Placement
    from crumple.machine.ceiling import Ceiling

# Half of the requests may take half of a slice at most: a request that takes longer than a slice and its re-
# warming never ends.
SLICE_SHARE_MAX = 0.5
SAME_PROCESS = "the same process in every trial: this server was not started anew for each"

Word = Literal[
    "valid",
    "disturbed",
    "unsteady",
    "engine-limited",
    "schedule-missed",
    "port-limited",
    "late-start",
    "agent-differs",
    "not-valid",
]
# What each word says, and why its limit is where it is: for docs/reference/validity.md.
MEANINGS: dict[Word, tuple[str, str]] = {
    "valid": ("The load measured the server.", ""),
    "engine-limited": (
        "The engine was at its limit, or sent later than it could have.",
        "Near its limit an engine queues, and the queue looks like the server's. A closed load whose "
        "connections wait for the engine has the engine's throughput.",
    ),
    "schedule-missed": (
        "The engine sent requests later than the schedule asked for.",
        "The response times that count would then be partly the engine's.",
    ),
    "disturbed": (
        "Other programs or the hypervisor may have taken more from it than it had left.",
        "Above that, less is known of the server than is not known.",
    ),
    "unsteady": (
        "The server still grew while it was measured.",
        "Its figures are partly those of its warm-up.",
    ),
    "port-limited": (
        "The machine that loads had no local ports or descriptors left.",
        "The limit was that machine, and not the server.",
    ),
    "late-start": (
        "Of several load hosts one began later than the others.",
        "Until then only a part of the load was there.",
    ),
    "agent-differs": (
        "One of several load hosts was answered faster or more slowly than the others.",
        "The response times are then a mixture, and no quantile of it is the server's. What the server does "
        "cancels, since the hosts are compared moment by moment.",
    ),
    "not-valid": (
        "The record contradicts itself, or the trial was not what it claims to be.",
        "Nothing can be concluded from it.",
    ),
}


@dataclass(frozen=True)
class Validity:
    """A trial's validity in one `word`, with its problems and warnings."""

    word: Word
    problems: tuple[str, ...]
    """A sentence for each reason not to trust the record; empty if it is valid."""
    warnings: tuple[str, ...]
    """What may have affected the figures without making the trial invalid."""


def assess(
    record: TrialRecord,
    *,
    placement: "Placement | None" = None,
    server_cores: Collection[int] = (),
    ceiling: "Ceiling | None" = None,
    canary: TrialRecord | None = None,
    afresh: bool = True,
    less: str = "",
    workers: int | None = None,
    asked: Limits | None = None,
    disturbance: Disturbance | None = None,
    unsteady: str = "",
    by_figure: bool = False,
    bounds: bool = False,
) -> Validity:
    """Judge a record by itself. `placement` None: no cores were chosen for the server.

    `server_cores`: the cores the server ran on, if known; `canary`: the record of the light requests beside
    the load; `afresh`: the server's process was started for this trial; `less`: the part of the load that
    this machine had no room for; `workers`: how many requests can wait at once in a server that blocks;
    `asked`: the limits of an objective, by quantile of the response times, which then decide how late the
    engine may have been; `by_figure`: times that include the engine's lateness, and figures of which others
    took too much, are left out, and the others count; `bounds`: quantiles that include the engine's lateness
    are shown as upper bounds, and count unless half of the requests were late; `disturbance`: what others
    took from it;
    `unsteady`: what still grew while it was measured. Raises NotStored where a histogram is damaged.
    """
    is_apart = record.probes.server_machine is not None
    both = [] if is_apart else sorted(set(record.spec.cores) & set(server_cores))
    own = bool(record.spec.cores) and placement != "shared" and not both
    engine = _Engine(
        record,
        shared=placement == "shared",
        own=own,
        asked=asked or {},
        by_figure=by_figure,
        bounds=bounds,
        taken_share=disturbance.taken_share if disturbance else 0.0,
    )
    impossible = invariants.impossible(record, workers=workers, server_cores=server_cores)
    # Causes are listed before their effects, since the first problem gives the word.
    found: tuple[tuple[Word, str | None], ...] = (
        ("not-valid", _identity(record)),
        ("port-limited", _port_limited(record)),
        ("not-valid", _memory_limited(record)),
        ("not-valid", _forbidden(record)),
        ("not-valid", _no_route(record)),
        ("late-start", hosts_compared.late_start_problem(record)),
        ("not-valid", hosts_compared.own_problem(record)),
        ("not-valid", _some_answers(record)),
        ("not-valid", _bytes(record)),
        ("not-valid", _warmed_up(record)),
        ("not-valid", _kept_apart(both) if placement == "separate" else None),
        ("disturbed", None if by_figure else _disturbed(disturbance)),
        *engine.problems(),
        ("not-valid", _too_long_for_slices(record)),
        ("unsteady", unsteady),
        *(("not-valid", each) for each in impossible),
        ("agent-differs", hosts_compared.differs_problem(record)),
    )
    problems = [(word, problem) for word, problem in found if problem]
    doubts = (
        disturbance.sentence if disturbance and (by_figure or not disturbance.disturbed) else None,
        _unread(record, disturbance),
        less,
        None if afresh else SAME_PROCESS,
        *(f"canary: {doubt}" for doubt in (*against_canary(canary), *_unanswered(canary))),
        failures.silent_connections_sentence(record),
        failures.sentence(record),
        hosts_compared.late_start_warning(record),
        hosts_compared.tail_warning(record, asked or {}),
        engine_limits.ceiling_warning(record, ceiling),
        _side_by_side(both) if placement is None else None,
        *engine.doubts(),
        failures.sent_again_sentence(record),
        failures.closed_unannounced_sentence(record),
    )
    return Validity(
        word=problems[0][0] if problems else "valid",
        problems=tuple(problem for _, problem in problems),
        warnings=tuple(doubt for doubt in doubts if doubt),
    )


@dataclass(frozen=True)
class _Engine:
    """How the engine may have affected a record."""

    record: TrialRecord
    shared: bool
    """Whether it shares cores with the server by intent."""
    own: bool
    """Whether no other program is meant to use its cores."""
    asked: Limits
    by_figure: bool
    bounds: bool
    taken_share: float

    @cached_property
    def starved_problem(self) -> str | None:
        """Return a problem if the engine lacked a core while connections waited for it."""
        return None if self.shared else engine_limits.starved_problem(self.record, self.own, self.taken_share)

    @cached_property
    def missed(self) -> str | None:
        """Return a problem if response times that count include the engine's own lateness."""
        if self.by_figure:
            return None
        if not self.bounds:
            return engine_limits.schedule_problem(self.record, self.asked)
        said = engine_limits.schedule_problem_throughout(self.record)
        # The quantiles of an objective alone decide.
        return engine_limits.schedule_problem(self.record, self.asked) if said and self.asked else said

    @property
    def by_number(self) -> bool:
        return isinstance(self.record.spec.stop, RequestsStopSpec)

    @property
    def late(self) -> Word:
        """The word for an engine that sent late: only an open shape has a schedule to miss."""
        return "schedule-missed" if isinstance(self.record.spec.shape, OpenShapeSpec) else "engine-limited"

    def problems(self) -> tuple[tuple[Word, str | None], ...]:
        record, waited_share = self.record, engine_limits.waited_share(self.record)
        return (
            ("engine-limited", None if self.shared else engine_limits.used_up_problem(record, self.own)),
            ("engine-limited", self.starved_problem),
            ("engine-limited", None if self.by_number else engine_limits.unopened_problem(record)),
            (self.late, self.missed),
            # Little's law is not checked for a starved engine: the time it had no core is missing there.
            ("not-valid", None if self.starved_problem else invariants.problem(record, waited_share)),
        )

    def doubts(self) -> tuple[str | None, ...]:
        record = self.record
        return (
            engine_limits.thread_share_warning(record) if self.shared else None,
            # The problem of a starved engine states this already.
            None if self.shared or self.starved_problem else engine_limits.waited_warning(record),
            None if self.starved_problem else engine_limits.unattended_warning(record),
            engine_limits.unopened_problem(record) if self.by_number else None,
            engine_limits.spun_warning(record),
            engine_limits.left_out_warning(record) if self.by_figure else None,
            engine_limits.bounds_warning(record, self.asked) if self.bounds and not self.missed else None,
            engine_limits.late_warning(record, self.asked),
            engine_limits.clock_warning(record),
        )


def against_canary(canary: TrialRecord | None) -> list[str]:
    """Return a warning for each reason why the light requests beside the load do not count; the load does."""
    if canary is None:
        return []
    checks = (
        _identity,
        _port_limited,
        _memory_limited,
        _forbidden,
        _no_route,
        engine_limits.schedule_problem,
    )
    return [problem for check in checks if (problem := check(canary))]


def _unanswered(canary: TrialRecord | None) -> list[str]:
    """Return a warning if fewer than half of the light requests beside the load were answered."""
    if canary is None or 2 * canary.outcomes.ok > canary.scheduled:
        return []
    answered = f"{canary.outcomes.ok} of {canary.scheduled} requests were answered"
    return [f"only {answered}, so its median is at least what is given"]


def _identity(record: TrialRecord) -> str | None:
    """Return a problem if requests, their outcomes and their times do not add up."""
    for phase, scheduled, outcomes in (
        ("measured", record.scheduled, record.outcomes),
        ("warm-up", record.warm_up.scheduled, record.warm_up.outcomes),
    ):
        if scheduled != outcomes.total:
            ends = " + ".join(f"{outcomes.as_dict()[name]} {name}" for name in OUTCOMES)
            return (
                f"the {phase} requests do not add up: {scheduled} scheduled, {outcomes.total} ended ({ends})"
            )
    explained = sum(record.not_sent.model_dump().values())
    if explained != record.outcomes.not_sent:
        return f"{record.outcomes.not_sent} requests were not sent, but there is a reason for {explained}"
    times = record.histograms
    for name, timed in (("response", times.response_time), ("service", times.service_time)):
        if timed is not None and timed.count != record.outcomes.ok:
            return f"{record.outcomes.ok} answers were ok, but {timed.count} {name} times were recorded"
    return None


def _port_limited(record: TrialRecord) -> str | None:
    """Return a problem if requests were not sent because local ports or descriptors had run out."""
    ports, descriptors = record.not_sent.ports, record.not_sent.descriptors
    if ports:
        return (
            f"no local port was left{_on(record)} for {_requests(ports)} (limit 0): connect from more source "
            "addresses, keep connections alive, or widen net.ipv4.ip_local_port_range"
        )
    if descriptors:
        return (
            f"no descriptor was left{_on(record)} for {_requests(descriptors)} (limit 0): raise the hard "
            "limit of open files (as root: ulimit -Hn), or use fewer connections"
        )
    return None


def _memory_limited(record: TrialRecord) -> str | None:
    """Return a problem if the kernel had no memory left for sockets."""
    if not record.not_sent.memory:
        return None
    return (
        f"the kernel{_on(record)} had no memory for the sockets of {_requests(record.not_sent.memory)} "
        "(limit 0): use fewer connections, or raise net.ipv4.tcp_mem and fs.epoll.max_user_watches"
    )


def _forbidden(record: TrialRecord) -> str | None:
    """Return a problem if a rule of this machine forbade connections: a firewall, a socket's permissions."""
    if not record.not_sent.forbidden:
        return None
    address = record.spec.target.address
    remedy = (
        f"let this user write to {address.removeprefix('unix:')}"
        if address.startswith("unix:")
        else f"allow connections to {address} in its firewall (nft list ruleset), or raise "
        "net.netfilter.nf_conntrack_max"
    )
    sent = _requests(record.not_sent.forbidden)
    whose = record.load_host or "this machine"
    return f"a rule of {whose} forbade the connections of {sent} (limit 0): {remedy}"


def _no_route(record: TrialRecord) -> str | None:
    """Return a problem if this machine had no route to the server."""
    if not record.not_sent.route:
        return None
    sent = _requests(record.not_sent.route)
    whose = record.load_host or "this machine"
    return f"{whose} had no route for {sent} (limit 0): {failures.route_remedy(record)}"


def _on(record: TrialRecord) -> str:
    return f" on {record.load_host}" if record.load_host else ""


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number:,} requests"


def _unread(record: TrialRecord, others: Disturbance | None) -> str | None:
    """Return a warning if it is not known what others took from a server that was watched."""
    if others is None or not others.unread or record.probes.server is None:
        return None
    if others.steal_share is None:
        return None  # The kernel says nothing of the whole machine, which its record says.
    return f"what other programs took is not known: {others.unread}"


def _some_answers(record: TrialRecord) -> str | None:
    """Return a problem if not one answer was right."""
    if record.outcomes.ok:
        return None
    worst = max(record.outcomes.as_dict().items(), key=lambda outcome: outcome[1])
    seen = failures.statuses(record) if worst[0] == "wrong-status" else ""
    if what := reasons.what(record, worst[0]):
        fault = failures.tls_fault(record, worst[0])
        seen = f"{what}: {fault}" if fault else what
    came = f" ({seen})" if seen else ""
    return f"no answer was ok; {worst[1]:,} of {record.scheduled:,} ended as {worst[0]}{came}"


def _bytes(record: TrialRecord) -> str | None:
    """Return a problem if fewer bytes came than the bodies have, or answers to no byte sent."""
    # The record does not say which answer belongs to which request; an answer to HEAD has no body.
    bodies = (0 if each.method == "HEAD" else each.expect.body_bytes or 0 for each in record.spec.requests)
    # Part of the answers to requests taken over from the warm-up may have come before the window.
    whole = record.outcomes.ok - record.histograms.taken_over.count
    least = max(0, whole) * min(bodies, default=0)
    if record.received_bytes < least:
        return f"{record.received_bytes} bytes received, fewer than the {least} of the bodies alone"
    if record.outcomes.ok and not record.sent_bytes:
        return f"{record.outcomes.ok} answers to no byte sent"
    return None


def _warmed_up(record: TrialRecord) -> str | None:
    """Return a problem if the warm-up was cut short."""
    warm_up = record.spec.warm_up
    if warm_up is None or not isinstance(warm_up.stop, RequestsStopSpec):
        return None
    left = record.warm_up.outcomes.not_sent
    if not left:
        return None
    asked, within_s = warm_up.stop.requests, warm_up.stop.within_s
    return f"the warm-up was cut short: {asked - left:,} of its {asked:,} requests within {within_s:g} s"


def _too_long_for_slices(record: TrialRecord) -> str | None:
    """Return a problem if half of the requests took so long that each window cuts off many of them."""
    times = record.histograms
    slices = sum(turn.measured_s > 0 for turn in record.spec.turns)
    if slices < 2 or not times.response_time.count:
        return None
    parts = [part for part in (times.response_time, times.unfinished_age) if part.count]
    median_s = histogram.merge([histogram.decode(part.encoded) for part in parts]).quantile_ns(0.5) / 1e9
    slice_s = record.measured_ns / slices / 1e9
    if median_s <= slice_s * SLICE_SHARE_MAX:
        return None
    return (
        f"half of the requests took {median_s:.2g} s or more, and a slice {slice_s:.2g} s (limit "
        f"{SLICE_SHARE_MAX * 100:g}% of it): write longer slices, or none"
    )


def _kept_apart(both: Sequence[int]) -> str | None:
    """Return a problem if engine and server shared a core though they were to be apart."""
    if not both:
        return None
    return (
        f"engine and server shared core {', '.join(map(str, both))}: too few cores to keep them apart; "
        'measure with placement = "shared", or on more cores'
    )


def _disturbed(found: Disturbance | None) -> str | None:
    """Return a problem if others may have taken more from the trial than it had left."""
    return f"disturbed: {found.sentence}" if found is not None and found.disturbed else None


def _side_by_side(both: Sequence[int]) -> str | None:
    """Return a warning if the server may run on a core of the engine."""
    if not both:
        return None
    cores = ", ".join(map(str, both))
    return (
        f"the server may run on the engine's core {cores} too, and then each slows the other; "
        "bind the server to other cores (taskset)"
    )
