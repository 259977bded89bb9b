"""Every server of the project: built, started on its cores, each workload checked to the byte, one short real
trial, ended.

One that is not ready here is skipped with the reason.
"""

import pytest
from crumple import engine, machine, project, server, servers, trial, verify, workload
from crumple.server import ServerDescription
from crumple.store import RunStore, TrialIdentity
from crumple.study import Experiment, Scale, Shape, Until, WarmUp

ROOT = project.root()
NAMES = sorted(file.parent.name for file in (ROOT / "servers").glob(f"*/{server.FILE}"))


def ready(name: str) -> ServerDescription:
    """The description of a server that can be built here."""
    description = server.load(ROOT / "servers" / name)
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        pytest.skip(f"{readiness.reason}; {readiness.remedy}")
    return description


def test_there_are_servers():
    assert NAMES
    assert set(servers.find(ROOT)) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_answers_every_workload_it_declares(name):
    description = ready(name)
    workloads = workload.find(ROOT)
    cores = machine.cores_for("separate").server
    with servers.start(servers.build(description), cores=cores, settings={}) as running:
        for declared in description.workloads:
            verify.answers(running.address, workloads[declared], {})
        if "hello" in description.workloads:
            verify.answers(running.address, workloads["hello"], {"delay_ms": 20})
        assert running.alive()
    assert not running.alive()


@pytest.mark.parametrize("name", NAMES)
def test_a_short_trial_of_it_is_measured(name, tmp_path):
    description = ready(name)
    experiment = Experiment(
        title="A short trial",
        servers=(name,),
        twin=name,
        workload="todos",
        shape=Shape(connections=8),
        scales={"quick": Scale(blocks=1, warm_up=WarmUp(duration_s=0.3), stop=Until(duration_s=0.5))},
    )
    identity = TrialIdentity(
        id=f"short/b01/{name}", experiment="short", block=1, position=0, server=name, twin=False, seed=1
    )
    job = trial.Job(
        trial=identity,
        experiment=experiment,
        scale=experiment.scales["quick"],
        workload=workload.find(ROOT)["todos"],
        built=servers.build(description),
        versions=servers.versions(description),
        settings={},
    )
    stored = trial.conduct(job, engine.load(ROOT), RunStore(tmp_path), lambda _: None)
    assert stored.failure is None
    assert stored.record is not None
    outcomes = stored.record.outcomes
    assert outcomes.ok > 0 and outcomes.failed == 0
    assert stored.record.scheduled == outcomes.total
    assert stored.record.bodies_hashed > 0
    assert stored.record.probes.server is not None and stored.record.probes.server.window is not None
