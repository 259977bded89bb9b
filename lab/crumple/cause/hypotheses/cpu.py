"""All cores are busy with requests, each of which takes as much CPU time as alone. Pure."""

from collections.abc import Iterator

from crumple.cause.hypothesis import ANY, FEW, NONE, CauseWords, Hypothesis, Range, Scene, Way, around
from crumple.drawing import numerals
from crumple.machine.group_limits import Limit
from crumple.observation import cpu_time, group_words

# The share of the cores that such a server uses: not all of them, as the engine takes up to half of two, and
# others may have some.
MUCH = Range(0.35, 1.0)
# Half-sent requests may take a place from some, which others fill.
BUSY = {
    "idle": NONE,
    "cores": MUCH,
    "half_sent": around(1.0, 0.1),
    "silent": around(1.0, 0.1),
    "waiting": around(0.95, 0.1),
    "asking": FEW,
    "receiving": FEW,
    "gated": ANY,
}


def _ways(scene: Scene) -> Iterator[Way]:
    yield Way("it computes", {**BUSY, "dearer": Range(-1.6, 0.7), "one_core": around(1.0 / scene.cores, 0.1)})
    beside = {"idle": NONE, "cores": Range(0.2, 0.9), "one_core": Range(0.4, 1.0)}
    yield Way("it computes, and so does what it asks", {**BUSY, **beside, "asking": ANY, "receiving": ANY})


def _words(scene: Scene) -> CauseWords:
    facts, load = scene.facts, scene.facts.beyond
    change = "make a request cheaper, or add cores"
    if facts.others_use_most:
        change = "other programs use most of its cores: move them, or repeat it on a calm machine"
    limit = allowed(scene)
    if limit is not None and not facts.others_use_most:
        change = (
            f"make a request cheaper, or add cores: {group_words.raised('cores', limit, 2 * limit.amount)}"
        )
    return CauseWords(f"{used(scene)}{cpu_time.most(load.cpu_time)}", change, facts.waited_s)


def allowed(scene: Scene) -> Limit | None:
    """Return the cores that its control group allows, if that is why it may not use all; None: it is not."""
    limit = scene.facts.seen.limits.cores
    return limit if limit is not None and limit.amount <= scene.cores else None


def used(scene: Scene) -> str:
    """Return how many of its cores the server uses, and others than it."""
    load, facts = scene.facts.beyond, scene.facts
    said = f"it uses {numerals.significant(load.cores or 0.0, 2)} of {numerals.count(load.all_cores, 'core')}"
    if (limit := allowed(scene)) is not None:
        said = f"{said} ({group_words.allows('cores', limit)})"
    if (load.engine_cores or 0.0) > OTHERS_MIN:
        said = f"{said}, the engine {numerals.significant(load.engine_cores or 0.0, 2)}"
    if facts.others_cores > OTHERS_MIN:
        said = f"{said}, other programs {numerals.significant(facts.others_cores, 2)}"
    return said


# The least CPU time of others, in cores, that is named.
OTHERS_MIN = 0.2
HYPOTHESIS = Hypothesis("cpu", 1.0, _ways, _words)
