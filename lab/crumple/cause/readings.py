"""What was seen of a server under load, as readings with their errors: shares and ratios. Pure.

What could not be read is left out, and speaks for nothing.
"""

import math
from collections.abc import Iterator

from crumple.cause.hypothesis import ASTRAY, ASTRAY_COUNTED, Reading, Readings, Scale
from crumple.machine import at_rest
from crumple.observation import answers, garbage, peer_names, places
from crumple.observation.server_facts import COUNTED, ServerFacts

# The relative error of what the kernel adds up over a time: of CPU time, for instance.
METERED = 0.02
# The most requests inside a loop that does one after the other, on average over the looks.
ONE_INSIDE = 1.5
# The least number of threads, on average over the looks, of a server that has more than one.
TWO_THREADS = 1.5
# The least number of requests that wait for a dependency, on average, for it to be judged.
WAITED = 0.5
# The largest ratio of most to mean connections of a pool, whose number is fixed.
STEADY = 1.25
# Files that a server needs to go on when its limit is reached.
FILES_LEFT = 2
# The least share of a quota of CPU time with which it may have been used up in bursts.
BURSTS = 0.5
# The most requests served at a time by a server that may stand still.
STILL = 0.5
# What the kernel counts for the server alone, or for its control group.
KERNELS, KERNEL_ERROR = ("throttled", "files", "tasks", "stalled"), 0.001
# The relative error of the time that a request alone waits for a dependency: some ten readings find it.
ASKED_ERROR = 0.3
# The largest logarithm of a ratio: beyond twenty times, more is no further evidence.
MOST_LOG = 3.0


def of(facts: ServerFacts) -> Readings:
    """Return all that was read."""
    return {name: _reading(name, value, sd, scale) for name, value, sd, scale in _all(facts)}


def _reading(name: str, value: float, sd: float, scale: Scale) -> Reading:
    if name in KERNELS:
        return Reading(value, KERNEL_ERROR, scale, ASTRAY_COUNTED if value > METERED else ASTRAY)
    return Reading(value, max(sd, METERED), scale)


def _served_error(facts: ServerFacts) -> float:
    """Return the relative error of a number that was counted, divided by how many are served at a time."""
    return math.hypot(COUNTED, facts.alone_error)


def _all(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    yield from _of_cores(facts)
    yield from _of_stages(facts)
    yield from _of_threads(facts)
    yield from _of_peers(facts)
    yield from _of_growth(facts)
    yield from _of_limits(facts)
    yield from _of_experiments(facts)
    yield from _of_answers(facts)


def _share(name: str, value: float, sd: float = COUNTED) -> tuple[str, float, float, Scale]:
    return name, min(1.0, max(0.0, value)), sd, "share"


def _ratio(name: str, value: float, of: float, sd: float = COUNTED) -> tuple[str, float, float, Scale]:
    least = math.exp(-MOST_LOG)
    ratio = value / of if of else 1.0 / least
    return name, math.log(min(1.0 / least, max(least, ratio))), sd, "ratio"


def _of_cores(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load, threads = facts.beyond, facts.beyond.threads
    if facts.idle_cores is not None and not load.rose:
        yield _share("idle", facts.idle_cores / facts.cores, METERED)
    if facts.asked_cores is not None:
        yield _share("used", facts.asked_cores, METERED)
        yield _share("cores", facts.asked_cores / facts.cores, METERED)
    if threads is not None:
        busiest = max((each.share for each in threads.saturated), default=0.0)
        if threads.saturated or threads.busiest:
            yield _share("busiest", max(busiest, threads.busiest), METERED)
        elif threads.sharing:
            yield _share("busiest", (facts.asked_cores or 0.0) / max(1.0, threads.sharing))
        if len(threads.saturated) > 1:
            yield _share("only_one", 1.0 / len(threads.saturated))
    work = facts.seen.work
    if (
        work is not None
        and work.cpu_s
        and not work.disturbed
        and load.per_s
        and facts.asked_cores is not None
    ):
        alone_s = work.cpu_s - at_rest.cores(facts.seen.rest) * work.mean_s
        if alone_s > work.cpu_s / 2 and not facts.fails:
            yield _ratio("dearer", facts.asked_cores / load.per_s, alone_s, 0.2)
    if facts.seen.rest is not None:
        burning = facts.seen.rest.cores if facts.seen.rest.burning else 0.0
        yield _share("burning", burning)
    # Throttled now and then, in bursts, a server that uses a part of its quota is not limited by it.
    quota = facts.seen.quota
    in_bursts = quota is not None and (facts.asked_cores or math.inf) < BURSTS * quota.amount
    if load.throttled_share is not None and not in_bursts:
        yield _share("throttled", load.throttled_share, METERED)
    if threads is not None and threads.number:
        yield _share("stopped", threads.stopped / threads.number)
    collecting = garbage.collecting(load.cpu_time)
    if collecting:
        most = max(collecting, key=lambda each: each.low)
        yield _share("garbage", (most.low + most.high) / 2, max(METERED, (most.high - most.low) / 4))
    number = load.switches_per_s if load.switches_per_s is not None else load.switches_least_per_s
    if number is not None and facts.switch_s and load.cores:
        yield _share("switching", number * facts.switch_s / load.cores, METERED)


def _of_stages(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load, stage, served = facts.beyond, facts.stage, facts.at_a_time
    if stage is None or not load.in_flight:
        return
    waiting = load.in_flight - min(served or 0.0, load.in_flight)
    if waiting > 1.0:
        yield _share("unread", stage.outside / waiting)
        yield _share("unaccepted", stage.not_accepted / waiting)
    if served:
        yield _ratio("inside", stage.inside, served, _served_error(facts))
    yield _share("one_inside", float(stage.inside <= ONE_INSIDE), 0.2)
    workers, never_short = facts.workers, facts.never_short
    inside = max(stage.inside, served or 0.0)
    if workers is not None and inside:
        yield _ratio("places", workers, inside)
    elif never_short is not None and inside and never_short > inside:
        yield _ratio("places", never_short, inside)


def _of_threads(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load, threads, stage, rest = facts.beyond, facts.beyond.threads, facts.stage, facts.seen.rest
    if threads is None or stage is None:
        return
    served = facts.at_a_time
    disk = threads.disk - (rest.disk if rest is not None else 0.0)
    disk = max(0.0, disk - places.under_load(threads, places.is_no_disk))
    if "disk" not in load.unread:
        yield _share("disk", disk / max(1.0, served if served is not None else stage.inside))
    if not places.are_known(threads):
        return
    if threads.busiest_at:
        stops = not places.is_free(threads.busiest_at)
        yield _share("stops", float(stops), 0.2)
        # That another thread is there, or that it does not sleep, says nothing for or against a cause.
        if stops and threads.number < TWO_THREADS:
            yield _share("only_stops", 1.0)
    inside = max(1.0, stage.inside)
    locked = max(0.0, places.more_than_at_rest(threads, rest, places.is_lock))
    yield _share("locked", locked / inside)
    timed = max(0.0, places.more_than_at_rest(threads, rest, places.is_timer))
    yield _share("timed", timed / inside)
    receiving = places.under_load(threads, places.is_receiving)
    yield _share("receiving", receiving / inside)
    taken = places.at_rest(rest, places.is_receiving)
    if taken is not None:
        yield _share("taken_at_rest", taken / (taken + inside) if facts.others else 0.0)
        if facts.others and taken:
            yield _ratio("held_each", taken, facts.others)
    polled = max(0.0, places.more_than_at_rest(threads, rest, places.is_polled))
    if served:
        waiting = max(receiving - (taken or 0), 0.0) + polled + timed
        yield _ratio("waiting_each", waiting, served, _served_error(facts))
    peer = peer_names.most_asked(facts)
    if peer is not None and peer.waiting >= 1.0:
        yield _ratio("receiving_each", receiving + polled, peer.waiting)


def _of_peers(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load, stage, peers = facts.beyond, facts.stage, facts.peers
    if peers is None or stage is None:
        return
    if not peers and not {"peers", "dependencies", "udp"} & {*load.unread}:
        yield _share("asks", 0.0)
        yield _share("asking", 0.0)
        return
    peer = max(peers, key=lambda each: each.waiting, default=None)
    if peer is None or peer.missed:
        return
    yield _share("asks", float(peer.waiting >= WAITED))
    yield _share("asking", peer.waiting / max(1.0, stage.inside))
    if peer.connections and peer.waiting:
        yield _share("full", peer.waiting / peer.connections)
        yield _share("one_connection", float(peer.most <= 1))
        yield _share("steady", float(peer.most <= STEADY * peer.connections))
    if facts.at_a_time:
        yield _ratio("as_many", facts.at_a_time, peer.connections, _served_error(facts))
    asked_s = peer_names.asked_alone_s(facts, peer)
    if load.per_s and peer.waiting >= WAITED:
        each_s = peer.waiting / load.per_s
        if asked_s:
            yield _ratio("slower", each_s, asked_s, ASKED_ERROR)
        elif facts.alone_s is not None and each_s > facts.alone_s:
            yield _ratio("slower", each_s, facts.alone_s, facts.alone_error)


def _of_growth(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load = facts.beyond
    if load.grew is not None and load.grew_from:
        yield _share("added", load.grew / load.grew_from, METERED)
    if load.rates is not None and min(load.rates):
        answers = max(1.0, load.answers / 3)
        wave = min(facts.at_a_time or 0.0, load.in_flight) / 2
        error = math.sqrt(2 * (answers + wave**2)) / answers
        yield _ratio("rises", load.rates[1], load.rates[0], error)
    light = load.light
    if light is not None and light.asked:
        yield _share("light", light.waited / light.asked, 0.5 / math.sqrt(light.asked))


def _of_limits(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    load, held = facts.beyond, facts.seen.held
    if load.descriptors is not None:
        used, limit = load.descriptors
        yield _share("files", 1.0 if used >= limit - FILES_LEFT else used / max(1, limit))
    if load.tasks is not None:
        tasks, most = load.tasks
        yield _share("tasks", tasks / max(1, most))
    if load.stalled_share is not None:
        yield _share("stalled", load.stalled_share, METERED)
    if load.late_connects is not None:
        yield _share("late", load.late_connects / max(load.late_connects, load.in_flight, 1.0), METERED)
    if held is not None and held.answered is not None:
        yield _share("held", 0.0 if held.answered else 1.0)
    if facts.others is not None:
        yield _share(
            "others", facts.others / max(facts.others, 1.0, facts.stage.inside if facts.stage else 0.0)
        )
    if load.queue_empty_share is not None:
        yield _share("empty_queue", load.queue_empty_share, 0.2)
    work = facts.seen.work
    if work is not None:
        yield _share("answers_alone", work.answers / max(1, work.answers + work.failed))
    # Many requests to a slow server have no answer yet at the end, and it does not stand still.
    unanswered = load.unanswered if (facts.at_a_time or 0.0) < STILL else 0
    answered = load.answers / max(1, load.answers + load.failed + unanswered)
    yield _share("answered", answered, METERED)


def _of_experiments(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    found = facts.seen.outcomes
    for name, crowd in (("half_sent", found.half_sent), ("silent", found.silent), ("waiting", found.waiting)):
        if crowd is not None:
            yield _share(name, crowd.paired.ratio, crowd.paired.sd)
    for name, one in (("one_core", found.one_core), ("one_thread", found.one_thread)):
        if one is not None:
            yield _share(name, one.ratio, one.sd)
    if found.falls is not None and found.falls.steps:
        best, last = max(found.falls.steps, key=lambda each: each.per_s), found.falls.steps[-1]
        if best.per_s:
            error = math.hypot(best.sd / best.per_s, last.sd / max(last.per_s, best.per_s / 10))
            yield _ratio("falls", last.per_s, best.per_s, error)
    if found.longer is not None and found.longer.first.per_s:
        first, last_rate = found.longer.first, found.longer.last
        yield _ratio("longer", last_rate.per_s, first.per_s, (first.sd + last_rate.sd) / first.per_s)
    if found.other_key is not None:
        paired = found.other_key.paired
        yield _ratio("other_key", paired.ratio, 1.0, paired.sd)
    if found.spaced is not None:
        yield _ratio("spaced", found.spaced.ratio, 1.0, found.spaced.sd / found.spaced.ratio)
    if found.stuck is not None and found.stuck.connections:
        yield _ratio("stuck", found.stuck.waiting, found.stuck.connections)


def _of_answers(facts: ServerFacts) -> Iterator[tuple[str, float, float, Scale]]:
    """What runtimes and dependencies answered. Threads and sessions were counted at one instant."""
    found = facts.seen.outcomes.sources
    if found is None:
        return
    inside = facts.stage.inside if facts.stage is not None else 1.0
    for name in answers.READ:
        if (part := found.part(name, inside)) is not None:
            yield _share(name, part.share, max(COUNTED, 0.5 / math.sqrt(part.of)))
