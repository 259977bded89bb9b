"""Plan a run: study + scale + seed → every trial, in running order. Pure: equal input gives equal output.

The experiments take turns, block by block, and the trials of each block are shuffled. So a drift of the
machine affects all servers alike.
"""

import hashlib
from collections.abc import Collection

from crumple.contract_base import Frozen
from crumple.drawing import numerals
from crumple.errors import NotFound, UsageError
from crumple.run.store import TrialIdentity
from crumple.stats.shuffling import shuffle
from crumple.study.claim import ScaleName
from crumple.study.study import Study
from crumple.verdict.case import experiments_of

TWIN = "~twin"


class Block(Frozen):
    """One trial of every server of an experiment, and of its twin, in running order. `number` counts from 1.

    A server that takes part in fewer blocks than others takes part in the first ones. A block that the
    results called for has only the servers that they called for.
    """

    experiment: str
    number: int
    trials: tuple[TrialIdentity, ...]

    @property
    def labels(self) -> frozenset[str]:
        """Return the labels of the block's trials."""
        return frozenset(each.id for each in self.trials)

    def of(self, servers: Collection[str]) -> "Block":
        """Return the block with the trials of these servers only, in the same order, and without the twin."""
        kept = tuple(each for each in self.trials if each.server in servers and not each.twin)
        return self.model_copy(update={"trials": kept})


class RunPlan(Frozen):
    """All blocks of a run, in running order."""

    study: str
    scale: ScaleName
    seed: int
    blocks: tuple[Block, ...]

    @property
    def trials(self) -> tuple[TrialIdentity, ...]:
        """Return all trials, in running order."""
        return tuple(trial for block in self.blocks for trial in block.trials)


def plan(study: Study, scale: ScaleName, seed: int) -> RunPlan:
    """Plan the experiments of `study` that have the scale. Raises UsageError if none has."""
    rounds = _blocks_of(study, scale)
    blocks: list[Block] = []
    for number in range(1, max(rounds.values()) + 1):
        present = [name for name, count in rounds.items() if number <= count]
        in_order = shuffle(present, f"{seed}/round {number}")
        blocks += [block_of(study, scale, experiment, number, seed) for experiment in in_order]
    return RunPlan(study=study.name, scale=scale, seed=seed, blocks=tuple(blocks))


def must(study: Study, scale: ScaleName, block: Block) -> bool:
    """Return whether a block is run whatever the results of the blocks before it are."""
    meant = study.experiments[block.experiment].scales[scale]
    return meant.least_blocks is None or block.number <= meant.least_blocks


def first_trials(study: Study, planned: RunPlan) -> list[TrialIdentity]:
    """Return the trials of all blocks that are run whatever the results are."""
    blocks = [block for block in planned.blocks if must(study, planned.scale, block)]
    return [trial for block in blocks for trial in block.trials]


def groups(study: Study, planned: RunPlan) -> tuple[tuple[int, ...], ...]:
    """Return the blocks that one host must measure together: their places in the plan, from 0.

    A claim may divide a trial by one of the same block of another experiment. So blocks of one number belong
    together if a claim of the scale rests on their experiments. Groups are in the order of their first block.
    """
    of = {name: name for name in study.experiments}
    for claim in study.claims:
        names = [name for name in experiments_of(claim) if name in of and planned.scale in claim.scales]
        joined = {of[name] for name in names}
        of = {name: of[names[0]] if first in joined else first for name, first in of.items()}
    found: dict[tuple[str, int], list[int]] = {}
    for place, block in enumerate(planned.blocks):
        found.setdefault((of[block.experiment], block.number), []).append(place)
    return tuple(map(tuple, found.values()))


def dealt(study: Study, planned: RunPlan, index: int, of: int) -> tuple[int, ...]:
    """Return the blocks of one of `of` shards, the first of which has `index` 1: every `of`-th group.

    They are places in the plan, from 0, in its order. Raises UsageError if there are fewer groups than
    shards.
    """
    every = groups(study, planned)
    if of > len(every):
        raise UsageError(
            f"{study.name} at {planned.scale} has blocks for {numerals.count(len(every), 'shard')} at most",
            f"take --shard 1/{len(every)} and so on, or a larger --scale",
        )
    return tuple(sorted(place for group in every[index - 1 :: of] for place in group))


def find_trial(planned: RunPlan, trial_id: str) -> TrialIdentity:
    """Return the trial of that id. Raises NotFound."""
    for trial in planned.trials:
        if trial.id == trial_id:
            return trial
    examples = ", ".join(trial.id for trial in planned.trials[:2])
    raise NotFound(f"study {planned.study} plans no trial {trial_id}", f"its trials are {examples} and so on")


def trial_seed(seed: int, trial_id: str) -> int:
    """Return the engine's seed for one trial: 48 bits, so that every JSON reader keeps it exactly."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{trial_id}".encode()).digest()[:6], "big")


def _blocks_of(study: Study, scale: ScaleName) -> dict[str, int]:
    rounds = {
        name: experiment.scales[scale].blocks
        for name, experiment in study.experiments.items()
        if scale in experiment.scales
    }
    if not rounds:
        scales = sorted({name for experiment in study.experiments.values() for name in experiment.scales})
        remedy = f"choose among {', '.join(scales)}" if scales else "write one"
        raise UsageError(f"{study.name}: no experiment has a scale {scale}", remedy)
    return rounds


def block_of(study: Study, scale: ScaleName, name: str, number: int, seed: int) -> Block:
    """Return a block of the experiment of that name, with all servers that take part in it."""
    experiment = study.experiments[name]
    takes_part = [each for each in experiment.servers if number <= experiment.scales[scale].blocks_for(each)]
    entries = [(server, False) for server in takes_part]
    if experiment.scales[scale].twin and experiment.twin in experiment.servers:
        entries.append((experiment.twin, True))
    order = shuffle(entries, f"{seed}/{name}/block {number}")
    trials = []
    for position, (server, twin) in enumerate(order, start=1):
        trial_id = f"{name}/b{number:02d}/{server}{TWIN if twin else ''}"
        trials.append(
            TrialIdentity(
                id=trial_id,
                experiment=name,
                block=number,
                position=position,
                server=server,
                twin=twin,
                seed=trial_seed(seed, trial_id),
            )
        )
    return Block(experiment=name, number=number, trials=tuple(trials))
