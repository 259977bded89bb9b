"""The engine's ceiling: measured once, remembered as long as it holds, and honest where it is not known."""

import os
from pathlib import Path

import documents
import pytest
from crumple import contract, engine, project
from crumple.engine import Engine
from crumple.errors import CrumpleError
from crumple.machine import ceiling, facts, machine
from crumple.machine.ceiling import Ceiling
from crumple.machine.machine import Cores

# Notes what load was asked for before it answers.
NOTE = "print(spec['shape']['connections'], file=open({log!r}, 'a'))"


class Bench:
    """A stand-in engine of 10,000 answers per second, and the loads that were put on its null server."""

    def __init__(self, folder: Path, body: str = "", version: str = "0.1.0") -> None:
        self._log = folder / "log"
        path = documents.fake_engine(folder, f"{NOTE.format(log=str(self._log))}\n{body}")
        self.engine = Engine(path, version)
        self.cache = folder / "cache"

    def ceiling(self, spec: contract.TrialSpec) -> Ceiling | None:
        return ceiling.ceiling(self.engine, spec, self.cache)

    @property
    def connections(self) -> list[int]:
        """Of each load so far."""
        return [int(line) for line in self._log.read_text().split()] if self._log.exists() else []


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _closed(connections: int, **changes: object) -> contract.TrialSpec:
    return documents.spec(shape=contract.ClosedShape(connections=connections), **changes)


def test_it_is_the_throughput_against_the_null_server(bench: Bench) -> None:
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)


def test_the_null_server_has_the_cores_beside_the_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores_for", lambda *_: Cores(engine=(6, 7), server=(0, 1, 2, 3, 4, 5)))
    path, log = tmp_path / "crumple-engine", tmp_path / "called"
    documents.fake_engine(tmp_path).rename(tmp_path / "inner")
    path.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {tmp_path / "inner"} "$@"\n')
    path.chmod(0o755)
    found = ceiling.ceiling(Engine(path, "0.1.0"), _closed(32, threads=2), tmp_path)
    assert found is not None and found.throughput_per_s
    assert log.read_text().splitlines() == [
        "null-server --cores 0,1,2,3,4,5 --threads 4 --body-bytes 512",
        "run -",
    ]


def test_the_engine_itself_has_one(tmp_path: Path) -> None:
    try:
        loaded = engine.load(project.root())
    except CrumpleError as error:
        pytest.skip(f"needs the engine: {error}")
    for connection in ("keep-alive", "per-request"):
        found = ceiling.ceiling(loaded, _closed(32, connection=connection), tmp_path)
        assert found is not None and found.why == ""
        assert found.throughput_per_s is not None and found.throughput_per_s > 1_000


def test_it_is_measured_once_for_like_loads(bench: Bench) -> None:
    alike = (_closed(32), _closed(32, label="another", seed=3))
    assert {bench.ceiling(spec) for spec in alike} == {Ceiling(throughput_per_s=10_000)}
    assert bench.connections == [32]
    for other in (_closed(33), _closed(32, threads=2), _closed(32, connection="per-request")):
        bench.ceiling(other)
    assert bench.connections == [32, 33, 32, 32]


def test_shapes_count_by_the_most_connections_they_hold(bench: Bench) -> None:
    rates = (contract.Rate(from_per_s=1, to_per_s=1, duration_s=1),)
    bench.ceiling(documents.spec(shape=contract.OpenShape(connections=100, rates=rates)))
    bench.ceiling(documents.spec(shape=contract.RampShape(from_connections=0, to_connections=500, over_s=9)))
    bench.ceiling(_closed(60_000))
    assert bench.connections == [100, 500, 8_192]


def test_another_boot_or_build_measures_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ceiling(_closed(32))
    os.utime(bench.engine.path, ns=(1, 1))
    bench.ceiling(_closed(32))
    bench.engine = Engine(bench.engine.path, "0.2.0")
    bench.ceiling(_closed(32))
    read = facts.text
    monkeypatch.setattr(facts, "text", lambda path: "another boot" if path.name == "boot_id" else read(path))
    bench.ceiling(_closed(32))
    assert len(bench.connections) == 4
    bench.ceiling(_closed(32))
    assert len(bench.connections) == 4
    assert len(list(bench.cache.iterdir())) == 1


def test_a_cache_that_is_damaged_or_cannot_be_written_costs_only_time(bench: Bench) -> None:
    bench.ceiling(_closed(32))
    (file,) = bench.cache.iterdir()
    file.write_text("{")
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)
    bench.cache = bench.engine.path / "no folder"
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)
    assert len(bench.connections) == 3


def test_there_is_none_where_the_null_server_cannot_stand_in(bench: Bench) -> None:
    tls = contract.Tls(server_name="localhost")
    for target in (
        contract.Target(address="127.0.0.1:443", host="localhost", tls=tls),
        contract.Target(address="unix:/run/it", host="it"),
    ):
        assert bench.ceiling(_closed(32, target=target)) is None
    assert bench.connections == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("record['outcomes']['ok'] = 0", "none of 20,032 requests to the null server was answered in time"),
        ("record['outcomes']['refused'] = 999", "999 of 20,032 requests to the null server failed"),
        ("sys.exit(1)", "the engine ended with code 1"),
    ],
)
def test_what_could_not_be_measured_says_why_and_is_not_remembered(
    tmp_path: Path, body: str, why: str
) -> None:
    bench = Bench(tmp_path, body)
    for _ in range(2):
        found = bench.ceiling(_closed(32))
        assert found is not None and found.throughput_per_s is None
        assert why in found.why
    assert len(bench.connections) == 2


def test_a_null_server_that_does_not_start_is_said(tmp_path: Path) -> None:
    path = tmp_path / "crumple-engine"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    found = ceiling.ceiling(Engine(path, "0.1.0"), _closed(32), tmp_path / "cache")
    assert found == Ceiling(
        throughput_per_s=None, why="the null server does not start; build the engine again"
    )
