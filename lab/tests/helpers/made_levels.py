"""Made-up levels of a search: a load and its result, without a record. Not a test itself."""

from crumple.find.next_level import Purpose, Tried
from crumple.find.seen import Judged, LevelOutcome, PartEvidence

NAME, LIMIT = "p99<250ms", 0.01
# Outcome of a level → its answers, and how many of them are slow.
COUNTS: dict[LevelOutcome, tuple[int, int]] = {
    "held": (308, 0),
    "broke": (50, 25),
    "undecided": (400, 4),
    "limited": (0, 0),
}


def judged(load: float, outcome: LevelOutcome, start: int = 0) -> Judged:
    """Return a level whose slow answers, if any, came one by one."""
    known, against = COUNTS[outcome]
    return counted(load, known, against, outcome, start)


def counted(
    load: float, known: int, against: int, outcome: LevelOutcome = "undecided", start: int = 0
) -> Judged:
    """A level with these numbers of answers known and against the limit."""
    seen = (PartEvidence(NAME, LIMIT, known, against, bunches=against),) if known else ()
    return Judged(load, start, outcome, seen)


def tried(
    load: float,
    outcome: LevelOutcome,
    purpose: Purpose = "bracket",
    *,
    start: int = 0,
    per_s: float | None = None,
) -> Tried:
    """A level as the search keeps it; `per_s`: answers per second, by default the load."""
    return Tried(judged(load, outcome, start), purpose, load if per_s is None else per_s)


def levels(held: list[float], broke: list[float], start: int = 0) -> list[Judged]:
    """Return levels on one start."""
    return [
        *(judged(load, "held", start) for load in held),
        *(judged(load, "broke", start) for load in broke),
    ]
