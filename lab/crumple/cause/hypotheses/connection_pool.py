"""All connections of a pool are taken, and requests wait for one. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import (
    ALL,
    ANY,
    FEW,
    HALF,
    MORE,
    NONE,
    SAME,
    CauseWords,
    Hypothesis,
    Range,
    Scene,
    Way,
)
from crumple.drawing import numerals
from crumple.limit.gain_words import with_more
from crumple.observation import peer_names


def _ways(scene: Scene) -> Iterator[Way]:
    pool = {
        **WAITS,
        "unread": FEW,
        "inside": MORE,
        "light": NONE,
        "asks": ALL,
        "asking": FEW,
        "stuck": SAME,
        "slower": SAME,
        "one_connection": NONE,
        "steady": ALL,
        **_listed(scene),
    }
    yield Way("each waits for an answer", {**pool, "full": ALL, "as_many": Range(-0.25, 3.0)})
    # A request keeps its connection while it does something else.
    yield Way("they are held", {**pool, "full": Range(0.2, 0.85), "as_many": SAME})


def _listed(scene: Scene) -> dict[str, Range]:
    """Return what is expected of its threads, as the runtime lists them.

    A pool that is the program's own is a queue or a semaphore to its runtime.
    """
    pooled, gated = (scene.readings.get(name) for name in ("pooled", "gated"))
    is_own = pooled is not None and gated is not None and gated.value > pooled.value
    return {"pooled": ANY, "gated": HALF} if is_own else {"pooled": HALF}


def _words(scene: Scene) -> CauseWords:
    facts = scene.facts
    sources = facts.seen.outcomes.sources
    if sources is not None and any(each.evident(("pooled",)) for each in sources.answers):
        # The pool that they wait for may be another than that of the dependency that is asked most.
        inside, served = (numerals.significant(each, 2) for each in (scene.inside, facts.at_a_time or 0.0))
        return CauseWords(f"{inside} requests are inside, {served} served at a time", SOONER, facts.waited_s)
    peer = peer_names.most_asked(facts)
    if peer is None:
        return CauseWords("its connections are all taken", "more connections", facts.waited_s)
    number = numerals.significant(peer.waiting, 2)
    without = numerals.significant(max(0.0, scene.inside - peer.connections), 2)
    of = numerals.significant(peer.connections, 2)
    said = f"{number} of {of} connections to {peer_names.name(peer)} wait for an answer, and {without} more"
    said = f"{said} requests are inside and have none"
    what = f"connections to {peer_names.name(peer)}"
    return CauseWords(said, with_more(facts, "connection-pool", what), facts.waited_s)


# What to change where a runtime says for which pool its threads wait.
SOONER = (
    "give the connections of this pool back sooner, before a request waits for something else; or allow more"
)
HYPOTHESIS = Hypothesis("connection-pool", 1.0, _ways, _words)
