"""Rules about what stands behind the server: its disk, and what it has opened connections to. Pure."""

from crumple.cause.finding import MOST_SHARE, Facts, Finding, Out, Said, Unclear

# Fewer threads, or connections, that wait at a time do not hold up a load.
FEW = 0.5
# A pool of connections is used up with this share of them waiting for an answer.
POOL_FULL_SHARE = 0.9
# As many requests again as there are connections, times this, wait for one of them.
BESIDE_SHARE = 0.5


def disk(facts: Facts) -> Said | None:
    """Requests wait for a disk."""
    load, threads, stage = facts.beyond, facts.beyond.threads, facts.stage
    if threads is None or stage is None:
        return Unclear("disk", "its threads could not be read")
    if threads.disk < max(FEW, MOST_SHARE * facts.at_a_time) or not load.per_s:
        return Out("disk", f"{threads.disk:.2g} threads wait for a disk")
    said = f"{threads.disk:.2g} threads wait for a disk, of {stage.inside:.2g} requests inside"
    return Finding("disk", "shown", threads.disk / load.per_s, said, "write less, or a faster disk")


def dependency(facts: Facts) -> Said | None:
    """Requests wait for what is behind the server, or for a connection to it."""
    load, peers = facts.beyond, facts.beyond.peers
    if peers is None:
        return Unclear("dependency", "its own connections could not be read")
    if not peers:
        return Out("dependency", "it has no connection to anything else")
    peer = max(peers, key=lambda each: each.waiting + each.unknown)
    name, inside = peer.listener or peer.address, facts.stage.inside if facts.stage else load.in_flight
    if peer.unknown > max(FEW, peer.waiting):
        said = f"of {peer.unknown:.2g} of {peer.connections:.2g} connections to {name} it is not known"
        return Unclear("dependency", f"{said} whether they wait for an answer")
    if peer.waiting < FEW or not load.per_s:
        open_ = f"{peer.connections:.2g} connections to {name}"
        return Out("dependency", f"{peer.waiting:.2g} of {open_} wait for an answer")
    without = inside - peer.waiting
    if peer.waiting >= POOL_FULL_SHARE * peer.connections and without >= BESIDE_SHARE * peer.waiting:
        said = (
            f"all {peer.connections:.2g} connections to {name} wait for an answer, and {without:.2g} requests"
        )
        said += " wait for one of them"
        return Finding("connection-pool", "shown", without / load.per_s, said, "more connections to it")
    each_s = peer.waiting / load.per_s
    waiting = f"{peer.waiting:.2g} of {inside:.2g} requests inside wait for {name}"
    if peer.waiting < MOST_SHARE * inside or not facts.is_harmed:
        return Out("dependency", waiting)
    said = f"{waiting}, {1e3 * each_s:.3g} ms each"
    return Finding("dependency", "shown", each_s, said, f"look at {name}")
