"""The process behind the server stopped for a moment, while connections that are owed an answer are counted.

That is done during one load. All threads of the process that listens at the dependency's address, and of its
descendants, are stopped. What the server has asked stays unanswered, and requests gather where they wait.

Predicted: a pool of n connections: n wait · a lock around the call: 1 · the dependency itself, or nothing
else: as many as requests are in flight · a semaphore elsewhere, of k: k at most · it is not asked: 0.

Undone by the kernel, as in `one_thread`. Others whom the dependency serves wait, too: only with --intervene.
"""

import ipaddress
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import fmean

from crumple.contract import PeerRecord, TrialRecord
from crumple.errors import UsageError
from crumple.experiment.bench import Bench
from crumple.load.addresses import port_of
from crumple.machine import holding, network_namespaces, process_tree
from crumple.machine.holding import NotHeld
from crumple.observation.outcome import Refused, Stopped

# How long requests of the load go through the server before the dependency is stopped, in seconds.
RUNS_S = 0.4
# How long requests have to come to where they wait once the dependency is stopped: a time in seconds, and a
# multiple of a request alone. After that nothing changes for LOOK_S seconds, so one reading shows what waits.
# Readings come at random times, a second apart where the machine has many connections.
GATHER_S, GATHER_TIMES, LOOK_S = 0.15, 2, 0.6
# How often the dependency is stopped at most, until a reading came within LOOK_S; and the longest that it may
# be stopped, in seconds: after a second whoever asks it may give up.
TRIES, STOPPED_S_MAX = 4, 1.0


def stop_dependency(bench: Bench, address: str) -> Stopped | Refused:
    """Return how many connections with the dependency wait while it is stopped. `address`: as a Peer's."""
    gather_s = max(GATHER_S, GATHER_TIMES * bench.alone_s)
    if gather_s + LOOK_S > STOPPED_S_MAX:
        return Refused("a request takes too long: the dependency would be stopped for more than a second")
    root = _behind(bench.subject.pid, address)
    if isinstance(root, Refused):
        return root
    # The load goes on until what waits was looked at.
    bench = replace(bench, load_s=RUNS_S + gather_s + 2 * LOOK_S)
    try:
        for _ in range(TRIES):
            record, span_ns = _loaded(bench, root, gather_s)
            if (found := _counted(record, address, *span_ns)) is not None:
                return found
    except NotHeld as why:
        return Refused(str(why))
    return Refused("the server's connections were read too seldom while the dependency was stopped")


def _loaded(bench: Bench, root: int, gather_s: float) -> tuple[TrialRecord, tuple[int, int]]:
    """Return the record of a load, and from when to when what waits had gathered, by the wall clock.

    Raises NotHeld.
    """
    over = threading.Event()
    with ThreadPoolExecutor(1) as loads:
        load = loads.submit(bench.record)
        load.add_done_callback(lambda _: over.set())
        over.wait(bench.warm_s + RUNS_S)
        with holding.held(holding.tree(root)):
            over.wait(gather_s)
            began_ns = time.time_ns()
            over.wait(LOOK_S)
            ended_ns = time.time_ns()
        return load.result(), (began_ns, ended_ns)


def _behind(server: int | None, address: str) -> int | Refused:
    """The root of the process tree that listens at the address and is none of the server's."""
    if server is None:
        return Refused("the server's process is not known")
    port = port_of(address)
    host = None if port is None else ipaddress.ip_address(address.rpartition(":")[0].strip("[]"))
    at = None if host is None else network_namespaces.of_address(host, server)
    if port is None or at is None:
        return Refused(f"who listens at {address} is not on this machine, or cannot be found from here")
    try:
        root = process_tree.owner(port, at)
    except UsageError as why:
        return Refused(str(why))
    theirs = {root, *process_tree.descendants(root)}
    ours = {server, *process_tree.descendants(server), os.getpid(), *process_tree.ancestors(os.getpid())}
    if theirs & ours:
        return Refused(f"who listens at {address} is of the server, or of what it runs in")
    return root


def _counted(record: TrialRecord, address: str, began_ns: int, ended_ns: int) -> Stopped | Refused | None:
    """What the readings between two instants of the wall clock say; None: there was none."""
    found = record.probes.dependencies
    if found is None or found.why is not None:
        return Refused((found and found.why) or "the server's connections were not read")
    at_ns = [record.began_unix_ns + each for each in found.at_ns]
    rows = [row for row, ns in enumerate(at_ns) if began_ns <= ns <= ended_ns]
    if not rows:
        return None
    peer = next((each for each in found.peers if each.address == address), None)
    if peer is None:
        return Refused(f"the server has no connection to {address} under this load")
    return _of(peer, rows)


def _of(peer: PeerRecord, rows: list[int]) -> Stopped:
    waiting = [peer.waiting[row] for row in rows]
    return Stopped(
        waiting=fmean(waiting),
        connections=fmean([peer.connections[row] for row in rows]),
        most=max(waiting),
        readings=len(rows),
        unknown=fmean([peer.unknown[row] for row in rows]),
    )
