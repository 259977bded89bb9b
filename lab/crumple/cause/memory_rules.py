"""Rules about collecting garbage: what of the CPU time is spent on it, or what else hints at it. Pure."""

from crumple.cause import cpu_rules, garbage, parallelism
from crumple.cause.finding import BUSY_MIN, MOST_SHARE, Facts, Finding, Out, Said, Sure, Unclear
from crumple.cause.garbage import COLLECTING_SHARE
from crumple.cause.observed import Alone
from crumple.cause.parallelism import Parallelism
from crumple.drawing import numerals
from crumple.machine import at_rest

# If one request at a time keeps this many cores busy, other threads work besides.
BESIDES_CORES = 1.25
# A request's CPU time alone is known if it is this share, or more, of what the server used meanwhile.
KNOWN_SHARE = 0.5
# If a request takes this many times the CPU time that it takes alone, something else takes it.
DEARER_FACTOR = 2.5
# If requests take, on average, UNEVEN_FACTOR times as much CPU time as the quickest of the same requests took
# in all, most of that CPU time is not theirs. UNEVEN_S_MIN: of requests that take less alone, this tells
# nothing, as most of their time is the engine's and the kernel's.
UNEVEN_FACTOR, UNEVEN_S_MIN = 5.0, 0.001
# If the threads beside a saturated one use HELPERS_CORES or more, HELPED_FACTOR takes the place of
# UNEVEN_FACTOR.
HELPERS_CORES, HELPED_FACTOR = 0.25, 2.0
REMEDY = "look at the garbage collector: make less garbage, or allow more memory"


def memory(facts: Facts) -> Said | None:
    """Collecting garbage takes much of the CPU time: as measured, or else by what hints at it."""
    return _measured(facts) or _inferred(facts)


def _measured(facts: Facts) -> Said | None:
    """What is measured of collecting; None: too little, or it is neither much nor little."""
    cpu = facts.beyond.cpu_time
    if cpu is None or facts.beyond.cores is None:
        return None
    found = garbage.collecting(cpu)
    if not found:
        return None
    most = max(found, key=lambda each: each.low)
    if most.low < COLLECTING_SHARE and garbage.is_little(found):
        return Out("memory", most.said)
    if not facts.is_harmed or not _is_busy(facts):
        return None
    if most.low >= COLLECTING_SHARE:
        sure, beside = _sure(facts)
        if most.by_name:
            sure, beside = "consistent", f"{beside}; that they do, only their names say"
        return Finding("memory", sure, facts.waited_s, f"{most.said}{beside}", REMEDY)
    if cpu.stands_for >= MOST_SHARE and most.of_samples * _user_share(facts) >= COLLECTING_SHARE:
        # Those threads were sampled that used most. If the others do the same, it is what takes the CPU time.
        said = f"{most.said}; the samples speak of {numerals.share(cpu.stands_for)} of it"
        return Finding("memory", "consistent", facts.waited_s, said, REMEDY)
    return None


def _user_share(facts: Facts) -> float:
    """What share of the server's CPU time is not the kernel's; 0: not known."""
    load = facts.beyond
    return 1.0 - load.kernel_cores / load.cores if load.cores and load.kernel_cores is not None else 0.0


def _is_busy(facts: Facts) -> bool:
    """Whether requests may wait for CPU time of the server: it keeps the cores busy, or as much as one."""
    return (
        _is_full(facts)
        or (facts.asked_cores or 0.0) >= cpu_rules.ONE_CORE[0]
        or bool(cpu_rules.busy_thread(facts))
    )


def _is_full(facts: Facts) -> bool:
    """Whether no core is idle, and the server uses most of them; others may, as its database."""
    cores, most = facts.beyond.cores or 0.0, MOST_SHARE * facts.beyond.all_cores
    return facts.idle_cores is not None and not facts.has_idle_on_average and cores >= most


def _sure(facts: Facts) -> tuple[Sure, str]:
    """Whether requests are shown to wait for CPU time, and why they are not.

    While cores are idle, one that is used in all may be that of several threads by chance, which wait for
    something else: then collecting takes CPU time that nobody waits for.
    """
    threads, computes = facts.beyond.threads, parallelism.computes(facts.seen)
    is_one = isinstance(computes, Parallelism) and computes.is_one
    is_saturated = threads is not None and bool(threads.saturated)
    if not facts.has_idle_on_average or cpu_rules.busy_thread(facts) or is_saturated or is_one:
        return "shown", ""
    return "consistent", f", while {facts.idle_said} and no thread is busy all the time"


def _inferred(facts: Facts) -> Said | None:
    """Other threads work besides the requests' own, as a collector of garbage does."""
    load, alone, rest = facts.beyond, facts.seen.work, facts.seen.rest
    if load.cores is None:
        return Unclear("memory", cpu_rules.UNWATCHED)
    if alone is None or alone.disturbed or not alone.cpu_s or not load.per_s or load.cores < BUSY_MIN:
        return None
    # What the server does while nobody asks is not for a request.
    besides = at_rest.cores(rest)
    alone_s = max(0.0, alone.cpu_s - besides * alone.mean_s)
    each_s = (facts.asked_cores or 0.0) / load.per_s
    if facts.fails:
        # A request that is refused takes another CPU time than one that is served.
        return Unclear("memory", "many requests fail under load, and take another CPU time than the others")
    if alone_s < KNOWN_SHARE * alone.cpu_s:
        keeps = f"it keeps {numerals.significant(besides, 2)} cores busy while nobody asks"
        hides = f"{keeps}, which hides what a request takes"
        return Unclear("memory", hides)
    keeps_busy = alone_s >= BESIDES_CORES * alone.mean_s
    helped = _helped(facts, alone, each_s)
    under, without = numerals.duration(1e9 * each_s), numerals.duration(1e9 * alone_s)
    said = f"a request takes {under} of CPU time under load and {without} alone"
    uneven = _uneven(facts, alone, min(alone_s, each_s))
    if (kernel := load.kernel_cores) is not None and load.cores - kernel < COLLECTING_SHARE * load.cores:
        return Out("memory", f"{numerals.share(kernel / load.cores)} of its CPU time is the kernel's")
    if each_s < DEARER_FACTOR * alone_s and not keeps_busy and not uneven and not helped:
        # A request may collect as much alone, in the thread that serves it.
        return Unclear("memory", f"{said}; {_unread_code(facts)}") if _is_busy(facts) else Out("memory", said)
    if keeps_busy:
        cores = numerals.significant(alone_s / alone.mean_s, 2)
        said = f"one request at a time keeps {cores} cores busy"
        is_needed = alone_s <= load.all_cores * alone.least_s and each_s < DEARER_FACTOR * alone_s
        if is_needed and not (uneven or helped):
            # The quickest may have computed as much, on all cores.
            return Unclear(
                "memory", f"{said}: a request may compute on several threads, or a collector works"
            )
        said = f"{said}, so other threads work besides"
    elif uneven or helped:
        said = f"{said}; {uneven or helped}"
    return Finding("memory", "consistent", facts.waited_s, said, REMEDY)


def _unread_code(facts: Facts) -> str:
    """Why it is not known how much of the CPU time collecting takes."""
    cpu = facts.beyond.cpu_time
    found = garbage.by_functions(cpu) if cpu is not None else None
    if found is not None:
        return f"{found.said}, and more of it may be"
    why = cpu.why if cpu is not None else ""
    return f"which code it is spent in could not be read{': ' if why else ''}{why}"


def _uneven(facts: Facts, alone: Alone, each_s: float) -> str:
    """Say that most of the CPU time is not what a request needs; empty otherwise. `each_s`: what one uses.

    Where cores are idle under load, and other threads work beside a request, it is not that requests differ.
    """
    is_long = alone.alike and alone.mean_s >= UNEVEN_S_MIN
    if not is_long or each_s < UNEVEN_FACTOR * alone.least_s or not facts.has_idle_cores:
        return ""
    works = cpu_rules.besides(facts)
    return works and f"the quickest took {numerals.duration(1e9 * alone.least_s)} in all, and {works}"


def _helped(facts: Facts, alone: Alone, each_s: float) -> str:
    """Say that others work beside a saturated thread, for more than a request needs; empty otherwise.

    `each_s`: the CPU time of a request under load.
    """
    threads = facts.beyond.threads
    if threads is None or len(threads.saturated) != 1 or not alone.alike or not facts.has_idle_cores:
        return ""
    cores, share = facts.asked_cores or 0.0, threads.saturated[0].share
    others = cores - share
    # A thread that uses most of the CPU time is shown to be the limit, whatever the others do.
    if (
        others < HELPERS_CORES
        or share >= cpu_rules.SATURATED_SHARE * cores
        or each_s < HELPED_FACTOR * alone.least_s
    ):
        return ""
    works = f"{numerals.significant(others, 2)} cores work beside its busiest thread"
    return f"the quickest took {numerals.duration(1e9 * alone.least_s)} in all, and {works}"
