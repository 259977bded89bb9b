"""Ratios of a block as they would be had the cores been equally fast in all of its turns. Pure.

A core shares its physical core with neighbours that no counter of the system shows: in virtual machines it
was seen to be 1.9 times as fast in one second as in another. The engine reads how fast the server's cores are
during each load, by a fixed piece of work. How strongly a figure follows that speed is learned from the
comparison itself. This is the analysis of covariance (Fisher, *Statistical Methods for Research Workers*,
1932); a simulation would call the speed a control variate.

The slope that corrects the ratio of a block is learned from the turns of all other blocks, so it is
independent of that ratio. As the order of the turns is random, the corrected ratios scatter around the truth
whatever the slope is: an interval by Student's t holds, and a bad slope makes it wider, not wrong.

That holds as long as a version does not change the reading. An idle core falls asleep, and is then read up to
a tenth slower than a busy one. So versions that keep the cores busy for different shares are not corrected
(`turn.speeds`). Where speeds differ between versions by more than chance, the corrected interval is widened
to include the uncorrected one (`is_doubtful`).
"""

import math
from collections.abc import Mapping
from statistics import fmean, stdev

from crumple.stats import student
from crumple.versus.letters import FIRST, TWIN

# Letter of a version, or TWIN → block, from 1 → logarithm.
Logs = Mapping[str, Mapping[int, float]]
# The fewest other blocks that show a slope.
OTHERS_MIN = 3
# The slope is drawn towards 0 as if CALM_TURNS turns had been read in which speeds CALM_APART apart, as a
# share, changed nothing. On a calm machine readings differ by less, and what they say of a slope is chance.
CALM_TURNS, CALM_APART = 8, 0.05
# The share of what the turns of a block have in common that is taken out, as figures rise and fall with the
# block by other causes, too. What the speeds of blocks show of the slope is lost with it.
COMMON_SHARE = 0.7
# The share of versions that are suspected, although it is chance, of having changed the speeds themselves: a
# version is suspected if its speeds differ from A's.
DOUBT = 0.1


def logarithms(
    rows: Mapping[str, Mapping[int, float]], until: float = math.inf
) -> dict[str, dict[int, float]]:
    """Return the logarithms of these values, of the blocks up to `until`."""
    return {
        letter: {block: math.log(value) for block, value in row.items() if block <= until}
        for letter, row in rows.items()
    }


def to_both(logs: Logs, speeds: Logs, letter: str) -> dict[int, float]:
    """Block → logarithm of the version's ratio to the mean of A and its twin, at equal speed.

    `speeds`: logarithms of how fast the server's cores were; where a turn lacks it, nothing is corrected.
    """
    return _correct(_apart(logs, letter), _apart(speeds, letter), _Slopes(logs, speeds))


def is_doubtful(speeds: Logs, letter: str) -> bool:
    """Whether the cores were faster or slower in the version's turns than in A's by more than chance.

    By chance that is so in a tenth of comparisons. Else the version itself changes what is read.
    """
    values = [*_apart(speeds, letter).values()]
    if len(values) < 2:
        return False
    level = student.of_interval(len(values) - 1, 1 - DOUBT)
    return abs(fmean(values)) > level * stdev(values) / math.sqrt(len(values))


def of_twin(logs: Logs, speeds: Logs) -> dict[int, float]:
    """Block → logarithm of the twin's ratio to A, at equal speed."""
    return _correct(_twin_apart(logs), _twin_apart(speeds), _Slopes(logs, speeds))


def _first_two(logs: Logs) -> dict[int, tuple[float, float]]:
    """The logarithms of A and its twin in each block in which both count."""
    one, other = logs.get(FIRST, {}), logs.get(TWIN, {})
    return {block: (one[block], other[block]) for block in one.keys() & other.keys()}


def _apart(logs: Logs, letter: str) -> dict[int, float]:
    row = logs.get(letter, {})
    return {block: row[block] - sum(both) / 2 for block, both in _first_two(logs).items() if block in row}


def _twin_apart(logs: Logs) -> dict[int, float]:
    return {block: other - one for block, (one, other) in _first_two(logs).items()}


def _correct(figure: Mapping[int, float], speed: Mapping[int, float], slopes: "_Slopes") -> dict[int, float]:
    if figure.keys() - speed.keys():
        return dict(figure)
    return {block: value - slopes.without(block) * speed[block] for block, value in figure.items()}


class _Slopes:
    """How much a figure's logarithm rises with that of the speed, by all turns of all blocks but one."""

    def __init__(self, logs: Logs, speeds: Logs) -> None:
        there = {
            letter: {
                block: (speeds[letter][block], row[block]) for block in row.keys() & speeds[letter].keys()
            }
            for letter, row in logs.items()
            if letter in speeds
        }
        self._turns = _without_common(there)

    def without(self, block: int) -> float:
        """Return the slope by the other blocks; versions may differ by themselves."""
        together, alone = 0.0, CALM_TURNS * CALM_APART**2
        for row in self._turns.values():
            others = [turn for at, turn in row.items() if at != block]
            if len(others) < OTHERS_MIN:
                continue
            speed, value = (sum(each) / len(others) for each in zip(*others, strict=True))
            together += sum((one - speed) * (other - value) for one, other in others)
            alone += sum((one - speed) ** 2 for one, _ in others)
        return together / alone


def _without_common(
    turns: Mapping[str, Mapping[int, tuple[float, float]]],
) -> dict[str, dict[int, tuple[float, float]]]:
    by_block: dict[int, list[tuple[float, float]]] = {}
    for row in turns.values():
        for block, turn in row.items():
            by_block.setdefault(block, []).append(turn)
    common = {
        block: [COMMON_SHARE * sum(each) / len(each) for each in zip(*found, strict=True)]
        for block, found in by_block.items()
    }
    return {
        letter: {
            block: (speed - common[block][0], value - common[block][1])
            for block, (speed, value) in row.items()
        }
        for letter, row in turns.items()
    }
