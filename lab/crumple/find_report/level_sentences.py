"""How one level of a search is told: its load, its row in the table, how it came out. Plain text."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.find.level import ALIVE, KEEPS_UP, Level, Part
from crumple.record import failures as failed

if TYPE_CHECKING:
    from crumple.find_report.figures import Finding

OUTCOMES = {"held": "held", "broke": "broke", "limited": "not valid", "undecided": "undecided"}
FAULTS = {KEEPS_UP: "backlog grew", ALIVE: "the server ended"}
# Of a line's first column: "1,995 /s", "512 connections".
LOAD_WIDTH = {True: 9, False: 15}
GLYPHS = {"held": "●", "broke": "✕", "limited": "○", "undecided": "?"}


def load(value: float | None, by_rate: bool) -> str:
    """ "8,410 /s", or "512 connections"."""
    if value is None:
        return numerals.ABSENT
    return f"{figure(value, True)}{NARROW}/s" if by_rate else numerals.count(round(value), "connection")


def figure(value: float, by_rate: bool) -> str:
    """The same without its unit."""
    # Levels lie close to each other: a digit more than elsewhere tells them apart.
    return numerals.significant(value, 4) if by_rate else f"{round(value):,}"


def missed(part: Part, level: Level) -> str:
    """What a part that did not hold came to: "p99<250ms: 17 % of 295 took longer"."""
    if part.name == KEEPS_UP:
        return f"the backlog grew by {numerals.share(part.value)} of what came due"
    if part.name in FAULTS:
        return FAULTS[part.name]
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
        how = f" ({failed.named(statuses)})" if name == "wrong-status" and statuses else ""
        if name == "not-sent":
            how = f": no one of {limit:,} connections was free in time"
        said.append(f"{name} {number:,}{how}")
    return ", ".join(said)


def value(part: Part) -> str:
    """What a part came to, in its unit."""
    if part.value is None:
        return numerals.ABSENT
    if part.quantity in ("failed", "backlog"):
        return numerals.share(part.value)
    return numerals.rate(part.value) if part.quantity == "throughput" else numerals.duration(part.value)


def share(part: Part | None) -> str:
    """How many missed a part, of those known: "0 of 310", "17 % of 295"."""
    if part is None or part.share is None:
        return numerals.ABSENT
    return f"{numerals.share(part.share) if part.against else '0'} of {part.known:,}"


def heads(finding: "Finding") -> list[str]:
    """Of the table of levels, but for how each came out."""
    shown = ["start"] if finding.afresh else []
    watched = ["server CPU"] if finding.server_cores is not None else []
    return [*shown, "load", "for", "ok", "p50", *finding.time_heads, "failed", *watched]


def cells(finding: "Finding", level: Level) -> list[str]:
    """One row of it."""
    shown = [f"{level.start + 1}"] if finding.afresh else []
    parts = {part.name: part for part in level.parts}
    busy = level.server_cores_busy
    cores = numerals.ABSENT if busy is None else f"{numerals.significant(busy, 2)} of {finding.server_cores}"
    times = [
        share(part) if (part := parts.get(head)) and part.known else value(part) if part else numerals.ABSENT
        for head in finding.time_heads
    ]
    return [
        *shown,
        figure(level.load, finding.by_rate),
        numerals.seconds(level.measured_s),
        numerals.rate(level.throughput_per_s),
        numerals.duration(level.p50_ns),
        *times,
        numerals.share(level.failed_share),
        *([cores] if finding.server_cores is not None else []),
    ]


def verdict(level: Level) -> str:
    """How a level came out, and by what: "broke: p99<250ms"."""
    said = OUTCOMES[level.outcome]
    if level.outcome == "limited":
        return level.word
    if level.outcome == "broke":
        faults = [FAULTS.get(part.name, part.name) for part in level.broken]
        return f"{said}: {', '.join(faults) or 'no answer was ok'}"
    return said


def line(level: Level, by_rate: bool) -> str:
    """A level in one line."""
    missed_most = max(
        (part for part in level.parts if part.known), key=lambda part: part.share or 0.0, default=None
    )
    parts = [
        f"{load(level.load, by_rate):>{LOAD_WIDTH[by_rate]}}",
        f"{numerals.seconds(level.measured_s):>6}",
        f"{numerals.rate(level.throughput_per_s):>10} ok",
        f"p50 {numerals.duration(level.p50_ns):>7}",
        f"missed {share(missed_most):>12}",
        verdict(level),
    ]
    return "  ".join(parts).replace(NARROW, " ")
