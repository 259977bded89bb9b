"""The ratios of versions in one figure, as estimates at equal speed of the cores. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from crumple.record import undisturbed
from crumple.record.undisturbed import SURE, Factors
from crumple.stats import estimate
from crumple.stats.estimate import Estimate
from crumple.stats.interval import SEVERAL, Interval
from crumple.stats.question import LookQuestion, Sides
from crumple.versus import equal_speed
from crumple.versus.equal_speed import Logs
from crumple.versus.letters import FIRST, TWIN


@dataclass(frozen=True)
class CorrectedQuestion(LookQuestion):
    """A ratio at equal speed, whose interval also holds the one as measured."""

    as_measured: Estimate | None = None
    """The ratio as measured; None: there is no doubt about the correction."""

    def _known(self, interval: Interval) -> Interval:
        if self.as_measured is not None:
            other = self.as_measured.interval(interval.confidence)
            low, high = min(interval.low, other.low), max(interval.high, other.high)
            interval = replace(interval, low=low, high=high)
        return super()._known(interval)


@dataclass(frozen=True)
class FigureLogs:
    """The logarithms of one figure, and of the speed of the cores at that time, by letter and block."""

    logs: Logs
    speeds: Logs
    bounded: Collection[str]
    """The letters that have a bound."""
    factors: Mapping[str, Mapping[int, Factors]]
    """Letter → block → how far a calm machine's value lies."""

    def to_both(self, letter: str) -> Estimate | None:
        """The ratio to the mean of A and its twin; None: too few blocks have all three."""
        values = equal_speed.to_both(self.logs, self.speeds, letter)
        return self._estimate(values, letter, (FIRST, TWIN)) if len(values) >= SEVERAL else None

    def as_measured(self, letter: str) -> Estimate | None:
        """The same ratio uncorrected; None: there is no doubt about the correction."""
        if not equal_speed.is_doubtful(self.speeds, letter):
            return None
        return self._estimate(equal_speed.to_both(self.logs, {}, letter), letter, (FIRST, TWIN))

    def sides(self, letter: str) -> Sides:
        """Return on which sides of a ratio the truth can be shown to lie: 1 above it, −1 below it.

        If a value is only a bound, the truth may be longer.
        """
        first = FIRST in self.bounded or TWIN in self.bounded
        return (*(() if first else (1,)), *(() if letter in self.bounded else (-1,)))

    @property
    def twin(self) -> Estimate:
        """The ratio of the twin to A."""
        return self._estimate(equal_speed.of_twin(self.logs, self.speeds), TWIN, (FIRST,))

    def _estimate(self, values: Mapping[int, float], of: str, to: Sequence[str]) -> Estimate:
        """The mean of logarithms by block; those of a calm machine may lie off by what others took."""
        ratios = [
            undisturbed.ratio(
                self._factors(of, block), undisturbed.mean([self._factors(one, block) for one in to])
            )
            for block in values
        ]
        found = estimate.of_values([*values.values()])
        return replace(found, off=undisturbed.logarithms(ratios))

    def _factors(self, letter: str, block: int) -> Factors:
        return self.factors.get(letter, {}).get(block, SURE)
