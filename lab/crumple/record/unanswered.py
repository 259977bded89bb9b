"""Who was not served: connections without any answer, and requests that failed. A record → a sentence.

Pure. The times of a trial are of the requests that were answered rightly, so whoever reads them has to be
told of the others.
"""

from collections import Counter

from crumple.contract import TrialRecord
from crumple.record import histogram

# So many are marked wherever a trial is shown (rule 20 of the method).
SHARE_MAX = 0.01
STATUSES_NAMED = 3


def users(record: TrialRecord) -> str | None:
    """Connections that got no answer at all while others did, whose times alone are shown."""
    silent = _silent(record)
    if not record.outcomes.ok or silent <= SHARE_MAX * record.users:
        return None
    # Of the rest some may have been about to be answered.
    number = f"{'at least ' if silent < record.users_unanswered else ''}{silent:,} of {record.users:,}"
    ages = record.histograms.unfinished_age
    waiting = f"; the longest had waited {ages.max_ns / 1e9:.2g} s when it ended" if ages.max_ns else ""
    return (
        f"{number} connections got no answer in the {record.measured_ns / 1e9:.3g} s that were measured, so "
        f"all times are of the others{waiting}: measure longer, or use no more connections than the server "
        "serves at once"
    )


def failures(record: TrialRecord) -> str | None:
    """Requests that failed, by status and by kind."""
    outcomes = record.outcomes
    ended = outcomes.ok + outcomes.failed
    if not outcomes.ok or outcomes.failed <= SHARE_MAX * ended:
        return None
    share = f"{outcomes.failed / ended * 100:.2g}%"
    return f"{share} of the requests failed ({_kinds(record)}): all times are of the others"


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
    seen: Counter[int] = Counter()
    for asked, came in zip(record.spec.requests, record.requests, strict=False):
        for status, number in came.statuses.items():
            expected = asked.expect.status
            if status != expected and (expected is not None or not 200 <= status <= 299):
                seen[status] += number
    named = [f"{status} × {number:,}" for status, number in seen.most_common(STATUSES_NAMED)]
    return ", ".join([*named, "…"] if len(seen) > STATUSES_NAMED else named)


def _silent(record: TrialRecord) -> int:
    """Connections without an answer, but for those whose first may just have been on its way.

    On its way is a request that was no older than the longest answer took. Those without a request in flight
    had failures instead.
    """
    left, longest_ns = record.histograms.unfinished_age, record.histograms.response_time.max_ns or 0
    stuck = histogram.decode(left.encoded).count_above(longest_ns) if left.count else 0
    return max(min(record.users_unanswered, stuck), record.users_unanswered - record.outcomes.unfinished)
