"""What a change of a number is expected to give, as an interval of multiples of the throughput. Pure.

The number is taken for how many there are of what limits the server, as far as the diagnosis knows it: its
workers, the connections of a pool, the places of a gate. So much more of it gives so much more throughput,
until the cores, or the requests in flight, are used up. The high end is the smaller one of these asymptotes.
The low end is what a closed network of queues gives (mean value analysis), in which everything on the machine
that computes for requests computes more with them: near a second limit, requests wait for both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crumple.cause import gain, readings
from crumple.cause.finding import Cause, Facts, Finding, Said
from crumple.cause.hypotheses import peer_names
from crumple.cause.outcome import SD_MIN
from crumple.cause.reading_words import CAUSES
from crumple.cause.remedy import Number, Predicted

# So many standard errors on either side.
ERRORS = 2.0
# Factors that differ by less are one.
ALIKE = 0.01
# The load with a change has so many requests in flight for each that can be served at a time then.
IN_FLIGHT, IN_FLIGHT_MAX = 2.0, 512
# More of these lets more requests in; more of those lets more through, of as many that are in.
IN_FRONT: tuple[Cause, ...] = ("workers", "slow-pool", "idle-connections")
INSIDE: tuple[Cause, ...] = ("gate", "connection-pool", "one-loop")
# With more requests at a time these remain what they are.
ELSEWHERE: tuple[Cause, ...] = ("cpu", "dependency")


@dataclass(frozen=True)
class _Room:
    """What is left on the machine. `server`: the throughput at which all cores are used, if only the server
    computes more with it; `all`: and if all others do as well. Infinite: not known.
    """

    server: float
    all: float


def predicted(
    facts: Facts, said: Sequence[Said], numbers: Sequence[Number], connections: int
) -> tuple[Predicted | None, str]:
    """Return what a change is expected to give with so many requests in flight, or why that is not known."""
    found = next((each for each in said if isinstance(each, Finding)), None)
    if found is None or found.cause == "none" or not facts.beyond.per_s:
        return None, "what limits it is not known"
    if found.cause not in (*IN_FRONT, *INSIDE, *ELSEWHERE):
        return None, f"what limits it is no number of places ({CAUSES[found.cause]})"
    if not numbers:
        return None, "what is changed is no number"
    factors = [_factor(facts, found.cause, each) for each in numbers]
    factor, error = factors[0]
    if any(abs(each / factor - 1) > ALIKE for each, _ in factors):
        return None, "several numbers change, by different factors"
    return _with_errors(_predicted(facts, found.cause, factor, connections), facts, error), ""


def in_flight(facts: Facts, said: Sequence[Said], numbers: Sequence[Number], connections: int) -> int:
    """Return how many requests are in flight in the load that compares, `connections` of them at least."""
    found = next((each for each in said if isinstance(each, Finding)), None)
    if found is None or not numbers:
        return connections
    factor = max(_factor(facts, found.cause, each)[0] for each in numbers)
    return max(connections, min(IN_FLIGHT_MAX, math.ceil(IN_FLIGHT * factor * size(facts, found.cause))))


def size(facts: Facts, cause: Cause) -> float:
    """Return how many there are of what limits the server; at least 1."""
    if cause == "connection-pool" and (peer := peer_names.most_asked(facts)) is not None:
        return max(1.0, peer.connections)
    if cause == "one-loop":
        return 1.0
    if cause == "gate":
        return max(1.0, facts.at_a_time or 1.0)
    stage = facts.stage
    return max(1.0, facts.workers or (stage.inside if stage is not None else facts.at_a_time) or 1.0)


def _factor(facts: Facts, cause: Cause, number: Number) -> tuple[float, float]:
    """Return by what a number is multiplied, with its relative error."""
    if number.before is not None:
        return number.after / number.before, 0.0
    return number.after / size(facts, cause), readings.COUNTED


def _predicted(facts: Facts, cause: Cause, factor: float, connections: int) -> Predicted:
    per_s, room = facts.beyond.per_s, _room(facts)
    if cause in ELSEWHERE:
        return Predicted(min(1.0, factor), 1.0, CAUSES[cause])
    alone_s = facts.alone_s
    if cause in IN_FRONT:
        inside = size(facts, cause)
        let_in = min(factor * inside, connections)
        low = _let_in(per_s, inside, let_in, room)
        limits = {"": factor, "CPU": room.server / per_s}
        if alone_s:
            limits["the requests in flight"] = connections / alone_s / per_s
    else:
        stage = facts.stage
        inside = min(
            connections, stage.inside if stage is not None and facts.is_queued_outside else connections
        )
        low = _let_through(per_s, factor, inside, room, alone_s or 0.0)
        limits = {"": factor, "CPU": room.server / per_s}
        if alone_s:
            limits["the requests that are inside"] = max(1.0, inside / alone_s / per_s)
    limit = min(limits, key=lambda each: limits[each])
    return Predicted(min(low, limits[limit]), limits[limit], limit)


def _room(facts: Facts) -> _Room:
    server, load = gain.of_cores(facts), facts.beyond
    busy = load.all_cores - (facts.idle_cores or 0.0)
    of_all = load.per_s * load.all_cores / busy if facts.idle_cores is not None and busy > 0 else math.inf
    return _Room(server if server is not None else math.inf, of_all)


def _let_in(per_s: float, inside: float, let_in: float, room: _Room) -> float:
    """Return the gain if so many more are inside at a time, each of which waits and computes as before."""
    each_s = 1.0 / room.all
    waits_s = _solved(lambda waits: throughput([each_s], waits, inside) - per_s, inside / per_s)
    return throughput([each_s], waits_s, let_in) / throughput([each_s], waits_s, inside)


def _let_through(per_s: float, factor: float, inside: float, room: _Room, alone_s: float) -> float:
    """Return the gain if what lets requests through is so many times as fast."""
    each_s, gate_s = 1.0 / room.all, 1.0 / per_s
    waits_s = max(0.0, alone_s - each_s - gate_s)
    changed = throughput([gate_s / factor, each_s], waits_s, inside)
    return changed / throughput([gate_s, each_s], waits_s, inside)


def throughput(demands_s: Sequence[float], waits_s: float, population: float) -> float:
    """Return the throughput of a closed network of queues, and a wait without one (mean value analysis).

    `demands_s`: how long a request needs each station. A population between two numbers is interpolated.
    """
    below = max(1, math.floor(population))
    queues, found = [0.0] * len(demands_s), [0.0, 0.0]
    for number in range(1, below + 2):
        times_s = [demand * (1.0 + queue) for demand, queue in zip(demands_s, queues, strict=True)]
        found = [found[1], number / (waits_s + sum(times_s))]
        queues = [found[1] * each for each in times_s]
    return found[0] + (population - below) * (found[1] - found[0])


def _solved(off: Callable[[float], float], most: float) -> float:
    """Return where a falling function is 0, from 0 to `most`."""
    low, high = 0.0, most
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if off(middle) > 0 else (low, middle)
    return low


def _with_errors(found: Predicted, facts: Facts, of_factor: float) -> Predicted:
    """Widen the interval by the errors of the readings, and of the comparison itself."""
    of_alone = readings.alone_error(facts) if found.limit.startswith("the requests") else 0.0
    error = math.sqrt(SD_MIN**2 + of_factor**2 + of_alone**2)
    return Predicted(
        found.low * math.exp(-ERRORS * error), found.high * math.exp(ERRORS * error), found.limit
    )
