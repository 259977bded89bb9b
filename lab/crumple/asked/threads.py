"""Threads of a server as its runtime lists them → what most of them wait for, and where. Pure.

Each reader of a thread dump knows its runtime's frames; what follows from them is the same for all.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.asked.said import Points, listed, several

# `idle`: it waits for work. `runs`: it uses a core, or could. `sleeps`: for a time that the program gave.
Wait = Literal["connection-pool", "gate", "dependency", "runs", "sleeps", "waits", "idle"]
WORDS: dict[Wait, str] = {
    "connection-pool": "for a connection of a pool",
    "gate": "for a lock or a permit",
    "dependency": "for bytes from a socket",
    "runs": "for nothing, they run",
    "sleeps": "for a timer",
    "waits": "for something else",
}
# One that waits may be on its way through. A queue is two or more, and a tenth of all that work: fewer are
# found at a station that limits nothing.
QUEUE_MIN, QUEUE_SHARE = 2, 0.1
PLACES_SHOWN = 4


@dataclass(frozen=True)
class Thread:
    """One thread that handles requests, or could. `place`: where in the program's own code.

    `gate`: which lock or permit it waits for; `exclusive`: that one lets in one at a time.
    """

    name: str
    wait: Wait
    place: str
    gate: str = ""
    exclusive: bool = False


@dataclass(frozen=True)
class Found:
    """What a set of threads shows; the fields are those of `Said`."""

    shows: str
    evidence: tuple[str, ...]
    points_to: Points
    count: int | None
    place: str


def found(threads: Sequence[Thread], noun: str = "thread", holders: Sequence[str] = ()) -> Found:
    """What these threads show. `holders`: lines of evidence on who holds what others wait for."""
    at_work = [each for each in threads if each.wait != "idle"]
    waits = Counter(each.wait for each in at_work)
    parts = [f"{count} {WORDS[wait]}" for wait, count in waits.most_common()]
    idle = len(threads) - len(at_work)
    shows = f"{len(at_work)} of {several(len(threads), noun)} have work"
    shows += f" and wait: {listed(parts)}" if parts else ""
    evidence = (*_places(at_work), *holders)
    points, count, place = _points(at_work, waits, pools_in_use(threads))
    if points == "workers":
        shows += f"; all {count} of a pool have work"
    elif idle:
        shows += f"; {idle} wait for work"
    return Found(shows, evidence, points, count, place)


def pools_in_use(threads: Sequence[Thread]) -> dict[str, int]:
    """Pools of at least two threads, by the common part of their names, that have none without work."""
    sizes = Counter(pool for each in threads if (pool := pool_name(each.name)))
    idle = {pool_name(each.name) for each in threads if each.wait == "idle"}
    return {pool: size for pool, size in sizes.items() if size >= QUEUE_MIN and pool not in idle}


def pool_name(thread: str) -> str:
    """The name that threads of one pool have in common; empty: the name ends in no number."""
    numbered = re.fullmatch(r"(.*\D)\d+", thread, re.DOTALL)
    return numbered[1] if numbered else ""


def _points(
    at_work: Sequence[Thread], waits: Counter[Wait], full: dict[str, int]
) -> tuple[Points, int | None, str]:
    """What it points to, what lets through the count, and the place.

    A queue for a connection or a lock explains why workers have work, and not the reverse.
    """
    queue = max(QUEUE_MIN, QUEUE_SHARE * len(at_work))
    if waits["connection-pool"] >= queue:
        return "connection-pool", None, _most(at_work, "connection-pool")
    if waits["gate"] >= queue:
        return "gate", _exclusive(at_work), _most(at_work, "gate")
    if full:
        pool, size = max(full.items(), key=lambda each: each[1])
        own = [each for each in at_work if pool_name(each.name) == pool]
        return "workers", size, _most(own, Counter(each.wait for each in own).most_common(1)[0][0])
    if waits and waits.most_common(1)[0][0] == "dependency" and waits["dependency"] >= queue:
        return "dependency", None, _most(at_work, "dependency")
    return "none", None, ""


def _exclusive(at_work: Sequence[Thread]) -> int | None:
    """1 if what most wait for lets in one at a time."""
    gates = Counter((each.gate, each.exclusive) for each in at_work if each.wait == "gate")
    return 1 if gates.most_common(1)[0][0][1] else None


def _most(threads: Sequence[Thread], wait: Wait) -> str:
    places = Counter(each.place for each in threads if each.wait == wait and each.place)
    return places.most_common(1)[0][0] if places else ""


def _places(at_work: Sequence[Thread]) -> list[str]:
    groups = Counter((each.wait, each.place, each.gate) for each in at_work)
    return [
        f"{count} × {wait}{f' ({gate})' if gate else ''} at {place or 'code of the runtime'}"
        for (wait, place, gate), count in groups.most_common(PLACES_SHOWN)
    ]
