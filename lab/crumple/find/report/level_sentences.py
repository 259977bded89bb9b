"""What came of one level of a search, in words: plain text, no markup. `find_sentences` has the search."""

from collections import Counter
from collections.abc import Sequence

from crumple.drawing import numerals
from crumple.find.level import KEEPS_UP, Level, PartResult
from crumple.record import failures as failed

OUTCOMES = {"held": "held", "broke": "broke", "limited": "not valid", "undecided": "undecided"}
FAULTS = {KEEPS_UP: "backlog grew"}


def miss(part: PartResult, level: Level) -> str:
    """How a part did not hold: "p99<250ms: 17 % of 295 took longer"."""
    if part.name == KEEPS_UP:
        return f"the backlog grew by {numerals.share(part.value)} of what came due"
    if part.share is None:
        return f"{part.name}: {value(part)}"
    lost = level.failed_share * level.scheduled
    of = f"{numerals.share(part.share)} of {part.known:,}"
    if 2 * lost > part.against:
        return f"{part.name}: {of} failed ({failures([level])})"
    return f"{part.name}: {of} took longer{' or failed' if lost else ''}"


def failures(levels: Sequence[Level]) -> str:
    """How requests failed, the most frequent first: "wrong-status 312 (500 × 312), timeout 4"."""
    ends, statuses = Counter[str](), Counter[int]()
    limit = 0
    for each in levels:
        ends.update(each.failures)
        statuses.update(each.statuses)
        limit = max(limit, each.connections_limit)
    said = []
    for name, number in ends.most_common():
        how = f" ({failed.list_statuses(statuses)})" if name == "wrong-status" and statuses else ""
        if name == "not-sent":
            how = f": no one of {limit:,} connections was free in time"
        said.append(f"{name} {number:,}{how}")
    return ", ".join(said)


def value(part: PartResult) -> str:
    """The value of a part, in its unit."""
    if part.value is None:
        return numerals.ABSENT
    if part.quantity in ("failed", "backlog"):
        return numerals.share(part.value)
    return numerals.rate(part.value) if part.quantity == "throughput" else numerals.duration(part.value)


def share(part: PartResult | None) -> str:
    """How many missed a part, of those known: "0 of 310", "17 % of 295"."""
    if part is None or part.share is None:
        return numerals.ABSENT
    return f"{numerals.share(part.share) if part.against else '0'} of {part.known:,}"


def verdict(level: Level) -> str:
    """The result of a level, and which part broke: "broke: p99<250ms"."""
    said = OUTCOMES[level.outcome]
    if level.outcome == "limited":
        return level.word
    if level.outcome == "broke":
        faults = [FAULTS.get(part.name, part.name) for part in level.broken]
        return f"{said}: {', '.join(faults) or 'no answer was ok'}"
    return said
