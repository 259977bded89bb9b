"""Levels that no longer count, since the server got faster after them: it compiles while it serves. Pure.

What a server holds at higher loads for some seconds, again and again, it can do by then. A level that broke
earlier at a lower load says what it could do at that time, and so does what some connections got before the
first level.
"""

from collections.abc import Sequence
from dataclasses import replace

from crumple.find.seen import Base, Judged

# A level that broke is outgrown if HELD_MIN later ones of its start held at BEYOND times its load or more. If
# more levels broke before these, as many have to hold: one level may hold by chance, as one may break.
HELD_MIN, BEYOND = 2, 1.1


def outgrown(levels: Sequence[Judged]) -> list[bool]:
    """Return, for each of the levels in the order in which they were tried, whether it is outgrown."""
    found = [False] * len(levels)
    # From the last to the first: one that is outgrown does not show that the server breaks again.
    for at in reversed(range(len(levels))):
        start = levels[at].start
        until = [each for each in levels[: at + 1] if each.start == start]
        later = [
            each
            for each, is_past in zip(levels[at + 1 :], found[at + 1 :], strict=True)
            if each.start == start and not is_past
        ]
        found[at] = _is_outgrown(until, later)
    return found


def now(levels: Sequence[Judged], calm: Base | None) -> tuple[list[Judged], Base | None]:
    """Return the levels that are not outgrown, and what was known before the first level.

    If any is outgrown, so is the pace before the first level.
    """
    past = outgrown(levels)
    if calm is not None and any(past):
        calm = replace(calm, pace=None)
    return [level for level, is_past in zip(levels, past, strict=True) if not is_past], calm


def _is_outgrown(until: Sequence[Judged], later: Sequence[Judged]) -> bool:
    """Whether the last level of `until` is, by those tried later."""
    level = until[-1]
    if not level.leans_against:
        return False
    far = BEYOND * level.load
    held = [at for at, each in enumerate(later) if each.outcome == "held" and each.load >= far]
    if not held:
        return False
    highest = max(later[at].load for at in held)
    before = [*until, *later[: held[0]]]
    broke = sum(each.leans_against and each.load <= highest for each in before)
    # A server that breaks again where it held varies, and has not got faster; so may one that breaks not far
    # beyond this level. About the highest that held it breaks by chance, or as that is its limit now.
    far_below = max(highest / BEYOND, BEYOND * far)
    again = any(each.leans_against and each.load <= far_below for each in later[held[0] :])
    return len(held) >= max(HELD_MIN, broke) and not again
