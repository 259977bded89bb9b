"""What a change of a number is expected to give, as an interval of multiples of the throughput. Pure.

The changed number is taken to be the size of what limits the server: its workers, the connections of its
pool, or the places of its gate, whichever the diagnosis found. `what_if` computes what the new size gives.
The requests in flight bound that, and the errors of the readings widen the interval.
"""

import math
from collections.abc import Mapping, Sequence

from crumple.limit import finding, what_if
from crumple.limit.finding import CAUSES, Cause, Said
from crumple.limit.remedy import Expected, Number
from crumple.limit.what_if import Part
from crumple.observation.outcome import IN_FLIGHT_MOST, SD_MIN
from crumple.observation.server_facts import COUNTED, ServerFacts

# How many standard errors an interval of 95 % reaches to either side.
ERRORS = 2.0
# The most by which the factors of several numbers differ that count as one change.
ALIKE = 0.01
# Requests in flight in the load with the change, as a multiple of those served at a time then: enough that
# none of its places is free.
IN_FLIGHT = 2.0
# Causes that a number of something limits. The others remain what they are with more requests at a time.
PARTS: Mapping[Cause, Part] = {
    **what_if.LETS_IN,
    "slow-pool": "workers",
    "idle-connections": "workers",
    "one-loop": "workers",
}
ELSEWHERE: tuple[Cause, ...] = ("cpu", "dependency")


def predicted(
    facts: ServerFacts, said: Sequence[Said], numbers: Sequence[Number], connections: int
) -> tuple[Expected | None, str]:
    """Return what a change is expected to give with so many requests in flight, or why that is not known."""
    found = finding.first(said)
    if found is None or found.cause == "none" or not facts.beyond.per_s:
        return None, "what limits it is not known"
    if found.cause not in (*PARTS, *ELSEWHERE):
        return None, f"what limits it is no number of places ({CAUSES[found.cause]})"
    if not numbers:
        return None, "what is changed is no number"
    factors = [_factor(facts, found.cause, each) for each in numbers]
    factor, error = factors[0]
    if any(abs(each / factor - 1) > ALIKE for each, _ in factors):
        return None, "several numbers change, by different factors"
    return _with_errors(_expected(facts, found.cause, factor, connections), facts, error), ""


def in_flight(facts: ServerFacts, said: Sequence[Said], numbers: Sequence[Number], connections: int) -> int:
    """Return how many requests are in flight in the load that compares, `connections` of them at least."""
    found = finding.first(said)
    if found is None or not numbers:
        return connections
    factor = max(_factor(facts, found.cause, each)[0] for each in numbers)
    return max(connections, min(IN_FLIGHT_MOST, math.ceil(IN_FLIGHT * factor * size(facts, found.cause))))


def size(facts: ServerFacts, cause: Cause) -> float:
    """Return how many there are of what limits the server; at least 1."""
    part = PARTS.get(cause)
    if cause == "one-loop" or part is None:
        return 1.0
    return max(1.0, what_if.now(facts, part) or 1.0)


def _factor(facts: ServerFacts, cause: Cause, number: Number) -> tuple[float, float]:
    """Return by what a number is multiplied, with its relative error."""
    if number.before is not None:
        return number.after / number.before, 0.0
    return number.after / size(facts, cause), COUNTED


def _expected(facts: ServerFacts, cause: Cause, factor: float, connections: int) -> Expected:
    per_s = facts.beyond.per_s
    if cause in ELSEWHERE:
        return Expected(min(1.0, factor), 1.0, CAUSES[cause])
    let_in: Cause = cause if cause in what_if.LETS_IN or cause == "one-loop" else "workers"
    found = what_if.of_cause(facts, let_in, {PARTS[cause]: factor * size(facts, cause)})
    limit = "" if found.then in (cause, let_in) else CAUSES[found.then]
    most = connections / facts.alone_s if facts.alone_s else math.inf
    if most < found.high:
        limit = "the requests in flight"
    return Expected(min(found.low, most) / per_s, min(found.high, most) / per_s, limit)


def _with_errors(found: Expected, facts: ServerFacts, of_factor: float) -> Expected:
    """Widen the interval by the errors of the readings, and of the comparison itself."""
    of_alone = facts.alone_error if found.limit.startswith("the requests") else 0.0
    error = math.sqrt(SD_MIN**2 + of_factor**2 + of_alone**2)
    return Expected(found.low * math.exp(-ERRORS * error), found.high * math.exp(ERRORS * error), found.limit)
