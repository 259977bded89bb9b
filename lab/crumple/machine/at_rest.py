"""What the processes of a server do while nobody asks them: CPU time, and waiting for a disk.

`load --watch` and `find` look before they load, `diagnose` after its first requests.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crumple.machine import process_tree

# Seconds over which a server at rest is looked at, unless the caller gives another length.
OVER_S = 0.3
# Seconds between two looks at which threads wait for a disk.
_LOOK_S = 0.05
# The smallest share of a core with which a thread counts as burning it while nobody asks.
_BURNS_SHARE = 0.5
# The most threads of a server that are looked at for a wait for a disk, since each look reads a file for each
# thread.
_THREADS_MOST = 500


@dataclass(frozen=True)
class AtRest:
    """`cores`: CPU seconds per second; `disk`: how many threads waited for a disk, on average; `burning`: the
    threads that used most of a core. `places`: how many threads slept at each place, by the kernel's names;
    empty: not read.
    """

    cores: float
    disk: float
    burning: tuple[int, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


def cores(found: AtRest | None) -> float:
    """The cores that a server keeps busy while nobody asks; 0 if that is not known."""
    return 0.0 if found is None else found.cores


def look(pid: int, over_s: float = OVER_S) -> AtRest | None:
    """Look at the process tree of `pid` for `over_s`; None: the times of its threads cannot be read."""
    before, began_s = cpu_ns(pid), time.monotonic()
    if not before:
        return None
    looked, looks = list(before)[:_THREADS_MOST], []
    while time.monotonic() - began_s < over_s:
        time.sleep(_LOOK_S)
        looks.append(sum(_waits_for_disk(process, thread) for process, thread in looked))
    after, spent_ns = cpu_ns(pid), 1e9 * (time.monotonic() - began_s)
    if not after:
        return None
    used = {at: max(0, ns - before.get(at, 0)) for at, ns in after.items()}
    burning = tuple(thread for (_, thread), ns in used.items() if ns >= _BURNS_SHARE * spent_ns)
    places = Counter(place for process, thread in looked if (place := _place(process, thread)))
    return AtRest(sum(used.values()) / spent_ns, sum(looks) / max(1, len(looks)), burning, dict(places))


def cpu_ns(pid: int) -> dict[tuple[int, int], int]:
    """(Process, thread) of a tree → its CPU time in ns, exact but for what it used since the last tick."""
    found: dict[tuple[int, int], int] = {}
    for process in (pid, *process_tree.descendants(pid)):
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208  (called often)
                with contextlib.suppress(OSError, ValueError, IndexError):
                    text = Path(f"/proc/{process}/task/{thread}/schedstat").read_text()
                    found[(process, int(thread))] = int(text.split()[0])
    return found


def _waits_for_disk(process: int, thread: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return process_tree.stat(process, thread)[0] == "D"
    return False


def _place(process: int, thread: int) -> str:
    """Where a thread sleeps; empty: it runs, or the kernel does not say it."""
    with contextlib.suppress(OSError):
        place = Path(f"/proc/{process}/task/{thread}/wchan").read_text().strip()
        return "" if place == "0" else place
    return ""
