"""Which block comes next: that of the experiments that are likely to decide most claims per second. Pure.

A claim that takes r more rounds of blocks of c seconds each is decided at a rate of 1/(r·c).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """An experiment of a run of the session."""

    run: str
    experiment: str


@dataclass(frozen=True)
class Open:
    """A claim that is not decided. `blocks`: of each of `places`, as many as would decide it."""

    claim: str
    places: tuple[Place, ...]
    blocks: int


@dataclass(frozen=True)
class Next:
    """The block that an experiment has next. `done`: how many it has; `takes_s` None: it has no more."""

    done: int
    takes_s: float | None


@dataclass(frozen=True)
class Choice:
    """Where the next block is run, for which claims, and how many blocks they take in sum as it looks now."""

    place: Place
    claims: tuple[str, ...]
    blocks: int

    def __str__(self) -> str:
        """As run.json has it: "for IO-3 and IO-7, which take about 5 blocks"."""
        named = " and ".join(filter(None, (", ".join(self.claims[:-1]), self.claims[-1])))
        return f"for {named}, which take{'' if len(self.claims) > 1 else 's'} about {self.blocks} blocks"


def chosen(claims: Sequence[Open], following: Mapping[Place, Next], left_s: float) -> Choice | None:
    """The block that decides most per second of those whose claims' next round fits into `left_s`.

    `following`: every experiment. None: no block would decide anything in that time. Of several as good ones
    the first in `following`.
    """
    rates = dict.fromkeys(following, 0.0)
    wanted: dict[Place, list[Open]] = {place: [] for place in following}
    for claim in claims:
        behind = _behind(claim, following)
        round_s = sum(following[place].takes_s or 0.0 for place in behind)
        if not behind or round_s > left_s:
            continue
        rounds = max(1, claim.blocks - following[behind[0]].done)
        for place in behind:
            rates[place] += 1 / (rounds * max(round_s, 1e-9))
            wanted[place].append(claim)
    best = max(rates, key=rates.__getitem__, default=None)
    if best is None or not rates[best]:
        return None
    ids = tuple(dict.fromkeys(claim.claim for claim in wanted[best]))
    return Choice(best, ids, min(claim.blocks for claim in wanted[best]))


def _behind(claim: Open, following: Mapping[Place, Next]) -> list[Place]:
    """Those of its experiments that have fewest blocks; none where one of these has no more."""
    if not claim.places:
        return []
    fewest = min(following[place].done for place in claim.places)
    behind = [place for place in claim.places if following[place].done == fewest]
    return behind if all(following[place].takes_s is not None for place in behind) else []
