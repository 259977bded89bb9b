"""One trial, step by step: start → check answers → fitness → load → check again → stop → judge → store.

Every step has its home elsewhere. Whatever goes wrong is a stored trial that says where and why; only an
interruption and a full disk get out of here.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crumple import contract, engine, machine, servers, validity, verify
from crumple.ceiling import Ceiling
from crumple.engine import Engine, OnProgress
from crumple.errors import CrumpleError, ServerFailed, StorageFull
from crumple.store import Failure, RunStore, ServerFacts, StoredTrial, TrialIdentity
from crumple.study import Experiment, Scale
from crumple.validity import Validity
from crumple.workload import Workload

PROBE_INTERVAL_MS = 100


@dataclass(frozen=True)
class Job:
    """All one trial needs. `settings`: the server's, defaults filled in. `ceiling`: that of the engine."""

    trial: TrialIdentity
    experiment: Experiment
    scale: Scale
    workload: Workload
    built: servers.Built
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    ceiling: Ceiling | None = None


def conduct(job: Job, load: Engine, store: RunStore, on_progress: OnProgress) -> StoredTrial:
    """Run one trial and store it. Raises StorageFull."""
    course = _Course(job)
    try:
        _measure(course, job, load, on_progress)
        course.step = "validity"
        assert course.record is not None
        course.validity = validity.assess(
            course.record,
            placement=job.experiment.placement,
            server_cores=course.server_cores,
            ceiling=job.ceiling,
        )
    except StorageFull:
        raise
    except CrumpleError as error:
        course.fail(error)
    except Exception as error:
        # A fault of the lab costs this trial, not the run.
        course.fail(error)
    stored = course.stored()
    store.add(stored)
    return stored


def refused(trial: TrialIdentity, failure: Failure, versions: Mapping[str, str]) -> StoredTrial:
    """A trial that could not even be tried: its server is not ready, or does not build."""
    return StoredTrial(
        trial=trial,
        status="failed",
        failure=failure,
        server=ServerFacts(versions=dict(versions)),
        host={},
        record=None,
        problems=(),
        warnings=(),
        overhead_s=0.0,
    )


def spec_of(job: Job, address: str, pid: int | None, cores: tuple[int, ...]) -> contract.TrialSpec:
    """What the engine is told. `cores`: the engine's own; empty leaves it unpinned."""
    experiment, scale = job.experiment, job.scale
    written = scale.warm_up_for(job.trial.server)
    warm_up = written and contract.WarmUp(connections=written.connections, stop=written.stop())
    return contract.TrialSpec(
        label=job.trial.id,
        target=contract.Target(address=address, host=address),
        requests=(job.workload.request_with(experiment.parameters),),
        shape=contract.ClosedShape(
            connections=experiment.shape.connections, pause_ms=experiment.shape.pause_ms
        ),
        connection=experiment.connection,
        warm_up=warm_up,
        stop=scale.stop.stop(),
        timeouts=contract.Timeouts(
            connect_s=experiment.timeouts.connect_s, request_s=experiment.timeouts.request_s
        ),
        threads=experiment.threads,
        cores=cores,
        probe=contract.Probe(interval_ms=PROBE_INTERVAL_MS, server_pid=pid),
        seed=job.trial.seed,
    )


def _measure(course: "_Course", job: Job, load: Engine, on_progress: OnProgress) -> None:
    experiment = job.experiment
    cores = machine.cores_for(experiment.placement, experiment.threads)
    course.server_cores = cores.server
    course.step = "start"
    with servers.start(job.built, cores=cores.server, settings=dict(job.settings)) as running:
        course.start_s = running.start_s
        try:
            course.step = "answers"
            verify.answers(running.address, job.workload, experiment.parameters)
            course.step = "fitness"
            fitness = machine.fitness(experiment.shape.connections)
            course.host = {**fitness.facts, "problems": list(fitness.problems)}
            course.step = "engine"
            spec = spec_of(job, running.address, running.pid, cores.engine)
            course.record = engine.run(load, spec, on_progress)
            course.step = "answers-after"
            _still_there(running)
            verify.answers(running.address, job.workload, experiment.parameters)
            course.step = "stop"
        except Exception:
            course.output_tail = tuple(running.output_tail())
            raise


def _still_there(running: servers.Running) -> None:
    if not running.alive():
        raise ServerFailed("engine", "the server ended under the load", running.output_tail())


@dataclass
class _Course:
    """How far a trial has come, and what it has brought so far."""

    job: Job
    step: str = "start"
    server_cores: tuple[int, ...] = ()
    start_s: float | None = None
    host: dict[str, Any] = field(default_factory=dict)
    record: contract.TrialRecord | None = None
    validity: Validity | None = None
    output_tail: tuple[str, ...] = ()
    failure: Failure | None = None
    began_s: float = field(default_factory=time.monotonic)

    def fail(self, error: Exception) -> None:
        """Note what ended the trial, with the last lines of whoever was at fault."""
        expected = isinstance(error, CrumpleError)
        message = str(error) if expected else f"{type(error).__name__}: {error}; this is a bug in crumple"
        tail = getattr(error, "output_tail", ()) or self.output_tail
        step = error.step if isinstance(error, ServerFailed) else self.step
        self.failure = Failure(step=step, message=message, output_tail=tuple(tail))

    def stored(self) -> StoredTrial:
        """What goes on disk. Overhead is all but the server's start and the engine's load."""
        load_ns = self.record.warm_up_ns + self.record.measured_ns if self.record else 0
        elapsed_s = time.monotonic() - self.began_s
        return StoredTrial(
            trial=self.job.trial,
            status="failed" if self.failure else "measured",
            failure=self.failure,
            server=ServerFacts(
                versions=dict(self.job.versions), start_s=self.start_s, settings=dict(self.job.settings)
            ),
            host=self.host,
            record=self.record,
            problems=self.validity.problems if self.validity else (),
            warnings=self.validity.warnings if self.validity else (),
            overhead_s=round(max(0.0, elapsed_s - (self.start_s or 0.0) - load_ns / 1e9), 4),
        )
