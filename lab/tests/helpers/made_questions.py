"""A search of a simulated server: its question, and what came of it."""

from functools import cache
from typing import Any

from crumple.find.conduct import find
from crumple.find.level import Level
from crumple.find.next_level import NextLevel, SearchOutlook
from crumple.find.search import SearchQuestion, SearchResult
from crumple.load import objective
from synthetic_server import SyntheticServer


class Notes:
    """A watcher that keeps all its arguments."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.guesses: list[int] = []
        self.steps: list[NextLevel] = []
        self.levels: list[Level] = []
        self.left_s: list[float] = []
        self.outlooks: list[SearchOutlook] = []
        self.lines = 0

    def starting(self, start: int) -> None:
        self.starts.append(start)

    def guessing(self, connections: int) -> None:
        self.guesses.append(connections)

    def trying(self, step: NextLevel) -> None:
        self.steps.append(step)

    def planned(self, outlook: SearchOutlook) -> None:
        self.outlooks.append(outlook)

    def progress(self, progress: object) -> None:
        self.lines += 1

    def tried(self, level: Level, left_s: float) -> None:
        self.levels.append(level)
        self.left_s.append(left_s)


def question(**changes: Any) -> SearchQuestion:
    """p99<250ms, failed<0.1% by rate, in 90 s."""
    asked: dict[str, Any] = {
        "objective": objective.parse("p99<250ms, failed<0.1%"), "by": "rate", "budget_s": 90.0,
        "warm_up_s": 2.0, "connections_most": 1_000, "arrivals": "poisson", "pause_ms": 0.0, "pause": "fixed",
        "seed": 5,
    }  # fmt: skip
    return SearchQuestion(**{**asked, **changes})


def searched(server: SyntheticServer, *, afresh: bool = True, **changes: Any) -> tuple[SearchResult, Notes]:
    """The result of a search, and the calls to its watcher."""
    notes = Notes()
    return find(question(**changes), server.site(afresh=afresh), server.run, server.clock, notes), notes


@cache
def usual(*, afresh: bool = True) -> tuple[SyntheticServer, SearchResult, Notes]:
    """A search on a server of 2,000 per second, for all tests that look at it: it takes a second and more."""
    server = SyntheticServer(2_000.0)
    return server, *searched(server, afresh=afresh, budget_s=60.0)
