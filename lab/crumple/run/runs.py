"""A run: plans a study, conducts its trials in order, continues what was cut off.

What a trial does is `trial`, how servers are made ready `ready`; what the user sees meanwhile is `live`.
Nothing is computed or judged here.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from crumple import engine
from crumple.engine import Engine
from crumple.errors import NotFound, UsageError
from crumple.machine import alone, capacity, costs, facts
from crumple.record import invariants
from crumple.run import blocks, ready, run_file, run_plan
from crumple.run.blocks import Begun, Watcher
from crumple.run.ready import Brought, Elsewhere
from crumple.run.run_file import RunFile, ServerNote
from crumple.run.session import Session
from crumple.run.store import RunStore
from crumple.study import selection
from crumple.study.study import Experiment, ScaleName, Study
from crumple.subject import server_toml, servers, workload
from crumple.subject.server_toml import ServerDescription
from crumple.subject.workload import Workload

# Each by a process of its own, in about two seconds.
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
    waiting: Callable[[], None],
) -> Begun:
    """Plan a new run, of the servers `only` if any are named, and write its run.json; None draws a seed.

    `own`: folders or URLs of servers that are not the project's. `waiting`: another crumple measures, and is
    waited for. Raises UsageError, StorageFull, NotWritable, and what the engine raises.
    """
    described = servers.find(root)
    guests = [ready.read(place, described) for place in own]
    meant = chosen(asked, scale, described, workload.find(root), only=only, guests=guests)
    seed = secrets.randbelow(2**32) if seed is None else seed
    planned = run_plan.plan(meant, scale, seed)
    loaded = engine.load(root)
    described |= {each.label: each.what for each in guests if isinstance(each.what, ServerDescription)}
    running = {each.label: each.what for each in guests if isinstance(each.what, Elsewhere)}
    used = sorted({each.server for each in planned.trials})
    notes = {label: _note(label, described, running) for label in used}
    versions = {label: _versions(label, described) for label in used}
    here = capacity.facts() | _costs(meant, loaded, waiting)
    # Last, so that nothing is left of a run that cannot begin, and none begins before its turn came.
    began, store = _new_folder(runs, meant.name, scale)
    file = RunFile(
        id=store.name,
        study=meant,
        scale=scale,
        seed=seed,
        only=tuple(sorted(only)) if only else None,
        brought={each.label: each.place for each in guests},
        plan=planned,
        machine=here,
        servers=notes,
        versions=versions,
        lab_version=metadata.version("crumple"),
        engine_version=loaded.version,
        began=began.isoformat(timespec="seconds"),
    )
    run_file.write(store, file)
    return Begun(store, file, planned.trials)


def _costs(asked: Study, loaded: Engine, waiting: Callable[[], None]) -> dict[str, Any]:
    """What its claims need to know of the machine, measured before anything else runs here."""
    if not any(claim.kind == "figure" and claim.cost for claim in asked.claims):
        return {}
    with alone.turn(waiting):
        return {"costs": costs.readings(loaded, facts.usable_cores()[-1], COST_READINGS)}


def chosen(
    asked: Study,
    scale: ScaleName,
    described: Mapping[str, ServerDescription],
    workloads: Mapping[str, Workload],
    *,
    only: Collection[str],
    guests: Sequence[Brought] = (),
) -> Study:
    """The study as it is at the scale, with one's own servers and without those left out.

    A server that cannot run here stays in it, and another has the twin. Raises UsageError, also for values of
    parameters that a workload does not take.
    """
    meant = asked.at(scale)
    for guest in guests:
        if isinstance(guest.what, Elsewhere):
            answers = ready.answered(guest.what, list(meant.experiments.values()), workloads)
        else:
            answers = set(guest.what.workloads)
        meant = selection.joined(meant, guest.label, answers)
    if only:
        names = [*only, *(guest.label for guest in guests)]
        meant = selection.restricted(meant, names, server_toml.defaults(described))
    own = {each.label: each.what for each in guests if isinstance(each.what, ServerDescription)}
    meant = selection.with_twins_that_run(meant, _missing(meant, {**described, **own}))
    for name, experiment in meant.experiments.items():
        try:
            workloads[experiment.workload].request_with(experiment.parameters)
            if canary := experiment.canary:
                workloads[canary.workload].request_with(canary.parameters)
        except UsageError as error:
            raise UsageError(f"{asked.name}: experiment {name}: {error.message}", error.remedy) from None
        if experiment.scales[scale].slices > 1 and (why := _unsliced(experiment, workloads)):
            raise UsageError(f"{asked.name}: experiment {name}: {why}", "leave slices out")
    return meant


def _missing(meant: Study, described: Mapping[str, ServerDescription]) -> set[str]:
    """Return the names of the study's servers that cannot run on this machine."""
    used = {server_toml.server_of(label) for label in meant.servers} & set(described)
    return {name for name in used if isinstance(servers.readiness(described[name]), servers.Missing)}


def _unsliced(experiment: Experiment, workloads: Mapping[str, Workload]) -> str:
    """Why its load cannot be sliced; empty: it can."""
    asked = workloads[experiment.workload]
    if asked.database:
        return f"workload {asked.name} asks a database, which counts the queries of all servers of a block"
    if invariants.asked_wait_s(asked.request_with(experiment.parameters).path):
        return (
            f"the server waits in workload {asked.name}: the users of a slice ask at once and are answered "
            "at once, so that its ends cut whole rounds off"
        )
    return ""


def resume(store: RunStore, *, retry_failed: bool, mixed: bool = False) -> Begun:
    """Pick up a run where it was cut off. Failed trials stay as they are unless they are to be retried.

    `mixed`: also with other programs than those of the trials it has.
    """
    file = run_file.read(store)
    begun = Begun(store, file, file.plan.trials, retry_failed, mixed=mixed)
    return replace(begun, to_do=blocks.left(begun))


def narrowed(begun: Begun, trial_id: str) -> Begun:
    """The same run with one trial to do. Raises NotFound if it is not planned or is stored already."""
    one = run_plan.named(begun.file.plan, trial_id)
    if one not in begun.to_do:
        raise NotFound(f"{trial_id} is stored already", "take another one, or start a new run")
    return replace(begun, to_do=(one,), only=one.id)


def execute(begun: Begun, root: Path, watcher: Watcher, database_url: str | None = None) -> None:
    """Do what is to be done of one run; raises what a session does."""
    Session([begun], root).conduct(watcher, database_url)


def _new_folder(runs: Path, study_name: str, scale: ScaleName) -> tuple[datetime, RunStore]:
    """The present, or the first second after it in which no run of that name began, and the folder it names.

    Raises StorageFull, NotWritable.
    """
    began = datetime.now(UTC)
    while (made := RunStore.create(runs, run_file.run_id(study_name, scale, began))) is None:
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
