"""What is behind the server answers more slowly under load than alone. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import WAITS
from crumple.cause.hypothesis import (
    ALL,
    ANY,
    FEW,
    MORE,
    MOST,
    NONE,
    SAME,
    CauseWords,
    Hypothesis,
    Scene,
    Way,
)
from crumple.drawing import numerals
from crumple.observation import peer_names
from crumple.observation.at_load import Peer


def _ways(_: Scene) -> Iterator[Way]:
    waits = {**WAITS, "asks": ALL, "slower": MORE, "inside": MORE, "stuck": SAME, "held_up": ANY}
    inside = {**waits, "unread": FEW, "light": NONE}
    yield Way("all requests wait for it", {**inside, "asking": ALL, "locked": FEW})
    yield Way(
        "over a few connections",
        {**inside, "full": ALL, "asking": FEW, "steady": ALL, "one_connection": NONE, "pooled": ANY},
    )
    yield Way("all workers wait for it", {**waits, "asking": MOST, "unread": MOST, "light": MOST})


def _words(scene: Scene) -> CauseWords:
    facts, load = scene.facts, scene.facts.beyond
    peer = peer_names.most_asked(facts)
    if peer is None or not load.per_s:
        return CauseWords("requests wait for what it asks", "look at what it asks", facts.waited_s)
    each_s = peer.waiting / load.per_s
    number, of = (numerals.significant(each, 2) for each in (peer.waiting, peer.connections))
    said = f"{number} of {of} connections to {peer_names.name(peer)} wait for an answer"
    said = f"{said}, for {numerals.duration(1e9 * each_s)} of each request"
    asked = peer_names.asked_alone_s(facts, peer)
    if asked:
        said = f"{said}; alone it is {numerals.duration(1e9 * asked)}"
    change = f"look at what limits {peer_names.name(peer)}"
    if (source := _held_up_by(scene)) is not None:
        change = CHILDREN if source == "php-fpm" else LOCK
        return CauseWords(said, change, facts.share(each_s))
    served = load.per_s * (asked or (facts.alone_s or 0.0 if _hands_on(scene, peer) else 0.0))
    # A database of one process has threads for its sessions.
    if peer.processes is not None and peer.processes > 1 and abs(served / peer.processes - 1.0) < ALIKE:
        number = numerals.count(peer.processes, "process", "processes")
        said = f"{said}; it answers {numerals.significant(served, 2)} at a time, and has {number}"
        change = f"let {peer_names.name(peer)} have more processes, or answer sooner"
        return CauseWords(said, change, facts.share(each_s))
    if _hands_on(scene, peer):
        said = f"{said}; it computes next to nothing, as a proxy that hands requests on"
        change = f"diagnose what it hands them to: {peer.address}"
    return CauseWords(said, change, facts.share(each_s))


def _held_up_by(scene: Scene) -> str | None:
    """Return the source that says that its sessions or children are held up; None: none says so."""
    sources = scene.facts.seen.outcomes.sources
    answers = sources.answers if sources is not None else ()
    return next((each.source for each in answers if each.evident(("held_up",))), None)


def _hands_on(scene: Scene, peer: Peer) -> bool:
    """Whether a connection waits for each request inside, and the server hardly computes for it."""
    load = scene.facts.beyond
    if peer.waiting < ALL.low * scene.inside or load.cores is None:
        return False
    return load.cores <= PROXY_CPU_SHARE * load.per_s * load.mean_s


# The largest relative difference of the requests answered at a time and the processes of the dependency with
# which these are taken to be its limit.
ALIKE = 0.15
# What to change where a source says what its sessions or children are held up by.
LOCK = "hold the lock for less there: change what many requests change last, and commit at once"
CHILDREN = "raise pm.max_children of php-fpm, if memory and cores allow it, or make a script take less"
# The largest share of CPU time in the response time of a server that passes requests on.
PROXY_CPU_SHARE = 0.1
HYPOTHESIS = Hypothesis("dependency", 1.0, _ways, _words)
