"""Levels that broke before the server got faster, as one does that compiles its code while it serves. Pure.

What a server holds at higher loads for some seconds, again and again, it can do by then. A level that broke
earlier at a lower load says what it could do at that time, and so does what some connections got before the
first level.
"""

from collections.abc import Sequence
from dataclasses import replace

from crumple.find.seen import Base, Judged

# A level that broke is outgrown by this many later ones of its start, each of which held at so many times its
# load. Where a level breaks by chance, one more may hold by chance.
HELD_MIN, BEYOND = 2, 1.1


def outgrown(levels: Sequence[Judged]) -> list[bool]:
    """Return, for each of the levels in the order in which they were tried, whether it is outgrown."""
    return [_is_outgrown(level, levels[at + 1 :]) for at, level in enumerate(levels)]


def settled(levels: Sequence[Judged]) -> list[Judged]:
    """Return the levels that are not outgrown."""
    return [level for level, is_so in zip(levels, outgrown(levels), strict=True) if not is_so]


def calm_now(levels: Sequence[Judged], calm: Base | None) -> Base | None:
    """Return what was known before the first level, without the pace if the server has outgrown it."""
    return replace(calm, pace=None) if calm is not None and any(outgrown(levels)) else calm


def _is_outgrown(level: Judged, later: Sequence[Judged]) -> bool:
    if not level.leans_against:
        return False
    later = [each for each in later if each.start == level.start]
    held = [
        at for at, each in enumerate(later) if each.outcome == "held" and each.load >= BEYOND * level.load
    ]
    if len(held) < HELD_MIN:
        return False
    # A server that breaks again where it held varies, and has not got faster.
    highest = max(later[at].load for at in held)
    return not any(each.leans_against and each.load <= highest for each in later[held[0] :])
