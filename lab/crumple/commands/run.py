"""crumple run: begins or resumes runs, shows their progress, and prints their verdicts.

crumple try: installs what the articles' studies need, then runs each of them at its shortest scale.
"""

import contextlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.text import Text

from crumple import extras
from crumple.commands import output, report, run_gate
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.errors import (
    EXIT_INTERRUPTED,
    EXIT_NOT_VALID,
    ClusterLost,
    CrumpleError,
    Interrupted,
    StorageFull,
    UsageError,
)
from crumple.gate import condition
from crumple.gate.condition import Condition
from crumple.interrupt import interruptible
from crumple.load import flag_files, typed_values
from crumple.machine import alone
from crumple.parsing import did_you_mean
from crumple.run import ready, run_conditions, run_file, run_plan, runs, store
from crumple.run.blocks import Begun
from crumple.run.pace import TrialPace
from crumple.run.ready import Brought
from crumple.run.run_live import LiveView
from crumple.run.session import BUDGETS_S, Session, SessionOutlook
from crumple.run.store import StoredTrial
from crumple.study.claim import SCALES, ScaleName
from crumple.study.study import Study
from crumple.subject import database, installing, server_toml

QUICK: ScaleName = "quick"
BY_LENGTH: tuple[ScaleName, ...] = ("full", "quick", "tour")


@dataclass(frozen=True)
class RunArguments:
    """The arguments of `crumple run` as typed. `scale` None: the largest that fits `budget`, or QUICK.

    `servers`: names and variants, each string a list with commas. `own`: folders and URLs of the user's
    servers. `only`: the id of one trial. `everything`: all studies of articles. `database`: the URL of the
    user's database; None: a private one. `retry_failed`, `mixed`: only for a resumed run, see `Begun`.
    `budget`: how long all runs may take, such as "30m"; None: the budget of the scale. `shard`: which part of
    the run, such as "2/5"; None: all of it. `cluster`: the address of the cluster that measures; None: this
    machine does. `fail_if`: conditions on the verdicts; `junit`: a file for CI platforms.
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
    budget: str | None = None
    shard: str | None = None
    cluster: str | None = None
    fail_if: Sequence[str] = ()
    junit: Path | None = None

    @property
    def server_names(self) -> list[str]:
        """Return `servers`, with the lists split."""
        return [name for listed in self.servers for name in server_toml.split(listed)]

    def part(self) -> tuple[int, int] | None:
        """Return which part of how many `shard` means; None: the whole run. Raises UsageError."""
        if self.shard is None:
            return None
        found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", self.shard)
        if found is None or int(found[1]) > int(found[2]):
            raise UsageError(f"--shard {self.shard} is no part of a run", "write 2/5 for the second of five")
        if self.seed is None:
            raise UsageError(
                "--shard needs the seed of the whole run", "give all shards the same: --seed 1, for instance"
            )
        if self.only:
            raise UsageError("--only asks for one trial, --shard for many", "leave one of them out")
        return int(found[1]), int(found[2])

    def check_cluster(self) -> None:
        """Raise UsageError if a flag makes no sense on a cluster, or its address is without TLS."""
        if self.cluster is None:
            return
        extras.require(extras.CLUSTERS)
        # Imported here, as what reaches a cluster is an extra.
        from crumple.cluster import cluster_file

        cluster_file.refuse_without_tls(self.cluster)
        if self.own:
            message = "--server names a server of this machine, which the hosts of a cluster do not have"
            raise UsageError(message, "put it into the project's servers/ on all of them")
        if self.shard:
            message = "a cluster shares out all of a run, and --shard asks for a part of it"
            raise UsageError(message, "leave one of them out")
        if self.retry_failed:
            message = "--retry-failed repeats trials on the host that had them, and a cluster chooses none"
            raise UsageError(message, "start a new run")

    def need_cluster(self) -> None:
        """Raise UsageError if no cluster of this user is up at the address."""
        if self.cluster is not None:
            from crumple.cluster import cluster_file

            known = cluster_file.security(self.cluster)
            cluster_file.refuse_without_certificate(self.cluster, known, "client")

    def conditions(self) -> tuple[Condition, ...]:
        """Return what `fail_if` means. Raises UsageError, also for a file that cannot be written."""
        studies = [(name, Path(name)) for name in self.studies]
        flag_files.refuse([("--junit", self.junit)], studies)
        return condition.read(self.fail_if, run_conditions.KINDS)


def new(asked: RunArguments, as_json: bool, open_it: bool = False) -> int:
    """Run the studies in one session and return the worst exit code. Several studies also get one page."""
    if asked.retry_failed:
        raise UsageError("--retry-failed needs a run to resume", "name it with --resume")
    if asked.mixed:
        raise UsageError("--mixed needs a run to resume", "name it with --resume")
    if asked.database:
        database.check(asked.database)
    asked.part()
    asked.check_cluster()
    fail_if = asked.conditions()
    here, budget_s = Project.here(), _budget_s(asked)
    scale = _scale(asked.scale) if asked.scale else _fitting(asked, budget_s, here)
    # Plan all studies before the first begins, so that a mistake in the last one shows at once.
    studies = [here.study(name) for name in _names(asked, scale, here)]
    if not studies:
        raise UsageError(f"no study of an article has a scale {scale}", "name a study, or another --scale")
    guests = [ready.read(place, here.servers) for place in asked.own]
    own = _own(studies, scale, guests, here)
    for each in studies:
        _check(each, scale, own[each.name], asked, here)
    asked.need_cluster()
    runs = _all_begun(studies, scale, own, asked, here)
    try:
        code = carry_out(runs, here.root, budget_s=budget_s, database=asked.database, cluster=asked.cluster)
    except CrumpleError:
        # What ended the runs, a full disk for instance, may also fail the report. Raise the first error.
        with contextlib.suppress(CrumpleError):
            _summarise(runs, here, as_json, open_it)
        raise
    if code == EXIT_INTERRUPTED:
        return code
    stores = [each.store for each in runs]
    # The pages show them, too.
    outcomes = run_gate.judge(stores, fail_if)
    _summarise(runs, here, as_json, open_it)
    return run_gate.code_after(stores, code, outcomes, asked.junit, as_json=as_json)


def resume(listed: str, asked: RunArguments, as_json: bool, open_it: bool = False) -> int:
    """Execute what is left of stored runs, whose names have commas between them.

    Raises UsageError for flags that only a new run takes.
    """
    flags = {
        "--scale": asked.scale is not None,
        "--servers": asked.servers,
        "--server": asked.own,
        "--seed": asked.seed is not None,
        "--shard": asked.shard,
        "--all": asked.everything,
    }
    if stray := [*asked.studies, *(flag for flag, given in flags.items() if given)]:
        raise UsageError("--resume continues a run as it was begun", f"leave out {' '.join(stray)}")
    names = [*dict.fromkeys(listed.split(","))]
    if asked.only and len(names) > 1:
        raise UsageError("--only names a trial of one run", "name one run with --resume")
    asked.check_cluster()
    fail_if = asked.conditions()
    here = Project.here()
    found = [store.find(here.runs, name) for name in names]
    resumed = [runs.resume(each, retry_failed=asked.retry_failed, mixed=asked.mixed) for each in found]
    if asked.only:
        resumed = [runs.narrow(each, asked.only) for each in resumed]
    if asked.cluster:
        for each in resumed:
            runs.refuse_map(each.file.study)
        asked.need_cluster()
    before = [each.to_do for each in resumed]
    for each in resumed:
        if elsewhere := runs.left_elsewhere(each):
            output.say(
                f"left out of {each.file.id}: {numerals.count(elsewhere, 'trial')} of blocks that another "
                "host began; resume the run, or its shard, there"
            )
    code = carry_out(
        resumed, here.root, budget_s=_budget_s(asked), database=asked.database, cluster=asked.cluster
    )
    if code == EXIT_INTERRUPTED:
        return code
    for begun, to_do in zip(resumed, before, strict=True):
        if not any(each.id in begun.store.ids() for each in to_do):
            output.say(_nothing_left(begun))
    stores = [each.store for each in resumed]
    outcomes = run_gate.judge(stores, fail_if)
    _summarise(resumed, here, as_json, open_it)
    return run_gate.code_after(stores, code, outcomes, asked.junit, as_json=as_json)


def _nothing_left(begun: Begun) -> str:
    """Return why a resumed run got no trial, and what to do instead."""
    stopped = run_file.read(begun.store).stopped
    why = "; ".join(f"{experiment}: {reason}" for experiment, reason in stopped.items())
    said = f"nothing was left to run ({why})" if why else "nothing was left to run: all its trials are stored"
    return f"{said}; for more trials start a new run"


def carry_out(
    runs: Sequence[Begun],
    root: Path,
    *,
    budget_s: float | None = None,
    database: str | None = None,
    cluster: str | None = None,
) -> int:
    """Execute the runs in one session and return the exit code. `cluster`: where, if not on this machine.

    Raises StorageFull, NotWritable, and CrumpleError if no cluster is reached, or it is lost.
    """
    output.end_leftovers()
    for begun in runs:
        output.say(f"{begun.file.id}: seed {begun.file.seed}, stored in {begun.store.folder}")
    if cluster is None:
        return _conduct(Session(runs, root, budget_s), LiveView, runs, database)
    # Imported here, as what reaches a cluster is an extra.
    from crumple.commands import run_on_cluster

    with run_on_cluster.reached(cluster, runs, root, budget_s, database) as (session, view):
        return _conduct(session, view, runs, database, f" --cluster {cluster}")


class _View(Protocol):
    """Makes what is shown of a session."""

    def __call__(
        self,
        name: str,
        outlook: Callable[[], SessionOutlook],
        *,
        answer: Callable[[Begun], Text] | None,
    ) -> LiveView: ...


def _conduct(
    session: Session, view_of: _View, runs: Sequence[Begun], database: str | None, where: str = ""
) -> int:
    """Conduct a session and return the exit code. `where`: what `crumple run` needs to continue it there."""
    output.say(_how_long(session))
    name = runs[0].file.id if len(runs) == 1 else numerals.count(len(runs), "study", "studies")
    again = "; ".join(f"crumple run --resume {begun.file.id}{where}" for begun in runs)
    try:
        answer = _answer if len(runs) > 1 else None
        with interruptible(), view_of(name, lambda: session.outlook, answer=answer) as view:
            session.conduct(view, database)
    except Interrupted:
        done, planned = session.outlook.trials, session.outlook.of
        output.say(f"interrupted; {done} of {planned} trials are stored")
        output.say(f"continue with: {again}")
        return EXIT_INTERRUPTED
    except StorageFull as full:
        raise StorageFull(full.message, f"free some space, then: {again}") from None
    except ClusterLost as lost:
        done = session.outlook.trials
        message = f"{lost.message}; {numerals.count(done, 'trial')} are stored"
        raise ClusterLost(message, f"{lost.remedy}, then: {again}") from None
    return max(code_of(begun.store.trials()) for begun in runs)


def _answer(begun: Begun) -> Text:
    """Return the answer to the study of a run that goes on with others."""
    # The report's packages take a moment to import, which the first trial need not wait for.
    from crumple.run.report.claim_lines import answer_line

    return answer_line(report.view_of(begun.store))


def _how_long(session: Session) -> str:
    """Return how long the session takes: its first blocks, and all of it if its claims decide about more."""
    first_s, budget_s = session.first_s, session.budget_s
    first = f"about {numerals.clock(first_s)}"
    if not session.adapts or budget_s == math.inf:
        return first
    if first_s is not None and first_s >= budget_s:
        return f"{first} for the first blocks of each experiment; the time allows no more"
    most = f"about {numerals.clock(budget_s)} in all"
    return f"{first} for the first blocks; {most}, while something is undecided"


def code_of(trials: list[StoredTrial]) -> int:
    """Return 3 if a trial failed, else 0: whatever the claims came to, the run came to its end."""
    return EXIT_NOT_VALID if any(each.status == "failed" and not each.skipped for each in trials) else 0


def _names(asked: RunArguments, scale: ScaleName, here: Project) -> list[str]:
    if asked.everything:
        if asked.studies:
            raise UsageError("--all runs every study of an article", f"leave out {' '.join(asked.studies)}")
        return here.of_articles(scale)
    if not asked.studies:
        raise UsageError(
            "no study named", "name one, for instance: crumple run todo-json; see crumple studies"
        )
    return list(asked.studies)


def _own(
    studies: Sequence[Study], scale: ScaleName, guests: Sequence[Brought], here: Project
) -> dict[str, list[Brought]]:
    """Return study → the user's servers that can take part. Raises CrumpleError if one can in no study."""
    found: dict[str, list[Brought]] = {each.name: [] for each in studies}
    for guest in guests:
        refused: list[CrumpleError] = []
        for each in studies:
            try:
                runs.choose(each, scale, here.servers, here.workloads, only=(), guests=[guest])
                found[each.name].append(guest)
            except CrumpleError as error:
                refused.append(error)
        if len(refused) == len(studies):
            raise refused[0]
    return found


def _check(each: Study, scale: ScaleName, own: Sequence[Brought], asked: RunArguments, here: Project) -> None:
    """Plan the study and discard the plan. Raises UsageError or NotFound if it cannot be planned."""
    if asked.cluster:
        runs.refuse_map(each)
    only = asked.server_names
    meant = runs.choose(each, scale, here.servers, here.workloads, only=only, guests=own)
    planned = run_plan.plan(meant, scale, asked.seed or 0)
    if asked.only:
        run_plan.find_trial(planned, asked.only)


def _all_begun(
    studies: Sequence[Study],
    scale: ScaleName,
    own: Mapping[str, Sequence[Brought]],
    asked: RunArguments,
    here: Project,
) -> list[Begun]:
    """Begin a run of each study. If one cannot begin, remove the others."""
    runs: list[Begun] = []
    try:
        for each in studies:
            runs.append(_begun(each, scale, own[each.name], asked, here))
    except BaseException:
        for begun in runs:
            begun.store.discard()
        raise
    return runs


def _begun(
    each: Study, scale: ScaleName, own: Sequence[Brought], asked: RunArguments, here: Project
) -> Begun:
    begun = runs.begin(
        each,
        scale,
        root=here.root,
        runs=here.runs,
        seed=asked.seed,
        only=asked.server_names,
        own=[guest.place for guest in own],
        shard=asked.part(),
        waiting=lambda: output.say(alone.WAITING),
    )
    for line in _twins_moved(each.at(scale), begun.file.study):
        output.say(line)
    return runs.narrow(begun, asked.only) if asked.only else begun


def _twins_moved(asked: Study, meant: Study) -> list[str]:
    """Return a line for each twin that moved to another server: "demo: node-http has the twin instead …"."""
    moved = Counter(
        (asked.experiments[name].twin, each.twin)
        for name, each in meant.experiments.items()
        if name in asked.experiments
        and each.twin != asked.experiments[name].twin
        and any(scale.twin for scale in each.scales.values())
    )
    return [
        f"{asked.name}: {now} has the twin instead of {before}, which does not run, in "
        f"{numerals.count(number, 'experiment')}"
        for (before, now), number in moved.items()
    ]


def _summarise(runs: Sequence[Begun], here: Project, as_json: bool, open_it: bool) -> None:
    if len(runs) == 1:
        report.summarise(runs[0].store, as_json, open_it)
    else:
        report.summarise_all([each.store for each in runs], here.runs, as_json, open_it)


def _budget_s(asked: RunArguments) -> float | None:
    return None if asked.budget is None else typed_values.read_duration_s("--budget", asked.budget)


def _fitting(asked: RunArguments, budget_s: float | None, here: Project) -> ScaleName:
    """Return the largest scale at which the first blocks of all experiments fit into the budget."""
    if budget_s is None:
        return QUICK
    for scale in BY_LENGTH:
        studies = [here.study(name) for name in _names(asked, scale, here)]
        if studies and all(each.has(scale) for each in studies) and _first_s(studies, scale) <= budget_s:
            return scale
    return BY_LENGTH[-1] if asked.everything else QUICK


def _first_s(studies: Sequence[Study], scale: ScaleName) -> float:
    """Return how long the first blocks of the studies take, as far as that is known before the run."""
    pace, total_s = TrialPace(), 0.0
    for each in (study.at(scale) for study in studies):
        first = run_plan.first_trials(each, run_plan.plan(each, scale, 0))
        total_s += pace.left_s(each, scale, first) or 0.0
    return total_s


def _scale(name: str) -> ScaleName:
    for scale in SCALES:
        if name == scale:
            return scale
    raise UsageError(f'no scale is called "{name}"', did_you_mean(name, SCALES))


SCALE: ScaleName = "tour"


def tour(*, open_it: bool, as_json: bool) -> int:
    """Set up the servers, run the studies and return the exit code of the runs.

    A server that cannot be set up here is skipped, and its reason is printed.
    """
    here = Project.here()
    names = here.of_articles(SCALE)
    studies = [here.study(name).at(SCALE) for name in names]
    servers = sorted({server_toml.server_of(label) for each in studies for label in each.servers})
    minutes = numerals.count(round(BUDGETS_S[SCALE] / 60), "minute")
    output.say(
        f"crumple try: sets up {len(servers)} servers, runs {len(names)} studies at the shortest scale "
        f"(about {minutes} after the set-up), and shows the verdicts"
    )
    asked = {name: here.workloads[name] for each in studies for name in each.workloads}
    with interruptible():
        installing.prepare(here.chosen(servers), asked, yes=True, say=output.say, ask=output.ask)
    return new(RunArguments(studies=names, scale=SCALE), as_json, open_it)
