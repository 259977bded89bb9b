"""Whether two results are of one machine, and their loads of one load host, by their facts. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from crumple.drawing import numerals

MEMORY = "memory_bytes"
# Facts of the CPU, and all facts, that change times. If one of them differs, the machine is another.
OF_THE_CPU = ("cpu_model", "architecture", "governor", "turbo")
LASTING = (*OF_THE_CPU, "cores", "usable_cores", "cpu_quota_cores", "kernel", MEMORY)
# By how much the memory of machines of one kind may differ: their kernels keep some MiB more or less of it.
SAME_MEMORY = 0.05
# The fact that names the kinds of hosts, if a run was measured on several that differ in what changes times.
HOSTS = "hosts"
# The fact of a machine that names the one that its load came from; without it the load came from itself.
LOAD_HOST = "load_host"
# Facts of that machine that change times, as results have them, and how far away it is. One name may be of
# another machine now.
OF_LOAD_HOST = ("cores", "cpu_model", "cpu_quota_cores", "kernel")
FROM_THERE = (LOAD_HOST, *(f"{LOAD_HOST}_{fact}" for fact in OF_LOAD_HOST))
ROUND_TRIP = f"{LOAD_HOST}_round_trip_ns"
# By how many times a round trip differs so that the way is called another. Where cores are lacking, the
# median of one way differs up to three times.
ANOTHER_WAY = 4.0


def machine_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts in which two machines differ, or where their loads came from: name → a clause."""
    found = {
        fact: f"{_name(fact)} was {_value(fact, before)}, is {_value(fact, after)}"
        for fact in (*LASTING, *FROM_THERE[1:])
        if fact in before and fact in after and _differ(fact, before, after)
    }
    if before.get(HOSTS) != after.get(HOSTS):
        was, now = ("; ".join(machine.get(HOSTS, ())) or "of one kind" for machine in (before, after))
        found[HOSTS] = f"hosts were {was}, are {now}"
    was, now = (machine.get(LOAD_HOST) or "the server's machine" for machine in (before, after))
    return found if was == now else found | {LOAD_HOST: f"the load came from {was}, comes from {now}"}


def apart(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the facts that change times in which a host differs from the first one: "kernel 6.8.0"."""
    return [f"{_name(fact)} {_value(fact, other)}" for fact in LASTING if _differ(fact, first, other)]


def _differ(fact: str, first: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a fact of two machines differs by so much that they are of other kinds."""
    one, two = first.get(fact), other.get(fact)
    if fact == MEMORY and one and two:
        return bool(abs(one - two) > SAME_MEMORY * max(one, two))
    return bool(one != two)


def _name(fact: str) -> str:
    return "memory" if fact == MEMORY else fact.replace("_", " ")


def _value(fact: str, machine: Mapping[str, Any]) -> str:
    value = machine.get(fact)
    return numerals.size(value) if fact == MEMORY and value else str(value)


def together(hosts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of one of several hosts, of the kind that most are, with the kinds if they differ.

    In whichever order the hosts come, the facts that change times are the same.
    """
    differing = [fact for fact in LASTING if any(_differ(fact, *pair) for pair in combinations(hosts, 2))]
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for each in hosts:
        kind = ", ".join(f"{_name(fact)} {_value(fact, each)}" for fact in differing)
        kinds.setdefault(kind, []).append(each)
    (one, *_) = kinds[min(kinds, key=lambda kind: (-len(kinds[kind]), kind))]
    return {**one, HOSTS: sorted(kinds)} if differing else {**one}


def with_load_host(machine: Mapping[str, Any], host: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the facts of a machine with those of its load host, as a result has them; None: itself."""
    if host is None:
        return {**machine}
    facts = {f"{LOAD_HOST}_{fact}": host.get(fact) for fact in (*OF_LOAD_HOST, "round_trip_ns")}
    return {**machine, LOAD_HOST: host["where"], **facts}


def other_way(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield a clause if the load host of the same name is much nearer, or further away."""
    was, now = before.get(ROUND_TRIP), after.get(ROUND_TRIP)
    if was and now and before[LOAD_HOST] == after[LOAD_HOST] and max(was, now) >= ANOTHER_WAY * min(was, now):
        was, now = map(numerals.duration, (was, now))
        yield f"the way to {after[LOAD_HOST]} is another: a line took {was} there and back, takes {now}"
