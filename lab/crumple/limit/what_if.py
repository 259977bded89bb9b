"""What a server would answer with a part of it changed, by operational laws, without a load. Pure.

At its limit the throughput X is known. A part that lets in k requests at a time is held for k / X by each of
them (Little's law), so k′ of them that are held for s′ let through no more than k′ / s′. Cores let through no
more than cores / D, where each request takes D of CPU time, and workers no more than workers / R0, where each
request takes R0 alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from crumple.limit.finding import Cause, Finding, Said, Unclear
from crumple.observation import parallelism, peer_names
from crumple.observation.server_facts import ServerFacts

# "dependency": how long what is behind it takes alone, in s; "cpu": CPU time of a request, as a multiple of
# now; "gate": how many requests it lets in at a time. The others are numbers.
Part = Literal["workers", "connections", "cores", "dependency", "cpu", "gate"]
PARTS: tuple[Part, ...] = get_args(Part)
Changes = Mapping[Part, float]

# Causes that let in a number of requests at a time, with the part that is this number.
LETS_IN: Mapping[Cause, Part] = {"workers": "workers", "connection-pool": "connections", "gate": "gate"}
# Causes that CPU time limits: that of all cores that the server may use, or of its quota.
OF_CORES: tuple[Cause, ...] = ("cpu", "contention", "memory", "switches", "throttled")
# The least ratio of two limits with which one is said to come before the other.
NEAR = 1.001
# The relative error with which a number of places is measured. Within it, it is taken for the whole number.
WHOLE = 0.1


@dataclass(frozen=True)
class Predicted:
    """Answers per second, at least and at most, and what limits the server then."""

    low: float
    high: float
    then: Cause

    @property
    def middle(self) -> float:
        """The middle of the range."""
        return (self.low + self.high) / 2


def now(facts: ServerFacts, part: Part) -> float | None:
    """Return how much of a part there is; None: not known."""
    peer = peer_names.most_asked(facts)
    inside = facts.stage.inside if facts.stage is not None else None
    found: Mapping[Part, float | None] = {
        "workers": facts.workers if facts.workers is not None else inside,
        "connections": peer.connections if peer is not None else None,
        "cores": facts.cores,
        "dependency": asked_s(facts),
        "cpu": 1.0,
        "gate": facts.at_a_time,
    }
    number = found[part]
    if number is None or number <= 0:
        return None
    return _whole(number) if part in ("workers", "connections", "gate") else number


def lets_in(facts: ServerFacts, cause: Cause) -> float | None:
    """Return how many requests at a time a cause lets in; None: not known, or not a number."""
    if cause == "one-loop":
        return 1.0
    return now(facts, LETS_IN[cause]) if cause in LETS_IN else None


def weighed(said: Sequence[Said]) -> Mapping[Cause, float]:
    """Return the causes that what was said leaves, with their probabilities, the most probable first."""
    for each in said:
        if isinstance(each, Finding):
            return {each.cause: each.probability, **_rival(each)}
        if isinstance(each, Unclear) and each.between:
            return each.between
    return {}


def predicted(facts: ServerFacts, said: Sequence[Said], changes: Changes) -> Predicted | None:
    """Return the range over all causes that are left; None: nothing limits it, or that is not known.

    A cause about which the laws say nothing would leave the throughput as it is.
    """
    causes = weighed(said)
    if not facts.beyond.per_s or not causes or (next(iter(causes)) == "none" and len(causes) == 1):
        return None
    each = [of_cause(facts, cause, changes) for cause in causes]
    return Predicted(min(one.low for one in each), max(one.high for one in each), each[0].then)


def scaled(facts: ServerFacts, said: Sequence[Said], part: Part, factor: float) -> Predicted | None:
    """Return the same with so many times as much of one part; None: also if there is no number of it."""
    causes = weighed(said)
    found: list[Predicted] = []
    for cause in causes:
        # Workers of one loop are processes, of which there is one.
        number = 1.0 if cause == "one-loop" and part == "workers" else now(facts, part)
        if number is None or not facts.beyond.per_s:
            return None
        found.append(of_cause(facts, cause, {part: factor * number}))
    return _over(found) if found and [*causes] != ["none"] else None


def of_cause(facts: ServerFacts, cause: Cause, changes: Changes) -> Predicted:
    """Return what the server would answer if this cause limits it now."""
    per_s = facts.beyond.per_s
    if cause in LETS_IN:
        low, high = _let_in(facts, cause, changes)
    elif cause in OF_CORES:
        cores = facts.cores
        low = high = per_s * changes.get("cores", cores) / cores / changes.get("cpu", 1.0)
    elif cause == "one-loop":
        # A loop that sleeps in a call computes for a part of the time that it has for a request.
        computes = min(1.0, _cpu_s(facts) * per_s)
        saved = per_s * max(0.0, _saved_of_dependency_s(facts, changes)) if computes < 1.0 - WHOLE else 0.0
        takes = 1.0 - computes * (1.0 - changes.get("cpu", 1.0)) - saved
        low = high = per_s * max(1.0, changes.get("workers", 1.0)) / max(takes, 0.01)
    elif cause == "dependency":
        now_s = asked_s(facts)
        low = high = per_s * now_s / changes.get("dependency", now_s) if now_s else per_s
    else:
        low = high = per_s
    floor = per_s if _is_no_less(facts, changes) else 0.0
    return _bounded(Predicted(low, high, cause), caps(facts, cause, changes), floor, per_s)


def _is_no_less(facts: ServerFacts, changes: Changes) -> bool:
    """Whether no part is made smaller or slower: then it serves what it serves now, at least."""
    number = {part: now(facts, part) or 0.0 for part in changes}
    costs: tuple[Part, ...] = ("cpu", "dependency")
    return all(
        value <= number[part] if part in costs else value >= number[part] for part, value in changes.items()
    )


def remedy(facts: ServerFacts, cause: Cause) -> Changes:
    """Return what is tried by default against a cause: twice as much, or half of the time."""
    if cause == "one-loop":
        return {"workers": float(facts.beyond.all_cores)} if facts.beyond.all_cores > 1 else {}
    part: Part | None = LETS_IN.get(cause)
    if cause == "memory" and facts.waits_for_memory:
        return {}
    if part is None and cause in OF_CORES and not facts.others_use_most:
        part = "cores"
    if cause == "throttled":
        # A quota of as many cores as it may run on is none.
        return {} if facts.seen.quota is None else {"cores": min(2.0 * facts.cores, facts.beyond.all_cores)}
    if part is not None and (number := now(facts, part)) is not None:
        return {part: 2.0 * number}
    now_s = now(facts, "dependency")
    return {"dependency": now_s / 2} if cause == "dependency" and now_s else {}


def _over(found: Sequence[Predicted]) -> Predicted:
    """Return the range over several; what limits then is by the first."""
    return Predicted(min(each.low for each in found), max(each.high for each in found), found[0].then)


def _rival(found: Finding) -> Mapping[Cause, float]:
    return {} if found.rival is None else {found.rival: found.rival_probability}


def _whole(number: float) -> float:
    """Return the whole number that a measured number of places is, if it is near one."""
    nearest = max(1.0, round(number))
    return nearest if abs(number - nearest) <= WHOLE * nearest else number


def asked_s(facts: ServerFacts) -> float | None:
    """Return how long a request waits for the dependency: alone, or else under load; None: for none."""
    peer = peer_names.most_asked(facts)
    if peer is None or not facts.beyond.per_s:
        return None
    return peer_names.asked_alone_s(facts, peer) or peer.waiting / facts.beyond.per_s


def _cpu_s(facts: ServerFacts) -> float:
    """Return the CPU time of a request; 0: not known."""
    load = facts.beyond
    return (facts.asked_cores or 0.0) / load.per_s if load.per_s else 0.0


def _let_in(facts: ServerFacts, cause: Cause, changes: Changes) -> tuple[float, float]:
    """Return the throughput, at least and at most, where a number of requests is let in at a time."""
    part, per_s = LETS_IN[cause], facts.beyond.per_s
    k = now(facts, part)
    if k is None:
        return per_s, per_s
    held_s, cpu_s = k / per_s, _cpu_s(facts)
    saved_s = cpu_s * (1.0 - changes.get("cpu", 1.0)) + _saved_of_dependency_s(facts, changes)
    more, cores = changes.get(part, k), _cores_most(facts, changes)
    cpu_held_s = min(cpu_s, held_s)
    # What a request saves is saved while it is held, if all of it is: of a gate that is not known.
    shorter_s = max(held_s - saved_s, held_s / 100)
    at_most = more / shorter_s
    by_chance = (
        per_s
        * _closed(more, shorter_s, min(cpu_held_s, shorter_s), cores)
        / _closed(k, held_s, cpu_held_s, cores)
    )
    ends = sorted((at_most, by_chance))
    if cause == "workers" or not saved_s:
        return ends[0], ends[1]
    unchanged = per_s * more / k
    return min(ends[0], unchanged), max(ends[1], unchanged)


def _saved_of_dependency_s(facts: ServerFacts, changes: Changes) -> float:
    """Return by how much a request waits less for the dependency."""
    now_s = asked_s(facts)
    return now_s - changes["dependency"] if now_s and "dependency" in changes else 0.0


def _closed(number: float, held_s: float, cpu_s: float, cores: float | None) -> float:
    """Return the throughput of so many requests at a time whose times vary at random (mean value analysis).

    Each computes for `cpu_s` of `held_s`. Several cores are one that is as fast as all of them, and a delay.
    """
    if not cores or not cpu_s:
        return number / held_s
    at_core_s, delay_s = cpu_s / cores, held_s - cpu_s / cores
    queue, per_s = 0.0, 0.0
    whole = max(1, math.floor(number))
    for at in range(1, whole + 1):
        takes_s = at_core_s * (1.0 + queue)
        per_s = at / (delay_s + takes_s)
        queue = per_s * takes_s
    return per_s * number / whole


def _cores_most(facts: ServerFacts, changes: Changes) -> float | None:
    """Return how many cores requests may use; None: not known."""
    used = facts.asked_cores
    # Programs that it does not ask use what they used before, and share the cores with it.
    idle = facts.left_cores if peer_names.most_asked(facts) is None else facts.unused_cores
    if idle is None or used is None:
        return None
    return min(used + idle, facts.cores) * changes.get("cores", facts.cores) / facts.cores


def _cores(facts: ServerFacts, changes: Changes) -> float | None:
    """Return how many requests per second the cores let through; None: not known."""
    most, cpu_s = _cores_most(facts, changes), _cpu_s(facts) * changes.get("cpu", 1.0)
    return most / cpu_s if most and cpu_s else None


def caps(facts: ServerFacts, cause: Cause, changes: Changes) -> Mapping[Cause, float]:
    """Return what limits it after the cause, as far as that is known, and what each lets through."""
    found: dict[Cause, float] = {}
    if (cores := _cores(facts, changes)) is not None and cause not in OF_CORES:
        found["cpu"] = cores
    threads, cpu_s = facts.beyond.threads, _cpu_s(facts) * changes.get("cpu", 1.0)
    if cause == "throttled" and cpu_s:
        # What is idle lies beyond its quota.
        found["cpu"] = ((facts.asked_cores or 0.0) + (facts.unused_cores or 0.0)) / cpu_s
        if threads is not None and (threads.sharing or math.inf) <= parallelism.ONE_BUSY_MAX:
            found["one-loop"] = 1.0 / cpu_s
    workers = changes.get("workers", facts.workers or 0.0)
    if cause not in ("workers", "one-loop") and workers and facts.alone_s:
        saved_s = _saved_of_dependency_s(facts, changes)
        found["workers"] = workers / max(facts.alone_s - saved_s, facts.alone_s / 100)
    return found


def _bounded(found: Predicted, bounds: Mapping[Cause, float], floor: float, per_s: float) -> Predicted:
    """Return what is predicted, bounded by what limits it next, but not below what is known to be served."""
    cause = min(bounds, key=lambda each: bounds[each], default=None)
    most = math.inf if cause is None else max(bounds[cause], floor)
    if cause is None or found.high < most / NEAR:
        return found
    return Predicted(
        min(found.low, most),
        min(found.high, most),
        cause if found.high > per_s * NEAR or most < found.low / NEAR else found.then,
    )
