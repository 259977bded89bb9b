"""Rules about CPU time: all cores used, one core used, context switches, and stops. Pure."""

from dataclasses import replace

from crumple.cause import behind_rules, cpu_time, garbage, lock_rules, parallelism, places
from crumple.cause.at_load import AtLoad, Threads
from crumple.cause.finding import BUSY_MIN, MOST_SHARE, Facts, Finding, Out, Said, Sure, Unclear
from crumple.cause.parallelism import Parallelism
from crumple.drawing import numerals

# One core is used up between these.
ONE_CORE = (0.85, 1.15)
# Up to so many busy threads (`loaded.sharing`), most of the CPU time is one thread's.
ONE_THREAD_MAX = 1.5
# Threads that use a core each are the cause if they use this share of the server's CPU time together.
SATURATED_SHARE = 0.7
# Threads that are inside with a request are about as many as requests are inside.
SHARE_INSIDE = 1.5
# A thread that runs, or is ready to, for this share of the time or more may be what requests wait for. For
# the rest it may wait for others of its process: to collect garbage, or for a lock of their memory.
BUSY_THREAD_SHARE = 0.7
# Switches are the cause from this share of the CPU time on.
SWITCH_SHARE = 0.2
# From so many switches per request on, and if none waits for a dependency, what the kernel does for a request
# is to switch, as long as it takes no longer for each than this many switches on one core; more of them, if
# the kernel takes most of the CPU time.
SWITCHES_EACH, SWITCH_FACTOR_MAX, SWITCH_FACTOR_MOST = 50.0, 4.0, 6.0
# If other programs used no more than this share of the server's CPU time, what the machine did, it did.
OTHERS_SHARE = 0.05
# With more CPU time than this, in cores, the engine is named beside the server, and so are other programs.
ENGINE_MIN = 0.2
# From so many on it is not sure that all of a core's time is one request's.
SOME_BESIDES = 1.03
# From this share of threads on that are stopped, they are throttled.
STOPPED_SHARE = 0.1
# A control group that stops the server for less of the time does not make requests wait for long.
THROTTLED_SHARE = 0.05
# Where it is not known what a context switch costs here, it is taken to cost no more than this.
SWITCH_S_MOST = 10e-6
UNCOUNTED = "the server's context switches could not be read"
ENDED = "threads that ended took what they had counted with them"
UNWATCHED = "its CPU time could not be read; name its process: --watch PID"
# What a server uses while nobody asks is named from so many cores on.
REST_MIN = 0.1
PER_CORE = "make a request cheaper, or start a process for each core"


def _used(load: AtLoad) -> str:
    return f"it uses {numerals.significant(load.cores or 0.0, 2)} of {numerals.count(load.all_cores, 'core')}"


def cpu(facts: Facts) -> Said | None:
    """All cores are busy, and requests wait."""
    load = facts.beyond
    if load.cores is None:
        return Unclear("cpu", UNWATCHED)
    if load.engine_cores is None:
        return Unclear("cpu", "how much of the cores the engine used could not be read")
    used = _used(load)
    if load.engine_cores > ENGINE_MIN:
        used = f"{used}, the engine {numerals.significant(load.engine_cores, 2)}"
    if facts.others_cores > ENGINE_MIN:
        used = f"{used}, other programs of this machine {numerals.significant(facts.others_cores, 2)}"
    if facts.has_idle_cores:
        return Out("cpu", used)
    if facts.has_idle_on_average:
        return Unclear("cpu", f"{used} on average, while the load rose")
    if load.cores < MOST_SHARE * load.all_cores:
        took = "other programs" if facts.others_cores > load.engine_cores else "the engine"
        return Unclear("cpu", f"{used}: {took} may have left it too few")
    if not facts.is_harmed:
        return Out("cpu", f"{used}, and requests do not wait")
    runnable = load.threads.runnable if load.threads else None
    number = numerals.significant(runnable or 0.0, 2)
    waits = f", and {number} threads are ready to run and have no core" if runnable else ""
    sure: Sure = "shown"
    if _may_be_switches(facts):
        sure = "consistent"
        waits = f"{waits}; context switches, which could not be counted, may take much of it"
    said = f"{used}{waits}{cpu_time.most(load.cpu_time)}"
    return Finding("cpu", sure, facts.waited_s, said, "make a request cheaper, or add cores")


def switches(facts: Facts) -> Said | None:
    """Context switches take much of the CPU time."""
    load, uncounted = facts.beyond, _uncounted(facts.beyond)
    if load.cores is None:
        return Unclear("switches", UNCOUNTED)
    if uncounted and _is_little_kernel(load):
        share_ = numerals.share((load.kernel_cores or 0.0) / load.cores)
        return Out("switches", f"the kernel takes {share_} of its CPU time")
    counted = load.switches_least_per_s if load.switches_per_s is None else load.switches_per_s
    of_machine = _of_machine(facts) if uncounted else None
    number = counted if of_machine is None else of_machine
    if number is None:
        return Unclear("switches", UNCOUNTED)
    if not facts.switch_s:
        few = _few_at_most(load, SWITCH_S_MOST) if uncounted else ""
        why = "what one costs here could not be measured"
        return Out("switches", few) if few else Unclear("switches", why)
    if load.cores < BUSY_MIN or not load.per_s:
        return Out("switches", f"it uses {numerals.significant(load.cores, 2)} of a core")
    is_plain = number * facts.switch_s >= SWITCH_SHARE * load.cores
    inferred_s = 0.0 if is_plain else _kernel_s(load, number, facts.switch_s)
    each_s = max(facts.switch_s, inferred_s)
    share = min(1.0, number * each_s / load.cores)
    said = f"{number:,.0f} context switches per second, {numerals.duration(1e9 * each_s)} each, are"
    said = f"{said} {numerals.share(share)} of its CPU time"
    if share < SWITCH_SHARE and uncounted:
        few = _few_at_most(load, facts.switch_s)
        return Out("switches", few) if few else Unclear("switches", f"{said} at least: {uncounted}")
    if share < SWITCH_SHARE:
        return Out("switches", said)
    if of_machine is not None:
        said = f"{said}, of the whole machine without the engine, where hardly anything else ran: {uncounted}"
    elif uncounted:
        said = f"{said} at least"
    # Where no core is idle, requests wait for CPU time, and all of it counts; else only their own does.
    whole_s = load.cores / load.per_s if facts.has_idle_cores else load.mean_s
    remedy = "hand a request from thread to thread less often"
    is_inferred = inferred_s > facts.switch_s or of_machine is not None
    sure: Sure = "consistent" if is_inferred else "shown"
    return Finding("switches", sure, facts.share(share * whole_s), said, remedy)


def _of_machine(facts: Facts) -> float | None:
    """Context switches of the whole machine without the engine, if nearly all are the server's; else None.

    A core that falls idle counts one, too. On cores that the server may not use, others switch as well.
    """
    load = facts.beyond
    is_alone = load.others_most is not None and load.others_most <= OTHERS_SHARE * (load.cores or 0.0)
    is_full = not facts.has_idle_on_average
    return load.switches_most_per_s if is_alone and is_full else None


def _uncounted(load: AtLoad) -> str:
    """Why not all of its context switches are known; empty: they are."""
    return ENDED if load.switches_per_s is None else load.unread.get("switches", "")


def _may_be_switches(facts: Facts) -> bool:
    """Whether context switches, of which not all are known, may take a good part of the CPU time."""
    return bool(_uncounted(facts.beyond)) and isinstance(switches(facts), Unclear)


def _is_little_kernel(load: AtLoad) -> bool:
    """Whether the kernel, whose work switching is, takes too little of the CPU time for that."""
    return load.kernel_cores is not None and load.kernel_cores < SWITCH_SHARE * (load.cores or 0.0)


def _few_at_most(load: AtLoad, switch_s: float) -> str:
    """Say that the whole machine has few context switches besides the engine's; empty: it has not."""
    most = load.switches_most_per_s
    if most is None:
        return ""
    if most * switch_s * _factor_max(load) >= SWITCH_SHARE * (load.cores or 0.0):
        return ""
    return f"the machine has {most:,.0f} context switches per second besides the engine's"


def _kernel_s(load: AtLoad, number: float, switch_s: float) -> float:
    """How long the kernel works for each switch, where it may do hardly anything else for requests; else 0.

    A switch to another core takes more than one on the same core, `switch_s`, and with it come the system
    calls that wait and that wake. `number`: of switches per second. What takes longer is more than a switch,
    as where a request reads from a dependency again and again.
    """
    if not load.kernel_cores or not number or number < SWITCHES_EACH * load.per_s:
        return 0.0
    if any(peer.waiting >= behind_rules.FEW for peer in load.peers or ()):
        return 0.0
    each_s = load.kernel_cores / number
    return each_s if each_s <= _factor_max(load) * switch_s else 0.0


def _factor_max(load: AtLoad) -> float:
    """As how many switches on one core a switch may count, with all that comes with it."""
    is_most = (load.kernel_cores or 0.0) >= MOST_SHARE * (load.cores or 0.0)
    return SWITCH_FACTOR_MOST if is_most else SWITCH_FACTOR_MAX


def one_core(facts: Facts) -> Said | None:
    """Few cores are busy while others are idle: threads that need one each, or a lock that lets one run."""
    load = facts.beyond
    if load.cores is None:
        return Unclear("one-loop", UNWATCHED)
    if load.all_cores < 2:
        return None
    cores = facts.asked_cores or 0.0
    used = _used(load)
    if load.cores - cores >= REST_MIN:
        used = f"{used}, {numerals.significant(load.cores - cores, 2)} of them also while nobody asks"
    if not facts.is_harmed:
        return Out("one-loop", f"{used}, and requests do not wait")
    said: Said | None
    if load.threads is None:
        said = _unseen(facts, used)
    else:
        said = _saturated(facts, load.threads, cores) or _shared_core(facts, load.threads, used)
    if isinstance(said, Finding):
        return replace(said, evidence=f"{said.evidence}{cpu_time.most(load.cpu_time)}")
    return said


def _unseen(facts: Facts, used: str) -> Said:
    """One core is busy, and whose it is could not be read."""
    low, high = ONE_CORE
    if low <= (facts.asked_cores or 0.0) <= high and facts.has_idle_cores:
        return Finding("one-loop", "consistent", facts.waited_s, f"{used}, as one thread would", PER_CORE)
    return Unclear("one-loop", f"{used}, and {facts.unread('threads', 'its threads')}")


def _saturated(facts: Facts, threads: Threads, cores: float) -> Finding | None:
    """Each of a few threads uses a core, and these are most of what the server uses."""
    found = threads.saturated
    used = sum(each.share for each in found)
    if not found or used < MOST_SHARE * cores or len(found) >= facts.beyond.all_cores:
        return None
    if len(found) > 1 and facts.are_workers_busy:
        # Each of them is a worker that computes: more workers would use the idle cores.
        return None
    if used < SATURATED_SHARE * cores and (facts.workers is not None or not facts.has_idle_cores):
        return None
    idle = " while another core is idle" if facts.has_idle_cores else ", and its other threads use little"
    if len(found) == 1:
        said = f"one thread uses {numerals.share(used)} of a core{idle}"
    else:
        said = f"{len(found)} threads use {numerals.significant(used, 2)} cores{idle}"
    sure: Sure = "shown"
    if all(each.serves is False for each in found):
        # It may be another program that the same parent started.
        sure, said = "consistent", f"{said}, in {found[0].program}, which holds none of the connections"
    if used < SATURATED_SHARE * cores:
        # They may be its helpers, or do the work that requests wait for.
        sure, said = "consistent", f"{said}; its other threads use {numerals.significant(cores - used, 2)}"
    return Finding("one-loop", sure, facts.waited_s, said, PER_CORE)


def _shared_core(facts: Facts, threads: Threads, used: str) -> Said | None:
    """Several threads share the time of one core while another is idle."""
    low, high = ONE_CORE
    if not low <= (facts.asked_cores or 0.0) <= high:
        busy = busy_thread(facts) if facts.has_idle_cores else ""
        return Unclear("one-loop", f"{used}; {busy}") if busy else Out("one-loop", used)
    if not facts.has_idle_cores:
        return None
    stage = facts.stage
    inside = stage.inside if stage is not None and facts.is_quick_inside else 0.0
    if threads.sharing is not None and threads.sharing <= SHARE_INSIDE * inside:
        # Workers that wait and compute may use the time of one core together by chance. If more threads share
        # it, they may wait for a lock before they read a request.
        return Out("one-lock", f"{used}, and a request that is inside takes no longer than alone")
    brief = threads.sharing is None and facts.beyond.unread.get("switches")
    if not brief and (threads.sharing is None or threads.sharing <= ONE_THREAD_MAX):
        which = "which one did is not known" if threads.sharing is None else "its other threads use little"
        said = f"{used}, as one thread would; {which}"
        return Finding("one-loop", "consistent", facts.waited_s, said, PER_CORE)
    sharing = f"about {numerals.significant(threads.sharing or 0.0, 2)} threads share"
    said = f"{'threads that come and go share' if brief else sharing} the time of one core"
    said = f"{said} while another core is idle"
    computes = parallelism.computes(facts.seen)
    lets_one = isinstance(computes, Parallelism) and computes.is_one
    asleep = lock_rules.at_locks(threads)
    if not lets_one and asleep is None:
        return Unclear("one-lock", f"{said}, and {lock_rules.PLACES_UNREAD}")
    if not lets_one and asleep is not None and asleep < 1.0:
        # Threads that take a core's time together by chance wait for something else.
        return Out("one-lock", f"{said}, and {numerals.significant(asleep, 2)} threads sleep in a lock")
    if not lets_one and (slow := lock_rules.as_many_slow(facts)):
        served = numerals.significant(facts.at_a_time or 0.0, 2)
        return Out("one-lock", f"{said}, and {served} requests are served at a time, {slow}")
    if not lets_one and (works := besides(facts)) and not _locks_more(facts, threads):
        # A collector of garbage, for instance, shares the core with the requests, and both sleep meanwhile.
        return Unclear("one-lock", f"{said}, and {works}")
    sure: Sure = "shown" if lets_one else "consistent"
    remedy = f"{PER_CORE}: a lock lets one thread run at a time"
    return Finding("one-lock", sure, facts.waited_s, said, remedy)


def _locks_more(facts: Facts, threads: Threads) -> bool:
    """Whether requests are seen to wait for a lock, and a collector is not what works besides."""
    more = places.more_than_at_rest(threads, facts.seen.rest, places.is_lock)
    little = garbage.is_little(garbage.collecting(facts.beyond.cpu_time))
    inside = min(facts.stage.inside, threads.number) if facts.stage is not None else threads.number
    return little and more >= max(1.0, MOST_SHARE * inside)


def besides(facts: Facts) -> str:
    """That other threads work beside those of a request; empty: one request at a time keeps one core busy."""
    alone = facts.seen.work
    if alone is None or alone.disturbed or not alone.cpu_s or alone.cpu_s < SOME_BESIDES * alone.mean_s:
        return ""
    cores = numerals.significant(alone.cpu_s / alone.mean_s, 3)
    return f"one request at a time keeps {cores} cores busy, so other threads work besides"


def busy_thread(facts: Facts) -> str:
    """Say how much of a core the busiest thread takes, if that is nearly all of one; empty otherwise."""
    share = facts.beyond.threads.busiest if facts.beyond.threads is not None else 0.0
    said = f"one thread runs, or is ready to, for {numerals.share(share)} of the time"
    return said if share >= BUSY_THREAD_SHARE else ""


def throttled(facts: Facts) -> Said | None:
    """The server is stopped, or may not use the cores."""
    load = facts.beyond
    share = load.throttled_share
    stopped_by_group = f"its control group stopped it for {numerals.share(share)} of the time"
    if share is not None and share >= THROTTLED_SHARE:
        share_s = facts.share(share * load.mean_s)
        return Finding("throttled", "shown", share_s, stopped_by_group, "a larger CPU quota")
    threads = load.threads
    if threads is None:
        return Unclear("throttled", facts.unread("threads", "whether its threads are stopped"))
    if threads.stopped > STOPPED_SHARE * threads.number:
        said = f"{numerals.share(threads.stopped / threads.number)} of its threads are stopped"
        return Finding("throttled", "shown", facts.waited_s, said, "find out what stops it")
    return Out("throttled", stopped_by_group if share else "its threads are not stopped")
