"""How requests failed, by kind and by status: a record → a sentence. Pure.

Times are of the requests that were answered rightly, so whoever reads them has to be told of the others.
"""

from collections import Counter

from crumple.contract import Outcomes, TrialRecord

# So many are marked wherever a trial is shown (rule 20 of the method).
SHARE_MAX = 0.01
STATUSES_NAMED = 3


def share(outcomes: Outcomes) -> float | None:
    """Failed requests in those that ended (0..1); what is in flight at the end may yet go either way."""
    ended = outcomes.ok + outcomes.failed
    return outcomes.failed / ended if ended else None


def lost_share(outcomes: Outcomes) -> float | None:
    """The same with those that were not sent, which count as failed and as ended."""
    lost = outcomes.failed + outcomes.not_sent
    return lost / (outcomes.ok + lost) if outcomes.ok + lost else None


def sentence(record: TrialRecord) -> str | None:
    """Requests that failed, by status and by kind."""
    failed_share = share(record.outcomes)
    if not record.outcomes.ok or failed_share is None or failed_share <= SHARE_MAX:
        return None
    return f"{failed_share * 100:.2g}% of the requests failed ({_kinds(record)}): all times are of the others"


def tls_fault(record: TrialRecord, outcome: str) -> str | None:
    """Why TLS failed, where that is how the requests of this outcome ended; None: it is not.

    The engine counts what speaks no TLS, and whom it does not trust, as malformed; who hangs up before a
    connection stands, as closed early or reset.
    """
    fault = record.tls_fault
    if record.spec.target.tls is None or fault is None:
        return None
    ended = [each for kind in record.requests for each in kind.examples if each.outcome == outcome]
    # Of what came in place of an answer over a connection that stood, something is kept.
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
    """Those that were not expected, the most frequent first, with how often each came; none: empty."""
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
