"""Nothing inside makes progress: requests wait for one another in a circle. Pure."""

from collections.abc import Iterator

from crumple.cause.hypothesis import ALL, ANY, FEW, NONE, CauseWords, Hypothesis, Range, Scene, Way
from crumple.drawing import numerals
from crumple.observation import peer_names


def _ways(_: Scene) -> Iterator[Way]:
    still = {
        "answered": Range(0.0, 0.05),
        "used": Range(0.0, 0.05),
        "idle": Range(0.5, 1.0),
        "asking": NONE,
        "unread": FEW,
        "pooled": ANY,
        "gated": ANY,
        "held_up": ANY,
    }
    yield Way("it stands still", {**still, "answers_alone": ALL})


def _words(scene: Scene) -> CauseWords:
    facts, load = scene.facts, scene.facts.beyond
    answered = f"{load.answers:,} were answered" if load.answers else "none was answered"
    said = f"it stands still with {load.in_flight:.0f} requests: {answered} in {load.spent_s:.0f} s"
    said = f"{said}, it uses no CPU time, and waits for nobody's answer"
    taken = [each for each in facts.peers or () if each.connections >= 1]
    if taken:
        peer = max(taken, key=lambda each: each.connections)
        of = numerals.significant(peer.connections, 2)
        said = f"{said}, though {of} connections to {peer_names.name(peer)} are open"
    change = "find what waits for what: a pool whose holders wait for a second place of it, or for a thread"
    return CauseWords(said, f"{change}; let in fewer requests at a time than it has places", facts.waited_s)


HYPOTHESIS = Hypothesis("standstill", 0.3, _ways, _words)
