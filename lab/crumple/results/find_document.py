"""The document of one search: its class, and the search again as the reports draw it."""

from datetime import datetime
from typing import Literal

from crumple import contract
from crumple.find.level import Part
from crumple.find.report.find_figures import Finding, Sign
from crumple.find.search import By, Question
from crumple.gate.condition import Outcome
from crumple.load import objective
from crumple.load.load_shape import ArrivalKind
from crumple.load.report.parts_of_documents import SaidData
from crumple.results.result import Result
from crumple.results.search_data import SearchData


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
    broke_first: Part | None
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
    findings: tuple[SaidData, ...]
    """What limits the server, and what does not."""
    fail_if: tuple[Outcome, ...] = ()
    """What came of each condition of --fail-if."""

    def restored(self) -> Finding:
        """Return the search as the reports draw it."""
        return Finding(
            question=Question(
                objective=objective.parse(self.objective),
                by=self.by,
                budget_s=self.budget_s,
                warm_up_s=self.warm_up_s,
                connections_most=self.connections_most,
                arrivals=self.arrivals,
                pause_ms=self.pause_ms,
                pause=self.pause,
                seed=self.seed,
            ),
            found=self.found(),
            asked=self.asked,
            command=self.command,
            afresh=self.afresh,
            server_cores=self.server_cores,
            is_local=self.is_local,
            engine_version=self.engine_version,
            began_unix_s=datetime.fromisoformat(self.began).timestamp(),
        )
