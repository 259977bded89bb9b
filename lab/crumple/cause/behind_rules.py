"""Rules about what stands behind the server: its disk, and what it has opened connections to. Pure."""

from collections.abc import Sequence

from crumple.cause import blocked_loop, parallelism, places
from crumple.cause.at_load import Peer, Stage
from crumple.cause.finding import (
    HARM_FACTOR,
    MOST_SHARE,
    SEVERAL_LET_IN,
    Facts,
    Finding,
    Out,
    Said,
    Sure,
    Unclear,
)
from crumple.cause.parallelism import Parallelism
from crumple.cause.places import FREE_MAX, FREE_SHARE_MAX, WORKERS_MIN, WORKERS_SHARES, as_many
from crumple.drawing import numerals

# Fewer threads, or connections, that wait at a time do not hold up a load.
FEW = 0.5
# A pool of connections is used up with this share of them waiting for an answer.
POOL_FULL_SHARE = 0.9
# It is used up with this share, too, if as many requests are served at a time as there are connections,
# within these, and so many times as many can wait at a time.
HELD_SHARE, HELD_SERVED, HELD_MORE = 0.6, (0.8, 1.2), 1.5
# A client of these often has one connection for all requests. Clients of HTTP have more: what asks over one
# of them at a time is most likely behind a lock of the server's own.
DATABASES = (
    "clickhouse", "keydb-server", "mariadbd", "memcached", "mongod", "mysqld", "postgres", "redis-server",
    "sqlservr", "valkey-server",
)  # fmt: skip
DATABASE_PORTS = ("1433", "3306", "5432", "6379", "11211", "27017")
ONE_AT_A_TIME = "let requests ask it at the same time: hold no lock meanwhile, and give them more connections"
# A dependency is slower than alone by this factor. The time alone comes from some ten readings of a request,
# and is off by up to half.
SLOWER_FACTOR = 2.0
# Of a pool whose connections wait for no answer, so nearly as many requests are served at a time.
HELD_AS_MANY = (0.9, 1.1)
MORE_WORKERS, MORE_CONNECTIONS = "more workers", "more connections to it"
# The connections are a pool if there were never many more than on average.
POOL_STEADY_FACTOR = 1.25
# Requests wait for a connection of the pool if this many, for each connection that waits for an answer, are
# inside the server and have no connection.
BESIDE_SHARE = 0.5
# A program that spends less than this share of a response time on CPU, and has a connection waiting for each
# request inside, hands them on.
PROXY_CPU_SHARE = 0.1
PROXY_SHARES = (0.8, 1.25)


def disk(facts: Facts) -> Said | None:
    """Requests wait for a disk."""
    load, threads, stage, rest = facts.beyond, facts.beyond.threads, facts.stage, facts.seen.rest
    if threads is None:
        return Unclear("disk", facts.unread("threads", "its threads"))
    # A thread that waits for a disk while nobody asks, a logger's for instance, waits for no request.
    waiting = threads.disk - (rest.disk if rest is not None else 0.0)
    waiting = max(0.0, waiting - places.under_load(threads, places.is_no_disk))
    number = numerals.significant(waiting, 2)
    said = f"{number} threads wait for a disk"
    if waiting < FEW:
        return Out("disk", said)
    if stage is None or not load.per_s:
        return Unclear("disk", f"{said}, and whether requests do is not known")
    served = facts.at_a_time if facts.at_a_time is not None else stage.inside
    if waiting < MOST_SHARE * served:
        if facts.at_a_time is None:
            # Those inside may wait for those few.
            return Unclear("disk", f"{said}, and how many requests are served at a time is not known")
        return Out("disk", said)
    if doubt := load.unread.get("disk"):
        return Unclear("disk", f"{number} {doubt}")
    evidence = f"{said}, and {_inside(stage)}"
    remedy = "read and write less, or use a faster disk"
    return Finding("disk", "shown", facts.share(waiting / load.per_s), evidence, remedy)


def dependency(facts: Facts) -> Said | None:
    """Requests wait for a dependency, or for a connection to it."""
    load, peers = facts.beyond, facts.peers
    if peers is None:
        return Unclear("dependency", facts.unread("peers", "its own connections"))
    if (found := _unseen_pool(facts)) is not None and not any(each.waiting >= FEW for each in peers):
        return found
    if not peers and (unseen := load.unread.get("dependencies")):
        return Unclear("dependency", unseen)
    if not peers and "peers" in load.unread:
        return Unclear("dependency", facts.unread("peers", "all of its own connections"))
    if not peers:
        return Out("dependency", "it has opened no connection that was seen")
    said = _behind(facts, peers, facts.stage)
    brief = next((each for each in peers if each.missed), None)
    if isinstance(said, Out) and brief is not None:
        # What was not found may be what requests wait for.
        return Unclear("dependency", f"{name(brief)}: {brief.missed}")
    if isinstance(said, Out) and (unseen := load.unread.get("dependencies")):
        return Unclear("dependency", unseen)
    if isinstance(said, Out) and (always := _asked_always(facts)) is not None:
        return Unclear("dependency", f"it waits for {name(always)} while nobody asks, and under load as well")
    return said


def _asked_always(facts: Facts) -> Peer | None:
    """Return a dependency of which the server waits for an answer at rest, and under load; None: of none.

    Consumers of a queue do. Where an exchange ends with what gets no answer, as MySQL's end of a statement,
    connections look so as well that requests wait for under load. So it is told only of as many as may be the
    pool that lets in what is served at a time.
    """
    at_rest, served = facts.seen.asks_at_rest, facts.at_a_time

    def may_let_in(peer: Peer) -> bool:
        if peer.most <= 1 or not is_steady(peer):
            return False
        return served is None or as_many(served, peer.waiting) or as_many(served, peer.connections)

    for peer in facts.beyond.peers or ():
        if peer.waiting >= FEW and at_rest.get(peer.address, 0.0) >= FEW and may_let_in(peer):
            return peer
    return None


def _unseen_pool(facts: Facts) -> Finding | None:
    """A pool of connections of which it is not known whether they wait, as of Unix-domain sockets.

    As many threads as requests are served at a time wait for data on sockets, and most others sleep in locks.
    """
    load, threads, stage, served = facts.beyond, facts.beyond.threads, facts.stage, facts.at_a_time
    if threads is None or stage is None or served is None or not facts.has_idle_cores or not facts.is_harmed:
        return None
    # Nothing is known of such connections, or of those that were found.
    unknown = "peers" in load.unread or any(each.unknown >= FEW for each in facts.peers or ())
    waiting = places.under_load(threads, places.is_receiving)
    if not unknown or waiting < WORKERS_MIN or not as_many(served, waiting):
        return None
    # Idle threads of a runtime sleep there without a load, too.
    locked = places.more_than_at_rest(threads, facts.seen.rest, places.is_lock)
    without = stage.inside - waiting
    if without < BESIDE_SHARE * waiting or locked < MOST_SHARE * without:
        return None
    over = "Unix-domain sockets" if places.under_load(threads, places.is_unix) >= waiting / 2 else "sockets"
    said = f"{numerals.significant(waiting, 2)} threads wait for data on {over}, as many as"
    said = f"{said} requests are served at a time, and {numerals.significant(locked, 2)} sleep in a lock"
    return Finding(
        "connection-pool", "consistent", facts.waited_s, said, "more connections to what is behind it"
    )


def _behind(facts: Facts, peers: Sequence[Peer], stage: Stage | None) -> Said:
    """What the connections that were found say."""
    load = facts.beyond
    peer = max(peers, key=lambda each: (each.waiting, each.unknown))
    unknown = max(peers, key=lambda each: each.unknown)
    if unknown.unknown > max(FEW, peer.waiting):
        said = f"of {_of_its(unknown, unknown.unknown)} it is not known whether they wait for an answer"
        return Unclear("dependency", said)
    if peer.waiting < FEW or not load.per_s:
        return Out("dependency", f"{_of_its(peer, peer.waiting)} wait for an answer")
    if stage is None:
        said = f"{_of_its(peer, peer.waiting)} wait for an answer"
        return Unclear("dependency", f"{said}; {facts.unread('stage', 'how many requests are inside')}")
    if blocked_loop.said(facts) is not None:
        return Out("dependency", f"{_of_its(peer, peer.waiting)} wait for an answer, and a loop for them")
    inside = stage.inside - sum(each.waiting for each in peers)
    pools = (
        _workers(facts, each, inside) or _pool(facts, each, inside)
        for each in sorted(peers, key=lambda each: -each.waiting)
        if each.waiting >= FEW
    )
    said_one = next((each for each in pools if each is not None), None) or _waits_for(facts, peer, stage)
    return (isinstance(said_one, Out) and _waits_for_all(facts, peers, stage)) or said_one


def _workers(facts: Facts, peer: Peer, without: float) -> Finding | None:
    """Workers behind a loop wait for the dependency, each on a connection of its own, and are all busy.

    It looks like a pool of connections. Threads that wait for a connection of a pool sleep in a lock, and a
    loop that has one waits for events: here as many threads as connections wait for data, and no others wait.
    `without`: how many requests are inside and wait for no dependency.
    """
    threads = facts.beyond.threads
    if threads is None or without < BESIDE_SHARE * peer.waiting or peer.waiting < WORKERS_MIN:
        return None
    each_s = peer.waiting / facts.beyond.per_s
    if facts.alone_s is None or each_s > HARM_FACTOR * facts.alone_s or not facts.has_idle_cores:
        return None
    waiting = places.under_load(threads, places.is_receiving)
    waiting += max(0.0, places.more_than_at_rest(threads, facts.seen.rest, places.is_polled))
    if not as_many(waiting, peer.waiting):
        return None
    # Others may wait for a connection, in a lock or by looking again and again.
    others = places.under_load(threads, _may_wait)
    waits, (_, high) = parallelism.waits(facts.seen), WORKERS_SHARES
    if isinstance(waits, Parallelism) and waits.kind == "limit" and waits.value <= high * peer.connections:
        # No thread is there for more requests. Those that sleep there at rest, too, have other work.
        others = places.more_than_at_rest(threads, facts.seen.rest, _may_wait)
    if others > max(FREE_MAX, FREE_SHARE_MAX * peer.waiting):
        return None
    said = f"{numerals.significant(peer.waiting, 2)} threads wait for an answer of {name(peer)}, and"
    said = f"{said} {numerals.significant(without, 2)} more requests are inside, for which no thread is there"
    return Finding("workers", "consistent", facts.share(without / facts.beyond.per_s), said, MORE_WORKERS)


def _may_wait(place: str) -> bool:
    """Whether a thread that sleeps there may wait for a connection."""
    return not places.is_free(place) and not places.is_receiving(place)


def _pool(facts: Facts, peer: Peer, without: float) -> Finding | None:
    """The pool of connections is too small, if it is one. `without`: as for `_workers`."""
    load = facts.beyond
    is_full = peer.waiting >= POOL_FULL_SHARE * peer.connections
    if not is_steady(peer) or not (is_full or _is_held(facts, peer)):
        return None
    if without < BESIDE_SHARE * peer.waiting:
        return None
    each_s = peer.waiting / load.per_s
    asked_s = _asked_alone_s(facts, peer)
    if _is_slower(facts, peer):
        # The dependency takes longer than for a request alone: more connections would not help.
        return None
    said = f"{_of_its(peer, peer.waiting)} wait for an answer, and {numerals.significant(without, 2)} more"
    said += " requests are inside and have none"
    # While no core is idle, some of these may wait for a core.
    sure: Sure = "shown" if facts.has_idle_cores and facts.alone_s is not None else "consistent"
    if asked_s is None or each_s > HARM_FACTOR * asked_s:
        # The dependency may take longer under this load, and then limits it.
        sure = "consistent"
    if not is_full:
        sure, said = "consistent", f"{said}; as many are served at a time as there are connections"
    if not places.are_known(facts.beyond.threads):
        looks = "where its threads sleep is not known: as many busy workers would look the same"
        sure, said = "consistent", f"{said}; {looks}"
    if (at_rest := facts.seen.asks_at_rest.get(peer.address, 0.0)) >= FEW:
        # Whether these are among those that requests wait for is not known.
        sure, said = "consistent", f"{said}; {numerals.significant(at_rest, 2)} more wait while nobody asks"
    share_s = facts.share(without / load.per_s)
    if is_asked_in_turn(peer):
        like = "a client of one connection"
        if (facts.at_a_time or 0.0) > SEVERAL_LET_IN:
            like = f"{like}, and a connection that requests share (HTTP/2, gRPC, pipelines),"
        said = f"{said}: a lock is held while it is asked; {like} would look the same"
        return Finding("one-lock", "consistent", share_s, said, ONE_AT_A_TIME)
    if peer.most <= 1:
        sure, said = "consistent", f"{said}; a lock that is held while it is asked would look the same"
        share = f"if requests share it, look at {name(peer)}"
        return Finding("connection-pool", sure, share_s, said, f"{MORE_CONNECTIONS}; {share}")
    return Finding("connection-pool", sure, share_s, said, MORE_CONNECTIONS)


def _asked_alone_s(facts: Facts, peer: Peer) -> float | None:
    """How long a request waits for the dependency where nobody else asks; None: not known."""
    waits_s = facts.seen.work.waits_s if facts.seen.work is not None else {}
    return waits_s.get(peer.listener or "", waits_s.get(peer.address))


def _is_slower(facts: Facts, peer: Peer) -> bool:
    """Whether a request waits for the dependency longer than alone; False: it is not known.

    Longer than a whole request takes alone is longer in any case.
    """
    each_s, asked_s = peer.waiting / facts.beyond.per_s, _asked_alone_s(facts, peer)
    if facts.alone_s is not None and each_s > HARM_FACTOR * facts.alone_s:
        return True
    return asked_s is not None and each_s > SLOWER_FACTOR * asked_s


def _is_held(facts: Facts, peer: Peer) -> bool:
    """Whether requests hold all connections, though some of them do not wait for an answer at the moment.

    A request may hold one while it works on the answer. As many are served at a time as there are
    connections, and far more can wait at a time, so the connections are no workers' own.
    """
    waits, served = parallelism.waits(facts.seen), facts.at_a_time
    if not isinstance(waits, Parallelism) or served is None or peer.waiting < HELD_SHARE * peer.connections:
        return False
    low, high = HELD_SERVED
    is_as_many = low * peer.connections <= served <= high * peer.connections
    return is_as_many and waits.low >= HELD_MORE * peer.connections


def is_asked_in_turn(peer: Peer) -> bool:
    """Whether requests ask a service, and no database, over one connection at a time."""
    return peer.most <= 1 and not _is_database(peer)


def _is_database(peer: Peer) -> bool:
    """Whether it is a database, by the program that listens, or else by its port."""
    if peer.listener:
        return peer.listener.startswith(DATABASES)
    return peer.address.rpartition(":")[2] in DATABASE_PORTS


def held_by(facts: Facts, served: float) -> str:
    """Name the pool whose connections requests hold while they do something else; empty: there is none.

    As many requests are served at a time as it has connections, which were never more. A request may hold one
    from its beginning to its end, and ask for little over it. A pool over which nothing is asked is held by
    none.
    """
    low, high = HELD_AS_MANY
    waits = parallelism.waits(facts.seen)
    for peer in filter(is_steady, facts.peers or ()):
        if (
            peer.waiting < FEW
            or peer.connections < WORKERS_MIN
            or not low * peer.connections <= served <= high * peer.connections
        ):
            continue
        # Where no more can wait, the connections are the workers' own.
        if isinstance(waits, Parallelism) and waits.low >= HELD_MORE * peer.connections:
            return connections_to(peer)
    return ""


def is_steady(peer: Peer) -> bool:
    """Whether its connections may be a pool: there were never many more than on average."""
    return peer.most <= POOL_STEADY_FACTOR * peer.connections


def _waits_for(facts: Facts, peer: Peer, stage: Stage) -> Said:
    """Most requests inside wait for a dependency, or are queued for it."""
    each_s = peer.waiting / facts.beyond.per_s
    waiting = f"{_of_its(peer, peer.waiting)} wait for an answer, and {_inside(stage)}"
    slower = peer.waiting >= POOL_FULL_SHARE * peer.connections and _is_slower(facts, peer)
    if (peer.waiting < MOST_SHARE * stage.inside and not slower) or not facts.is_harmed:
        return Out("dependency", waiting)
    as_alone = facts.alone_s is not None and each_s <= HARM_FACTOR * facts.alone_s
    if not slower and as_alone and stage.outside > stage.inside:
        # It takes no longer than alone: what keeps most requests in front of the server is something else.
        return Out("dependency", f"{waiting}, for no longer than a request takes alone")
    said = f"{waiting}: {numerals.duration(1e9 * each_s)} for each request"
    remedy = f"look at {name(peer)}"
    if is_proxy(facts, peer, stage):
        spends = numerals.duration(1e9 * (_cpu_s(facts) or 0.0))
        said = f"{said}; it seems to hand requests on, as it spends {spends} of CPU time on each"
        remedy = f"diagnose what it hands them to: {peer.address}"
    elif peer.waiting >= PROXY_SHARES[0] * stage.inside:
        remedy = f"{remedy}; if the server is a proxy, diagnose what it hands requests to: {peer.address}"
    # If the dependency got slower, all that waits in front of it waits for it.
    share_s = facts.waited_s if slower else facts.share(each_s)
    return Finding("dependency", "shown", share_s, said, remedy)


def _waits_for_all(facts: Facts, peers: Sequence[Peer], stage: Stage) -> Finding | None:
    """Most requests inside wait for dependencies, though not for one and the same.

    A request may wait for several at a time, so that fewer requests wait than connections do.
    """
    found = sorted((peer for peer in peers if peer.waiting >= FEW), key=lambda peer: -peer.waiting)
    waiting = sum(peer.waiting for peer in found)
    if len(found) < 2 or waiting < MOST_SHARE * stage.inside or not facts.is_harmed:
        return None
    names = ", ".join(f"{peer.waiting:.2g} to {name(peer)}" for peer in found)
    said = f"{stage.inside:.2g} requests are inside, and connections wait for an answer: {names}"
    share_s = facts.share(min(waiting, stage.inside) / facts.beyond.per_s)
    remedy = f"look at {' and '.join(name(peer) for peer in found)}"
    return Finding("dependency", "consistent", share_s, said, remedy)


def is_proxy(facts: Facts, peer: Peer, stage: Stage) -> bool:
    """Whether the server hands each request on: one connection waits for each, and it hardly computes."""
    low, high = PROXY_SHARES
    cpu_s = _cpu_s(facts)
    return (
        low <= peer.waiting / max(stage.inside, FEW) <= high
        and cpu_s is not None
        and cpu_s < PROXY_CPU_SHARE * (facts.alone_s or facts.beyond.mean_s)
    )


def _cpu_s(facts: Facts) -> float | None:
    load = facts.beyond
    return load.cores / load.per_s if load.cores is not None and load.per_s else None


def _inside(stage: Stage) -> str:
    return f"{numerals.significant(stage.inside, 2)} requests are inside"


def _of_its(peer: Peer, number: float) -> str:
    """So many of the connections with a peer: "7.6 of 8.0 connections to mariadbd (127.0.0.1:3306)"."""
    return f"{numerals.significant(number, 2)} of {connections_to(peer)}"


def connections_to(peer: Peer) -> str:
    """All of them: "8.0 connections to mariadbd (127.0.0.1:3306)"."""
    return f"{numerals.significant(peer.connections, 2)} connections to {name(peer)}"


def name(peer: Peer) -> str:
    """What a dependency is called: its program and its address."""
    return f"{peer.listener} ({peer.address})" if peer.listener else peer.address
