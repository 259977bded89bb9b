"""The process behind the server stopped for a moment, while connections that are owed an answer are counted.

One load is on meanwhile. All threads of the process that listens at the dependency's address, and of its
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

from crumple.cause.outcome import Refused, Stopped
from crumple.contract import PeerRecord, TrialRecord
from crumple.errors import UsageError
from crumple.experiment.bench import Bench
from crumple.load.addresses import is_own
from crumple.load.target import port_of
from crumple.machine import holding, process_tree
from crumple.machine.holding import NotHeld
from crumple.stats import averages

# The dependency is stopped when requests of the load have gone through the server for so long.
RUNS_S = 0.4
# By then the requests that the server had in hand have come to where they wait: so long, and this multiple of
# a request alone. What waits is then looked at for so long, some fifteen times a second.
GATHER_S, GATHER_TIMES, LOOK_S = 0.15, 2, 0.6
# Whoever asks the dependency may give up after a second.
STOPPED_S_MAX = 1.0
READINGS_LEAST = 2


def stopped(bench: Bench, address: str) -> Stopped | Refused:
    """Return how many connections with the dependency wait while it is stopped. `address`: as a Peer's."""
    gather_s = max(GATHER_S, GATHER_TIMES * bench.alone_s)
    if gather_s + LOOK_S > STOPPED_S_MAX:
        return Refused("a request takes too long: the dependency would be stopped for more than a second")
    root = _behind(bench.subject.pid, address)
    if isinstance(root, Refused):
        return root
    over = threading.Event()
    # The load goes on until what waits was looked at.
    bench = replace(bench, load_s=max(bench.load_s, RUNS_S + gather_s + 2 * LOOK_S))
    with ThreadPoolExecutor(1) as loads:
        load = loads.submit(bench.record)
        load.add_done_callback(lambda _: over.set())
        over.wait(bench.warm_s + RUNS_S)
        try:
            with holding.held(holding.tree(root)):
                over.wait(gather_s)
                began_ns = time.time_ns()
                over.wait(LOOK_S)
                ended_ns = time.time_ns()
        except NotHeld as why:
            load.result()
            return Refused(str(why))
        record = load.result()
    return _counted(record, address, began_ns, ended_ns)


def _behind(server: int | None, address: str) -> int | Refused:
    """The root of the process tree that listens at the address and is none of the server's."""
    if server is None:
        return Refused("the server's process is not known")
    port = _port_here(address)
    if port is None or not process_tree.is_of_this_network(server, port):
        return Refused(f"who listens at {address} is not on this machine, or cannot be found from here")
    try:
        root = process_tree.owner(port)
    except UsageError as why:
        return Refused(str(why))
    theirs = {root, *process_tree.descendants(root)}
    ours = {server, *process_tree.descendants(server), os.getpid(), *process_tree.ancestors(os.getpid())}
    if theirs & ours:
        return Refused(f"who listens at {address} is of the server, or of what it runs in")
    return root


def _port_here(address: str) -> int | None:
    """The port of an address of this machine; None: it is another machine's, or a Unix socket's."""
    port = port_of(address)
    if port is None:
        return None
    return port if is_own(ipaddress.ip_address(address.rpartition(":")[0].strip("[]"))) else None


def _counted(record: TrialRecord, address: str, began_ns: int, ended_ns: int) -> Stopped | Refused:
    """What the readings between two instants of the wall clock say."""
    found = record.probes.dependencies
    if found is None or found.why is not None:
        return Refused((found and found.why) or "the server's connections were not read")
    peer = next((each for each in found.peers if each.address == address), None)
    if peer is None:
        return Refused(f"the server has no connection to {address} under this load")
    at_ns = [record.began_unix_ns + each for each in found.at_ns]
    rows = [row for row, ns in enumerate(at_ns) if began_ns <= ns <= ended_ns]
    if len(rows) < READINGS_LEAST:
        return Refused("the server's connections were read too seldom while the dependency was stopped")
    return _of(peer, rows)


def _of(peer: PeerRecord, rows: list[int]) -> Stopped:
    waiting = [peer.waiting[row] for row in rows]
    return Stopped(
        waiting=averages.mean(waiting),
        connections=averages.mean([peer.connections[row] for row in rows]),
        most=max(waiting),
        readings=len(rows),
        unknown=averages.mean([peer.unknown[row] for row in rows]),
    )
