"""Readings at random times (stages, tasks, dependencies) of the slices of one start, as one record. Pure.

- Rows are appended, without those of re-warmings. A slice without readings makes the whole one without: the
  other slices would stand for it.
- Sums of tasks: sums of the slices; not known if one is not known. A thread is one and the same by its ids.
- CPU time of those who serve dependencies: the sum of the slices; not known if one is not known.
- A dependency that a slice has none of had no connections in it, except where a slice lists as many as it
  may: then the record says that it is not known.
"""

from collections.abc import Sequence

from crumple.contract import (
    DependencyRecord,
    PeerRecord,
    PlaceRecord,
    StageRecord,
    TaskRecord,
    TaskThread,
    Unread,
)
from crumple.record import joined_cpu_time, slice_rows
from crumple.record.slice_rows import Slice, all_known, summed

# As many as the engine lists in a record.
PEERS_MOST, PLACES_MOST, THREADS_MOST = 16, 32, 64
SUMS = (
    "window_ns",
    "cpu_ns",
    "run_queue_ns",
    "ended",
    "ended_cpu_ns",
    "ended_run_queue_ns",
    "born",
)
NO_COLUMNS = (*SUMS, "places", "threads_seen", "by_name", "profile", "ends_cost_ns", "unread", "why")


def stages(placed: Sequence[Slice], parts: Sequence[StageRecord | None]) -> StageRecord | None:
    """Return the readings of stages of all slices; None: a slice was not asked for them."""
    known = all_known(parts)
    if known is None:
        return None
    unread = next((each for each in known if each.why is not None), None)
    return unread or slice_rows.rows(placed, known, no_columns=("why", "in_front"))


def tasks(placed: Sequence[Slice], parts: Sequence[TaskRecord | None]) -> TaskRecord | None:
    """Return what the threads did in all slices; None: a slice was not asked for it."""
    known = all_known(parts)
    if known is None:
        return None
    if unread := next((each for each in known if each.why is not None), None):
        return unread
    return slice_rows.rows(placed, known, no_columns=NO_COLUMNS).model_copy(
        update={
            **{name: summed(getattr(each, name) for each in known) for name in SUMS},
            "ends_cost_ns": sum(each.ends_cost_ns for each in known),
            "places": _places(known),
            "threads_seen": _threads(known),
            "by_name": joined_cpu_time.by_name(known),
            "profile": joined_cpu_time.profile(known),
            "unread": slice_rows.unread(each.unread for each in known),
        }
    )


def _places(parts: Sequence[TaskRecord]) -> tuple[PlaceRecord, ...]:
    same = slice_rows.gathered((part.places for part in parts), lambda each: each.where)
    found = [PlaceRecord(where=where, looked=sum(each.looked for each in of)) for where, of in same.items()]
    return tuple(sorted(found, key=lambda each: -each.looked)[:PLACES_MOST])


def _threads(parts: Sequence[TaskRecord]) -> tuple[TaskThread, ...]:
    """The threads by their ids; a thread's place is that of the slice in which it used most CPU time."""
    same = slice_rows.gathered((part.threads_seen for part in parts), lambda each: (each.pid, each.tid))
    found = []
    for threads in same.values():
        busiest = max(threads, key=lambda each: each.cpu_ns)
        sums = {name: sum(getattr(each, name) for each in threads) for name in ("cpu_ns", "run_queue_ns")}
        found.append(busiest.model_copy(update={**sums, "ended": threads[-1].ended}))
    return tuple(sorted(found, key=lambda each: -each.cpu_ns)[:THREADS_MOST])


def dependencies(
    placed: Sequence[Slice], parts: Sequence[DependencyRecord | None]
) -> DependencyRecord | None:
    """Return what the server's connections waited for in all slices; None: a slice was not asked for it."""
    known = all_known(parts)
    if known is None:
        return None
    if unread := next((each for each in known if each.why is not None), None):
        return unread
    kept = [
        [row for row, at_ns in enumerate(part.at_ns) if slice_.keeps(at_ns)]
        for slice_, part in zip(placed, known, strict=True)
    ]
    addresses = list(dict.fromkeys(peer.address for part in known for peer in part.peers))
    peers = [_peer(address, known, kept) for address in addresses]
    peers.sort(key=lambda peer: -peer.connections_max)
    timed = list(zip(placed, known, kept, strict=True))
    return DependencyRecord(
        at_ns=tuple(each.placed(part.at_ns[row]) for each, part, rows in timed for row in rows),
        late_ns=tuple(part.late_ns[row] for _, part, rows in timed for row in rows),
        cost_ns=tuple(part.cost_ns[row] for _, part, rows in timed for row in rows),
        peers=tuple(peers[:PEERS_MOST]),
        serving_cpu_ns=summed(each.serving_cpu_ns for each in known),
        serving_span_ns=summed(each.serving_span_ns for each in known),
        serving_run_queue_ns=summed(each.serving_run_queue_ns for each in known),
        serving_run_queue_cpu_ns=summed(each.serving_run_queue_cpu_ns for each in known),
        serving_pids=tuple(sorted({pid for each in known for pid in each.serving_pids})),
        unfound_pids=tuple(sorted({pid for each in known for pid in each.unfound_pids})),
        unfound_cpu_ns=summed(each.unfound_cpu_ns for each in known),
        unread=(*slice_rows.unread(each.unread for each in known), *_left_out(known, addresses)),
        why=None,
    )


def _peer(address: str, parts: Sequence[DependencyRecord], kept: Sequence[Sequence[int]]) -> PeerRecord:
    found = [next((peer for peer in part.peers if peer.address == address), None) for part in parts]
    there = [peer for peer in found if peer is not None]

    def column(name: str) -> tuple[int, ...]:
        pairs = zip(found, kept, strict=True)
        return tuple(getattr(peer, name)[row] if peer else 0 for peer, rows in pairs for row in rows)

    return PeerRecord(
        address=address,
        listener=next((peer.listener for peer in there if peer.listener), None),
        connections_max=max(peer.connections_max for peer in there),
        connections=column("connections"),
        waiting=column("waiting"),
        idle=column("idle"),
        unknown=column("unknown"),
        inferred=column("inferred"),
    )


def _left_out(parts: Sequence[DependencyRecord], addresses: Sequence[str]) -> tuple[Unread, ...]:
    """Say of which dependencies a slice may have left out connections."""
    full = [part for part in parts if len(part.peers) >= PEERS_MOST]
    listed = [{peer.address for peer in part.peers} for part in full]
    return tuple(
        Unread(field=address, why=f"a slice lists no more than {PEERS_MOST} dependencies")
        for address in addresses
        if any(address not in each for each in listed)
    )
