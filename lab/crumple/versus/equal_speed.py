"""Ratios of a block as they would be had the cores been equally fast in all of its turns. Pure.

A core shares its physical core with neighbours that no counter of the system shows: in virtual machines it
was seen to be 1.9 times as fast in one second as in another. The engine reads how fast the server's cores are
during each load, by a fixed piece of work. How strongly a figure follows that speed is learned from the
comparison itself. This is the analysis of covariance (Fisher, *Statistical Methods for Research Workers*,
1932); a simulation would call the speed a control variate.

The slope that corrects the ratio of a block is learned from the turns of all other blocks, so it is
independent of that ratio. As the order of the turns is random, the corrected ratios scatter around the truth
whatever the slope is: an interval by Student's t holds, and a bad slope makes it wider, not wrong.
"""

from collections.abc import Mapping

from crumple.versus.letters import FIRST, TWIN

# Letter of a version, or TWIN → block, from 1 → logarithm.
Logs = Mapping[str, Mapping[int, float]]
# So many other blocks are the least that say something of a slope.
OTHERS_MIN = 3
# The slope is drawn towards 0 as by so many turns in which speeds a percent apart changed nothing. On a calm
# machine readings differ by less, and what they say of a slope is chance.
CALM_TURNS, CALM_APART = 8, 0.01


def to_both(logs: Logs, speeds: Logs, letter: str) -> dict[int, float]:
    """Block → logarithm of the version's ratio to the mean of A and its twin, at equal speed.

    `speeds`: logarithms of how fast the server's cores were; where a turn lacks it, nothing is corrected.
    """
    return _corrected(_apart(logs, letter), _apart(speeds, letter), _Slopes(logs, speeds))


def of_twin(logs: Logs, speeds: Logs) -> dict[int, float]:
    """Block → logarithm of the twin's ratio to A, at equal speed."""
    return _corrected(_twin_apart(logs), _twin_apart(speeds), _Slopes(logs, speeds))


def _first_two(logs: Logs) -> dict[int, tuple[float, float]]:
    """Of each block in which both count: A and its twin."""
    one, other = logs.get(FIRST, {}), logs.get(TWIN, {})
    return {block: (one[block], other[block]) for block in one.keys() & other.keys()}


def _apart(logs: Logs, letter: str) -> dict[int, float]:
    row = logs.get(letter, {})
    return {block: row[block] - sum(both) / 2 for block, both in _first_two(logs).items() if block in row}


def _twin_apart(logs: Logs) -> dict[int, float]:
    return {block: other - one for block, (one, other) in _first_two(logs).items()}


def _corrected(
    figure: Mapping[int, float], speed: Mapping[int, float], slopes: "_Slopes"
) -> dict[int, float]:
    if figure.keys() - speed.keys():
        return dict(figure)
    return {block: value - slopes.without(block) * speed[block] for block, value in figure.items()}


class _Slopes:
    """How much a figure's logarithm rises with that of the speed, by all turns of all blocks but one."""

    def __init__(self, logs: Logs, speeds: Logs) -> None:
        self._turns = {
            letter: {
                block: (speeds[letter][block], row[block]) for block in row.keys() & speeds[letter].keys()
            }
            for letter, row in logs.items()
            if letter in speeds
        }

    def without(self, block: int) -> float:
        """Return the slope by the other blocks; versions may differ by themselves."""
        together, alone = 0.0, CALM_TURNS * CALM_APART**2
        for row in self._turns.values():
            others = [turn for at, turn in row.items() if at != block]
            if len(others) < OTHERS_MIN:
                return 0.0
            speed, value = (sum(each) / len(others) for each in zip(*others, strict=True))
            together += sum((one - speed) * (other - value) for one, other in others)
            alone += sum((one - speed) ** 2 for one, _ in others)
        return together / alone
