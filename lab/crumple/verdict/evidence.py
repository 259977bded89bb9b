"""Which trials may speak on a claim and what keeps the others out: figures → values by block, noise floor.

Only trials of the same block are compared, both measured and valid. Nothing is concluded here; that is
verdict's.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS, Metric
from crumple.stats import stats

FAILED_SHARE_MAX = 0.01
# A share of fewer requests is one of chance.
ENDED_MIN = 10
BLOCKS_MIN = 2
REASONS_MAX = 3
FAILS = "and a server that fails is not ranked by its speed"


@dataclass(frozen=True)
class Paired:
    """Values of two servers, block by block. `untestable`: why no comparison is made, or empty.

    `left_out`: why some blocks are missing though enough are left, or empty. `trials`: ids behind the values.
    """

    of_values: tuple[float, ...]
    to_values: tuple[float, ...]
    trials: tuple[str, ...]
    untestable: str
    left_out: str


@dataclass(frozen=True)
class Alone:
    """Values of one server, one for each block; the rest as in `Paired`."""

    values: tuple[float, ...]
    figures: tuple[Figures, ...]
    trials: tuple[str, ...]
    untestable: str
    left_out: str


@dataclass(frozen=True)
class Floor:
    """What a server differs by from itself, as a ratio ≥ 1; None where that is not known, and then `why`."""

    ratio: float | None
    server: str | None
    trials: tuple[str, ...]
    why: str


NO_FLOOR = Floor(None, None, (), "")


@dataclass(frozen=True)
class Place:
    """A server in an experiment."""

    experiment: str
    server: str


@dataclass(frozen=True)
class Evidence:
    """A run seen in one metric. `experiment`: that of names that bring none of their own.

    `failed`: id of each trial that failed → why. `against`: each value is divided by that of the same server
    in the same block of this experiment.
    """

    experiment: str
    metric: Metric
    trials: tuple[Figures, ...]
    failed: Mapping[str, str]
    against: str | None = None
    confidence: float = stats.CONFIDENCE

    def place(self, name: str) -> Place:
        """What "server" or "experiment:server" names; a variant's settings may hold a colon too."""
        before, bracket, settings = name.partition("[")
        experiment, colon, server = before.rpartition(":")
        return Place(experiment if colon else self.experiment, f"{server}{bracket}{settings}")

    @property
    def phrase(self) -> str:
        """The metric within a sentence, and over what it is taken."""
        if self.against is None:
            return self.metric.phrase
        return f"change of {self.metric.phrase} from {self.against} to {self.experiment}"

    def paired(self, of: str, to: str) -> Paired:
        """The values of `of` and `to` in the blocks where both may speak."""
        one, other = self.place(of), self.place(to)
        refused = "; ".join(dict.fromkeys(filter(None, map(self._refused, (one, other)))))
        if refused:
            return Paired((), (), (), refused, "")
        ours, theirs = self._by_block(one), self._by_block(other)
        common = [
            block for block in ours
            if block in theirs and not self._mute(ours[block], above_0=True)
            and not self._mute(theirs[block], above_0=True)
        ]  # fmt: skip
        absent = "; ".join(dict.fromkeys([*self._absences(one, True), *self._absences(other, True)]))
        if len(common) < BLOCKS_MIN:
            return Paired((), (), (), _too_few("both have a valid trial", len(common), absent), "")
        ids = [key for block in common for key in (*self._ids(ours[block]), *self._ids(theirs[block]))]
        return Paired(
            tuple(self._value(ours[block]) or 0.0 for block in common),
            tuple(self._value(theirs[block]) or 0.0 for block in common),
            tuple(dict.fromkeys(ids)),
            "",
            absent,
        )

    def alone(self, name: str, *, above_0: bool = False) -> Alone:
        """The values of one server in the blocks where it may speak."""
        place = self.place(name)
        refused = self._refused(place)
        if refused:
            return Alone((), (), (), refused, "")
        trials = [trial for trial in self._by_block(place).values() if not self._mute(trial, above_0=above_0)]
        absent = "; ".join(self._absences(place, above_0))
        if not trials and absent:
            return Alone((), (), (), absent, "")
        if len(trials) < BLOCKS_MIN:
            return Alone((), (), (), _too_few("it has a valid trial", len(trials), absent), "")
        values = tuple(self._value(trial) or 0.0 for trial in trials)
        ids = tuple(key for trial in trials for key in self._ids(trial))
        return Alone(values, tuple(trials), ids, "", absent)

    def floor(self, experiments: Sequence[str] = ()) -> Floor:
        """What the twins of these experiments differ by, or of the claim's own; of several, the largest."""
        names = list(dict.fromkeys(experiments)) or [self.experiment]
        floors = [floor for name in names for floor in self._floors_in(name)]
        known = [floor for floor in floors if floor.ratio is not None]
        if known:
            return max(known, key=lambda floor: floor.ratio or 0)
        if floors:
            return floors[0]
        return Floor(None, None, (), "no server was measured twice in a block")

    def floor_of(self, *names: str) -> Floor:
        """That of the experiments these servers were measured in."""
        return self.floor([self.place(name).experiment for name in names])

    def _floors_in(self, experiment: str) -> list[Floor]:
        servers = {trial.server for trial in self.trials if trial.twin and trial.experiment == experiment}
        return [self._floor_of(Place(experiment, server)) for server in sorted(servers)]

    def _floor_of(self, place: Place) -> Floor:
        first, twin = self._by_block(place), self._by_block(place, twin=True)
        pairs = [
            (first[block], twin[block])
            for block in first
            if block in twin
            and not any(self._mute(trial, above_0=True) for trial in (first[block], twin[block]))
            and not any(self._fails(trial) for trial in (first[block], twin[block]))
        ]
        if len(pairs) < BLOCKS_MIN:
            why = f"{place.server} has fewer than {BLOCKS_MIN} blocks in which both of its trials can be used"
            return Floor(None, place.server, (), why)
        ones, others = ([self._value(pair[side]) or 0.0 for pair in pairs] for side in (0, 1))
        ids = tuple(dict.fromkeys(key for pair in pairs for trial in pair for key in self._ids(trial)))
        return Floor(stats.noise_floor(ones, others, self.confidence), place.server, ids, "")

    def _by_block(self, place: Place, *, twin: bool = False) -> dict[int, Figures]:
        found = [
            trial for trial in self.trials
            if (trial.experiment, trial.server, trial.twin) == (place.experiment, place.server, twin)
        ]  # fmt: skip
        return {trial.block: trial for trial in sorted(found, key=lambda trial: trial.block)}

    def _partner(self, trial: Figures) -> Figures | None:
        """The same server in the same block of the experiment it is held against."""
        assert self.against is not None
        return self._by_block(Place(self.against, trial.server), twin=trial.twin).get(trial.block)

    def _ids(self, trial: Figures) -> list[str]:
        partner = self._partner(trial) if self.against else None
        return [trial.trial_id, partner.trial_id] if partner else [trial.trial_id]

    def _value(self, trial: Figures) -> float | None:
        value = self.metric.of(trial)
        if self.against is None or value is None:
            return value
        partner = self._partner(trial)
        base = self.metric.of(partner) if partner else None
        return value / base if base else None

    def _mute(self, trial: Figures, *, above_0: bool) -> tuple[str, str] | None:
        """Why a measured trial has no value to compare, in short and in particular; None if it has one."""
        if not trial.valid and not self._failed_wholly(trial):
            return "was not valid", ", ".join(trial.problems)
        if self.against:
            partner = self._partner(trial)
            if partner is None:
                return f"was not measured in {self.against}", ""
            if not partner.valid:
                return f"was not valid in {self.against}", ", ".join(partner.problems)
        value = self._value(trial)
        if value is None or not math.isfinite(value):
            return f"has no figure for the {self.phrase}", self.metric.absent
        if above_0 and value <= 0:
            return f"had a {self.phrase} of 0", "zero has no ratio"
        return None

    def _failed_wholly(self, trial: Figures) -> bool:
        """Where nothing was answered the record is not valid, but that is the server's doing, and a share."""
        share = self.metric.unit == "share" and self.metric.despite_failures
        # Of requests that did not even end in the window nobody knows how they would have.
        ended = trial.ended >= max(ENDED_MIN, trial.unfinished)
        return share and ended and trial.throughput_per_s == 0 and len(trial.problems) == 1

    def failing(self, name: str) -> str:
        """Why a server fails too much for its other trials to speak; or empty."""
        return self._failing(self.place(name))

    def _failing(self, place: Place) -> str:
        places = [place, Place(self.against, place.server)] if self.against else [place]
        return next(filter(None, map(self._marked, places)), "") or self._mostly_failed(place)

    def _refused(self, place: Place) -> str:
        """Why nothing that is left of a server's blocks may speak; or empty."""
        return self._failing(place) or self._mostly_unread(place)

    def _is_marked(self, trial: Figures) -> bool:
        return not self.metric.despite_failures and trial.failed_share > FAILED_SHARE_MAX

    def _fails(self, trial: Figures) -> bool:
        """It, or what it is held against."""
        partner = self._partner(trial) if self.against else None
        return self._is_marked(trial) or (partner is not None and self._is_marked(partner))

    def _marked(self, place: Place) -> str:
        marked = [t for t in self._by_block(place).values() if t.valid and self._is_marked(t)]
        if not marked:
            return ""
        most = max(trial.failed_share for trial in marked)
        where = self._named([trial.block for trial in marked], place.experiment)
        limit = f"{FAILED_SHARE_MAX * 100:g} %"
        return (
            f"{place.server} failed more than {limit} of its requests in {where} "
            f"(up to {most * 100:.2g} %), {FAILS}"
        )

    def _mostly_failed(self, place: Place) -> str:
        """Where half of the starts came to nothing, the others are those that happened to live."""
        blocks, lived = self.blocks(place.experiment), self._by_block(place)
        failed = [block for block in blocks if self._failure(place, block) is not None]
        if not lived or len(failed) < max(1, len(lived)):
            return ""
        why = self._failure(place, failed[0])
        where = self._named(failed, place.experiment)
        return f"{place.server} failed in {where} ({why}), {FAILS}"

    def _mostly_unread(self, place: Place) -> str:
        """Likewise where half of the valid trials have no figure, and not only the others count."""
        valid = [trial for trial in self._by_block(place).values() if trial.valid]
        unread = [trial.block for trial in valid if self._value(trial) is None]
        if not unread or len(unread) == len(valid) or 2 * len(unread) < len(valid):
            return ""
        where = self._named(unread, place.experiment)
        return (
            f"{place.server} has no figure for the {self.phrase} in {where} ({self.metric.absent}), "
            "and the others are those that happened to have one"
        )

    def _failure(self, place: Place, block: int) -> str | None:
        return self.failed.get(f"{place.experiment}/b{block:02}/{place.server}")

    def blocks(self, experiment: str) -> list[int]:
        """Every block of an experiment of which anything is known."""
        measured = {trial.block for trial in self.trials if trial.experiment == experiment}
        return sorted(measured | {_block(key) for key in self.failed if key.startswith(f"{experiment}/")})

    def _absences(self, place: Place, above_0: bool) -> list[str]:
        """One clause per reason, with the blocks it holds for."""
        present, blocks_of = self._by_block(place), dict[tuple[str, str], list[int]]()
        for block in self.blocks(place.experiment):
            if block in present:
                why = self._mute(present[block], above_0=above_0)
            else:
                failure = self._failure(place, block)
                why = ("was not measured", "") if failure is None else ("failed", failure)
            if why:
                blocks_of.setdefault(why, []).append(block)
        clauses = [*self._clauses(place, blocks_of)]
        return clauses or ([] if present else [f"{place.server} was not measured"])

    def _clauses(self, place: Place, blocks_of: Mapping[tuple[str, str], list[int]]) -> Iterator[str]:
        server, every = place.server, self.blocks(place.experiment)
        if list(blocks_of.values()) == [every] and ("was not measured", "") in blocks_of:
            yield f"{server} was not measured"
            return
        for (did, particulars), blocks in list(blocks_of.items())[:REASONS_MAX]:
            clause = f"{server} {did} in {self._named(blocks, place.experiment)}"
            yield f"{clause} ({particulars})" if particulars else clause
        if len(blocks_of) > REASONS_MAX:
            rest = sorted(block for blocks in list(blocks_of.values())[REASONS_MAX:] for block in blocks)
            yield f"{server} likewise in {self._named(rest, place.experiment)}"

    def _named(self, blocks: Sequence[int], experiment: str) -> str:
        if len(blocks) > 1 and list(blocks) == self.blocks(experiment):
            return f"all {len(blocks)} blocks"
        numbers = [str(block) for block in blocks]
        if len(numbers) == 1:
            return f"block {numbers[0]}"
        return f"blocks {', '.join(numbers[:-1])} and {numbers[-1]}"


def seen_in(metric: str, users: tuple[int, int] | None = None) -> Metric:
    """The metric called so, while so many users were connected if that is given. Raises KeyError."""
    found = METRICS[metric]
    return found.while_connected(*users) if users else found


def derived(title: str, unit: str, of: Callable[[Figures], float | None], absent: str) -> Metric:
    """A figure that only one claim asks for."""
    return Metric(title, unit, "lower", of, despite_failures=True, absent=absent)


def _too_few(in_which: str, found: int, absent: str) -> str:
    said = f"it takes {BLOCKS_MIN} blocks in which {in_which}, and there is {'1' if found else 'none'}"
    return f"{said}: {absent}" if absent else said


def _block(trial_id: str) -> int:
    found = re.search(r"/b(\d+)/", trial_id)
    return int(found[1]) if found else 0
