"""The document of one comparison of versions: its class, and the comparison again as the reports draw it."""

import math
from datetime import datetime
from typing import Literal

from crumple.contract import HistogramRecord
from crumple.contract_base import Lenient
from crumple.gate.condition import Outcome
from crumple.load.report.result import Result
from crumple.record.validity import Word
from crumple.stats.interval import Interval
from crumple.stats.sequential import Looks
from crumple.versus import standing
from crumple.versus.calibrating import Calibrated
from crumple.versus.lengths import Lengths, Loads
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_result
from crumple.versus.standing import Figure, LookResult, Ratio, Rule
from crumple.versus.turn import PutOn, Turn, VersusBlock
from crumple.versus.versus_course import Ending, VersionComparison


class VersionData(Lenient):
    """One version. `figures`: geometric means over blocks, of A with its twin's; null: none counts."""

    letter: str
    label: str
    same_as_first: bool
    fresh_starts: bool | None
    server_cores: int | None
    calibrated: Calibrated | None
    figures: dict[Figure, float | None]


class RatioIntervalData(Lenient):
    """A ratio with its interval; the ends are null where too few blocks count. `blocks`: how many do."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    blocks: int

    def restored(self) -> Interval:
        """Return the interval."""
        low = 0.0 if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Interval(self.estimate, low, high, self.confidence, self.blocks)


class RatioData(Lenient):
    """A version compared with the first in one figure.

    `ratio`: at equal speed of the cores, where that was read; `as_measured`: the estimate without that, of
    the same blocks. `twin`: the ratio of the first's twin to the first. `blocks_needed`: after how many, in
    all, it would probably be decided; null: it is decided, or that cannot be foreseen.
    """

    of: str
    to: str
    figure: Figure
    answer: standing.LikenessWord
    why: str
    ratio: RatioIntervalData | None
    twin: RatioIntervalData | None
    as_measured: float | None = None
    blocks: int
    blocks_needed: int | None

    def restored(self) -> Ratio:
        """Return the ratio."""
        return Ratio(
            letter=self.of,
            figure=self.figure,
            blocks=self.blocks,
            interval=self.ratio.restored() if self.ratio else None,
            twin=self.twin.restored() if self.twin else None,
            answer=self.answer,
            why=self.why,
            needed=self.blocks_needed,
        )


class LoadOfTurn(Lenient):
    """One load of a turn. `counts`: its figures are compared; `against`: why they are not.

    `slowdown`: by which factor others slowed it at most; `disturbed`: the figures that do not count for that.
    `at_least`: the figures that requests without an answer decide, so that the truth may be longer.
    `speed_per_s`: how fast the server's cores were, in pieces of a fixed work for a second of CPU time;
    `busy_share`: how busy the server kept them.
    """

    figures: dict[Figure, float]
    at_least: tuple[Figure, ...] = ()
    validity: Word
    counts: bool
    against: tuple[str, ...]
    warnings: tuple[str, ...]
    slowdown: float = 1.0
    disturbed: tuple[Figure, ...] = ()
    failed_share: float
    answered_share: float
    speed_per_s: float | None = None
    busy_share: float | None = None
    times: HistogramRecord

    def restored(self) -> PutOn:
        """Return the load."""
        own = {name: value for name, value in self if name not in ("validity", "counts")}
        return PutOn(word=self.validity, **own)


class TurnData(Lenient):
    """One turn of a version, or of A's twin (A′), in a block."""

    letter: str
    closed: LoadOfTurn
    at_rate: LoadOfTurn

    def restored(self) -> Turn:
        """Return the turn."""
        return Turn(self.letter, self.closed.restored(), self.at_rate.restored())


class LooksData(Lenient):
    """After how many blocks the figures were judged for the first time, and for the last."""

    least: int
    most: int


class VersusDocument(Result):
    """One comparison of versions in interleaved blocks. Times and CPU time in ns, shares from 0 to 1."""

    kind: Literal["versus"]
    version: Literal[1]
    versions: tuple[VersionData, ...]
    """What was compared; the others with the first, A."""
    rate_per_s: float
    """At which rate the response times were compared; 0: it ended before that was known."""
    loads: Loads
    """How the versions were loaded, as it was asked for."""
    lengths: Lengths | None
    """How a block was laid out; null: there was none."""
    figures: tuple[Figure, ...]
    """What was compared."""
    confidence: float | None
    """The share of comparisons in which all intervals hold together."""
    looks: LooksData | None
    """When the figures were judged."""
    ratios: tuple[RatioData, ...]
    """What each comparison came to."""
    headlines: dict[str, str]
    """Letter → what the version is beside A."""
    blocks: tuple[tuple[TurnData, ...], ...]
    """The turns of each block, in their order."""
    ending: Ending
    """Why there was no further block."""
    gone: str | None
    """Which version was lost, and how."""
    fail_if: tuple[Outcome, ...] = ()
    """What came of each condition of --fail-if."""
    notes: tuple[str, ...]
    """What a reader has to know of the result."""
    took_s: float
    """How long it took."""
    seed: int
    """Of everything that is random."""

    def restored(self) -> versus_result.Result:
        """Return the comparison as the reports draw it."""
        return versus_result.Result(
            labels={each.letter: each.label for each in self.versions},
            same=tuple(each.letter for each in self.versions if each.same_as_first),
            loads=self.loads,
            compared=self._compared(),
            command=self.command,
            afresh={
                each.letter: each.fresh_starts for each in self.versions if each.fresh_starts is not None
            },
            server_cores={each.letter: each.server_cores for each in self.versions if each.server_cores},
            engine_version=self.engine_version,
            began_unix_s=datetime.fromisoformat(self.began).timestamp(),
        )

    def _compared(self) -> VersionComparison:
        ratios = tuple(each.restored() for each in self.ratios)
        return VersionComparison(
            ending=self.ending,
            known={each.letter: each.calibrated for each in self.versions if each.calibrated is not None},
            rate_per_s=self.rate_per_s,
            rule=self._rule(),
            lengths=self.lengths,
            blocks=tuple(VersusBlock(tuple(each.restored() for each in turns)) for turns in self.blocks),
            # One look that saw what all looks came to.
            seen=(LookResult(ratios, len(self.blocks)),) if ratios else (),
            took_s=self.took_s,
            gone=self.gone or "",
        )

    def _rule(self) -> Rule | None:
        if self.looks is None or self.confidence is None:
            return None
        return Rule(
            figures=self.figures,
            letters=tuple(each.letter for each in self.versions if each.letter != FIRST),
            looks=Looks(self.looks.least, self.looks.most),
            tolerance=self.loads.tolerance,
            confidence=self.confidence,
        )
