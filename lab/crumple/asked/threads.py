"""Threads of a server as its runtime lists them → what most of them wait for, and where. Pure.

Each reader of a thread dump knows its runtime's frames; what follows from them is the same for all.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.asked.found import SourceFinding
from crumple.drawing import numerals
from crumple.observation.answers import AskedPart

# `idle`: it waits for work. `runs`: it uses a core, or could. `sleeps`: for a time that the program gave.
Wait = Literal["pooled", "gated", "receiving", "runs", "sleeps", "waits", "idle"]
WORDS: dict[Wait, str] = {
    "pooled": "wait for a connection of a pool",
    "gated": "wait for a lock or a permit",
    "receiving": "wait for bytes from a socket",
    "runs": "run",
    "sleeps": "sleep for a time that was given",
    "waits": "wait for something else",
}
PARTS: tuple[Wait, ...] = ("pooled", "gated", "receiving")
# The least number of threads with one name that are called a pool.
POOL_MIN = 2


@dataclass(frozen=True)
class RuntimeThread:
    """One thread that handles requests, or could. `place`: where in the program's own code.

    `gate`: which pool, lock or permit it waits for; empty: not known.
    """

    name: str
    wait: Wait
    place: str
    gate: str = ""


def found(
    threads: Sequence[RuntimeThread], noun: str = "thread", holders: Sequence[str] = ()
) -> SourceFinding:
    """Return what these threads show. `holders`: lines on who holds what others wait for."""
    at_work = [each for each in threads if each.wait != "idle"]
    waits = Counter(each.wait for each in at_work)
    shows = f"{len(at_work)} of {numerals.count(len(threads), noun)} have work"
    counts = [f"{count} {WORDS[wait]}" for wait, count in waits.most_common()]
    shows += f": {', '.join(counts)}" if counts else ""
    parts: dict[str, AskedPart] = {
        name: AskedPart(waits[name], len(at_work), _does(at_work, name, noun)) for name in PARTS
    }
    if (pool := _busiest_pool(threads)) is not None:
        parts["occupied"] = pool
    return SourceFinding(shows, parts, tuple(holders))


def pool_name(thread: str) -> str:
    """Return the name that threads of one pool have in common: without the number at its end."""
    return re.sub(r"\d+$", "", thread)


def _does(at_work: Sequence[RuntimeThread], wait: Wait, noun: str) -> str:
    """Return what most of those do that wait for this, and where; empty: none waits for it."""
    places = Counter((each.gate, each.place) for each in at_work if each.wait == wait)
    if not places:
        return ""
    gate, place = places.most_common(1)[0][0]
    within = f" ({gate})" if gate else ""
    return f"{noun}s with work {WORDS[wait]}{within} at {place or 'code of the runtime'}"


def _busiest_pool(threads: Sequence[RuntimeThread]) -> AskedPart | None:
    """Return how many threads have work in the pool with most of those; None: there is no pool."""
    sizes = Counter(pool_name(each.name) for each in threads if each.name)
    working = Counter(pool_name(each.name) for each in threads if each.name and each.wait != "idle")
    pools = [name for name, size in sizes.items() if size >= POOL_MIN]
    if not pools:
        return None
    pool = max(pools, key=lambda name: (working[name], -sizes[name]))
    return AskedPart(working[pool], sizes[pool], f"threads named {pool}… have work")
