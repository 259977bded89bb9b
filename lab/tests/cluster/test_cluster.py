"""A real cluster: hosts in namespaces with an sshd each. Nothing that is stored is lost with a host of it."""

import json
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cluster_faults
import made_cluster
import other_hosts
import pytest
import real_engine
import secure_shell
from cluster_faults import FAULTS
from crumple.cluster import block_task, blocks_there, cluster_view, dask_settings, host_worker, keeper
from crumple.cluster.cluster_file import Pass
from crumple.run import run_file
from made_cluster import MadeCluster

pytestmark = [pytest.mark.starts]

# The settings that are tried are those of these modules.
TRIED = (block_task, blocks_there, cluster_view, dask_settings, host_worker, keeper)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeCluster]:
    if why := other_hosts.why_not() or secure_shell.why_not():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("cluster")
    with made_cluster.made(folder, real_engine.loaded().path) as made:
        yield made


@pytest.fixture
def up(cluster: MadeCluster) -> Iterator[MadeCluster]:
    cluster.bring_up()
    yield cluster
    cluster.bring_down()
    cluster.address = ""
    cluster.forget()


def test_it_comes_up_listens_where_it_says_and_leaves_nothing(cluster: MadeCluster) -> None:
    before = [host.listeners() for host in cluster.hosts]
    said = cluster.bring_up()
    for host, was in zip(cluster.hosts, before, strict=True):
        (new,) = host.listeners() - was
        assert new.partition(":")[0] == cluster.link_of[host.name].addresses[1]
        assert f"{host.name}: has joined, and listens at tls://{new}" in said
    assert {f"tls://{each}" for each in _listeners(cluster.keeper)} == {cluster.address}
    kept = cluster.root / "cache" / "crumple" / "cluster.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    secret = json.loads(kept.read_text())["key_to_it"]["key"].splitlines()[1]
    for host in cluster.hosts:
        assert secret not in host.run("sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ").stdout
    again = cluster.crumple("cluster", "up", "loader-a", code=2)
    assert again == f"a cluster is up at {cluster.address}; end it first: crumple cluster down\n"
    pids, own = cluster.keeper, [pid for host in cluster.hosts for pid in cluster.workers(host)]
    cluster.bring_down()
    assert other_hosts.ended([pids, *own]) and not kept.exists()
    assert [host.listeners() for host in cluster.hosts] == before
    assert cluster.crumple("cluster", "down") == "no cluster is up\n"
    cluster.address = ""


def test_a_study_is_measured_by_all_hosts_and_judged(up: MadeCluster) -> None:
    said = up.crumple("run", made_cluster.STUDY_NAME, "--cluster", up.address, "--seed", "1")
    assert "loader-a, loader-b and loader-c are alike, as far as facts and versions tell" in said
    store = up.run_of()
    file, trials = run_file.read(store), store.trials()
    assert {each.trial for each in trials} == {*file.plan.trials}
    assert {each.host_id for each in trials} == {each.id for each in file.hosts} and len(file.hosts) == 3
    report = json.loads(up.crumple("report", str(store.folder), "--json"))
    assert [each["answer"] for each in report["claims"]] != ["contradicted"]
    assert up.is_quiet()


def test_without_the_key_nobody_joins(up: MadeCluster) -> None:
    bare = up.crumple("cluster", "worker", up.address, code=2)
    assert bare.startswith(f"no cluster of this user is up at {up.address}; start one")
    strange, names = Pass.made(), {"CERT": "certificate", "KEY": "key"}
    settings = {"CA_FILE": up.root / "certificate"}
    for name, what in names.items():
        (up.root / what).write_text(getattr(strange, what))
        settings[f"WORKER__{name}"] = up.root / what
    tls = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(file) for name, file in settings.items()}
    other = replace(up, environment={**up.environment, **tls})
    assert "cannot join" in other.crumple("cluster", "worker", up.address, code=1)


def test_a_host_with_another_crumple_or_none_is_said_in_one_line(cluster: MadeCluster) -> None:
    said = cluster.crumple("cluster", "up", "loader-a", "--crumple", "/nowhere/crumple", code=1)
    assert said.startswith("loader-a: loader-a does not run /nowhere/crumple")
    assert "--crumple PATH" in said and cluster.crumple("cluster", "down") == "no cluster is up\n"
    other = cluster.root / "other"
    text = cluster.program.read_text()
    other.write_text(text.replace("CRUMPLE_ROOT=", f"CRUMPLE_ROOT={_other_project(cluster.root)} UNUSED="))
    other.chmod(0o755)
    said = cluster.crumple("cluster", "up", "loader-a", "--crumple", str(other), code=1)
    assert "loader-a has another version of its workloads than this machine; put the same checkout" in said


def test_interrupting_a_run_ends_what_hosts_measure(up: MadeCluster) -> None:
    with up.running("run", made_cluster.STUDY_NAME, "--cluster", up.address) as process:
        assert other_hosts.at_last(lambda: any(map(up.engines, up.hosts)), cluster_faults.BEGUN_S)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and f"--cluster {up.address}" in said
    assert up.is_quiet()
    # The workers are ready for the next run.
    up.crumple("run", "--resume", up.run_of().name, "--cluster", up.address)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_nothing_that_is_stored_and_leaves_nothing(cluster: MadeCluster, name: str) -> None:
    suffered = cluster_faults.suffer(cluster, name)
    assert suffered.faults == [] and suffered.before > 0, suffered.said
    assert suffered.code == (1 if FAULTS[name].ends else 0), suffered.said


def _listeners(pid: int) -> set[str]:
    """Where a process of this host listens."""
    said = subprocess.run(["ss", "-Hltunp"], capture_output=True, text=True, check=True).stdout
    return {line.split()[4] for line in said.splitlines() if f"pid={pid}," in line}


def _other_project(root: Path) -> Path:
    """A project whose workload is another."""
    other = root / "elsewhere"
    for folder in ("contract/workloads", "servers", "studies"):
        (other / folder).mkdir(parents=True)
    for file in (root / "contract" / "workloads").iterdir():
        (other / "contract" / "workloads" / file.name).write_text(file.read_text().replace("Hello", "Hullo"))
    return other
