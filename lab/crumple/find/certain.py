"""Levels as they would have come out on a calm machine at best, given what others took from them. Pure.

A level that held beside other programs holds without them. One that broke may have broken because of them,
in two ways: the server had less CPU time, so without them it breaks at a load that is higher by the slowdown;
and requests that others delayed were slow, or failed. What remains of a level without both is certainly the
server's.
"""

from collections.abc import Sequence
from dataclasses import replace

from crumple.find.seen import Base, Judged, PartEvidence


def certain(levels: Sequence[Judged], calm: Base | None) -> list[Judged]:
    """Return the levels with what is certain of those that lean against the objective.

    `calm`: response times of requests sent one by one; None: not known.
    """
    return [_certain(each, calm) if each.leans_against else each for each in levels]


def _certain(level: Judged, calm: Base | None) -> Judged:
    kept = tuple(_kept(each, level, calm) for each in level.evidence)
    return replace(level, load=level.load * level.slowdown, evidence=kept)


def _kept(evidence: PartEvidence, level: Judged, calm: Base | None) -> PartEvidence:
    """Return the evidence without the requests that others may have made slow, or fail."""
    if level.slowdown <= 1:
        return evidence
    if evidence.limit_s is None:
        return _not_failed(evidence, level)
    pace = evidence.pace and (round(evidence.pace[0] * level.slowdown), evidence.pace[1])
    room_s = evidence.limit_s - (calm.median_s if calm else 0.0)
    delayed = 0
    if level.taken_share * evidence.watched_s >= room_s:
        # Others had the cores for long enough, in all, to make a request slow that is not.
        delayed = round(level.delayed_share * evidence.known)
    against = max(0, evidence.against - delayed)
    kept = replace(evidence, against=against, bunches=min(evidence.bunches, against), pace=pace)
    if kept.leans_against:
        return kept
    return replace(kept, passed_s=None, pace=None, crowded=min(evidence.crowded, against))


def _not_failed(evidence: PartEvidence, level: Judged) -> PartEvidence:
    """Return evidence that limits no time: as many requests may have failed as may have been delayed."""
    # A level that counts as a whole has one request.
    most = evidence.known if evidence.by_others else 0
    if evidence.known > 1:
        most = round(level.delayed_share * evidence.known)
    against = max(0, evidence.against - most)
    return replace(evidence, against=against, bunches=min(evidence.bunches, against))
