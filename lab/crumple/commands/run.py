"""crumple run: begins or continues a run, shows it, and ends in its verdicts."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.commands import cleared, output, report
from crumple.commands.project_files import Project
from crumple.database import database
from crumple.drawing import numerals
from crumple.errors import CrumpleError, Interrupted, StorageFull, UsageError
from crumple.interrupt import interruptible
from crumple.live.run import Later, LiveView
from crumple.machine import turns
from crumple.run import brought, plan, run, store
from crumple.run.brought import Brought
from crumple.run.pace import Pace
from crumple.run.run import Begun
from crumple.run.store import RunStore, StoredTrial
from crumple.server import variant
from crumple.study.study import SCALES, ScaleName, Study
from crumple.toml_file import did_you_mean

QUICK = "quick"
SKIPPED, NOT_VALID, INTERRUPTED = 1, 3, 130


@dataclass(frozen=True)
class Asked:
    """A run as typed. `servers`: names and variants, several of them between commas; `own`: one's own.

    `scale`: None for QUICK. `everything`: all studies of articles. `database`: a URL; None: a private one,
    where one is needed. `only`: a trial. `retry_failed`: of a run that is resumed, what failed too;
    `mixed`: though programs have changed.
    """

    studies: Sequence[str]
    scale: str | None = None
    servers: Sequence[str] = ()
    own: Sequence[str] = ()
    seed: int | None = None
    only: str | None = None
    everything: bool = False
    database: str | None = None
    retry_failed: bool = False
    mixed: bool = False

    @property
    def server_names(self) -> list[str]:
        """Each of `servers` by itself."""
        return [name for listed in self.servers for name in variant.split(listed)]


def new(asked: Asked, as_json: bool, open_it: bool = False) -> int:
    """Run the studies one after the other; the worst of their exit codes. Several end in one page of all."""
    if asked.retry_failed:
        raise UsageError("--retry-failed is about a run that is there", "name it with --resume")
    if asked.mixed:
        raise UsageError("--mixed is about a run that is there", "name it with --resume")
    if asked.database:
        database.check(asked.database)
    here, scale = Project.here(), _scale(asked.scale or QUICK)
    names = _names(asked, scale, here)
    # All are planned before the first begins: a mistake in the last must not show after an hour.
    studies = [here.study(name) for name in names]
    guests = [brought.read(place, here.servers) for place in asked.own]
    own = _own(studies, scale, guests, here)
    later = [_later(each, scale, own[each.name], asked, here) for each in studies]
    pace, worst = Pace(), 0
    done: list[RunStore] = []
    _say_all(names, later, pace)
    try:
        for index, each in enumerate(studies):
            begun = _begun(each, scale, own[each.name], asked, here)
            code = carry_out(
                begun,
                here.root,
                as_json,
                pace=pace,
                later=later[index + 1 :],
                database=asked.database,
                tells=len(studies) == 1,
            )
            if code == INTERRUPTED:
                _say_not_begun(names[index + 1 :])
                return code
            done.append(begun.store)
            worst = max(worst, code)
    except CrumpleError:
        _say_not_begun(names[len(done) + 1 :])
        # The reason may keep the page from being drawn, too, and is what is to be said.
        with contextlib.suppress(CrumpleError):
            if done:
                report.summarise_all(done, here.runs, as_json, open_it)
        raise
    if len(done) > 1:
        report.summarise_all(done, here.runs, as_json, open_it)
    return worst


def resume(name: str, asked: Asked, as_json: bool) -> int:
    """Do what of a run is not stored yet. Raises UsageError for what only a new run can be asked."""
    flags = {
        "--scale": asked.scale is not None,
        "--servers": asked.servers,
        "--server": asked.own,
        "--seed": asked.seed is not None,
        "--all": asked.everything,
    }
    if stray := [*asked.studies, *(flag for flag, given in flags.items() if given)]:
        raise UsageError("--resume goes on with a run as it was begun", f"leave out {' '.join(stray)}")
    here = Project.here()
    found = store.find(here.runs, name)
    begun = run.resume(found, retry_failed=asked.retry_failed, mixed=asked.mixed)
    begun = run.narrowed(begun, asked.only) if asked.only else begun
    return carry_out(begun, here.root, as_json, database=asked.database)


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
    """Execute and, where it `tells`, report; how the run came out, as an exit code.

    Raises StorageFull, NotWritable.
    """
    cleared.away()
    again = f"crumple run --resume {begun.file.id}"
    output.say(f"{begun.file.id}: {len(begun.to_do)} trials, seed {begun.file.seed}")
    output.say(f"stored in {begun.store.folder}")
    pace = pace or Pace()
    to_do = {each.id for each in begun.to_do}
    for stored in begun.store.trials():
        if stored.trial.id not in to_do:
            pace.ended(stored)
    try:
        with interruptible(), LiveView(begun.file, begun.to_do, pace=pace, later=later) as view:
            run.execute(begun, root, view, database)
    except Interrupted:
        done = len(begun.store.ids() & {each.id for each in begun.file.plan.trials})
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
    gone = store.replaced(trials)
    trials = [each for each in trials if each.trial.id not in gone]
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


def _later(each: Study, scale: ScaleName, own: Sequence[Brought], asked: Asked, here: Project) -> Later:
    only = asked.server_names
    meant = run.chosen(each, scale, here.servers, here.workloads, only=only, guests=own)
    planned = plan.plan(meant, scale, asked.seed or 0)
    return Later(meant, scale, (plan.named(planned, asked.only),) if asked.only else planned.trials)


def _begun(each: Study, scale: ScaleName, own: Sequence[Brought], asked: Asked, here: Project) -> Begun:
    begun = run.begin(
        each,
        scale,
        root=here.root,
        runs=here.runs,
        seed=asked.seed,
        only=asked.server_names,
        own=[guest.place for guest in own],
        waiting=lambda: output.say(turns.WAITING),
    )
    return run.narrowed(begun, asked.only) if asked.only else begun


def _say_not_begun(names: Sequence[str]) -> None:
    if names:
        output.say(f"not begun: {' '.join(names)}")


def _say_all(names: Sequence[str], later: Sequence[Later], pace: Pace) -> None:
    """One plan of time for several studies."""
    if len(names) < 2:
        return
    each_s = [pace.left_s(each.study, each.scale, each.trials) for each in later]
    known_s = sum(seconds for seconds in each_s if seconds is not None)
    more = " and what its servers' speed decides" if None in each_s else ""
    trials = sum(len(each.trials) for each in later)
    output.say(f"{len(names)} studies, {trials} trials: about {numerals.clock(known_s)}{more}")


def _scale(name: str) -> ScaleName:
    for scale in SCALES:
        if name == scale:
            return scale
    raise UsageError(f'no scale is called "{name}"', did_you_mean(name, SCALES))
