"""One thread of the server stopped for the time of a load, in turn with the same load without.

Or one process of several, that is, all threads of it.

Predicted: the thread is the limit: 0 · it is one of k workers, all busy: (k - 1)/k · of a pool that is not
the limit, or beside the requests: 1. One of k alike is another one in each pair. Where a runtime waits until
all threads stand still, to collect garbage for instance, and where the thread held a lock when it was
stopped: 0, or far from pair to pair.

Undone by the kernel: it lets threads go on that a process has stopped by ptrace when that process ends. To
the server it is as if a debugger had been attached.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.experiment import held_pairs
from crumple.experiment.bench import Bench
from crumple.machine import at_rest, holding
from crumple.observation.outcome import LoadPairs, Refused

# Threads of one name are alike if none used more than this multiple of another's CPU time: threads of a pool
# have their turns, and the loop that feeds them uses more.
ALIKE_FACTOR = 2.0
# Numbers in the names of a pool's threads.
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class ServerThread:
    """One thread of the server. `cpu_ns`: its CPU time under a load."""

    pid: int
    tid: int
    name: str
    cpu_ns: int


def stop_in_turn(bench: Bench, threads: Sequence[ServerThread]) -> LoadPairs | Refused:
    """Return what it does to the throughput that one of these is stopped, in each pair the next."""
    if not threads:
        return Refused("there is no such thread")
    picked = [threads[number % len(threads)] for number in range(len(held_pairs.PAIRS))]
    return held_pairs.load_in_pairs(
        bench, lambda number: holding.thread(picked[number].pid, picked[number].tid)
    )


def process_stopped(bench: Bench, pids: Sequence[int]) -> LoadPairs | Refused:
    """Return what it does to the throughput that one of these processes is stopped, in each pair the next."""
    if not pids:
        return Refused("there is no such process")
    return held_pairs.load_in_pairs(bench, lambda number: holding.process(pids[number % len(pids)]))


def find_threads(bench: Bench) -> tuple[ServerThread, ...]:
    """Put a load on; return the threads that were there before and after it, the busiest first."""
    pid = bench.subject.pid
    if pid is None:
        return ()
    before = at_rest.cpu_ns(pid)
    bench.record()
    after = at_rest.cpu_ns(pid)
    found = [
        ServerThread(process, tid, _name(process, tid), used_ns - before[process, tid])
        for (process, tid), used_ns in after.items()
        if (process, tid) in before
    ]
    return tuple(sorted(found, key=lambda each: each.cpu_ns, reverse=True))


def busiest(threads: Sequence[ServerThread]) -> tuple[ServerThread, ...]:
    """The one that used most CPU time, of threads as `find_threads`; of none: none."""
    return tuple(each for each in threads[:1] if each.cpu_ns)


def alike(threads: Sequence[ServerThread]) -> tuple[ServerThread, ...]:
    """The most threads of one process that have one name, but for numbers, and used alike CPU time.

    The first thread of a process, which often feeds the others and has their name, is none of them.
    """
    used = sorted(
        (each for each in threads if each.cpu_ns and each.tid != each.pid), key=lambda each: each.cpu_ns
    )
    groups = [
        [
            each
            for each in used[at:]
            if _kind(each) == _kind(least) and each.cpu_ns <= ALIKE_FACTOR * least.cpu_ns
        ]
        for at, least in enumerate(used)
    ]
    found: list[ServerThread] = max(groups, key=len, default=[])
    return tuple(found)


def alike_processes(threads: Sequence[ServerThread]) -> tuple[int, ...]:
    """The most processes that have one name, but for numbers, and used alike CPU time, if there are two."""
    whole: dict[int, int] = {}
    for each in threads:
        whole[each.pid] = whole.get(each.pid, 0) + each.cpu_ns
    # As threads of one process, so that they are compared in the same way.
    as_threads = [ServerThread(0, pid, _name(pid, pid), used_ns) for pid, used_ns in whole.items()]
    found = alike(as_threads)
    return tuple(each.tid for each in found) if len(found) > 1 else ()


def _kind(thread: ServerThread) -> tuple[int, str]:
    return thread.pid, _NUMBER.sub("", thread.name)


def _name(pid: int, tid: int) -> str:
    """Its name; empty: it has ended."""
    try:
        return Path(f"/proc/{pid}/task/{tid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
