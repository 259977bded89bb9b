"""Begin a new run of a study, or resume one that was interrupted.

`run_plan` plans the trials, `session` executes them, and `run_live` shows the progress.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from crumple import engine, release
from crumple.engine import Engine
from crumple.errors import NotFound, UsageError
from crumple.machine import alone, capacity, ceiling, facts
from crumple.record import invariants
from crumple.run import blocks, ready, run_file, run_plan
from crumple.run.blocks import Begun
from crumple.run.ready import Brought, Elsewhere
from crumple.run.run_file import RunFile, ServerNote, Shard
from crumple.run.run_plan import RunPlan
from crumple.run.store import RunStore, TrialIdentity
from crumple.study import map_points
from crumple.study.claim import ScaleName
from crumple.study.study import Experiment, Study
from crumple.study.which_servers import add_server, restrict, with_twins_that_run
from crumple.subject import server_toml, servers, workload
from crumple.subject.server_toml import ServerDescription
from crumple.subject.workload import Workload

# The costs are measured three times, so that their spread is known: each time by a new process, in about two
# seconds.
COST_READINGS = 3


def begin(
    asked: Study,
    scale: ScaleName,
    *,
    root: Path,
    runs: Path,
    seed: int | None,
    only: Collection[str],
    own: Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    waiting: Callable[[], None],
) -> Begun:
    """Plan a new run and write its run.json. `seed` None: a random one.

    `shard`: which part of how many this run has, from 1; None: it has all blocks.

    `only`: names of the servers to run; empty means all. `own`: folders or URLs of the user's servers.
    `waiting` is called if the run has to wait for another crumple. Raises UsageError, StorageFull,
    NotWritable, and what the engine raises.
    """
    described = servers.find(root)
    guests = [ready.read(place, described) for place in own]
    meant = choose(asked, scale, described, workload.find(root), only=only, guests=guests)
    seed = secrets.randbelow(2**32) if seed is None else seed
    planned = run_plan.plan(meant, scale, seed)
    part = None if shard is None else _shard(meant, planned, *shard)
    loaded = engine.load(root)
    described |= {each.label: each.what for each in guests if isinstance(each.what, ServerDescription)}
    running = {each.label: each.what for each in guests if isinstance(each.what, Elsewhere)}
    used = sorted({each.server for each in planned.trials})
    notes = {label: _note(label, described, running) for label in used}
    versions = {label: _versions(label, described) for label in used}
    here = capacity.facts() | _costs(meant, loaded, waiting)
    # Create the folder last: a run that cannot begin leaves no folder, and the wait for a turn comes first.
    began, store = new_folder(runs, meant.name, scale, part)
    file = RunFile(
        id=store.name,
        study=meant,
        scale=scale,
        seed=seed,
        only=tuple(sorted(only)) if only else None,
        brought={each.label: each.place for each in guests},
        plan=planned,
        shard=part,
        host=facts.host_id(),
        machine=here,
        servers=notes,
        versions=versions,
        lab_version=release.VERSION,
        engine_version=loaded.version,
        began=began.isoformat(timespec="seconds"),
    )
    run_file.write(store, file)
    begun = Begun(store, file, planned.trials)
    return given(begun, part.blocks) if part else begun


def refuse_map(meant: Study) -> None:
    """Raise UsageError if the study has a map, which several hosts cannot share."""
    if meant.map is not None:
        raise UsageError(f"{meant.name} has a map, whose points results choose", "run it on one host")


def _shard(meant: Study, planned: RunPlan, index: int, of: int) -> Shard:
    refuse_map(meant)
    return Shard(index=index, of=of, blocks=run_plan.dealt(meant, planned, index, of))


def _costs(asked: Study, loaded: Engine, waiting: Callable[[], None]) -> dict[str, Any]:
    """Measure the costs of this machine that the study's claims need; empty if they need none."""
    if not any(claim.kind == "figure" and claim.cost for claim in asked.claims):
        return {}
    with alone.turn(waiting):
        return {"costs": ceiling.cost_readings(loaded, facts.usable_cores()[-1], COST_READINGS)}


def choose(
    asked: Study,
    scale: ScaleName,
    described: Mapping[str, ServerDescription],
    workloads: Mapping[str, Workload],
    *,
    only: Collection[str],
    guests: Sequence[Brought] = (),
) -> Study:
    """Return the study at the scale, with the user's own servers, and restricted to `only` if that is given.

    A server that cannot run here stays in the study, and another server gets its twin. Raises UsageError,
    also if a workload does not accept a parameter's value.
    """
    meant = asked.at(scale)
    for guest in guests:
        if isinstance(guest.what, Elsewhere):
            answers = ready.workloads_answered(guest.what, list(meant.experiments.values()), workloads)
        else:
            answers = set(guest.what.workloads)
        meant = add_server(meant, guest.label, answers)
    if only:
        names = [*only, *(guest.label for guest in guests)]
        meant = restrict(meant, names, server_toml.defaults(described))
    own = {each.label: each.what for each in guests if isinstance(each.what, ServerDescription)}
    meant = with_twins_that_run(meant, _missing(meant, {**described, **own}))
    meant = map_points.with_first_points(meant, scale)
    for name, experiment in meant.experiments.items():
        try:
            workloads[experiment.workload].request_with(experiment.parameters)
            if canary := experiment.canary:
                workloads[canary.workload].request_with(canary.parameters)
        except UsageError as error:
            raise UsageError(f"{asked.name}: experiment {name}: {error.message}", error.remedy) from None
        if experiment.scales[scale].slices > 1 and (why := _why_not_sliced(experiment, workloads)):
            raise UsageError(f"{asked.name}: experiment {name}: {why}", "leave slices out")
    return meant


def _missing(meant: Study, described: Mapping[str, ServerDescription]) -> set[str]:
    """Return the names of the study's servers that cannot run on this machine."""
    used = {server_toml.server_of(label) for label in meant.servers} & set(described)
    return {name for name in used if isinstance(servers.readiness(described[name]), servers.Missing)}


def _why_not_sliced(experiment: Experiment, workloads: Mapping[str, Workload]) -> str:
    """Return why the experiment's load cannot be sliced; empty if it can."""
    asked = workloads[experiment.workload]
    if asked.database:
        return (
            f"workload {asked.name} uses a database, whose counters cannot tell the servers of a block apart"
        )
    if invariants.asked_wait_s(asked.request_with(experiment.parameters).path):
        return (
            f"in workload {asked.name} the server waits before it answers: the users of a slice send "
            "together and are answered together, so the slice's ends would cut off whole rounds"
        )
    return ""


def resume(store: RunStore, *, retry_failed: bool, mixed: bool = False) -> Begun:
    """Resume a run where it was interrupted.

    `retry_failed`: also repeat trials that failed or were disturbed.

    `mixed`: resume it even if programs have changed since its earlier trials.
    """
    file = run_file.read(store)
    begun = Begun(store, file, file.plan.trials, retry_failed, mixed=mixed)
    begun = given(begun, file.shard.blocks) if file.shard else begun
    return replace(begun, to_do=blocks.trials_left(begun))


def narrow(begun: Begun, trial_id: str) -> Begun:
    """Return the run with only one trial to do.

    Raises NotFound if it is not planned, already stored, or left out of a block that was chosen for others.
    """
    one = run_plan.find_trial(begun.file.plan, trial_id)
    if not begun.asks(one):
        raise NotFound(f"{trial_id} falls to another shard", "choose another trial")
    if one not in begun.to_do:
        is_stored = trial_id in begun.store.ids()
        why = "is already stored" if is_stored else "belongs to a block that another host began"
        raise NotFound(f"{trial_id} {why}", "choose another trial, or start a new run")
    if not any(one in block.trials for block in begun.file.blocks):
        chosen_for = {(each.experiment, each.block): each.servers for each in begun.file.chosen}
        kept = chosen_for[one.experiment, one.block]
        raise NotFound(
            f"{trial_id} has no part in block {one.block}, which has only the servers that open claims used "
            f"({', '.join(kept)})",
            "choose another trial, or start a new run with --only",
        )
    return _asking(begun, [one])


def given(begun: Begun, places: Collection[int]) -> Begun:
    """Return the run with only these blocks to do. `places`: of the blocks in the run's plan, from 0."""
    return _asking(begun, [trial for place in places for trial in begun.file.plan.blocks[place].trials])


def left_elsewhere(begun: Begun) -> int:
    """Return how many trials are left to other hosts, which began their blocks."""
    asked = {each.id for block in begun.file.blocks for each in block.trials if begun.asks(each)}
    return len(asked - begun.store.ids() - {each.id for each in begun.to_do})


def _asking(begun: Begun, trials: Sequence[TrialIdentity]) -> Begun:
    asked = frozenset(each.id for each in trials)
    to_do = tuple(each for each in begun.to_do if each.id in asked)
    return replace(begun, to_do=to_do, asked=asked)


def new_folder(
    runs: Path, study_name: str, scale: ScaleName, shard: Shard | None = None
) -> tuple[datetime, RunStore]:
    """Create the folder of a new run. Return the time in its name and its store.

    The time is the present, or the next second that no folder is named after.
    Raises StorageFull, NotWritable.
    """
    began = datetime.now(UTC)
    while (made := RunStore.create(runs, run_file.run_id(study_name, scale, began, shard))) is None:
        began += timedelta(seconds=1)
    return began, made


def _versions(label: str, described: Mapping[str, ServerDescription]) -> dict[str, str]:
    description = described.get(server_toml.server_of(label))
    return servers.versions(description) if description else {}


def _note(
    label: str, described: Mapping[str, ServerDescription], running: Mapping[str, Elsewhere]
) -> ServerNote:
    if label in running:
        about = "A server that ran already: the same process in every trial."
        return ServerNote(title=running[label].url, language="", io_model="", about=about, libraries={})
    description = described[server_toml.server_of(label)]
    return ServerNote(
        title=description.title,
        language=description.language,
        io_model=description.io_model,
        model_is_checked=description.model_is_checked,
        about=description.about,
        libraries=dict(description.libraries),
    )
