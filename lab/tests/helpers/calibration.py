"""How often what is said of the stored servers is right, by its probability. Not a test itself."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import stored_servers
from crumple.cause import judged
from crumple.cause.belief import Belief
from crumple.cause.hypotheses import causes
from crumple.limit.finding import LIKELY, SURE, Cause
from crumple.stats import shares
from stored_servers import Stored

KNOWN: frozenset[Cause] = frozenset(each.cause for each in causes.ALL)
# The ends of the bands of probabilities in the diagram.
BANDS = (0.0, 0.5, LIKELY, SURE, 1.0)


@dataclass(frozen=True)
class Share:
    """`right` of `of`."""

    right: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval; everything if there are none."""
        return shares.interval(self.right, self.of) if self.of else (0.0, 1.0)


@dataclass(frozen=True)
class Said:
    """What is said of one server. `probability` 0: *cannot tell*."""

    server: Stored
    cause: Cause
    probability: float = 0.0
    is_tested: bool = False

    @property
    def is_right(self) -> bool:
        """Whether it names a cause that is right."""
        return self.is_named and self.cause in self.server.causes

    @property
    def is_named(self) -> bool:
        """Whether it names a cause, or says that nothing limits the server."""
        return self.probability > 0

    @property
    def is_wrong(self) -> bool:
        """Whether it names one that is not right."""
        return self.is_named and not self.is_right


@dataclass(frozen=True)
class Band:
    """The servers whose most probable cause has a probability in this band."""

    low: float
    high: float
    mean: float
    share: Share


def said() -> tuple[Said, ...]:
    """What is said of each server."""
    return tuple(_said(each) for each in stored_servers.servers())


def share(of: Iterable[Said], which: Callable[[Said], bool]) -> Share:
    """How many of them are so."""
    chosen = [which(each) for each in of]
    return Share(sum(chosen), len(chosen))


def between(of: Iterable[Said], low: float, high: float) -> list[Said]:
    """Those of which a cause is named with such a probability; the upper end does not belong to it, but 1."""
    return [each for each in of if each.is_named and _is_between(each.probability, low, high)]


def bands() -> tuple[Band, ...]:
    """How often the most probable cause is true, by its probability, of the servers whose requests wait."""
    first = [(each, beliefs(each)[0]) for each in stored_servers.servers() if each.facts.is_harmed]
    found = []
    for low, high in pairwise(BANDS):
        among = [(server, held) for server, held in first if _is_between(held.probability, low, high)]
        if among:
            right = sum(held.cause in true(server) for server, held in among)
            mean = sum(held.probability for _, held in among) / len(among)
            found.append(Band(low, high, mean, Share(right, len(among))))
    return tuple(found)


def beliefs(server: Stored) -> Sequence[Belief]:
    """The probabilities of all causes."""
    return judged.held_by(server.facts)


def true(server: Stored) -> frozenset[Cause]:
    """The causes that are right; "none" is something else, where no hypothesis is made for them."""
    return frozenset(server.causes) & KNOWN or frozenset(("none",))


def log_loss() -> float:
    """The mean of -ln of the probability of what is true."""
    found = [_of_truth(each) for each in stored_servers.servers() if each.facts.is_harmed]
    return -sum(math.log(each) for each in found) / len(found)


def _of_truth(server: Stored) -> float:
    return sum(each.probability for each in beliefs(server) if each.cause in true(server))


def _said(server: Stored) -> Said:
    first = server.first
    if first is None:
        return Said(server, "none")
    return Said(server, first.cause, first.probability, first.sure == "tested")


def _is_between(probability: float, low: float, high: float) -> bool:
    return low <= probability < high or probability == high == 1.0
