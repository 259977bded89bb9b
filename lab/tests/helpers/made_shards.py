"""A made-up run and its shards, stored in folders: a trial is the same in the whole run and in its shard."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import synthetic_run
from crumple.run import run_file, run_plan
from crumple.run.run_file import RunFile, Shard
from crumple.run.store import ProgramHashes, RunStore, StoredTrial

PROGRAMS = ProgramHashes(server="s", workload="w", engine="e", lab="l", kernel="6.1")


def dealt(file: RunFile, of: int) -> list[Shard]:
    """Return the shards of a run."""
    return [
        Shard(index=index, of=of, blocks=run_plan.dealt(file.study, file.plan, index, of))
        for index in range(1, of + 1)
    ]


def trials(of: int, seed: int = synthetic_run.SEED) -> dict[str, StoredTrial]:
    """Return the trials of the made-up run, each of the host of its shard: "host 1" and so on."""
    file, found = synthetic_run.run_file(), {}
    made = {each.trial.id: each for each in synthetic_run.trials(seed)}
    for shard in dealt(file, of):
        programs = PROGRAMS.model_copy(update={"host": f"host {shard.index}"})
        for place in shard.blocks:
            for identity in file.plan.blocks[place].trials:
                found[identity.id] = made[identity.id].model_copy(update={"programs": programs})
    return found


def stored(
    folder: Path,
    of: int,
    made: Mapping[str, StoredTrial],
    *,
    without: Collection[str] = (),
    change: Callable[[RunFile], RunFile] = lambda file: file,
) -> tuple[RunStore, list[RunStore]]:
    """Store the whole run and its shards, without some trials. `change`: of the last shard's run.json."""
    file = synthetic_run.run_file()
    whole = _stored(folder / "whole", file, [each for name, each in made.items() if name not in without])
    shards = []
    for shard in dealt(file, of):
        machine = {**file.machine, "kernel": f"6.{shard.index}"}
        changes = {"shard": shard, "host": f"host {shard.index}", "machine": machine}
        own = file.model_copy(update={**changes, "id": f"shard-{shard.index}"})
        own = change(own) if shard.index == of else own
        labels = [each.id for block in own.blocks for each in block.trials]
        kept = [made[each] for each in labels if each not in without]
        shards.append(_stored(folder / own.id, own, kept))
    return whole, shards


def _stored(folder: Path, file: RunFile, trials: Sequence[StoredTrial]) -> RunStore:
    folder.mkdir(parents=True)
    store = RunStore(folder)
    run_file.write(store, file)
    for each in trials:
        store.add(each)
    return store
