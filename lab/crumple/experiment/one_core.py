"""All threads of the server on one of the cores that it may use, in turn with all of them.

Predicted of c cores: CPU time is the limit: 1/c · a lock, a pool, workers, a loop, a dependency: 1 ·
threads that spin: at least 1/c, and up to more than 1.

Undone by the process that does it, by a second one if that is killed, and by the lab if both are.
"""

import os

from crumple.experiment import held_pairs
from crumple.experiment.bench import Bench
from crumple.machine import holding, process_tree
from crumple.observation.outcome import LoadPairs, Refused


def pin(bench: Bench) -> LoadPairs | Refused:
    """Return what one core does to the throughput."""
    pid = bench.subject.pid
    if pid is None:
        return Refused("the server's process is not known")
    usable = cores(pid)
    if len(usable) < 2:
        return Refused("it may use one core only")
    # The engine, if it is bound to some of them, gets no more in its way than it is already.
    apart = [core for core in usable if core not in bench.subject.options.cores]
    core = (apart or usable)[-1]
    return held_pairs.load_in_pairs(bench, lambda _: holding.cores(pid, [core]))


def cores(pid: int) -> list[int]:
    """Which cores any process of the server may use, in order."""
    found: set[int] = set()
    for process in (pid, *process_tree.descendants(pid)):
        try:
            found |= os.sched_getaffinity(process)
        except OSError:
            continue
    return sorted(found)
