"""How much starts of one server differ in an experiment, and what follows: estimates, twins, what is seen.

One model for each experiment and metric: all servers' starts tell, the twin's too. The arithmetic is
stats/moderated.py's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crumple.stats import moderated
from crumple.stats.moderated import NO_PRIOR, Estimate, Prior
from crumple.stats.stats import SLACK, Interval
from crumple.verdict.evidence import Evidence, Paired


@dataclass(frozen=True)
class Twins:
    """A server against itself by the rules that servers are compared by."""

    experiment: str
    server: str
    metric: str
    ratio: Interval

    @property
    def called_different(self) -> bool:
        """Whether the interval excludes 1, as it does by chance of a share of `1 - ratio.confidence`."""
        return self.ratio.low > 1 + SLACK or self.ratio.high < 1 - SLACK


@dataclass(frozen=True)
class Noise:
    """Of an experiment in a metric. `spread`: how much starts differ, blocks taken out, as a ratio above 1.

    `visible`: the ratio of two servers that a run of so many `blocks` sees in four cases of five. None where
    it is not known, and then `why`. `twins`: None where no server ran twice in two blocks.
    """

    spread: float | None
    visible: float | None
    blocks: int
    twins: Twins | None
    why: str = ""


def ratio(evidence: Evidence, of: str, to: str, paired: Paired) -> Estimate:
    """That of two servers, from the logarithms of their ratios within blocks.

    Pairing costs half of the degrees of freedom and takes out what a block's trials have in common, of which
    there is more on a small machine than of anything else; what is borrowed makes up for the former.
    """
    logs = [math.log(a / b) for a, b in zip(paired.of_values, paired.to_values, strict=True)]
    one, other = (evidence.place(name).experiment for name in (of, to))
    known = {place: moderated.prior([*evidence.rows(place).values()]) for place in {one, other}}
    return moderated.estimated(logs, moderated.of_two(known[one], known[other]))


def value(values: Sequence[float]) -> Estimate:
    """The geometric mean of one server's values, from these alone.

    Blocks are part of what it scatters by, and the same for all servers: that the others scatter alike is no
    further evidence of how much.
    """
    return plain([math.log(each) for each in values], logarithmic=True)


def plain(values: Sequence[float], *, logarithmic: bool) -> Estimate:
    """The mean of what has no like among other servers; logarithms where `logarithmic`."""
    return moderated.estimated(values, NO_PRIOR, logarithmic=logarithmic, follow_skew=True)


def noise(evidence: Evidence, name: str, confidence: float) -> Noise:
    """What is known of the noise of the evidence's experiment; `name`: of its metric."""
    rows = evidence.rows(evidence.experiment)
    known = moderated.prior([*rows.values()])
    blocks = max((len(row) for row in rows.values()), default=0)
    twins = _twins(evidence, name, rows, known, confidence)
    if known.variance <= 0:
        return Noise(None, None, blocks, twins, "it takes two servers, or one and its twin, in two blocks")
    seen = moderated.visible(moderated.of_two(known, known), blocks, confidence)
    return Noise(math.exp(math.sqrt(known.variance)), seen, blocks, twins)


def _twins(
    evidence: Evidence, metric: str, rows: dict[tuple[str, bool], dict[int, float]], known: Prior,
    confidence: float,
) -> Twins | None:  # fmt: skip
    for (server, twin), second in rows.items():
        first = rows.get((server, False), {})
        common = [block for block in second if twin and block in first]
        if len(common) > 1:
            logs = [first[block] - second[block] for block in common]
            estimate = moderated.estimated(logs, moderated.of_two(known, known))
            return Twins(evidence.experiment, server, metric, estimate.interval(confidence))
    return None
