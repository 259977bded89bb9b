"""Execute one trial, step by step: start → check answers → fitness → load → check again → stop → validity.

Each step has a module of its own. An error in any step ends the trial, which is then stored as failed, with
the step and the reason; only an interruption and a full disk are raised. A load may be split into slices
(`slices`): the engine holds it while other servers have theirs (`in_turns`).
"""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from crumple import contract, engine
from crumple.engine import Engine, OnProgress
from crumple.errors import CrumpleError, NoAnswer, ServerFailed, StorageFull
from crumple.load import canary
from crumple.load.canary import LightRequests
from crumple.load.engine_spec import cores_of
from crumple.machine import capacity
from crumple.machine.ceiling import Ceiling
from crumple.record import disturbance, growth, invariants, validity
from crumple.record.disturbance import Disturbance
from crumple.record.validity import Validity
from crumple.run import database_part, ready, slices
from crumple.run.ready import Elsewhere, Lent
from crumple.run.slices import Turns
from crumple.run.store import DatabaseFacts, Failure, ProgramHashes, StoredServer, StoredTrial, TrialIdentity
from crumple.study.study import Experiment
from crumple.study.study_load import Scale
from crumple.subject import answer_check, servers
from crumple.subject.database import OnDemand
from crumple.subject.workload import Workload

# Milliseconds between two samples of the server's processes: a measured phase of two seconds has twenty.
PROBE_INTERVAL_MS = 100
# How long a server may take to work off the requests left from the load: 4,096 queued connections, each of
# which keeps one of 150 workers busy for a second, take 27 s.
WORKED_OFF_S = 30.0
LOOPBACK = "127."


@dataclass(frozen=True)
class Job:
    """All that one trial needs."""

    trial: TrialIdentity
    experiment: Experiment
    """The experiment, reduced to the run's scale."""
    scale: Scale
    workload: Workload
    built: servers.Built | Elsewhere
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    """The server's, with defaults filled in."""
    ceiling: Callable[[contract.TrialRecord], Ceiling | None] = lambda _: None
    """Returns the engine's ceiling for a record, or None if it is not known or far away; is called after the
    server has ended."""
    beside: Workload | None = None
    """What the canary asks."""
    databases: OnDemand | None = None
    """The run's databases; None: a trial that needs a database starts its own."""
    programs: ProgramHashes | None = None
    """The programs that the trial is measured with."""
    mixed: str = ""
    """A warning that they differ from earlier trials of the run; empty if they do not."""


def refuse(trial: TrialIdentity, failure: Failure, versions: Mapping[str, str]) -> StoredTrial:
    """Return the failed trial of a server that is not ready or could not be built."""
    return StoredTrial(
        trial=trial,
        status="failed",
        failure=failure,
        server=StoredServer(versions=dict(versions)),
        host={},
        record=None,
        problems=(),
        warnings=(),
        overhead_s=0.0,
    )


def fit(job: Job) -> capacity.FittedShape:
    """Return the experiment's load shape, with no more connections than this machine allows."""
    return capacity.fitted(job.experiment.shape.drawn(job.scale.stop.at_most_s), capacity.limits())


def _workers(job: Job) -> int | None:
    """Return how many requests the server can process at once; None if that is not limited or not known."""
    if isinstance(job.built, Elsewhere):
        return None
    return invariants.workers(job.built.description.io_model, job.settings)


def spec_of(job: Job, address: str, pid: int | None, cores: tuple[int, ...]) -> contract.TrialSpec:
    """Return the engine's spec of the trial. `cores`: the engine's; empty leaves it unpinned."""
    experiment, scale, load = job.experiment, job.scale, fit(job)
    written = scale.warm_up_for(job.trial.server)
    most = capacity.connections_of(load.shape)
    sources = load.sources if address.startswith(LOOPBACK) else ()
    warm_up = None
    if written:
        connections = written.connections and min(written.connections, most)
        warm_up = contract.WarmUpSpec(connections=connections, pauses=written.pauses, stop=written.stop())
    return contract.TrialSpec(
        label=job.trial.id,
        target=contract.Target(address=address, host=address, sources=sources),
        requests=(job.workload.request_with(experiment.parameters),),
        shape=load.shape,
        connection=experiment.connection,
        warm_up=warm_up,
        stop=scale.stop.stop(),
        timeouts=contract.TimeoutSpec(
            connect_s=experiment.timeouts.connect_s, request_s=experiment.timeouts.request_s
        ),
        threads=experiment.threads,
        cores=cores,
        probe=contract.ProbeSpec(
            interval_ms=PROBE_INTERVAL_MS,
            server_pid=pid,
            stages=pid is not None,
            tasks=pid is not None,
            dependencies=pid is not None,
        ),
        seed=job.trial.seed,
    )


def _canary(job: Job) -> LightRequests | None:
    written = job.experiment.canary
    if written is None or job.beside is None:
        return None
    return LightRequests(job.beside.request_with(written.parameters), written.rate_per_s)


def _verify(job: Job, address: str) -> None:
    built = job.built
    keeps = not isinstance(built, servers.Built) or built.description.keeps_connections(job.settings)
    answer_check.answers(address, job.workload, job.experiment.parameters, keeps=keeps)
    if job.experiment.canary is not None and job.beside is not None:
        answer_check.answers(address, job.beside, job.experiment.canary.parameters, keeps=keeps)


def _verify_after(job: Job, address: str) -> tuple[str, ...]:
    """Check the answers again after the load, and return the warnings.

    The server may still work on requests whose clients are gone, so it gets WORKED_OFF_S to answer. If it
    does not answer in that time, its measurement still counts, with a warning.
    """
    deadline = time.monotonic() + WORKED_OFF_S
    while True:
        try:
            _verify(job, address)
            return ()
        except NoAnswer:
            if time.monotonic() > deadline:
                return ("the server gave no answer when asked again after the load: it may be stuck",)


def _measure(course: "TrialInProgress", job: Job, load: Engine, on_progress: OnProgress) -> Generator[None]:
    """Execute the steps up to "stop". Yield before each slice and after the last, the server suspended."""
    experiment = job.experiment
    cores = capacity.cores_for(experiment.placement, experiment.threads, experiment.server_cores)
    course.server_cores = cores.server
    course.step = "start"
    elsewhere = isinstance(job.built, Elsewhere)
    with (
        database_part.part(job.databases, job.workload, job.beside, cores.server, elsewhere) as data,
        ready.start(
            job.built, cores=cores.server, settings=dict(job.settings), environment=data.environment()
        ) as running,
    ):
        course.start_s = running.start_s
        if elsewhere:
            course.server_cores = cores_of(running.pid)
        try:
            course.step = "answers"
            _verify(job, running.address)
            course.step = "fitness"
            put_on = fit(job)
            fitness = capacity.fitness(capacity.connections_of(put_on.shape), max(1, len(put_on.sources)))
            course.host = {**fitness.facts, "problems": list(fitness.problems)}
            course.step = "engine"
            spec = spec_of(job, running.address, running.pid, cores.engine)
            data.count()
            if job.scale.slices > 1:
                course.record = yield from _in_slices(running, spec, course.turns, load, on_progress)
            else:
                course.record, course.canary = canary.beside(
                    load, spec, _canary(job), _look_first(on_progress, data.look)
                )
            data.counted(course.record, _asked_beside(job, course.canary))
            course.count(data)
            course.disturbance = disturbance.disturbance(
                course.record, course.canary, data.window_ns(course.record)
            )
            course.step = "answers-after"
            _still_there(running)
            course.warnings += _verify_after(job, running.address)
            left = servers.files_fault(running.files_left(), capacity.connections_of(put_on.shape))
            course.problems += (left,) if left else ()
            course.step = "stop"
        except Exception:
            course.output_tail = tuple(running.output_tail())
            # If the database died, report that instead of the wrong answers that follow from it.
            data.still_there()
            raise


def _in_slices(
    running: servers.StartedServer | Lent,
    spec: contract.TrialSpec,
    turns: Turns,
    load: Engine,
    on_progress: OnProgress,
) -> Generator[None, None, contract.TrialRecord]:
    """Put the load on in turns and return its record; the server is suspended between its turns."""
    spec = slices.in_turns(spec, turns)
    yield from _others_turn(running)
    with engine.started(load, spec, on_progress) as loading:
        for _ in spec.turns:
            loading.turn()
            # The others have a turn after the last slice, too. What follows here may take long, and by then
            # all servers of the block are measured.
            yield from _others_turn(running)
        return loading.record()


def _others_turn(running: servers.StartedServer | Lent) -> Generator[None]:
    """Yield once, with the server suspended."""
    running.suspend()
    try:
        yield
    finally:
        running.wake()


def _look_first(on_progress: OnProgress, look: Callable[[], None]) -> OnProgress:
    """Return `on_progress`, extended: it calls `look` first."""

    def watched(progress: contract.ProgressLine) -> None:
        look()
        on_progress(progress)

    return watched


def _asked_beside(job: Job, canaries: contract.TrialRecord | None) -> int:
    """Return how many requests of the canary asked the database that the load asked."""
    if canaries is None or job.beside is None or job.beside.database != job.workload.database:
        return 0
    return canaries.scheduled + canaries.warm_up.scheduled


def _still_there(running: servers.StartedServer | Lent) -> None:
    if not running.alive():
        raise ServerFailed("engine", "the server ended under the load", running.output_tail())


class TrialInProgress:
    """A trial in progress. `turn` executes its next part; after the last part `stored` returns the result.

    A trial without slices has only one part; `turns`: how many turns of load it has otherwise.
    """

    def __init__(self, job: Job, turns: Turns, load: Engine, on_progress: OnProgress) -> None:
        self.job = job
        self.turns = turns
        self.step = "start"
        self.server_cores: tuple[int, ...] = ()
        self.start_s: float | None = None
        self.host: dict[str, Any] = {}
        self.record: contract.TrialRecord | None = None
        self.canary: contract.TrialRecord | None = None
        self.validity: Validity | None = None
        self.database: DatabaseFacts | None = None
        self.disturbance: Disturbance | None = None
        self.problems: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.output_tail: tuple[str, ...] = ()
        self._failure: Failure | None = None
        self._busy_s = 0.0
        self._parts = self._all(load, on_progress)

    def turn(self) -> bool:
        """Execute the next part. False: it was the last one. Raises StorageFull."""
        began_s = time.monotonic()
        try:
            next(self._parts)
        except StopIteration:
            return False
        finally:
            self._busy_s += time.monotonic() - began_s
        return True

    def close(self) -> None:
        """End the trial and its server now. After the last part this does nothing."""
        self._parts.close()

    def _all(self, load: Engine, on_progress: OnProgress) -> Generator[None]:
        try:
            yield from _measure(self, self.job, load, on_progress)
            self.step = "validity"
            self._judge()
        except StorageFull:
            raise
        except CrumpleError as error:
            self._fail(error)
        except Exception as error:
            # A bug in the lab fails this trial, not the run.
            self._fail(error)

    def _judge(self) -> None:
        job = self.job
        assert self.record is not None
        afresh = not isinstance(job.built, Elsewhere)
        self.validity = validity.assess(
            self.record,
            placement=job.experiment.placement if afresh else None,
            server_cores=self.server_cores,
            ceiling=job.ceiling(self.record),
            canary=self.canary,
            afresh=afresh,
            less=fit(job).less,
            workers=_workers(job),
            disturbance=self.disturbance,
            unsteady=growth.growth_sentence(self.record, job.settings),
            by_figure=True,
        )

    def count(self, data: database_part.DatabasePart) -> None:
        """Copy what the database's counters showed."""
        self.database, self.problems, self.warnings = data.facts, data.problems, data.warnings

    def _fail(self, error: Exception) -> None:
        """Note why the trial failed, with the last output of the program that caused it."""
        expected = isinstance(error, CrumpleError)
        message = str(error) if expected else f"{type(error).__name__}: {error}; this is a bug in crumple"
        tail = getattr(error, "output_tail", ()) or self.output_tail
        step = error.step if isinstance(error, ServerFailed) else database_part.step_of(error, self.step)
        self._failure = Failure(step=step, message=message, output_tail=tuple(tail))

    def _mixed(self) -> tuple[str, ...]:
        return (self.job.mixed,) if self.job.mixed else ()

    def stored(self) -> StoredTrial:
        """Return the trial for the store. Its overhead leaves out the server's start and the load."""
        load_ns = self.record.warm_up_ns + self.record.measured_ns if self.record else 0
        return StoredTrial(
            trial=self.job.trial,
            status="failed" if self._failure else "measured",
            failure=self._failure,
            server=StoredServer(
                versions=dict(self.job.versions),
                cores=len(self.server_cores) or None,
                start_s=self.start_s,
                settings=dict(self.job.settings),
            ),
            host=self.host,
            record=self.record,
            canary=self.canary,
            database=self.database,
            disturbance=self.disturbance,
            programs=self.job.programs,
            problems=(*self.validity.problems, *self.problems) if self.validity else (),
            warnings=(*self._mixed(), *self.validity.warnings, *self.warnings) if self.validity else (),
            overhead_s=round(max(0.0, self._busy_s - (self.start_s or 0.0) - load_ns / 1e9), 4),
        )
