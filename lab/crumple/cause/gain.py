"""What more of something would give, in words, and what limits after that. Pure."""

from crumple.cause import what_if
from crumple.cause.finding import Cause, Facts
from crumple.cause.reading_words import CAUSES
from crumple.cause.what_if import Changes, Predicted
from crumple.drawing import numerals

# Ends of a range that are nearer to each other are shown as one figure.
ONE_FIGURE = 1.02


def with_more(facts: Facts, cause: Cause, what: str) -> str:
    """Return the change and its gain: "16 workers: 38 /s → 71 to 76 /s; then CPU"."""
    changes = what_if.remedy(facts, cause)
    if not changes or not facts.beyond.per_s:
        return f"more {what}"
    (number,) = changes.values()
    return f"{round(number):,} {what}: {from_to(facts, cause, changes)}"


def from_to(facts: Facts, cause: Cause, changes: Changes) -> str:
    """Return what a change gives, if this cause limits it now: "38 /s → 71 to 76 /s, then CPU"."""
    found = what_if.of_cause(facts, cause, changes)
    return f"{numerals.rate(facts.beyond.per_s)} → {rates(found)}{after(facts, cause, found, changes)}"


def after(facts: Facts, cause: Cause, found: Predicted, changes: Changes) -> str:
    """Return what limits the server after a change, or from which throughput on something else does."""
    if found.then != cause:
        return f", then {CAUSES[found.then]}"
    if found.high <= ONE_FIGURE * facts.beyond.per_s:
        return f": {CAUSES[cause]} limits it as before"
    caps = what_if.caps(facts, cause, changes)
    next_ = min(caps, key=lambda each: caps[each], default=None)
    said = ", if nothing else limits it first"
    if next_ is None or caps[next_] <= found.high:
        return said
    return f"{said}; {CAUSES[next_]} does from about {numerals.rate(caps[next_])} on"


def rates(found: Predicted) -> str:
    """Return a range of answers per second in words."""
    if found.high <= ONE_FIGURE * found.low:
        return numerals.rate(found.middle)
    return f"{numerals.significant(found.low)} to {numerals.rate(found.high)}"
