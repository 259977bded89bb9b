"""What more of something would give, in words, and what limits after that. Pure."""

from crumple.drawing import numerals
from crumple.limit import what_if
from crumple.limit.finding import CAUSES, Cause
from crumple.limit.what_if import Changes, Predicted
from crumple.observation.server_facts import ServerFacts

# The largest ratio of the ends of a range that is shown as one figure.
ONE_FIGURE = 1.02


def with_more(facts: ServerFacts, cause: Cause, what: str) -> str:
    """Return the change and its gain: "16 workers: 38 /s → 71 to 76 /s; then CPU"."""
    changes = what_if.remedy(facts, cause)
    if not changes or not facts.beyond.per_s:
        return f"more {what}"
    (number,) = changes.values()
    return f"{round(number):,} {what}: {from_to(facts, cause, changes)}"


def from_to(facts: ServerFacts, cause: Cause, changes: Changes, predicted: Predicted | None = None) -> str:
    """Return what a change gives, in words: "38 /s → 71 to 76 /s, then CPU".

    `predicted`: over all causes that are left; None: this cause limits the server now.
    """
    found = predicted or what_if.of_cause(facts, cause, changes)
    return f"{numerals.rate(facts.beyond.per_s)} → {rates(found)}{after(facts, cause, found, changes)}"


def after(facts: ServerFacts, cause: Cause, found: Predicted, changes: Changes) -> str:
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
    return f"{said}; {CAUSES[next_]} limits it from about {numerals.rate(caps[next_])} on"


def rates(found: Predicted) -> str:
    """Return a range of answers per second in words."""
    if found.high <= ONE_FIGURE * found.low:
        return numerals.rate(found.middle)
    return f"{numerals.significant(found.low)} to {numerals.rate(found.high)}"
