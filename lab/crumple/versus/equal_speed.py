"""Ratios of a block as they would be had the cores been equally fast in all of its turns. Pure.

A core shares its physical core with neighbours that no counter of the system shows: in virtual machines it
was seen to be 1.9 times as fast in one second as in another. The engine reads how fast the server's cores are
during each load, by a fixed piece of work. How strongly a figure follows that speed is learned from the
comparison itself. This is the analysis of covariance (Fisher, *Statistical Methods for Research Workers*,
1932); a simulation would call the speed a control variate.

The slope by which a version's ratio is corrected comes from A and its twin, and the slope for the twin's
ratio from the other versions. The two kinds of ratio are orthogonal contrasts, so a slope is independent of
the ratios that it corrects. As the order of the turns is random, the corrected ratios of blocks scatter
around the truth whatever the slope is: an interval by Student's t holds without losing a degree of freedom,
and a bad slope makes it wider, not wrong.
"""

from collections.abc import Iterable, Mapping, Sequence

from crumple.versus.letters import FIRST, TWIN

# Letter of a version, or TWIN → block, from 1 → logarithm.
Logs = Mapping[str, Mapping[int, float]]
# Fewer blocks say nothing of a slope.
BLOCKS_MIN = 3
# The slope is drawn towards 0 as by so many blocks in which speeds a percent apart changed nothing. On a calm
# machine readings differ by less, and what they say of a slope is chance.
CALM_BLOCKS, CALM_APART = 4, 0.01


def first_two(logs: Logs) -> dict[int, tuple[float, float]]:
    """Of each block in which both count: A and its twin."""
    one, other = logs.get(FIRST, {}), logs.get(TWIN, {})
    return {block: (one[block], other[block]) for block in one.keys() & other.keys()}


def to_both(logs: Logs, speeds: Logs, letter: str) -> dict[int, float]:
    """Block → logarithm of the version's ratio to the mean of A and its twin, at equal speed.

    `speeds`: logarithms of how fast the server's cores were; where a turn lacks it, nothing is corrected.
    """
    slope = _slope([_twin_apart(logs)], [_twin_apart(speeds)], centred=False)
    return _corrected(_apart(logs, letter), _apart(speeds, letter), slope)


def of_twin(logs: Logs, speeds: Logs, letters: Sequence[str]) -> dict[int, float]:
    """Block → logarithm of the twin's ratio to A, at equal speed. `letters`: of the other versions."""
    slope = _slope(
        [_apart(logs, each) for each in letters], [_apart(speeds, each) for each in letters], centred=True
    )
    return _corrected(_twin_apart(logs), _twin_apart(speeds), slope)


def _apart(logs: Logs, letter: str) -> dict[int, float]:
    row = logs.get(letter, {})
    return {block: row[block] - sum(both) / 2 for block, both in first_two(logs).items() if block in row}


def _twin_apart(logs: Logs) -> dict[int, float]:
    return {block: other - one for block, (one, other) in first_two(logs).items()}


def _slope(
    figures: Iterable[Mapping[int, float]], speeds: Iterable[Mapping[int, float]], *, centred: bool
) -> float:
    """How much a figure's logarithm rises with that of the speed. `centred`: the versions may differ."""
    together, alone = 0.0, CALM_BLOCKS * CALM_APART**2
    for figure, speed in zip(figures, speeds, strict=True):
        blocks = figure.keys() & speed.keys()
        if len(blocks) < BLOCKS_MIN:
            continue
        mean, mean_speed = (
            sum(row[block] for block in blocks) / len(blocks) if centred else 0.0 for row in (figure, speed)
        )
        together += sum((figure[block] - mean) * (speed[block] - mean_speed) for block in blocks)
        alone += sum((speed[block] - mean_speed) ** 2 for block in blocks)
    return together / alone


def _corrected(figure: Mapping[int, float], speed: Mapping[int, float], slope: float) -> dict[int, float]:
    if figure.keys() - speed.keys():
        return dict(figure)
    return {block: value - slope * speed[block] for block, value in figure.items()}
