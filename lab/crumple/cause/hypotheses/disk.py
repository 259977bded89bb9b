"""Requests wait for a disk. Pure."""

from collections.abc import Iterator

from crumple.cause.hypotheses.usual import NOT_BUSY
from crumple.cause.hypothesis import ANY, FEW, MOST, NONE, CauseWords, Hypothesis, Scene, Way
from crumple.drawing import numerals


def _ways(_: Scene) -> Iterator[Way]:
    waits = {
        "disk": MOST,
        "only_stops": ANY,
        "asking": FEW,
        "locked": FEW,
        "receiving": FEW,
        "busiest": NOT_BUSY,
        "gated": ANY,
    }
    yield Way("requests wait inside", {**waits, "unread": FEW, "light": NONE})
    yield Way("all workers wait for it", {**waits, "unread": MOST, "light": MOST})


def _words(scene: Scene) -> CauseWords:
    facts, threads = scene.facts, scene.facts.beyond.threads
    waiting = threads.disk if threads is not None else 0.0
    said = f"{numerals.significant(waiting, 2)} threads wait for a disk, and"
    said = f"{said} {numerals.significant(scene.inside, 2)} requests are inside"
    share_s = facts.share(waiting / facts.beyond.per_s) if facts.beyond.per_s else None
    return CauseWords(said, "read and write less, or several at a time, or use a faster disk", share_s)


HYPOTHESIS = Hypothesis("disk", 0.5, _ways, _words)
