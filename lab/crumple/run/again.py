"""Which trials of a block are to be done again: those that were disturbed while they were measured.

Only the disturbance decides, never what came out. Pure; `run` does them.
"""

from collections.abc import Collection, Iterable

from crumple.run.run_plan import Block
from crumple.run.store import StoredTrial, TrialIdentity

# Of a block, so that a machine that is never calm costs half as much again at most.
REPEATS_SHARE = 0.5
REPEATS_MIN = 2
# Trials that share their time are disturbed together, and are done again together, once.
ATTEMPTS_TOGETHER = 2
IN_A_ROW = 3


class Attempts:
    """What is known of every trial's attempts."""

    def __init__(self, trials: Iterable[StoredTrial] = ()) -> None:
        self._last: dict[str, tuple[TrialIdentity, bool]] = {}
        self._repeats: dict[tuple[str, int], int] = {}
        for each in sorted(trials, key=lambda each: each.trial.attempt):
            self.note(each)

    def note(self, stored: StoredTrial) -> None:
        """A trial is stored."""
        self._last[stored.trial.label] = stored.trial, stored.disturbed
        if stored.trial.attempt > 1:
            place = stored.trial.experiment, stored.trial.block
            self._repeats[place] = self._repeats.get(place, 0) + 1

    def due(self, block: Block, only: Collection[str] = (), *, together: bool = False) -> list[TrialIdentity]:
        """The next attempts to make once a block is done; none, where there were as many as may be.

        `only`: labels, where not the whole block is asked for. Of several the one with fewest attempts, in
        running order; or, where trials share their time (`together`), all that were disturbed.
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
        """The last attempts that were disturbed, in running order."""
        last = [self._last[each.id] for each in _asked(block, only) if each.id in self._last]
        return [identity for identity, disturbed in last if disturbed]


def _asked(block: Block, only: Collection[str]) -> list[TrialIdentity]:
    return [each for each in block.trials if not only or each.id in only]


def at_most(block: Block) -> int:
    """So many repeats in a block, of whichever of its trials."""
    return max(REPEATS_MIN, round(REPEATS_SHARE * len(block.trials)))


class Streak:
    """Trials in a row that were disturbed: said once, and again only after one that was not."""

    def __init__(self) -> None:
        self._number = 0

    def busy(self, stored: StoredTrial) -> str:
        """What is to be said after this trial: that the machine is busy; or nothing."""
        if stored.disturbance is None:
            return ""
        self._number = self._number + 1 if stored.disturbed else 0
        if self._number != IN_A_ROW:
            return ""
        return f"the last {IN_A_ROW} trials were disturbed, and do not count: {stored.disturbance.why}"
