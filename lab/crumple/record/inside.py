"""Divides the stage *inside*: CPU, ready to run, disk, waiting for each dependency, and otherwise. Pure.

The server's threads and connections are not its requests. What they do is taken as what requests wait for:
CPU time per request, threads that are ready to run or wait for a disk, connections with a dependency that
wait for an answer. Each is therefore the most that it may be. Where they come to more than the requests that
are inside, they do something else besides, and nothing is said of them.

What the server uses without any load is measured before the load and left out. A process of the server itself
is no dependency: what it does is a piece already. A thread that wakes up to accept or to read a request is
ready to run while the request is still in front of the server, so the interval of *ready to run* begins lower
by the time that requests are not accepted or unread. Threads that wait for a lock of the kernel look like
those that wait for a disk; the kernel's own count of these decides.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.record import brief_threads, windows
from crumple.record.flow import Flow, Name, StageTime, column, rows_measured, spans_ns, time, times
from crumple.stats import averages

if TYPE_CHECKING:
    from crumple.contract import DependencyRecord, PeerRecord, ProcessRecord, TaskRecord, TrialRecord, Unread

# A doubt is mentioned if it is not known of more than half a connection whether it waits, and of more than
# are known to wait.
UNKNOWN_MIN = 0.5
# The engine names connections that it missed in the reasons for what it left out of this column, as in
# "ADDRESS: how many, and why".
_MISSED_COLUMN = "peers"
NO_CPU = "its CPU time could not be read at both ends of the load"


@dataclass(frozen=True)
class Unexplained:
    """A piece that is not known, and why. What it may take is part of *otherwise inside*."""

    name: Name
    why: str


@dataclass(frozen=True)
class Divided:
    """The time inside by pieces, which add up to it; the last is *otherwise inside*."""

    pieces: tuple[StageTime, ...]
    untold: tuple[Unexplained, ...] = ()


@dataclass(frozen=True)
class NotDivided:
    """Why the time inside is not divided."""

    why: str


Inside = Divided | NotDivided


def divide(
    record: "TrialRecord",
    flow: Flow,
    whole: StageTime,
    spare_ns: float,
    *,
    outside_ns: float,
    idle_cores: float = 0.0,
) -> Inside | None:
    """Divide the part *inside*, `whole`; None: the spec did not ask for what it takes.

    `spare_ns`: how far pieces may exceed the whole before nothing is said of them. `outside_ns`: how long
    a request waits in front of the server. `idle_cores`: the cores that the server keeps busy without the
    load, which is not CPU time of requests.
    """
    server, probes = record.probes.server, record.probes
    if server is None or (probes.tasks is None and probes.dependencies is None):
        return None
    used = windows.cores(record, server.window)
    if used is None:
        return NotDivided(windows.why(record, server) or NO_CPU)
    cpu = _cpu(server, flow, used, idle_cores)
    if _exceeds(cpu, whole, spare_ns):
        why = "several threads compute for one request, or threads compute that no request waits for"
        if server.window is not None and server.window.threads_max <= 1:
            why = "it is inside for less time than these readings show"
        return NotDivided(
            f"a request takes {time(cpu.mean_ns)} of CPU time and is inside for {time(whole.mean_ns)}: {why}"
        )
    pieces = [*_split(cpu, server)]
    untold: list[Unexplained] = []
    for found in (*_of_threads(record, flow, whole, outside_ns), *_of_dependencies(record, flow)):
        if isinstance(found, Unexplained):
            untold.append(found)
        elif _exceeds(found, whole, spare_ns):
            untold.append(Unexplained(found.name, _more(found, whole)))
        else:
            pieces.append(found)
    if _exceeds(_sum(pieces), whole, spare_ns):
        said = ", ".join(f"{each.words} {time(each.mean_ns)}" for each in pieces if each.mean_ns)
        return NotDivided(
            f"a request is inside for {time(whole.mean_ns)}, and what the server does in that time comes to "
            f"more: {said}"
        )
    return Divided(_adding_up(pieces, whole), tuple(untold))


def _cpu(server: "ProcessRecord", flow: Flow, used: float, idle_cores: float) -> StageTime:
    """The CPU time of a request, of all processes. `used`: the cores that were used in the measured phase.

    Means of batches are by samples.
    """
    samples = server.samples
    ticks = zip(samples.cpu_user_ns, samples.cpu_kernel_ns, strict=True)
    spent = [float(user_ns + kernel_ns) for user_ns, kernel_ns in ticks]
    at_ns = [float(each_ns) for each_ns in samples.at_ns]
    number = max(0.0, used - idle_cores)
    if len(at_ns) < 2:
        return flow.of_means("cpu", number, [], [])
    edges = [min(at_ns[-1], max(at_ns[0], edge_ns)) for edge_ns in flow.edges_ns()]
    read = [averages.interpolate(edge_ns, at_ns, spent) for edge_ns in edges]
    long_ns = [end_ns - begin_ns for begin_ns, end_ns in pairwise(edges)]
    taken = [batch for batch, each_ns in enumerate(long_ns) if each_ns > 0]
    means = [(read[batch + 1] - read[batch]) / long_ns[batch] - idle_cores for batch in taken]
    return flow.of_means("cpu", number, taken, means)


def _split(cpu: StageTime, server: "ProcessRecord") -> list[StageTime]:
    """User and kernel time, if ticks were enough to split it."""
    window = server.window
    assert window is not None
    if not windows.is_split(window):
        return [cpu]
    user = window.cpu_user_ns / window.cpu_ns
    return [times(replace(cpu, name="user"), user), times(replace(cpu, name="kernel"), 1 - user)]


def disk_doubt(tasks: "TaskRecord") -> str | None:
    """Return why it is not known that threads which no signal wakes wait for a disk; None if it is."""
    return next((each.why for each in tasks.unread if each.field == "disk"), None)


def _of_threads(
    record: "TrialRecord", flow: Flow, whole: StageTime, outside_ns: float
) -> list[StageTime | Unexplained]:
    """Threads that are ready to run, and those that wait for a disk."""
    tasks = record.probes.tasks
    if tasks is None:
        return [Unexplained(name, "nobody asked what its threads do") for name in ("ready", "disk")]
    if tasks.why is not None:
        return [Unexplained(name, tasks.why) for name in ("ready", "disk")]
    if brief := brief_threads.why(record):
        return [Unexplained(name, brief) for name in ("ready", "disk")]
    rows = [row for row in rows_measured(record, tasks.at_ns) if tasks.looked[row]]
    if not rows:
        return [Unexplained(name, "its threads were not looked at") for name in ("ready", "disk")]
    at_ns = column(tasks.at_ns, rows)
    each = [tasks.threads[row] / tasks.looked[row] for row in rows]
    on_disk = [share * number for share, number in zip(each, column(tasks.disk, rows), strict=True)]
    doubt = disk_doubt(tasks)
    found = flow.with_room(flow.part("disk", at_ns, on_disk), on_disk, whole)
    disk = Unexplained("disk", doubt) if doubt else found
    on_cores = [share * number for share, number in zip(each, column(tasks.running, rows), strict=True)]
    running = flow.part("ready", at_ns, on_cores)
    return [_ready(tasks, flow, running, outside_ns), disk]


def _ready(tasks: "TaskRecord", flow: Flow, running: StageTime, outside_ns: float) -> StageTime | Unexplained:
    """Threads that are ready to run and have no core, by the kernel's sum of their waits.

    The sum is exact. How far it varies from batch to batch is taken from the threads found `running`, which
    are those on a core and those that are ready. A thread that wakes up to accept or read a request is ready
    while the request is still in front of the server. How long is not known: it widens the interval.
    """
    if tasks.run_queue_ns is None or not tasks.window_ns:
        why = next((each.why for each in tasks.unread if "run_queue" in each.field), "it was not read")
        return Unexplained("ready", why)
    mean_ns = (tasks.run_queue_ns + (tasks.ended_run_queue_ns or 0)) / tasks.window_ns / flow.rate
    off = (running.high_ns - running.mean_ns) / running.mean_ns if running.mean_ns else 1.0
    low_ns = max(0.0, mean_ns * (1 - off) - outside_ns)
    return StageTime("ready", mean_ns, low_ns, mean_ns * (1 + off), running.readings)


def _of_dependencies(record: "TrialRecord", flow: Flow) -> list[StageTime | Unexplained]:
    """Connections with each dependency that wait for an answer."""
    found = record.probes.dependencies
    if found is None:
        return [Unexplained("dependency", "nobody asked what the server has opened connections to")]
    if found.why is not None:
        return [Unexplained("dependency", found.why)]
    rows = rows_measured(record, found.at_ns)
    if not rows:
        return [Unexplained("dependency", "its connections were not looked at")]
    peers = [peer for peer in found.peers if not is_own(peer)]
    names, not_found = names_of(peers), missed_connections(found)
    pieces: list[StageTime | Unexplained] = [
        Unexplained("dependency", why) for why in unseen_dependencies(found)
    ]
    for peer in peers:
        piece, unknown = _of_peer(record, found, peer, names[peer.address], rows, flow)
        if peer.address in not_found:
            # How long requests waited there is not known: at most for the whole time inside.
            pieces.append(replace(piece, high_ns=math.inf))
            pieces.append(Unexplained("dependency", f"{piece.of}: {not_found[peer.address]}"))
            continue
        if piece.high_ns > 0:
            pieces.append(piece)
        if unknown > max(UNKNOWN_MIN, piece.mean_ns * flow.rate):
            some = f"of {numerals.significant(unknown, 2)} connections to {piece.of}"
            said = f"{some} it is not known whether they wait for an answer"
            pieces.append(Unexplained("dependency", said))
    return pieces


def missed_connections(found: "DependencyRecord") -> dict[str, str]:
    """Return with whom the server had connections of which too few were found to know how many waited.

    That is each address, and what is known of its connections. Addresses with which the server
    was never seen connected are left out: the connections may be another program's.
    """
    known = {peer.address for peer in found.peers}
    named = (each.why.partition(": ") for each in found.unread if each.field == _MISSED_COLUMN)
    return {address: why for address, _, why in named if address in known}


def unseen_dependencies(found: "DependencyRecord") -> list[str]:
    """Return why there may be dependencies that no connection which was seen leads to."""
    return [each.why for each in _unseen(found)]


def unseen_by_udp_only(found: "DependencyRecord") -> str:
    """Return why there may be dependencies that are asked by UDP; empty: none, or others as well."""
    unseen = _unseen(found)
    return unseen[0].why if [each.field for each in unseen] == ["udp"] else ""


def _unseen(found: "DependencyRecord") -> "list[Unread]":
    return [each for each in found.unread if each.field in ("connections", "udp", "unix")]


def is_own(peer: "PeerRecord") -> bool:
    """Whether a process of the server listens there: what it does for a request is a piece of its own."""
    return peer.listener is not None and peer.listener.own


def names_of(peers: Sequence["PeerRecord"]) -> dict[str, str]:
    """Return what each peer is called, by its address: the program that listens there, if no other does."""
    programs = [peer.listener.name for peer in peers if peer.listener]
    return {
        peer.address: peer.listener.name
        if peer.listener and programs.count(peer.listener.name) == 1
        else peer.address
        for peer in peers
    }


def _of_peer(
    record: "TrialRecord",
    found: "DependencyRecord",
    peer: "PeerRecord",
    name: str,
    rows: Sequence[int],
    flow: Flow,
) -> tuple[StageTime, float]:
    """How long a request waits for a peer, and of how many connections it is not known.

    The latter widen the interval.
    """
    at_ns = column(found.at_ns, rows)
    lasting_ns = spans_ns(record, at_ns)
    numbers = column(peer.waiting, rows)
    waiting = flow.part("dependency", at_ns, numbers, lasting_ns)
    waiting = flow.with_room(waiting, numbers, waiting)
    unknown = fmean(column(peer.unknown, rows), lasting_ns)
    return replace(waiting, of=name, high_ns=waiting.high_ns + unknown / flow.rate), unknown


def _adding_up(pieces: Sequence[StageTime], whole: StageTime) -> tuple[StageTime, ...]:
    """The pieces and what is left, none below 0 or above the whole.

    Where pieces exceed the whole by less than can be known, all are shortened by the same factor.
    """
    total = _sum(pieces)
    over = whole.mean_ns / total.mean_ns if total.mean_ns > whole.mean_ns else 1.0
    fitted = [_within(times(each, over), whole.high_ns) for each in pieces]
    left_ns = max(0.0, whole.mean_ns - total.mean_ns)
    low_error, high_error = (
        math.hypot(whole.mean_ns - whole.low_ns, total.high_ns - total.mean_ns),
        math.hypot(whole.high_ns - whole.mean_ns, total.mean_ns - total.low_ns),
    )
    left = StageTime(
        "otherwise", left_ns, max(0.0, left_ns - low_error), left_ns + high_error, whole.readings
    )
    return (*fitted, _within(left, whole.high_ns))


def _sum(pieces: Iterable[StageTime]) -> StageTime:
    """All pieces as one; their errors are taken as independent."""
    parts = list(pieces)
    mean_ns = sum(each.mean_ns for each in parts)
    below = math.hypot(*(each.mean_ns - each.low_ns for each in parts))
    above = math.hypot(*(each.high_ns - each.mean_ns for each in parts))
    return StageTime("inside", mean_ns, max(0.0, mean_ns - below), mean_ns + above, 0.0)


def _exceeds(part: StageTime, whole: StageTime, spare_ns: float) -> bool:
    """Whether a part is longer than the whole, beyond both intervals and what a budget may be off."""
    return part.low_ns > whole.high_ns + spare_ns


def _more(found: StageTime, whole: StageTime) -> str:
    """Why nothing is said of a piece that is longer than the whole."""
    what = {
        "ready": "more threads are ready to run",
        "disk": "more threads wait for a disk",
        "dependency": f"more connections to {found.of} wait for an answer",
    }[found.name]
    return f"{what} than requests are inside ({time(found.mean_ns)} of {time(whole.mean_ns)})"


def _within(piece: StageTime, most_ns: float) -> StageTime:
    return replace(
        piece,
        low_ns=min(piece.low_ns, piece.mean_ns),
        high_ns=max(piece.mean_ns, min(piece.high_ns, most_ns)),
    )
