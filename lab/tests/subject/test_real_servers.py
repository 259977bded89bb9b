"""Every server of the project is built, started on its cores, verified and ended.

Every program is also measured in a short trial.

A server that cannot run here is skipped, with the reason.
"""

from collections.abc import Iterator

import pytest
import stand_ins
from crumple import engine, project
from crumple.errors import DatabaseMissing
from crumple.machine import capacity
from crumple.run import trial
from crumple.run.store import RunStore, TrialIdentity
from crumple.study.study import Experiment
from crumple.study.study_load import ClosedShape, Scale, Until, WarmUp
from crumple.subject import database, effects, server_check, server_toml, servers, workload
from crumple.subject.database import OnDemand
from crumple.subject.effects import Pids
from crumple.subject.server_check import HTTP, MODEL, CheckedServer
from crumple.subject.server_toml import ServerDescription

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# CPU time cannot be judged on a machine that changes its speed. All other checks always apply.
MAY_BE_SKIPPED = {"mix"}
ROOT = project.root()
NAMES = sorted(file.parent.name for file in (ROOT / "servers").glob(f"*/{server_toml.FILE}"))


def ready(name: str) -> ServerDescription:
    """The description of a server that can be built here."""
    description = server_toml.load(ROOT / "servers" / name)
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        pytest.skip(f"{readiness.reason}; {readiness.remedy}")
    return description


def test_there_are_servers():
    assert NAMES
    assert set(servers.find(ROOT)) == set(NAMES)


@pytest.fixture(scope="module")
def databases() -> Iterator[OnDemand]:
    """One private database for all servers."""
    with database.on_demand() as shared:
        yield shared


@pytest.mark.parametrize("name", NAMES)
def test_every_server_passes_verify(name, databases, monkeypatch):
    description = ready(name)
    monkeypatch.setattr(server_check, "LOAD_S", 0.5)
    # Other tests run meanwhile, which must not excuse a wrong CPU time: every server counts its own.
    monkeypatch.setattr(effects.alone, "look", lambda: "")
    cores = capacity.cores_for("separate").server
    workloads = workload.find(ROOT)
    asks = any(workloads[each].database for each in description.workloads)
    try:
        data = databases.ready(cores) if asks else None
    except DatabaseMissing as missing:
        pytest.skip(str(missing))
    environment = data.environment() if data else {}
    with servers.start(
        servers.build(description), cores=cores, settings={}, environment=environment
    ) as running:
        subject = CheckedServer(
            description=description,
            address=running.address,
            keeps=description.keeps_connections(running.settings),
            pids=Pids(running.guarded.guard_pid),
            workloads=workloads,
            load=engine.load(ROOT),
            files_left=running.files_left,
            database=data,
        )
        findings = list(server_check.findings(subject))
        assert running.alive()
    assert not running.alive()
    assert [finding for finding in findings if finding.state == "wrong"] == []
    skipped = {finding.check: finding.reason for finding in findings if finding.state == "skipped"}
    assert set(skipped) <= MAY_BE_SKIPPED, skipped
    assert {finding.check for finding in findings} == {*description.workloads, HTTP, MODEL}


# A server that is another's program with other settings is started by the same code, and verified above.
@pytest.mark.parametrize("name", sorted({each.program for each in servers.find(ROOT).values()}))
def test_every_program_is_measured_in_a_short_trial(name, tmp_path):
    description = ready(name)
    experiment = Experiment(
        title="A short trial",
        servers=(name,),
        twin=name,
        workload="todos",
        shape=ClosedShape(connections=8),
        scales={
            "quick": Scale(blocks=1, warm_up=WarmUp(duration_s=0.3), stop=Until(requests=500, within_s=30))
        },
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
    stored = stand_ins.conducted(job, engine.load(ROOT), RunStore(tmp_path), lambda _: None)
    assert stored.failure is None
    assert stored.record is not None
    outcomes = stored.record.outcomes
    assert outcomes.ok > 0 and outcomes.failed == 0
    assert stored.record.scheduled == outcomes.total
    assert stored.record.bodies_hashed > 0
    assert stored.record.probes.server is not None and stored.record.probes.server.window is not None
