"""No descriptor is left for a connection. Pure."""

from collections.abc import Iterator

from crumple.cause.hypothesis import ANY, CauseWords, Hypothesis, Range, Scene, Way

# Connections that an experiment holds take files, too; until the last one is open, the load is as before.
HELD = {
    "files": Range(0.98, 1.0),
    "half_sent": ANY,
    "silent": ANY,
    "waiting": ANY,
    "rises": ANY,
    "late": ANY,
    "answered": ANY,
}


def _ways(_: Scene) -> Iterator[Way]:
    yield Way("all are open", HELD)


def _words(scene: Scene) -> CauseWords:
    used, limit = scene.facts.beyond.descriptors or (0, 0)
    said = f"{used:,} of {limit:,} files are open"
    return CauseWords(said, "raise its limit of open files (ulimit -n)", scene.facts.waited_s)


HYPOTHESIS = Hypothesis("descriptors", 1.0, _ways, _words)
