"""Rules about queues in front of the server: workers, connections that hold them, the listen queue. Pure."""

from crumple.cause.finding import MOST_SHARE, Facts, Finding, Out, Said, Unclear

MORE_WORKERS = "more workers"
SOONER = "close idle connections sooner, or have more workers"
# Files that a server needs to go on when its limit is reached.
FILES_LEFT_MIN = 2


def workers(facts: Facts) -> Said | None:
    """All workers are busy while cores are idle, and requests wait in front of the server."""
    load, limit = facts.beyond, facts.workers
    if facts.stage is None:
        return Unclear("workers", "where requests wait could not be read")
    if not facts.is_queued_outside:
        return Out("workers", "requests are read at once")
    if not facts.has_idle_cores or load.grew > 1:
        return None
    idle = f"{facts.idle_cores:.2g} of {load.all_cores} cores are idle"
    if limit is None:
        inside = f"{facts.stage.inside:.2g} requests are inside, {facts.stage.outside:.2g} wait to be read"
        return Finding("workers", "consistent", facts.outside_s, f"{inside}, and {idle}", MORE_WORKERS)
    if not facts.are_workers_busy:
        return None
    said = f"all {limit:.2g} workers are busy at {load.per_s:.3g}/s, and {idle}"
    return Finding("workers", "shown", facts.outside_s, said, MORE_WORKERS)


def idle_connections(facts: Facts) -> Said | None:
    """Idle connections hold the workers."""
    load, held, stage = facts.beyond, facts.seen.held, facts.stage
    waiting = stage is not None and stage.not_accepted >= MOST_SHARE * load.in_flight
    if waiting and facts.has_idle_cores and stage is not None and stage.inside < facts.others:
        said = f"{facts.others} connections of others are open, and few further ones are accepted"
        return Finding("idle-connections", "shown", facts.outside_s, said, SOONER)
    if held is None or held.answered is None:
        return None
    if held.answered:
        return Out("idle-connections", f"{held.connections} idle connections keep nobody waiting")
    return None


def accept_queue(facts: Facts) -> Said | None:
    """Connections overflow the queue in front of a server that has cores and workers left."""
    load = facts.beyond
    if not load.late_connects:
        return Out("accept-queue", "no connection took a second or more")
    if not facts.has_idle_cores or facts.are_workers_busy:
        return None
    said = f"{load.late_connects} connections took a second or more while cores and workers were idle"
    return Finding("accept-queue", "shown", facts.waited_s, said, "a longer listen queue (backlog)")


def descriptors(facts: Facts) -> Said | None:
    """No descriptor is left for a connection."""
    files = facts.beyond.descriptors
    if files is None:
        return Unclear("descriptors", "its open files could not be read")
    used, limit = files
    if used < limit - FILES_LEFT_MIN or not facts.is_harmed:
        return Out("descriptors", f"{used:,} of {limit:,} files open")
    said = f"{used:,} of {limit:,} files are open"
    return Finding("descriptors", "shown", facts.waited_s, said, "raise its limit of open files (ulimit -n)")


def slow_pool(facts: Facts) -> Said | None:
    """A pool grows more slowly than the load."""
    load = facts.beyond
    if load.grew <= 1:
        return Out("slow-pool", "it adds no worker under load")
    if not facts.is_queued_outside or not facts.has_idle_cores:
        return None
    said = f"it added {load.grew} processes or threads while requests waited in front of it"
    return Finding("slow-pool", "shown", facts.outside_s, said, "start with more workers")
