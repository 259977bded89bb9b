"""The document of one comparison of versions, which `versus` prints and stores: its class."""

import math
from typing import Literal, Self

from crumple.contract import HistogramRecord
from crumple.contract_base import Lenient
from crumple.documents.result import Result
from crumple.drawing import numerals
from crumple.gate.condition import Outcome
from crumple.record.validity import Word
from crumple.stats.interval import Interval
from crumple.stats.sequential import Looks
from crumple.versus import standing
from crumple.versus.calibrating import Calibrated
from crumple.versus.lengths import Lengths, Loads
from crumple.versus.letters import FIRST
from crumple.versus.standing import Figure, Ratio, Rule
from crumple.versus.turn import PutOn, Turn
from crumple.versus.versus_course import Ending


class VersionData(Lenient):
    """One version."""

    letter: str
    """By which the other fields name it."""
    label: str
    """What it is, as it was typed."""
    same_as_first: bool
    """Whether it is the same thing as A."""
    fresh_starts: bool | None
    """Whether each turn was a new process; null: not known."""
    server_cores: int | None
    """How many cores its server may use; null: not known."""
    calibrated: Calibrated | None
    """What was learned of it before the first block; null: nothing."""
    figures: dict[Figure, float | None]
    """Geometric means over blocks, of A with its twin's; null: no block counts."""


class RatioIntervalData(Lenient):
    """A ratio with its interval."""

    estimate: float
    low: float | None
    high: float | None
    """Null: too few blocks count, so that end is not known."""
    confidence: float
    """In which share of comparisons such an interval holds the truth."""
    blocks: int
    """How many blocks count."""

    @classmethod
    def of(cls, found: Interval | None) -> Self | None:
        """Return the interval as data; None if there is none."""
        if found is None:
            return None
        bounded = numerals.bounded(found)
        return cls(
            estimate=found.estimate,
            low=found.low if bounded else None,
            high=found.high if bounded else None,
            confidence=found.confidence,
            blocks=found.n,
        )

    @property
    def interval(self) -> Interval:
        """The interval, without end where too few blocks count."""
        low = 0.0 if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Interval(self.estimate, low, high, self.confidence, self.blocks)


class RatioData(Lenient):
    """A version compared with the first in one figure."""

    of: str
    """The letter of the version."""
    to: str
    """The letter of the version that it is compared with: the first."""
    figure: Figure
    answer: standing.LikenessWord
    why: str
    """What the answer rests on."""
    ratio: RatioIntervalData | None
    """At equal speed of the cores, where that was read; null: too few blocks count."""
    twin: RatioIntervalData | None
    """The ratio of the first's twin to the first."""
    as_measured: float | None = None
    """The estimate of the same blocks without regard to the speed of the cores."""
    blocks: int
    """How many blocks were over at the look that decided it, or at the last one."""
    blocks_needed: int | None
    """After how many blocks, in all, it would probably be decided; null: it is, or nobody can foresee it."""

    @classmethod
    def of_ratio(cls, found: Ratio) -> Self:
        """Return the ratio as data, without what it was as measured."""
        return cls(
            of=found.letter,
            to=FIRST,
            figure=found.figure,
            answer=found.answer,
            why=found.why,
            ratio=RatioIntervalData.of(found.interval),
            twin=RatioIntervalData.of(found.twin),
            blocks=found.blocks,
            blocks_needed=found.needed,
        )

    @property
    def as_ratio(self) -> Ratio:
        """The ratio as sentences and charts take it."""
        return Ratio(
            letter=self.of,
            figure=self.figure,
            blocks=self.blocks,
            interval=self.ratio.interval if self.ratio else None,
            twin=self.twin.interval if self.twin else None,
            answer=self.answer,
            why=self.why,
            needed=self.blocks_needed,
        )


class LoadOfTurn(Lenient):
    """One load of a turn."""

    figures: dict[Figure, float]
    """What it showed, whether it counts or not."""
    at_least: tuple[Figure, ...] = ()
    """The figures that requests without an answer decide, so that the truth may be longer."""
    validity: Word
    counts: bool
    """Whether its figures are compared."""
    against: tuple[str, ...]
    """Why they are not."""
    warnings: tuple[str, ...]
    slowdown: float = 1.0
    """By which factor others slowed it at most."""
    disturbed: tuple[Figure, ...] = ()
    """The figures that do not count because others may have changed them too much."""
    failed_share: float
    """Failures as a share of the requests that ended."""
    answered_share: float
    """Right answers as a share of the requests that were due."""
    speed_per_s: float | None = None
    """How fast the server's cores were: pieces of a fixed work for a second of CPU time; null: not read."""
    busy_share: float | None = None
    """How busy the server kept these cores."""
    times: HistogramRecord
    """The response times."""

    @classmethod
    def of(cls, found: PutOn) -> Self:
        """Return the load as data."""
        own = {name: value for name, value in vars(found).items() if name not in ("word", "factors")}
        return cls(validity=found.word, counts=found.counts, **own)

    @property
    def load(self) -> PutOn:
        """The load as it was when it was over."""
        own = {name: value for name, value in self if name not in ("validity", "counts")}
        return PutOn(word=self.validity, **own)


class TurnData(Lenient):
    """One turn of a version, or of A's twin (A′), in a block."""

    letter: str
    closed: LoadOfTurn
    at_rate: LoadOfTurn

    @classmethod
    def of(cls, found: Turn) -> Self:
        """Return the turn as data."""
        return cls(
            letter=found.letter,
            closed=LoadOfTurn.of(found.closed),
            at_rate=LoadOfTurn.of(found.at_rate),
        )

    @property
    def turn(self) -> Turn:
        """The turn as it was when it was over."""
        return Turn(self.letter, self.closed.load, self.at_rate.load)


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

    @property
    def rule(self) -> Rule | None:
        """How it was decided; None: it was over before that was known."""
        if self.looks is None or self.confidence is None:
            return None
        return Rule(
            figures=self.figures,
            letters=tuple(each.letter for each in self.versions if each.letter != FIRST),
            looks=Looks(self.looks.least, self.looks.most),
            tolerance=self.loads.tolerance,
            confidence=self.confidence,
        )
