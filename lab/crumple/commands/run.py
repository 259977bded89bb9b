"""crumple run: begins or continues a run, shows it, and ends in its verdicts."""

from pathlib import Path

from crumple import run, store
from crumple.commands import output, report
from crumple.commands.project_files import Project
from crumple.errors import Interrupted, StorageFull, UsageError
from crumple.interrupt import interruptible
from crumple.live import LiveView
from crumple.run import Begun
from crumple.store import StoredTrial
from crumple.study import SCALES, ScaleName
from crumple.toml_file import did_you_mean

SKIPPED, NOT_VALID, INTERRUPTED = 1, 3, 130


def new(
    names: list[str], scale: str, only_servers: list[str], seed: int | None, only: str | None, as_json: bool
) -> int:
    """Run the studies one after the other; the worst of their exit codes."""
    if not names:
        raise UsageError(
            "no study named", "name one, for instance: crumple run todo-json; see crumple studies"
        )
    here = Project.here()
    # All are read before the first begins: a mistake in the last must not show after an hour.
    studies = [here.study(name) for name in names]
    worst = 0
    for each in studies:
        begun = run.begin(each, _scale(scale), root=here.root, runs=here.runs, seed=seed, only=only_servers)
        code = carry_out(run.narrowed(begun, only) if only else begun, here.root, as_json)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


def resume(name: str, studies: list[str], retry_failed: bool, only: str | None, as_json: bool) -> int:
    """Do what of a run is not stored yet."""
    if studies:
        raise UsageError("--resume knows its study", f"leave out {' '.join(studies)}")
    here = Project.here()
    begun = run.resume(store.find(here.runs, name), retry_failed=retry_failed)
    return carry_out(run.narrowed(begun, only) if only else begun, here.root, as_json)


def carry_out(begun: Begun, root: Path, as_json: bool) -> int:
    """Execute and report; how the run came out, as an exit code. Raises StorageFull."""
    again = f"crumple run --resume {begun.file.id}"
    output.say(f"{begun.file.id}: {len(begun.to_do)} trials, seed {begun.file.seed}")
    output.say(f"stored in {begun.store.folder}")
    try:
        with interruptible(), LiveView(begun.file, len(begun.to_do)) as view:
            run.execute(begun, root, view)
    except Interrupted:
        stored = len(begun.store.ids())
        output.say(f"interrupted; {stored} of {len(begun.file.plan.trials)} trials are stored")
        output.say(f"continue with: {again}")
        return INTERRUPTED
    except StorageFull as full:
        raise StorageFull(full.message, f"free some space, then: {again}") from None
    report.summarise(begun.store, as_json)
    return code_of(begun.store.trials())


def code_of(trials: list[StoredTrial]) -> int:
    """3 if a trial failed or is not valid, 1 if some were skipped for want of a runtime, else 0."""
    skipped = [each for each in trials if each.failure is not None and each.failure.step == "setup"]
    if any(not each.valid for each in trials if each not in skipped):
        return NOT_VALID
    return SKIPPED if skipped else 0


def _scale(name: str) -> ScaleName:
    for scale in SCALES:
        if name == scale:
            return scale
    raise UsageError(f'no scale is called "{name}"', did_you_mean(name, SCALES))
