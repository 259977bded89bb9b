"""Which trials may speak on a comparison and what keeps the others out: figures → paired values, noise floor.

Only trials of the same block are paired, both measured and valid. Nothing is concluded here; that is
verdict.py's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crumple import stats
from crumple.metrics import METRICS, Figures

FAILED_SHARE_MAX = 0.01
BLOCKS_MIN = 2
REASONS_MAX = 3


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
class Floor:
    """What a server differs by from itself, as a ratio ≥ 1; None where that is not known, and then `why`."""

    ratio: float | None
    server: str | None
    trials: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Evidence:
    """One experiment seen in one metric. `failed`: id of each trial that failed → why."""

    experiment: str
    metric: str
    trials: tuple[Figures, ...]
    failed: Mapping[str, str]

    @classmethod
    def of(
        cls, experiment: str, metric: str, figures: Sequence[Figures], failed: Mapping[str, str]
    ) -> "Evidence":
        """What of a run's figures and failures belongs to `experiment`."""
        mine = tuple(trial for trial in figures if trial.experiment == experiment)
        prefix = f"{experiment}/"
        return cls(
            experiment, metric, mine, {key: why for key, why in failed.items() if key.startswith(prefix)}
        )

    @property
    def blocks(self) -> list[int]:
        """Every block of which anything is known."""
        return sorted({trial.block for trial in self.trials} | {_block(key) for key in self.failed})

    def paired(self, of: str, to: str) -> Paired:
        """The values of `of` and `to` in the blocks where both may speak."""
        ours, theirs = self._by_block(of, twin=False), self._by_block(to, twin=False)
        marked = "; ".join(filter(None, (self._marked(of, ours), self._marked(to, theirs))))
        if marked:
            return Paired((), (), (), f"{marked}, and a server that fails is not ranked by its speed", "")
        common = [block for block in ours if block in theirs if self._both(ours[block], theirs[block])]
        absent = "; ".join([*self._absences(of, ours), *self._absences(to, theirs)])
        if len(common) < BLOCKS_MIN:
            found = f"it takes {BLOCKS_MIN} blocks in which both have a valid trial, and there is "
            found += "1" if common else "none"
            return Paired((), (), (), f"{found}: {absent}" if absent else found, "")
        pairs = [(ours[block], theirs[block]) for block in common]
        return self._values(pairs, absent)

    def floor(self) -> Floor:
        """What the twins of the experiment differ by; of several twin servers, the largest."""
        servers = sorted({trial.server for trial in self.trials if trial.twin})
        floors = [self._floor_of(server) for server in servers]
        known = [floor for floor in floors if floor.ratio is not None]
        if known:
            return max(known, key=lambda floor: floor.ratio or 0)
        if floors:
            return floors[0]
        return Floor(None, None, (), "no server was measured twice in a block")

    def _floor_of(self, server: str) -> Floor:
        first, twin = self._by_block(server, twin=False), self._by_block(server, twin=True)
        pairs = [
            (first[block], twin[block])
            for block in first
            if block in twin and self._both(first[block], twin[block])
            if not self._is_marked(first[block]) and not self._is_marked(twin[block])
        ]
        if len(pairs) < BLOCKS_MIN:
            why = f"{server} has fewer than {BLOCKS_MIN} blocks in which both of its trials can be used"
            return Floor(None, server, (), why)
        values = self._values(pairs, "")
        return Floor(stats.noise_floor(values.of_values, values.to_values), server, values.trials, "")

    def _values(self, pairs: Sequence[tuple[Figures, Figures]], left_out: str) -> Paired:
        value = METRICS[self.metric].of
        of_values, to_values = (tuple(value(pair[side]) or 0.0 for pair in pairs) for side in (0, 1))
        ids = tuple(trial.trial_id for pair in pairs for trial in pair)
        return Paired(of_values, to_values, ids, "", left_out)

    def _by_block(self, server: str, *, twin: bool) -> dict[int, Figures]:
        found = [trial for trial in self.trials if trial.server == server and trial.twin == twin]
        return {trial.block: trial for trial in sorted(found, key=lambda trial: trial.block)}

    def _both(self, one: Figures, other: Figures) -> bool:
        return not self._speechless(one) and not self._speechless(other)

    def _speechless(self, trial: Figures) -> tuple[str, str] | None:
        """Why a measured trial has no value to compare, in short and in particular; None if it has one."""
        if not trial.valid:
            return "was not valid", ", ".join(trial.problems)
        value = METRICS[self.metric].of(trial)
        if value is None:
            return f"has no figure for the {phrase(self.metric)}", "not read, or from too few requests"
        if value <= 0:
            return f"had a {phrase(self.metric)} of 0", "zero has no ratio"
        return None

    def _absences(self, server: str, present: Mapping[int, Figures]) -> list[str]:
        """One clause per reason, with the blocks it holds for."""
        blocks_of: dict[tuple[str, str], list[int]] = {}
        for block in self.blocks:
            if block in present:
                why = self._speechless(present[block])
            else:
                failure = self.failed.get(f"{self.experiment}/b{block:02}/{server}")
                why = ("was not measured", "") if failure is None else ("failed", failure)
            if why:
                blocks_of.setdefault(why, []).append(block)
        return [*self._clauses(server, blocks_of)] or ([] if present else [f"{server} was not measured"])

    def _clauses(self, server: str, blocks_of: Mapping[tuple[str, str], list[int]]) -> Iterator[str]:
        if list(blocks_of.values()) == [self.blocks] and ("was not measured", "") in blocks_of:
            yield f"{server} was not measured"
            return
        for (did, particulars), blocks in list(blocks_of.items())[:REASONS_MAX]:
            clause = f"{server} {did} in {self._named(blocks)}"
            yield f"{clause} ({particulars})" if particulars else clause
        if len(blocks_of) > REASONS_MAX:
            rest = sorted(block for blocks in list(blocks_of.values())[REASONS_MAX:] for block in blocks)
            yield f"{server} likewise in {self._named(rest)}"

    def _is_marked(self, trial: Figures) -> bool:
        return self.metric != "failed_share" and trial.failed_share > FAILED_SHARE_MAX

    def _marked(self, server: str, present: Mapping[int, Figures]) -> str:
        marked = [trial for trial in present.values() if trial.valid and self._is_marked(trial)]
        if not marked:
            return ""
        most = max(trial.failed_share for trial in marked)
        where = self._named([trial.block for trial in marked])
        limit = f"{FAILED_SHARE_MAX * 100:g} %"
        return f"{server} failed more than {limit} of its requests in {where} (up to {most * 100:.2g} %)"

    def _named(self, blocks: Sequence[int]) -> str:
        if len(blocks) > 1 and list(blocks) == self.blocks:
            return f"all {len(blocks)} blocks"
        numbers = [str(block) for block in blocks]
        if len(numbers) == 1:
            return f"block {numbers[0]}"
        return f"blocks {', '.join(numbers[:-1])} and {numbers[-1]}"


def phrase(metric: str) -> str:
    """The metric's title as it stands within a sentence: "mean response time", "CPU time per request"."""
    title = METRICS[metric].title
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def _block(trial_id: str) -> int:
    found = re.search(r"/b(\d+)/", trial_id)
    return int(found[1]) if found else 0
