"""Rules about queues in front of the server: workers, connections that hold them, the listen queue. Pure."""

import math

from crumple.cause import (
    blocked_loop,
    cpu_rules,
    crowding,
    grown_since,
    lock_rules,
    model,
    model_lines,
    parallelism,
)
from crumple.cause.at_load import AtLoad, Stage
from crumple.cause.behind_rules import MORE_WORKERS
from crumple.cause.finding import (
    EXCEEDED_FACTOR,
    MOST_SHARE,
    QUEUE_SHARE,
    Facts,
    Finding,
    Out,
    Said,
    Sure,
    Unclear,
)
from crumple.cause.parallelism import Parallelism
from crumple.cause.unknown import Unknown
from crumple.drawing import numerals

START_WITH_MORE = "start with more workers"
SOONER_CLOSED = "more workers, or close a connection after its answer"
LONGER_QUEUE = "a longer listen queue (backlog)"
SOONER = "close idle connections sooner, or have more workers"
# Files that a server needs to go on when its limit is reached.
FILES_LEFT_MIN = 2
# With this share of the workers busy, or more, all are, but for what handing over takes.
ALL_BUSY_SHARE = 0.8
# Where some connections got this many answers each, it is no chance that others got none.
KEPT_ANSWERS = 20
# With no connection in the queue at this share of the looks, none waits there for a worker.
EMPTY_SHARE = 0.3
# A pool grows if it has this number more at the end than at the beginning, and this share more. A runtime
# adds a thread or two for itself.
GREW_MIN, GREW_SHARE = 2, 0.1
# So many more requests than could wait at a time are not served by chance.
MORE_SERVED = 0.5
# A loop that does one request after the other has so many inside, at most.
ONE_INSIDE = 1.5
# Where what a runtime added answers requests, the rate of answers rises over the load, from its first third
# to its last, by this factor or more.
RISES_FACTOR = 1.1
# Two rates differ if the 95 % interval of their quotient has no 1.
Z = 1.96
# A pool that grows evenly has grown by so much of it in the middle of the first third, and of the last.
FIRST_GROWN, LAST_GROWN = 1 / 6, 5 / 6
# A pool behind a loop has at least this share of the processes, or threads, that there are.
GREW_SERVE_SHARE = 0.4


def workers(facts: Facts) -> Said | None:
    """All workers are busy while cores are idle, and requests wait in front of the server."""
    load, limit, stage = facts.beyond, facts.workers, facts.stage
    if stage is None:
        return Unclear("workers", facts.unread("stage", "where requests wait"))
    if not facts.is_queued_outside:
        return Out("workers", "few requests wait to be read")
    if (places := crowding.places(facts.seen.crowded)) is not None:
        return _tried(facts, places)
    if (kept := _kept_by_connections(facts)) is not None:
        return kept
    if (loop := _waits_for_a_loop(facts, stage)) is not None:
        return loop
    if facts.never_short is not None and stage.inside < facts.never_short:
        # A server that has far more requests waiting at a time than are inside has no worker for each.
        return Out("workers", f"{facts.never_short:,.0f} requests can wait at a time")
    if not facts.has_idle_cores or pool_grew(facts):
        return None
    if limit is None and (busy_thread := cpu_rules.busy_thread(facts)):
        # Requests queue in front of a loop in the same way, and its helpers leave cores idle as well.
        return Unclear("workers", f"{busy_thread}, and requests may wait for that one")
    left = model.named(facts.seen).left
    if limit is None and left and left <= model_lines.PER_CONNECTION:
        return Out("workers", "it has a process or thread for each connection")
    if limit is None:
        wait = f"{numerals.significant(stage.outside, 2)} wait to be accepted or read"
        inside = f"{numerals.significant(stage.inside, 2)} requests are inside, {wait}"
        return Finding(
            "workers", "consistent", facts.outside_s, f"{inside}, and {facts.idle_said}", MORE_WORKERS
        )
    busy = facts.busy_workers
    if busy is None or not facts.are_workers_busy:
        return None
    all_ = busy >= ALL_BUSY_SHARE * limit
    sure: Sure = "shown" if all_ else "consistent"
    said = f"{'all' if all_ else f'{numerals.significant(busy, 2)} of'} {limit:,.0f} workers are busy"
    if round(limit) == 1:
        said = "its only worker is busy"
    said = f"{said} at {numerals.rate(load.per_s)}"
    if (served := facts.at_a_time) and served < MOST_SHARE * busy:
        # By Little's law. Beside its own time a request waits there, and would in more workers, too.
        longer = (
            f"{said}, and a request keeps one {numerals.significant(busy / served, 2)} times as long as alone"
        )
        if served < QUEUE_SHARE * busy:
            return Out("workers", f"{longer}: they wait for something else")
        return Finding(
            "workers", "consistent", facts.outside_s, f"{longer}, and {facts.idle_said}", MORE_WORKERS
        )
    return Finding("workers", sure, facts.outside_s, f"{said}, and {facts.idle_said}", MORE_WORKERS)


def _tried(facts: Facts, places: tuple[float, float, float]) -> Finding:
    """Half-sent requests took places. If cores, a lock or a pool were the limit, they would take none."""
    tried, (number, low, high) = facts.seen.crowded, places
    assert tried is not None
    half = numerals.count(tried.held, "half-sent request")
    said = f"{numerals.share(tried.ratio)} of the throughput is left beside {half}"
    if not tried.ratio:
        said = f"nobody is answered beside {half}"
    between = " to ".join(numerals.significant(each, 2) for each in (low, high))
    has = "one worker" if round(high) == 1 else f"{numerals.significant(number, 2)} workers ({between})"
    said = f"{said}: it has {has}, and a request that waits keeps one"
    return Finding("workers", "shown", facts.outside_s, said, MORE_WORKERS)


def _kept_by_connections(facts: Facts) -> Finding | None:
    """Some connections got all answers, the others none: each worker keeps one for as long as it is open."""
    load = facts.beyond
    kept = round(load.in_flight - load.unanswered)
    if load.rose or not load.unanswered or kept < 1 or load.answers < KEPT_ANSWERS * kept:
        return None
    said = (
        f"{kept} of {load.in_flight:.0f} connections got all {load.answers:,} answers, and the others none:"
    )
    keep = "keeps its connection" if kept == 1 else "keep their connections"
    said = f"{said} it has {numerals.count(kept, 'worker')}, which {keep} until the client closes"
    sure: Sure = "shown" if facts.has_idle_cores else "consistent"
    return Finding("workers", sure, facts.outside_s, said, SOONER_CLOSED)


def _waits_for_a_loop(facts: Facts, stage: Stage) -> Finding | None:
    """A loop does one request after the other, and the others lie unread, while a core is idle.

    No worker waits with a request there, so what leaves the others unread is the loop itself. It may compute
    and wait for a disk in turn, and so neither sleep in a call nor keep its core busy.
    """
    left = model.named(facts.seen).left
    is_loop = "event-loop" in left and left <= model_lines.UNBLOCKED
    if not is_loop or not facts.has_idle_cores or stage.inside > ONE_INSIDE or cpu_rules.busy_thread(facts):
        return None
    if facts.beyond.late_connects and stage.not_accepted >= MOST_SHARE * facts.beyond.in_flight:
        # They have not come to the loop: the queue in front of it is full.
        return None
    number, waiting = (numerals.significant(each, 2) for each in (stage.inside, stage.outside))
    said = f"{number} requests are inside, {waiting} wait to be accepted or read in front of a loop"
    said = f"{said}, and {facts.idle_said}"
    return Finding("one-loop", "consistent", facts.outside_s, said, blocked_loop.REMEDY)


def idle_connections(facts: Facts) -> Said | None:
    """Idle connections hold the workers."""
    load, held, stage, others = facts.beyond, facts.seen.held, facts.stage, facts.others
    answered = held.answered if held is not None else None
    if others is None:
        return Unclear("idle-connections", "how many connections others hold could not be read")
    few_inside = stage is not None and stage.inside < others
    # A pool behind a loop accepts what it does not read. What shows that no worker is free was tried.
    most = MOST_SHARE * load.in_flight
    is_unread = stage is not None and stage.not_accepted < most <= stage.outside
    if is_unread:
        waiting = facts.seen.is_held_up and _may_hold_all(facts, others)
    else:
        waiting = stage is not None and stage.not_accepted >= most
    if (
        waiting
        and few_inside
        and facts.has_idle_cores
        and (_is_full(facts) or model.named(facts.seen).left - model_lines.UNBLOCKED)
    ):
        taken = "accepted" if stage is None or stage.not_accepted >= stage.unread else "read"
        are_open = f"{numerals.count(others, 'connection')} of others {'is' if others == 1 else 'are'} open"
        said = f"{are_open}, and few further ones are {taken}"
        if load.unanswered:
            said += f"; {load.unanswered:,} of {load.in_flight:,.0f} got no answer"
        # That idle connections keep others waiting was tried, or else it may be something else that does.
        may_be_loop = is_unread and model.named(facts.seen).left & model_lines.LOOPS
        sure: Sure = "shown" if facts.seen.is_held_up and not may_be_loop else "consistent"
        return Finding("idle-connections", sure, facts.outside_s, said, SOONER)
    if (earlier := _held_before(facts)) is not None:
        return earlier
    if held is not None and answered:
        return Out("idle-connections", f"{held.connections} idle connections keep nobody waiting")
    return None


def _may_hold_all(facts: Facts, others: int) -> bool:
    """Whether connections of others may hold all workers, and no requests keep these busy."""
    workers = facts.workers
    return workers is None or (others >= ALL_BUSY_SHARE * workers and not facts.are_workers_busy)


def _is_full(facts: Facts) -> bool:
    """Whether it accepts some idle connections, and no more: whatever it is, it has a limit of them."""
    held = facts.seen.held
    return facts.seen.is_held_up and held is not None and 0 < (held.accepted or 0) < held.connections


def _held_before(facts: Facts) -> Finding | None:
    """Connections that others have closed since kept single requests from being answered.

    A server that was not ready yet, for another reason, would look the same.
    """
    before, now, seen = facts.others_before, facts.others, facts.seen
    # Where most are still open, they are not what kept requests from being answered.
    if not before or now is None or now > MOST_SHARE * before:
        return None
    # Of a time that others disturbed, it is known at least that there was an answer.
    if "work" not in seen.failed or (seen.work is None and not facts.beyond.answers):
        return None
    if not (_is_full(facts) or model.named(seen).left - model_lines.UNBLOCKED):
        return None
    # Those that are fewer than the workers hold not all of them.
    if before < ALL_BUSY_SHARE * (facts.workers or 0.0):
        return None
    said = f"while {before} connections of others were open, one request at a time got {seen.failed['work']}"
    takes_s = facts.beyond.mean_s if seen.work is None else seen.work.mean_s
    under = " under load" if seen.work is None else ""
    said = f"{said}; with {now or 'none'} of them, it takes {numerals.duration(1e9 * takes_s)}{under}"
    return Finding("idle-connections", "consistent", None, said, SOONER)


def accept_queue(facts: Facts) -> Said | None:
    """Connections overflow the queue in front of a server that has cores and workers left."""
    load = facts.beyond
    if load.late_connects is None:
        return Unclear("accept-queue", "no connection was opened while it was measured")
    if _kept_by_connections(facts) is not None:
        return Out("accept-queue", "connections wait for one that is kept, and would in a longer queue, too")
    if not load.late_connects:
        said = "no connection took a second or more"
        if not facts.late_in_search:
            return Out("accept-queue", said)
        said = f"{said}, but {facts.late_in_search:,} did in the search"
        return Unclear("accept-queue", f"{said}: the listen queue was full then, or packets were lost")
    # Connections that no busy worker accepts wait in the queue all the time. It is empty, too, if a server
    # accepts at once and lets requests wait unread.
    is_held_back = facts.stage is not None and facts.stage.not_accepted >= MOST_SHARE * load.in_flight
    is_empty = is_held_back and (load.queue_empty_share or 0.0) >= EMPTY_SHARE
    if not facts.has_idle_cores or (facts.are_workers_busy and not is_empty):
        return None
    served, inside = facts.at_a_time, facts.stage.inside if facts.stage is not None else 0.0
    if served is not None and inside >= lock_rules.INSIDE_MIN and served < MOST_SHARE * inside:
        # With a longer queue they would wait inside, as most of those do that are there.
        said = (
            f"{load.late_connects:,} connections took a second or more, but {numerals.significant(inside, 2)}"
        )
        return Unclear("accept-queue", f"{said} requests are inside, and few of them are served at a time")
    idle = "cores and workers were idle"
    if is_empty:
        share = numerals.share(load.queue_empty_share or 0.0)
        idle = f"cores were idle and none waited to be accepted (at {share} of the looks)"
    sure: Sure = "shown"
    if (
        not is_empty
        and load.queue_empty_share is not None
        and isinstance(parallelism.waits(facts.seen), Unknown)
    ):
        # Whoever is to accept may be busy otherwise: a server of one worker, of which it is not known.
        sure, idle = "consistent", "cores were idle; some waited to be accepted at most looks"
    said = f"{load.late_connects:,} connections took a second or more while {idle}"
    # The load may have few connections that come late, and wait for something else.
    share_s = facts.not_accepted_s if facts.not_accepted_s is not None else facts.waited_s
    return Finding("accept-queue", sure, share_s, said, LONGER_QUEUE)


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
    if load.grew is None:
        return Unclear("slow-pool", "its processes and threads could not be counted")
    if not pool_grew(facts):
        waits = facts.is_queued_outside or _waits_inside(facts)
        if (since := grown_since.said(facts)) and facts.has_idle_cores and waits:
            share_s = facts.outside_s if facts.is_queued_outside else facts.waited_s
            return Finding("slow-pool", "consistent", share_s, since, START_WITH_MORE)
        return Out(
            "slow-pool", f"it added {max(0, load.grew) or 'no'} processes or threads while it was loaded"
        )
    if not facts.has_idle_cores:
        return None
    left = model.named(facts.seen).left
    if left and left <= model_lines.PER_CONNECTION:
        # It adds one for each connection that it accepts: there is no pool.
        return Out("slow-pool", f"it added {load.grew} processes or threads, one for each connection")
    said = f"it added {load.grew} processes or threads while requests waited"
    if facts.is_queued_outside:
        sure: Sure = "shown" if _is_sure_to_rise(facts) else "consistent"
        return Finding("slow-pool", sure, facts.outside_s, f"{said} in front of it", START_WITH_MORE)
    return _grew_behind(facts, said)


def _waits_inside(facts: Facts) -> bool:
    """Whether most requests wait inside for others to be served, as in a proxy."""
    stage, served = facts.stage, facts.at_a_time
    if stage is None or served is None:
        return False
    return stage.inside >= MOST_SHARE * facts.beyond.in_flight and served < MOST_SHARE * stage.inside


def _grew_behind(facts: Facts, said: str) -> Finding | None:
    """A pool behind a loop or a proxy grows, while requests wait inside; `said`: that it does.

    A runtime adds threads for other reasons, too. Those of a pool answer requests: more are served at a time
    than before.
    """
    load, served, before = facts.beyond, facts.at_a_time, parallelism.waits(facts.seen)
    waits_inside, rises = _waits_inside(facts), _is_sure_to_rise(facts)
    # As the pool grows, fewer wait: some of them inside, and some in front of it.
    some_wait = served is not None and load.in_flight - served >= QUEUE_SHARE * load.in_flight
    if served is None or not (waits_inside or (rises and some_wait)):
        return None
    # The processes or threads that were added are a good part of those that serve.
    is_pool = served <= (load.grew_from or 0) + (load.grew or 0) <= served / GREW_SERVE_SHARE
    if not is_pool:
        return None
    if load.rates is not None:
        first, last = (numerals.rate(each) for each in load.rates)
        where = " inside" if waits_inside else ""
        said = f"{said}{where}; it answers {first} at first, and {last} in the end"
        sure: Sure = "shown" if rises and waits_inside else "consistent"
        return Finding("slow-pool", sure, facts.waited_s, said, START_WITH_MORE)
    if not isinstance(before, Parallelism) or served < EXCEEDED_FACTOR * before.value:
        return None
    more = f"{numerals.significant(served, 2)} are served at a time, and {before.value:.2g} were before"
    return Finding("slow-pool", "consistent", facts.waited_s, f"{said} inside; {more}", START_WITH_MORE)


def _rise(facts: Facts) -> tuple[float, float, float]:
    """By which factor the rate of answers rose over the load: between the ends of its 95 % interval.

    If it was not read, it may be any. Answers are counted as if they came at random, or in waves: workers
    that began together end together.
    """
    load = facts.beyond
    first, last = load.rates or (0.0, 0.0)
    third_s = load.answers / load.per_s / 3 if load.per_s else 0.0
    numbers = first * third_s, last * third_s
    if not min(numbers):
        return 0.0, 1.0, math.inf
    wave = (min(facts.at_a_time or 0.0, load.in_flight) / 2) ** 2
    error = Z * math.sqrt(sum((number + wave) / number**2 for number in numbers))
    return last / first * math.exp(-error), last / first, last / first * math.exp(error)


def _is_sure_to_rise(facts: Facts) -> bool:
    """Whether the rate of answers is known to have risen, and not by chance."""
    return _rise(facts)[0] > 1.0


def _would_rise(load: AtLoad) -> float:
    """By which factor the rate of answers would have risen if what was added served."""
    grew, before = load.grew or 0, load.grew_from or 0
    return (before + LAST_GROWN * grew) / max(FIRST_GROWN, before + FIRST_GROWN * grew)


def pool_grew(facts: Facts) -> bool:
    """Whether a pool grew while the server was loaded, and not in vain."""
    load = facts.beyond
    if load.grew is None or load.grew < GREW_MIN:
        return False
    # Processes of a pool serve. A runtime adds threads for other things.
    left = model.named(facts.seen).left
    serves = bool(left and left <= model_lines.PROCESSES)
    (_, rise, most), would_rise = _rise(facts), _would_rise(load)
    if serves:
        in_vain = most < (1.0 + would_rise) / 2
    else:
        in_vain = load.rates is not None and load.rates[1] <= RISES_FACTOR * load.rates[0]
    # From the square root on, the rate is nearer to what the growth would give than to none.
    if in_vain or (not (serves and rise >= math.sqrt(would_rise)) and _serves_no_more(facts)):
        return False
    # What grew under the slow requests, too, grows with requests that wait.
    return load.grew >= GREW_SHARE * (load.grew_from or 0) or any(each.growing for each in facts.seen.waiting)


def _serves_no_more(facts: Facts) -> bool:
    """Whether no more requests are served at a time than the slow ones showed, by a pool that has not shrunk.

    One that has shrunk since the slow requests, which had a thread each, grows again.
    """
    waits, served = parallelism.waits(facts.seen), facts.at_a_time
    if not isinstance(waits, Parallelism) or facts.workers is None or served is None:
        return False
    there, before = facts.seen.tree_waiting, facts.beyond.grew_from or 0
    has_shrunk = there is not None and before < waits.low <= there.threads
    return served <= waits.high + MORE_SERVED and not has_shrunk
