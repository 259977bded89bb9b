"""Study + scale + seed → every trial of a run, in the order they run. Pure: the same in gives the same out.

Blocks of the experiments take turns and each is shuffled, so that what drifts on the machine drifts for all.
Nothing is started here.
"""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

from crumple.contract import Frozen
from crumple.errors import NotFound, UsageError
from crumple.run.store import TrialIdentity
from crumple.study.study import ScaleName, Study

TWIN = "~twin"
Item = TypeVar("Item")


class Block(Frozen):
    """A trial of every server of an experiment, and of the twin, in running order. `number` counts from 1.

    Servers that take part in fewer blocks are in the first ones.
    """

    experiment: str
    number: int
    trials: tuple[TrialIdentity, ...]

    @property
    def labels(self) -> frozenset[str]:
        """Of its trials."""
        return frozenset(each.id for each in self.trials)


class Plan(Frozen):
    """All blocks of a run, in running order."""

    study: str
    scale: ScaleName
    seed: int
    blocks: tuple[Block, ...]

    @property
    def trials(self) -> tuple[TrialIdentity, ...]:
        """All trials, in running order."""
        return tuple(trial for block in self.blocks for trial in block.trials)


def plan(study: Study, scale: ScaleName, seed: int) -> Plan:
    """The trials of `study`, of those experiments that have the scale. Raises UsageError if none has."""
    rounds = _blocks_of(study, scale)
    blocks: list[Block] = []
    for number in range(1, max(rounds.values()) + 1):
        present = [name for name, count in rounds.items() if number <= count]
        in_order = shuffled(present, f"{seed}/round {number}")
        blocks += [_block(study, scale, experiment, number, seed) for experiment in in_order]
    return Plan(study=study.name, scale=scale, seed=seed, blocks=tuple(blocks))


def must(study: Study, scale: ScaleName, block: Block) -> bool:
    """Whether a block is run whatever those before it came to."""
    meant = study.experiments[block.experiment].scales[scale]
    return meant.least_blocks is None or block.number <= meant.least_blocks


def first_trials(study: Study, planned: Plan) -> list[TrialIdentity]:
    """Those of all blocks that are run in any case."""
    blocks = [block for block in planned.blocks if must(study, planned.scale, block)]
    return [trial for block in blocks for trial in block.trials]


def named(planned: Plan, trial_id: str) -> TrialIdentity:
    """The trial of that id. Raises NotFound."""
    for trial in planned.trials:
        if trial.id == trial_id:
            return trial
    examples = ", ".join(trial.id for trial in planned.trials[:2])
    raise NotFound(f"study {planned.study} plans no trial {trial_id}", f"its trials are {examples} and so on")


def shuffled(items: Sequence[Item], seed: str) -> list[Item]:
    """A permutation that depends on the text of the seed only, on every machine and Python version."""
    # Python promises the stream of Random(str).random() for good, but not that of shuffle().
    generator = random.Random(seed)
    keys = [generator.random() for _ in items]
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]


def trial_seed(seed: int, trial_id: str) -> int:
    """The engine's seed for one trial: 48 bits, so that every JSON reader holds it exactly."""
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


def _block(study: Study, scale: ScaleName, name: str, number: int, seed: int) -> Block:
    experiment = study.experiments[name]
    takes_part = [each for each in experiment.servers if number <= experiment.scales[scale].blocks_for(each)]
    entries = [(server, False) for server in takes_part]
    if experiment.scales[scale].twin and experiment.twin in experiment.servers:
        entries.append((experiment.twin, True))
    order = shuffled(entries, f"{seed}/{name}/block {number}")
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
