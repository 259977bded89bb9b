"""What came instead of the answer that was expected: how often, and the first of each kind.

Pure: record → facts. `answer_sentences` puts them into words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple import contract
from crumple.contract import Example, Outcomes, Request, RequestRecord, TrialRecord
from crumple.record import failures

_WRONG_STATUS = "wrong-status"
# Neither unexpected answers nor failures; wrong statuses are counted by status.
_ELSEWHERE = ("ok", _WRONG_STATUS, "not-sent", "unfinished")

_Kind = tuple[Request, RequestRecord]
_Key = tuple[str, int | None]


@dataclass(frozen=True)
class Unexpected:
    """Requests that ended in the same unexpected way. `status`: that of whole answers with an unexpected one.

    `first`: the first such exchange, None where the engine kept none; `request`: its request. `tls_fault`:
    why TLS failed, if that is how they ended. `compared`: in how many ok answers the bytes were compared, and
    the number of all ok answers; of the others only the length was checked.
    """

    outcome: str
    status: int | None
    count: int
    request: Request | None
    first: Example | None
    tls_fault: str | None = None
    compared: tuple[int, int] | None = None


def unexpected(record: TrialRecord) -> tuple[Unexpected, ...]:
    """Return the unexpected results of the measured phase, the most frequent first."""
    return _unexpected(record, record.outcomes, _kinds(record))


def unexpected_of(record: TrialRecord, asked: Request, kind: RequestRecord) -> tuple[Unexpected, ...]:
    """Return the unexpected results of one of several requests, the most frequent first."""
    return _unexpected(record, kind.outcomes, [(asked, kind)])


def statuses(record: TrialRecord) -> Mapping[int, int]:
    """Whole answers by status, of all requests, expected or not."""
    found: dict[int, int] = {}
    for kind in record.requests:
        for status, count in kind.statuses.items():
            found[status] = found.get(status, 0) + count
    return dict(sorted(found.items()))


def is_expected(status: int, expect: contract.Expect) -> bool:
    """Whether an answer of that status may be ok."""
    return 200 <= status <= 299 if expect.status is None else status == expect.status


def _kinds(record: TrialRecord) -> list[_Kind]:
    return list(zip(record.spec.requests, record.requests, strict=True))


def _unexpected(record: TrialRecord, outcomes: Outcomes, kinds: Sequence[_Kind]) -> tuple[Unexpected, ...]:
    counts: dict[_Key, int] = {}
    for asked, kind in kinds:
        for status, count in kind.statuses.items():
            if count and not is_expected(status, asked.expect):
                key = (_WRONG_STATUS, status)
                counts[key] = counts.get(key, 0) + count
    for outcome, count in outcomes.as_dict().items():
        if count and outcome not in _ELSEWHERE:
            counts[outcome, None] = count
    firsts = _firsts(kinds)
    found = []
    for way, number in counts.items():
        request, first = firsts.get(way, (None, None))
        tls_fault = failures.tls_fault(record, way[0])
        compared = _compared(kinds) if way[0] == "wrong-body" else None
        found.append(Unexpected(*way, number, request, first, tls_fault, compared))
    return tuple(sorted(found, key=lambda each: -each.count))


def _compared(kinds: Sequence[_Kind]) -> tuple[int, int] | None:
    sampled = [kind for asked, kind in kinds if asked.expect.body_sha256 and asked.expect.hash_one_in > 1]
    if not sampled:
        return None
    return sum(kind.bodies_hashed for kind in sampled), sum(kind.outcomes.ok for kind in sampled)


def _firsts(kinds: Sequence[_Kind]) -> dict[_Key, tuple[Request, Example]]:
    """For each way to end, the exchange that ended first."""
    firsts: dict[_Key, tuple[Request, Example]] = {}
    for asked, kind in kinds:
        for example in kind.examples:
            key = (example.outcome, example.status if example.outcome == _WRONG_STATUS else None)
            if key not in firsts or example.at_ns < firsts[key][1].at_ns:
                firsts[key] = (asked, example)
    return firsts
