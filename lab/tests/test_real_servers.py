"""Every server of the project: built, started on its cores, each workload checked to the byte, ended.

One that is not ready here is skipped with the reason.
"""

import pytest
from crumple import machine, project, server, servers, verify, workload
from crumple.server import ServerDescription

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
