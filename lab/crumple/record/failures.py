"""Requests without a right answer: failed, never answered, sent again, answered unexpectedly. Pure.

Response times are those of right answers only, so reports have to state the other requests as well. A
connection that never gets an answer is in no quantile: a server that starves 56 of 64 connections looks fast
by the other 8. A TCP segment that is sent again lengthens times by as long as the kernel waits before it
sends it again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crumple import contract
from crumple.contract import Example, Outcomes, Reason, RequestRecord, RequestSpec, SocketRecord, TrialRecord
from crumple.drawing import numerals
from crumple.record import reasons
from crumple.record.reasons import Words

# A trial, or a part of one, in which more than 1 % of the requests fail is marked wherever it is shown, and
# not ranked by its speed (docs/method.md, Statistics).
SHARE_MAX = 0.01
# A sentence names the three most frequent statuses.
STATUSES_NAMED = 3


def share(outcomes: Outcomes) -> float | None:
    """Failed requests as a share of those that ended (0..1), without those in flight; None if none ended."""
    ended = outcomes.ok + outcomes.failed
    return outcomes.failed / ended if ended else None


def lost_share(outcomes: Outcomes) -> float | None:
    """Failed requests as a share of those that ended (0..1), with requests not sent counted as failed."""
    lost = outcomes.failed + outcomes.not_sent
    return lost / (outcomes.ok + lost) if outcomes.ok + lost else None


def sentence(record: TrialRecord) -> str | None:
    """Return a warning if more than 1 % of the requests failed, with their kinds and statuses."""
    failed = describe_failed(record)
    return f"{failed}: all times are of the others" if failed and record.outcomes.ok else None


def describe_failed(record: TrialRecord) -> str:
    """Return the share of failed requests with their kinds and statuses; empty where at most 1 % failed."""
    failed_share = share(record.outcomes)
    if failed_share is None or failed_share <= SHARE_MAX:
        return ""
    part = numerals.share(failed_share).replace(numerals.NARROW, "")
    number = "all" if not record.outcomes.ok else f"{part} of the"
    return f"{number} requests failed ({_kinds(record)})"


def tls_fault(record: TrialRecord, outcome: str) -> str | None:
    """Return why TLS failed, or the tunnel through a proxy, if most requests of this outcome ended so."""
    reason = reasons.most_frequent(record, outcome)
    return record.tls_fault if reasons.is_tls(reason) or reasons.is_tunnel(reason) else None


def _kinds(record: TrialRecord) -> str:
    """How requests failed, the most frequent first: "wrong-status 312 (503 × 300, 500 × 12), timeout 4"."""
    ends = Counter(
        {
            name: number
            for name, number in record.outcomes.as_dict().items()
            if number and name not in ("ok", "not-sent", "unfinished")
        }
    )
    seen = statuses(record)
    return ", ".join(
        f"{name} {number:,}{f' ({seen})' if seen and name == 'wrong-status' else ''}"
        for name, number in ends.most_common()
    )


def statuses(record: TrialRecord) -> str:
    """Return the unexpected statuses, the most frequent first, with how often each came; empty: none."""
    return list_statuses(unexpected_statuses(record))


def list_statuses(seen: Counter[int]) -> str:
    """Statuses, the most frequent first, with how often each came."""
    said = [f"{status} × {number:,}" for status, number in seen.most_common(STATUSES_NAMED)]
    return ", ".join([*said, "…"] if len(seen) > STATUSES_NAMED else said)


def unexpected_statuses(record: TrialRecord) -> Counter[int]:
    """Statuses that were not expected, and how often each came."""
    seen: Counter[int] = Counter()
    for asked, came in zip(record.spec.requests, record.requests, strict=False):
        for status, number in came.statuses.items():
            if not is_expected(status, asked.expect):
                seen[status] += number
    return seen


# A request that waited ten times the median was not merely in flight when the load ended.
_LONG = 10.0


@dataclass(frozen=True)
class SilentConnections:
    """Connections on which no whole answer came."""

    connections: int
    """How many there are."""
    of: int
    """How many connections had a request."""
    p50_age_ns: float | None
    """The median age of the unfinished requests; None: there are none."""
    oldest_ns: int | None
    """The age of the oldest unfinished request; None: there is none."""
    never_opened: int = 0
    """How many of them were never established, at least, so that nothing was sent on them."""

    @property
    def unopened(self) -> str:
        """Return ", at least 359 of them never opened"; empty if all may have been."""
        never = self.never_opened
        return f", at least {never:,} of them never opened" if never else ""


def silent_connections(record: TrialRecord) -> SilentConnections | None:
    """Return the connections that got no answer while others did, or None.

    A connection counts only if a request of it waited long or may have failed; others had only just sent
    their first request. Raises NotStored where a histogram is damaged.
    """
    if not record.users_unanswered or not record.outcomes.ok:
        return None
    # Imported here because this module is imported before a load's first request.
    from crumple.record.histogram import decoded

    ages = decoded(record.histograms.unfinished_age)
    usual_ns = decoded(record.histograms.response_time).quantile_ns(0.5)
    # A connection without an answer may have had only requests that failed.
    waited = ages.count_above(_LONG * usual_ns) + record.outcomes.failed
    number = min(record.users_unanswered, waited)
    if not number:
        return None
    return SilentConnections(
        connections=number,
        of=record.users,
        p50_age_ns=ages.quantile_ns(0.5) if ages.count else None,
        oldest_ns=record.histograms.unfinished_age.max_ns,
        # A connection that was opened again counts twice, so there may be more that never were.
        never_opened=min(number, max(0, record.users - record.connections_opened)),
    )


def silent_connections_sentence(record: TrialRecord) -> str:
    """Return a warning if connections got no answer although others did. Raises NotStored."""
    found = silent_connections(record)
    if found is None:
        return ""
    measured_s, others = record.measured_ns / 1e9, found.of - found.connections
    said = (
        f"{found.connections:,} of {found.of:,} connections got no answer in {measured_s:.3g} s"
        f"{found.unopened}; "
        f"the quantiles are of the other {others:,}"
    )
    if found.p50_age_ns is None or found.oldest_ns is None:
        return said
    ages = f"{found.p50_age_ns / 1e9:.2g} s (median), the oldest {found.oldest_ns / 1e9:.2g} s"
    return f"{said}; requests in flight at the end had waited {ages}"


# One segment sent again for 10,000 requests can change the p99.9, and is not chance on loopback.
REQUESTS_PER_RETRANSMIT = 10_000
# The kernel counts for the whole machine. Fewer than ten segments may be of other programs, unless a time of
# the load shows that it waited for one.
MAYBE_OF_OTHERS = 10
# The kernel waits for 0.2 s before it sends a segment again (TCP_RTO_MIN).
AGAIN_AFTER_NS = 200_000_000
# The kernel waits for a second before it sends a SYN again (TCP_TIMEOUT_INIT).
SYN_AGAIN_NS = 1_000_000_000


def segments(record: TrialRecord) -> int:
    """Return how many segments were sent again at both ends, for any program; 0 where that was not read."""
    return again(record) or 0


def ends(record: TrialRecord) -> tuple[SocketRecord, ...]:
    """What was read of TCP where the load came from, and where the server is if that is elsewhere."""
    probes = record.probes
    both = (probes.sockets, probes.server_sockets)
    return tuple(sockets for sockets in both if sockets is not None)


def again(record: TrialRecord) -> int | None:
    """Return how many segments were sent again at both ends; None where neither was read."""
    read = [number for sockets in ends(record) if (number := _again(record, sockets)) is not None]
    return sum(read) if read else None


def _again(record: TrialRecord, sockets: SocketRecord) -> int | None:
    """Return how many were sent again from the last sample before measuring to the last of all."""
    read = zip(sockets.at_ns, sockets.retransmitted, strict=True)
    known = [(at_ns, number) for at_ns, number in read if number is not None]
    if not known:
        return None
    before = [number for at_ns, number in known if at_ns <= record.warm_up_ns] or [known[0][1]]
    return known[-1][1] - before[-1]


def describe_segments(record: TrialRecord) -> str:
    """ "312 TCP segments were sent again on this machine (…)"; empty where they are too few to matter.

    Empty, too, where there are so few that they may be of other programs, and no time of this load shows any.
    """
    number = segments(record)
    if number * REQUESTS_PER_RETRANSMIT <= record.scheduled:
        return ""
    if number < MAYBE_OF_OTHERS and not _waited_for_one(record):
        return ""
    sent = "one TCP segment was" if number == 1 else f"{number:,} TCP segments were"
    where = f"here and on {record.load_host}" if record.load_host else "on this machine"
    return (
        f"{sent} sent again {where}, by whichever program (limit 1 for {REQUESTS_PER_RETRANSMIT:,} requests)"
    )


def _waited_for_one(record: TrialRecord) -> bool:
    """Whether a request, or a connection, took longer than another by what a segment sent again takes."""
    times = record.histograms
    usual_ns = times.response_time.min_ns or 0
    longest = (times.response_time, times.failed, times.timed_out, times.unfinished_age)
    if any((each.max_ns or 0) - usual_ns >= AGAIN_AFTER_NS for each in longest):
        return True
    connect = times.connect_time
    return (connect.max_ns or 0) - (connect.min_ns or 0) >= AGAIN_AFTER_NS


def sent_again_sentence(record: TrialRecord) -> str:
    """Return a warning if TCP segments were sent again, with the cause and the remedy."""
    said = describe_segments(record)
    return said and (
        f"{said}: packets were lost or a backlog was full{_longest(record)}; "
        "look at the network, or raise the server's backlog"
    )


def _longest(record: TrialRecord) -> str:
    """Return how an unanswered SYN lengthened the times: the kernel sends the next one a second later."""
    longest_ns = record.histograms.connect_time.max_ns or 0
    if longest_ns < SYN_AGAIN_NS:
        return ""
    return (
        f", and to connect took up to {longest_ns / 1e9:.3g} s, for the kernel sends a SYN again after 1 s "
        "and more: the longest response times are of that"
    )


def route_remedy(record: TrialRecord) -> str:
    """Return what to do where this machine has no route to the server."""
    address = record.spec.target.address.rpartition(":")[0].strip("[]")
    return f"correct the address, or add a route to it (ip route get {address} shows what there is)"


def closed_unannounced_sentence(record: TrialRecord) -> str:
    """Return a warning if the server closes connections without announcing it."""
    if record.retried <= SHARE_MAX * record.scheduled:
        return ""
    again = record.retried / record.scheduled
    each = sum(answers_by_status(record).values()) / max(1, record.connections_opened)
    return (
        f"{again * 100:.2g}% of the requests met a connection that the server had closed without announcing "
        f"it, after {each:.2g} answers on average, and were sent again over a new one, which their times "
        f"include (limit {SHARE_MAX * 100:g}%): let the server send Connection: close with its last answer, "
        "or load with --disable-keepalive"
    )


_WRONG_STATUS = "wrong-status"
# Neither unexpected answers nor failures; wrong statuses are counted by status.
_ELSEWHERE = ("ok", _WRONG_STATUS, "not-sent", "unfinished")

_Kind = tuple[RequestSpec, RequestRecord]
_Key = tuple[str, int | None, Reason | None]


@dataclass(frozen=True)
class Unexpected:
    """Requests that ended in the same unexpected way."""

    outcome: str
    status: int | None
    """The status, if they had whole answers with an unexpected one; else None."""
    count: int
    request: RequestSpec | None
    """The request of `first`; None: the engine kept none."""
    first: Example | None
    """The first exchange that ended so; None: the engine kept none."""
    tls_fault: str | None = None
    """Why TLS failed, if that is how they ended."""
    compared: tuple[int, int] | None = None
    """In how many right answers the bytes were compared, and the number of right answers; of the others only
    the length was checked.
    """
    reason: Reason | None = None
    """Why they ended so; None if a whole answer came, or if they had several reasons."""
    words: Words | None = None
    """The reason in words, and the remedy."""
    since_ns: int | None = None
    """When the first of them ended, since measuring began; None: not known."""

    def without_remedy(self) -> "Unexpected":
        """Return the same where another remedy fits all of them, as where the server was lost."""
        return replace(self, words=replace(self.words, remedy="")) if self.words else self


def unexpected_ends(record: TrialRecord) -> tuple[Unexpected, ...]:
    """Return the unexpected results of the measured phase, the most frequent first."""
    return _ends(record, record.outcomes, _asked(record))


def unexpected_ends_of(
    record: TrialRecord, asked: RequestSpec, kind: RequestRecord
) -> tuple[Unexpected, ...]:
    """Return the unexpected results of one of several requests, the most frequent first."""
    return _ends(record, kind.outcomes, [(asked, kind)])


def answers_by_status(record: TrialRecord) -> Mapping[int, int]:
    """Whole answers by status, of all requests, expected or not."""
    found: dict[int, int] = {}
    for kind in record.requests:
        for status, count in kind.statuses.items():
            found[status] = found.get(status, 0) + count
    return dict(sorted(found.items()))


def is_expected(status: int, expect: contract.ExpectSpec) -> bool:
    """Whether an answer of that status may be ok."""
    return 200 <= status <= 299 if expect.status is None else status == expect.status


def _asked(record: TrialRecord) -> list[_Kind]:
    return list(zip(record.spec.requests, record.requests, strict=True))


def _ends(record: TrialRecord, outcomes: Outcomes, kinds: Sequence[_Kind]) -> tuple[Unexpected, ...]:
    counts: dict[_Key, int] = {}
    for asked, kind in kinds:
        for status, count in kind.statuses.items():
            if count and not is_expected(status, asked.expect):
                key = (_WRONG_STATUS, status, None)
                counts[key] = counts.get(key, 0) + count
    for outcome, count in outcomes.as_dict().items():
        if count and outcome not in _ELSEWHERE:
            counts |= {(outcome, None, reason): number for reason, number in _reasons(record, outcome, count)}
    firsts = _firsts(kinds)
    found = [_unexpected(record, way, count, firsts, kinds) for way, count in counts.items()]
    return tuple(sorted(found, key=lambda each: -each.count))


def _unexpected(
    record: TrialRecord,
    way: _Key,
    count: int,
    firsts: Mapping[_Key, tuple[RequestSpec, Example]],
    kinds: Sequence[_Kind],
) -> Unexpected:
    outcome, status, reason = way
    request, first = firsts.get(way, (None, None))
    # Where the others had several reasons, the first one has one.
    known = reason or (first.reason if first else None)
    is_tls = reasons.is_tls(known) or reasons.is_tunnel(known)
    # The record counts from the first instant, warm-up included; all that is shown, since measuring began.
    since = (
        max(0, row.first_ns - record.warm_up_ns)
        for row in record.reasons
        if (row.outcome, row.reason) == (outcome, reason)
    )
    return Unexpected(
        outcome,
        status,
        count,
        request,
        first,
        tls_fault=record.tls_fault if is_tls else None,
        compared=_compared(kinds) if outcome == "wrong-body" else None,
        reason=reason,
        words=reasons.words(record, outcome, known, first) if known else None,
        since_ns=next(since, None),
    )


def _reasons(record: TrialRecord, outcome: str, count: int) -> list[tuple[Reason | None, int]]:
    """The reasons of `count` requests with this outcome; [(None, count)] if the record has others, too."""
    rows = [(row.reason, row.count) for row in record.reasons if row.outcome == outcome]
    if sum(number for _, number in rows) == count:
        return list(rows)
    return [(rows[0][0] if len(rows) == 1 else None, count)]


def _compared(kinds: Sequence[_Kind]) -> tuple[int, int] | None:
    sampled = [kind for asked, kind in kinds if asked.expect.body_sha256 and asked.expect.hash_one_in > 1]
    if not sampled:
        return None
    return sum(kind.bodies_hashed for kind in sampled), sum(kind.outcomes.ok for kind in sampled)


def _firsts(kinds: Sequence[_Kind]) -> dict[_Key, tuple[RequestSpec, Example]]:
    """For each way to end, and each outcome with several reasons, the exchange that ended first."""
    firsts: dict[_Key, tuple[RequestSpec, Example]] = {}
    for asked, kind in kinds:
        for example in kind.examples:
            status = example.status if example.outcome == _WRONG_STATUS else None
            for key in {(example.outcome, status, example.reason), (example.outcome, status, None)}:
                if key not in firsts or example.at_ns < firsts[key][1].at_ns:
                    firsts[key] = (asked, example)
    return firsts
