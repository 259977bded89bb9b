"""The busiest thread of the server stopped for the time of a load, in turn with the same load without.

Predicted: the thread is the limit: 0 · it is one of k workers, all busy: (k - 1)/k · of a pool that is not
the limit, or beside the requests: 1. Where a runtime waits until all threads stand still, to collect garbage
for instance, and where the thread held a lock when it was stopped: 0, or far from pair to pair.

Undone by the kernel: it lets threads go on that a process has stopped by ptrace when that process ends. To
the server it is as if a debugger had been attached.
"""

from dataclasses import dataclass
from pathlib import Path

from crumple.experiment import held_pairs
from crumple.experiment.bench import Bench
from crumple.machine import at_rest, holding
from crumple.observation.outcome import LoadPairs, Refused


@dataclass(frozen=True)
class ServerThread:
    """One thread of the server. `cpu_ns`: its CPU time under a load."""

    pid: int
    tid: int
    name: str
    cpu_ns: int


def stop_busiest(bench: Bench) -> LoadPairs | Refused:
    """Return what it does to the throughput that the busiest thread is stopped."""
    found = find_threads(bench)
    if not found or not found[0].cpu_ns:
        return Refused("there is no such thread")
    return stop(bench, found[0])


def stop(bench: Bench, thread: ServerThread) -> LoadPairs | Refused:
    """Return what it does to the throughput that this thread is stopped."""
    return held_pairs.load_in_pairs(bench, lambda _: holding.thread(thread.pid, thread.tid))


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


def _name(pid: int, tid: int) -> str:
    """Its name; empty: it has ended."""
    try:
        return Path(f"/proc/{pid}/task/{tid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
