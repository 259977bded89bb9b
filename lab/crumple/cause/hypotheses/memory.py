"""Memory is short: collecting garbage takes much of the CPU time, or threads wait for memory to be freed.

They wait when their control group is at its limit: the kernel then takes pages away from it, which are read
again when they are needed. Pure.
"""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import at_least_shared
from crumple.cause.hypothesis import ALL, ANY, FEW, MOST, NONE, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals
from crumple.observation import garbage, group_words
from crumple.observation.server_facts import STALLED_MIN

# The share of the CPU time from which on it limits a server more than what requests compute.
MUCH = Range(0.25, 1.0)


STALLED = Range(STALLED_MIN, 1.0)


def _ways(scene: Scene) -> Iterator[Way]:
    if "stalled" in scene.readings:
        # Threads that need a page read it again from a disk, or compute in the kernel to find room for it.
        waits = {"stalled": STALLED, "disk": ANY, "dearer": ANY, "garbage": ANY, "falls": ANY, "longer": ANY}
        # It also starts threads more slowly, and the more memory is used again, the longer requests take.
        waits |= {"added": ANY, "rises": ANY}
        yield Way("its control group has no more", {**waits, "asking": FEW, "receiving": FEW, "gated": ANY})
    if "garbage" not in scene.readings:
        return
    busy = {"garbage": MUCH, "used": MOST, "asking": FEW}
    yield Way("no core is idle", {**busy, "idle": NONE, "receiving": FEW, "one_core": at_least_shared(scene)})
    yield Way("one thread is busy", {**busy, "busiest": ALL})


def _words(scene: Scene) -> CauseWords:
    facts, limit = scene.facts, scene.facts.seen.limits.memory
    allowed = group_words.allows("memory", limit) if limit is not None else ""
    more = f": {group_words.raised('memory', limit, 2 * limit.amount)}" if limit is not None else ""
    if facts.waits_for_memory:
        share = numerals.share(round(facts.beyond.stalled_share or 0.0, 2))
        said = f"{allowed}, and threads waited for some to be freed for {share} of the time"
        return CauseWords(said, f"allow more memory{more}, or use less", facts.waited_s)
    found = garbage.collecting(facts.beyond.cpu_time)
    said = max(found, key=lambda each: each.low).said if found else "it collects garbage"
    said = f"{said}; {allowed}" if allowed else said
    return CauseWords(said, f"make less garbage, or allow more memory{more}", facts.waited_s)


HYPOTHESIS = Hypothesis("memory", 0.5, _ways, _words)
