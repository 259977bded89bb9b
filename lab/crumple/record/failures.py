"""Requests that failed and TCP segments that were sent again, in a sentence each. Pure.

Response times are those of right answers only, so reports have to state the other requests as well. A TCP
segment that is sent again lengthens times by as long as the kernel waits before it sends it again.

The module decodes no histogram: the live view of `load` imports it before the first request, and histograms
need numpy.
"""

from collections import Counter

from crumple.contract import Outcomes, TrialRecord

# A trial with a larger share is marked wherever it is shown (rule 20 of the method).
SHARE_MAX = 0.01
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
    """Return the share of failed requests with their kinds and statuses; None where at most 1 % failed."""
    failed_share = share(record.outcomes)
    if not record.outcomes.ok or failed_share is None or failed_share <= SHARE_MAX:
        return None
    return f"{failed_share * 100:.2g}% of the requests failed ({_kinds(record)}): all times are of the others"


def tls_fault(record: TrialRecord, outcome: str) -> str | None:
    """Return why TLS failed, if that is how the requests of this outcome ended; else None.

    The engine counts a peer that does not speak TLS or is not trusted as malformed, and a peer that closes
    before the connection is established as closed early or reset.
    """
    fault = record.tls_fault
    if record.spec.target.tls is None or fault is None:
        return None
    ended = [each for kind in record.requests for each in kind.examples if each.outcome == outcome]
    # If something came over an established connection in place of an answer, an example holds part of it.
    nothing_came = not any(each.head or each.body for each in ended)
    none_stood = not record.connections_opened and not any(kind.statuses for kind in record.requests)
    if outcome == "malformed":
        return fault if nothing_came else None
    return fault if outcome in ("closed-early", "reset") and none_stood else None


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
    return named(unexpected(record))


def named(seen: Counter[int]) -> str:
    """Statuses, the most frequent first, with how often each came."""
    said = [f"{status} × {number:,}" for status, number in seen.most_common(STATUSES_NAMED)]
    return ", ".join([*said, "…"] if len(seen) > STATUSES_NAMED else said)


def unexpected(record: TrialRecord) -> Counter[int]:
    """Statuses that were not expected, and how often each came."""
    seen: Counter[int] = Counter()
    for asked, came in zip(record.spec.requests, record.requests, strict=False):
        for status, number in came.statuses.items():
            expected = asked.expect.status
            if status != expected and (expected is not None or not 200 <= status <= 299):
                seen[status] += number
    return seen


# More than one segment sent again for this many requests can change the p99.9.
REQUESTS_PER_RETRANSMIT = 10_000
SYN_AGAIN_NS = 1_000_000_000


def segments(record: TrialRecord) -> int:
    """Return how many segments this machine sent again, for any program; 0 where that could not be read."""
    sockets = record.probes.sockets
    read = zip(sockets.at_ns, sockets.retransmitted, strict=True)
    known = [(at_ns, number) for at_ns, number in read if number is not None]
    if not known:
        return 0
    before = [number for at_ns, number in known if at_ns <= record.warm_up_ns] or [known[0][1]]
    return known[-1][1] - before[-1]


def number(record: TrialRecord) -> str:
    """ "312 TCP segments were sent again on this machine (…)"; empty where they are too few to matter."""
    again = segments(record)
    if again * REQUESTS_PER_RETRANSMIT <= record.scheduled:
        return ""
    sent = "one TCP segment was" if again == 1 else f"{again:,} TCP segments were"
    return (
        f"{sent} sent again on this machine, by whichever program (limit 1 for "
        f"{REQUESTS_PER_RETRANSMIT:,} requests)"
    )


def sent_again_sentence(record: TrialRecord) -> str:
    """Return the number of segments sent again, the cause and the remedy; empty where they are too few."""
    said = number(record)
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
