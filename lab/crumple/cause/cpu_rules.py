"""Rules about CPU time: all cores used, one core used, threads that wait for each other, and stops. Pure."""

from crumple.cause.finding import MOST_SHARE, Facts, Finding, Out, Said, Unclear

# One core is used up between these.
ONE_CORE = (0.85, 1.15)
# Up to this many threads that share the CPU time evenly count as one.
ONE_THREAD_MAX = 1.5
# Switches are the cause from this share of the CPU time on.
SWITCH_SHARE = 0.2
# With more CPU time than this, in cores, the engine is named beside the server.
ENGINE_MIN = 0.2
# Less CPU time, in cores, is not what requests wait for.
BUSY_MIN = 0.5
# If one request at a time keeps this many cores busy, other threads work besides.
BESIDES_CORES = 1.25
# If a request takes this many times the CPU time that it takes alone, something else takes it.
DEARER_FACTOR = 2.5
# Where a thread sleeps that waits for a lock, by the kernel's names.
LOCKS = ("futex", "semtimedop", "rwsem", "mutex")
# Fewer requests inside do not show that they wait for each other.
INSIDE_MIN = 3.0
# From this share of threads on that are stopped, they are throttled.
STOPPED_SHARE = 0.1


def cpu(facts: Facts) -> Said | None:
    """All cores are busy, and requests wait."""
    load = facts.beyond
    if load.cores is None:
        return Unclear("cpu", "its CPU time could not be read; name its process: --watch PID")
    used = f"{load.cores:.2g} of {load.all_cores} cores busy"
    if load.engine_cores > ENGINE_MIN:
        used = f"{used}, {load.engine_cores:.2g} more with the load itself"
    if facts.has_idle_cores or load.cores < MOST_SHARE * load.all_cores:
        return Out("cpu", used)
    if not facts.is_harmed:
        return Out("cpu", f"{used}, and requests do not wait")
    runnable = load.threads.runnable if load.threads else None
    waits = f", {runnable:.2g} threads ready to run and without one" if runnable else ""
    return Finding("cpu", "shown", facts.waited_s, f"{used}{waits}", "make a request cheaper, or add cores")


def switches(facts: Facts) -> Said | None:
    """Context switches take much of the CPU time."""
    load = facts.beyond
    if not facts.switch_s or load.switches_per_s is None or not load.cores:
        return Unclear("switches", "the server's context switches could not be read")
    share = load.switches_per_s * facts.switch_s / load.cores
    said = f"{load.switches_per_s:,.0f} context switches per second take {100 * share:.2g} % of its CPU time"
    if share < SWITCH_SHARE or load.cores < BUSY_MIN:
        return Out("switches", said)
    remedy = "hand a request from thread to thread less often"
    return Finding("switches", "shown", share * load.mean_s, said, remedy)


def memory(facts: Facts) -> Said | None:
    """Other threads work besides the requests' own, as a collector of garbage does."""
    load, alone = facts.beyond, facts.seen.work
    if load.cores is None or alone is None or not alone.cpu_s or not load.per_s or load.cores < BUSY_MIN:
        return None
    each_s = load.cores / load.per_s
    if each_s < DEARER_FACTOR * alone.cpu_s and alone.cpu_s < BESIDES_CORES * alone.mean_s:
        return Out(
            "memory", f"a request takes {1e3 * each_s:.2g} ms of CPU time, alone {1e3 * alone.cpu_s:.2g}"
        )
    said = (
        f"a request takes {1e3 * each_s:.2g} ms of CPU time under load and {1e3 * alone.cpu_s:.2g} ms alone"
    )
    if alone.cpu_s >= BESIDES_CORES * alone.mean_s:
        said = f"one request at a time keeps {alone.cpu_s / alone.mean_s:.2g} cores busy: other threads work"
    remedy = "look at the collector of garbage: make less of it, or allow more memory"
    return Finding("memory", "consistent", facts.waited_s, said, remedy)


def one_core(facts: Facts) -> Said | None:
    """One core is busy while others are idle: one thread, or a lock that lets one thread run at a time."""
    load = facts.beyond
    if load.cores is None or load.all_cores < 2:
        return None
    used = f"{load.cores:.2g} of {load.all_cores} cores busy"
    low, high = ONE_CORE
    if not low <= load.cores <= high or not facts.is_harmed:
        return Out("one-loop", used if facts.is_harmed else f"{used}, and requests do not wait")
    remedy = "start a process for each core"
    if load.threads is None:
        return Finding("one-loop", "consistent", facts.waited_s, f"{used}, as by one thread", remedy)
    if load.threads.sharing <= ONE_THREAD_MAX:
        said = f"one thread uses {load.threads.busiest:.0%} of a core while another core is idle"
        return Finding("one-loop", "shown", facts.waited_s, said, remedy)
    if not facts.has_idle_cores:
        return None
    said = f"{load.threads.sharing:.2g} threads share the time of one core while another core is idle"
    return Finding(
        "one-lock", "shown", facts.waited_s, said, f"{remedy}: a lock lets one thread run at a time"
    )


def lock(facts: Facts) -> Said | None:
    """Threads wait for each other while cores are idle."""
    load, stage = facts.beyond, facts.stage
    if load.threads is None or stage is None:
        return Unclear("one-lock", "its threads could not be read")
    if not facts.has_idle_cores or not facts.is_harmed:
        return None
    at_locks = sum(share for place, share in load.threads.places.items() if any(at in place for at in LOCKS))
    waiting = load.threads.number * at_locks
    if stage.inside < INSIDE_MIN:
        return Out("one-lock", f"{stage.inside:.2g} requests inside at a time")
    served = facts.at_a_time
    said = f"{stage.inside:.2g} requests inside, of which {served:.2g} are served at a time"
    if served >= MOST_SHARE * stage.inside or waiting < MOST_SHARE * stage.inside:
        return Out("one-lock", said)
    said = f"{said}, and {waiting:.2g} threads wait for a lock while {facts.idle_cores:.2g} cores are idle"
    return Finding("one-lock", "consistent", facts.waited_s, said, "hold the lock for less, or split it")


def throttled(facts: Facts) -> Said | None:
    """The server is stopped, or may not use the cores."""
    load = facts.beyond
    if load.throttled_share:
        said = f"its control group stopped it for {load.throttled_share:.0%} of the time"
        return Finding("throttled", "shown", load.throttled_share * load.mean_s, said, "a larger CPU quota")
    threads = load.threads
    if threads is None:
        return Unclear("throttled", "its threads could not be read")
    if threads.stopped > STOPPED_SHARE * threads.number:
        said = f"{threads.stopped / threads.number:.0%} of its threads are stopped"
        return Finding("throttled", "shown", facts.waited_s, said, "find out what stops it")
    return Out("throttled", "its threads are not stopped")
