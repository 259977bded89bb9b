"""crumple run: begins or continues a run, shows it, and ends in its verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.commands import output, report
from crumple.commands.project_files import Project
from crumple.errors import CrumpleError, Interrupted, StorageFull, UsageError
from crumple.interrupt import interruptible
from crumple.live.run import Later, LiveView, clock
from crumple.run import brought, plan, run, store
from crumple.run.brought import Brought
from crumple.run.pace import Pace
from crumple.run.run import Begun
from crumple.run.store import StoredTrial
from crumple.server import variant
from crumple.study.study import SCALES, ScaleName, Study
from crumple.toml_file import did_you_mean

SKIPPED, NOT_VALID, INTERRUPTED = 1, 3, 130


@dataclass(frozen=True)
class Asked:
    """A new run as typed. `servers`: names and variants, several of them between commas; `own`: one's own.

    `everything`: all studies of articles. `database`: a URL; None: a private one, where one is needed.
    """

    studies: Sequence[str]
    scale: str = "quick"
    servers: Sequence[str] = ()
    own: Sequence[str] = ()
    seed: int | None = None
    only: str | None = None
    everything: bool = False
    database: str | None = None


def new(asked: Asked, as_json: bool, open_it: bool = False) -> int:
    """Run the studies one after the other; the worst of their exit codes. Several end in one page of all."""
    here, scale = Project.here(), _scale(asked.scale)
    names = _names(asked, scale, here)
    servers = [name for listed in asked.servers for name in variant.split(listed)]
    # All are planned before the first begins: a mistake in the last must not show after an hour.
    studies = [here.study(name) for name in names]
    guests = [brought.read(place, here.servers) for place in asked.own]
    own = _own(studies, scale, guests, here)
    later = [_later(each, scale, servers, own[each.name], asked.seed, here) for each in studies]
    pace, worst, done = Pace(), 0, []
    _say_all(names, later, pace)
    for index, each in enumerate(studies):
        begun = run.begin(
            each,
            scale,
            root=here.root,
            runs=here.runs,
            seed=asked.seed,
            only=servers,
            own=[guest.place for guest in own[each.name]],
        )
        begun = run.narrowed(begun, asked.only) if asked.only else begun
        code = carry_out(
            begun,
            here.root,
            as_json,
            pace=pace,
            later=later[index + 1 :],
            database=asked.database,
            tells=len(studies) == 1,
        )
        done.append(begun.store)
        if code == INTERRUPTED:
            if names[index + 1 :]:
                output.say(f"not begun: {' '.join(names[index + 1 :])}")
            return code
        worst = max(worst, code)
    if len(done) > 1:
        report.summarise_all(done, here.runs, as_json, open_it)
    return worst


def resume(
    name: str,
    studies: list[str],
    retry_failed: bool,
    only: str | None,
    as_json: bool,
    database: str | None = None,
) -> int:
    """Do what of a run is not stored yet."""
    if studies:
        raise UsageError("--resume knows its study", f"leave out {' '.join(studies)}")
    here = Project.here()
    begun = run.resume(store.find(here.runs, name), retry_failed=retry_failed)
    begun = run.narrowed(begun, only) if only else begun
    return carry_out(begun, here.root, as_json, database=database)


def carry_out(
    begun: Begun,
    root: Path,
    as_json: bool,
    *,
    pace: Pace | None = None,
    later: Sequence[Later] = (),
    database: str | None = None,
    tells: bool = True,
) -> int:
    """Execute and, where it `tells`, report; how the run came out, as an exit code. Raises StorageFull."""
    again = f"crumple run --resume {begun.file.id}"
    output.say(f"{begun.file.id}: {len(begun.to_do)} trials, seed {begun.file.seed}")
    output.say(f"stored in {begun.store.folder}")
    pace = pace or Pace()
    for stored in begun.store.trials():
        pace.ended(stored)
    try:
        with interruptible(), LiveView(begun.file, begun.to_do, pace=pace, later=later) as view:
            run.execute(begun, root, view, database)
    except Interrupted:
        done = len(begun.store.ids())
        output.say(f"interrupted; {done} of {len(begun.file.plan.trials)} trials are stored")
        output.say(f"continue with: {again}")
        return INTERRUPTED
    except StorageFull as full:
        raise StorageFull(full.message, f"free some space, then: {again}") from None
    if tells:
        report.summarise(begun.store, as_json)
    return code_of(begun.store.trials())


def code_of(trials: list[StoredTrial]) -> int:
    """3 if a trial failed or is not valid, 1 if some were skipped for want of a runtime, else 0."""
    skipped = [each for each in trials if each.failure is not None and each.failure.step == "setup"]
    if any(not each.valid for each in trials if each not in skipped):
        return NOT_VALID
    return SKIPPED if skipped else 0


def _names(asked: Asked, scale: ScaleName, here: Project) -> list[str]:
    if asked.everything:
        if asked.studies:
            raise UsageError("--all is every study of an article", f"leave out {' '.join(asked.studies)}")
        return here.of_articles(scale)
    if not asked.studies:
        raise UsageError(
            "no study named", "name one, for instance: crumple run todo-json; see crumple studies"
        )
    return list(asked.studies)


def _own(
    studies: Sequence[Study], scale: ScaleName, guests: Sequence[Brought], here: Project
) -> dict[str, list[Brought]]:
    """Study → which of one's own servers can take part. Raises CrumpleError for one that can in none."""
    found: dict[str, list[Brought]] = {each.name: [] for each in studies}
    for guest in guests:
        refused: list[CrumpleError] = []
        for each in studies:
            try:
                run.chosen(each, scale, here.servers, here.workloads, only=(), guests=[guest])
                found[each.name].append(guest)
            except CrumpleError as error:
                refused.append(error)
        if len(refused) == len(studies):
            raise refused[0]
    return found


def _later(
    each: Study,
    scale: ScaleName,
    servers: Sequence[str],
    own: Sequence[Brought],
    seed: int | None,
    here: Project,
) -> Later:
    meant = run.chosen(each, scale, here.servers, here.workloads, only=servers, guests=own)
    return Later(meant, scale, plan.plan(meant, scale, seed or 0).trials)


def _say_all(names: Sequence[str], later: Sequence[Later], pace: Pace) -> None:
    """One plan of time for several studies."""
    if len(names) < 2:
        return
    each_s = [pace.left_s(each.study, each.scale, each.trials) for each in later]
    known_s = sum(seconds for seconds in each_s if seconds is not None)
    more = " and what its servers' speed decides" if None in each_s else ""
    trials = sum(len(each.trials) for each in later)
    output.say(f"{len(names)} studies, {trials} trials: about {clock(known_s)}{more}")


def _scale(name: str) -> ScaleName:
    for scale in SCALES:
        if name == scale:
            return scale
    raise UsageError(f'no scale is called "{name}"', did_you_mean(name, SCALES))
