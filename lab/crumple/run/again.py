"""Decide which trials of a block to repeat: those that others disturbed while they were measured.

Only the disturbance decides, never the figures. Pure: `blocks` executes the repeats.
"""

from collections.abc import Collection, Iterable

from crumple.run.run_plan import Block
from crumple.run.store import StoredTrial, TrialIdentity

# Repeats per block, as a share of its trials: a machine that is never calm makes a run at most 50 % longer.
REPEATS_SHARE = 0.5
REPEATS_MIN = 2
# Trials in slices take turns, so a disturbance hits all of them: they are repeated together, once.
ATTEMPTS_TOGETHER = 2
# After this many disturbed trials in a row, tell the user that the machine is busy.
IN_A_ROW = 3


class Attempts:
    """The last attempt at every trial, and how many repeats each block has had."""

    def __init__(self, trials: Iterable[StoredTrial] = ()) -> None:
        self._last: dict[str, tuple[TrialIdentity, bool]] = {}
        self._repeats: dict[tuple[str, int], int] = {}
        for each in sorted(trials, key=lambda each: each.trial.attempt):
            self.note(each)

    def note(self, stored: StoredTrial) -> None:
        """Take note of an attempt that was stored."""
        self._last[stored.trial.label] = stored.trial, stored.disturbed
        if stored.trial.attempt > 1:
            place = stored.trial.experiment, stored.trial.block
            self._repeats[place] = self._repeats.get(place, 0) + 1

    def due(self, block: Block, only: Collection[str] = (), *, together: bool = False) -> list[TrialIdentity]:
        """Return the next attempts to make; none while the block is not done or once its repeats are used up.

        `only`: labels; empty means the whole block. Of several disturbed trials return the one with the
        fewest attempts, then the first in running order. With `together` (slices) return all of them.
        """
        if not all(each.id in self._last for each in _asked(block, only)):
            return []
        disturbed = self.disturbed(block, only)
        if together:
            return [each.again() for each in disturbed if each.attempt < ATTEMPTS_TOGETHER]
        if self._repeats.get((block.experiment, block.number), 0) >= at_most(block):
            return []
        first = min(disturbed, key=lambda each: each.attempt, default=None)
        return [first.again()] if first else []

    def disturbed(self, block: Block, only: Collection[str] = ()) -> list[TrialIdentity]:
        """Return each trial's last attempt if that was disturbed, in running order."""
        last = [self._last[each.id] for each in _asked(block, only) if each.id in self._last]
        return [identity for identity, disturbed in last if disturbed]


def _asked(block: Block, only: Collection[str]) -> list[TrialIdentity]:
    return [each for each in block.trials if not only or each.id in only]


def at_most(block: Block) -> int:
    """Return how many repeats a block may have, all its trials together."""
    return max(REPEATS_MIN, round(REPEATS_SHARE * len(block.trials)))


class Streak:
    """Counts disturbed trials in a row. Reports a streak once; a calm trial ends the streak."""

    def __init__(self) -> None:
        self._number = 0

    def busy(self, stored: StoredTrial) -> str:
        """Return why the machine counts as busy after this trial; empty if there is nothing to say."""
        if stored.disturbance is None:
            return ""
        self._number = self._number + 1 if stored.disturbed else 0
        if self._number != IN_A_ROW:
            return ""
        return f"the last {IN_A_ROW} trials were disturbed, and do not count: {stored.disturbance.why}"
