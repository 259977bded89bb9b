"""The document of one search, which `find` prints and stores, and which its report is made of: its class."""

from typing import Any, Literal, Self

from crumple import contract
from crumple.contract_base import Lenient
from crumple.documents.parts_of_documents import SaidField
from crumple.documents.result import Result
from crumple.find.level import Level, PartResult
from crumple.find.report.used_up import Sign
from crumple.find.search import By, Ending, Guess, SearchQuestion, SearchResult
from crumple.find.seen import Base
from crumple.gate.condition import Outcome
from crumple.load import objective
from crumple.load.load_shape import ArrivalKind
from crumple.record.loss import Lost
from crumple.stats.interval import Interval

# The version of this kind of document.
VERSION: Literal[2] = 2


class SearchData(Lenient):
    """A search for the breaking point: its levels in the order of trying, and what they came to."""

    ending: Ending
    """Why it ended."""
    breaking_point: Interval | None
    """The highest load that lasts, with its 95 % interval; null: the levels do not show it."""
    breaks_by: str | None
    """The part of the objective that breaks there."""
    queue: bool
    """Whether its slow answers came out of a queue."""
    guess: Guess | None
    """What some connections without pauses got, before the first level."""
    calm: Base | None
    """Response times of requests that were sent one by one."""
    took_s: float
    """How long it took."""
    lost: Lost | None = None
    """How the server was lost, if it was: then the search ended with that."""
    lost_at: float | None = None
    """The load at which it was lost; null: before the first level, or between levels."""
    levels: tuple[Level, ...]
    """Each load that was tried."""

    @classmethod
    def of(cls, found: SearchResult) -> Self:
        """Return what a search found, as data."""
        return cls(**of_search(found))

    @property
    def found(self) -> SearchResult:
        """What the search found."""
        return SearchResult(
            ending=self.ending,
            levels=self.levels,
            point=self.breaking_point,
            breaks_by=self.breaks_by,
            queue=self.queue,
            guess=self.guess,
            calm=self.calm,
            took_s=self.took_s,
            lost=self.lost,
            lost_at=self.lost_at,
        )


def of_search(found: SearchResult) -> dict[str, Any]:
    """Return the fields of `SearchData`."""
    own = {name: value for name, value in vars(found).items() if name != "point"}
    return {**own, "breaking_point": found.point}


class FindDocument(SearchData, Result):
    """One search for the breaking point. Times in ns unless a name says otherwise, shares from 0 to 1.

    A load is a rate in requests per second, or a number of connections: see `by`.
    """

    kind: Literal["find"]
    version: Literal[2]
    objective: str
    """What each load had to keep."""
    by: By
    """What was raised."""
    seed: int
    """Of everything that is random."""
    decided: bool
    """Whether any level held or broke within its time."""
    why: str
    """What the answer rests on, or why there is none."""
    highest_held: float | None
    """The highest load at which the objective held; a single level may hold by chance."""
    broke_first: PartResult | None
    """The part of the objective that broke in most of the lowest levels that broke."""
    broke_first_at: float | None
    """The load of the level that `broke_first` is from."""
    used_up: tuple[Sign, ...]
    """What was used up where it broke."""
    starts: int
    """How many starts of the server have a level."""
    afresh: bool
    """Whether each start was a new process, started by crumple."""
    server_cores: int | None
    """How many cores the server may use; null: it was not watched."""
    is_local: bool
    """Whether the server runs on this machine."""
    flat_out: bool
    """Whether the server was at its limit in the guess."""
    budget_s: float
    """How long the search was allowed to take."""
    warm_up_s: float
    """The warm-up of each start."""
    connections_most: int
    """The most connections that were allowed."""
    arrivals: ArrivalKind
    """By rate: when requests were due."""
    pause_ms: float
    """By connections: how long each paused after an answer."""
    pause: contract.PauseKind
    """By connections: whether the pauses were fixed."""
    warnings: tuple[str, ...]
    """What may have affected the levels that held nearest to the breaking point."""
    findings: tuple[SaidField, ...]
    """What limits the server, and what does not."""
    fail_if: tuple[Outcome, ...] = ()
    """What came of each condition of --fail-if."""

    @property
    def question(self) -> SearchQuestion:
        """What was searched."""
        own = {name: getattr(self, name) for name in QUESTION}
        return SearchQuestion(objective=objective.parse(self.objective), **own)


# The fields of a question that a document has under their own names.
QUESTION = (
    "by", "budget_s", "warm_up_s", "connections_most", "arrivals", "pause_ms", "pause", "seed",
)  # fmt: skip
