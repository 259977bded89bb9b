"""The engine's ceiling: measured once, stored as long as it holds, and None with a reason if unknown."""

import os
from collections.abc import Callable
from pathlib import Path

import documents
import pytest
import real_engine
from crumple import contract, release
from crumple.engine import Engine
from crumple.machine import alone, capacity, ceiling, facts
from crumple.machine.capacity import Cores
from crumple.machine.ceiling import Ceiling

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# Logs the connections of the load before it answers.
NOTE = "print(spec['shape']['connections'], file=open({log!r}, 'a'))"


@pytest.fixture(autouse=True)
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """CPU use by other programs, as the ceiling reads it: none, unless a test changes it."""
    shares = {"others": 0.0, "steal": 0.0}
    monkeypatch.setattr(alone.CpuWatch, "shares", lambda _: alone.Shares(**shares))
    return shares


class Bench:
    """A stand-in engine of 10,000 answers per second, and the loads that were put on its null server.

    `told`: how often `telling` was called before a measurement.
    """

    def __init__(self, folder: Path, body: str = "", version: str = release.VERSION) -> None:
        self.told = 0
        self._log = folder / "log"
        path = documents.fake_engine(folder, f"{NOTE.format(log=str(self._log))}\n{body}")
        self.engine = Engine(path, version)
        self.cache = folder / "cache"

    def ceiling(self, spec: contract.TrialSpec) -> Ceiling | None:
        """The ceiling after a slow load, which takes what is stored."""
        return _after(self.engine, self.cache, 100, spec=spec)

    def after(self, per_s: float, busy: float = 0.8, **changes: object) -> Ceiling | None:
        """The ceiling after a load of two seconds that kept the engine's thread so busy."""
        return _after(self.engine, self.cache, per_s, busy, self._tell, **changes)

    def _tell(self) -> None:
        self.told += 1

    @property
    def connections(self) -> list[int]:
        """The connections of each load so far; each is measured READINGS times."""
        lines = self._log.read_text().split() if self._log.exists() else []
        every = [int(line) for line in lines]
        alike = every[:: ceiling.READINGS]
        assert every == [each for each in alike for _ in range(ceiling.READINGS)]
        return alike


def _after(
    loaded: Engine,
    cache: Path,
    per_s: float,
    busy: float = 0.8,
    telling: Callable[[], None] = lambda: None,
    **changes: object,
) -> Ceiling | None:
    ok = documents.outcomes(ok=round(2 * per_s))
    probes = documents.record().probes.model_copy(update={"threads": (documents.thread(busy),)})
    record = documents.record(outcomes=ok, probes=probes, **changes)
    return ceiling.measured_after(loaded, record, cache, telling)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _closed(connections: int, **changes: object) -> contract.TrialSpec:
    return documents.spec(shape=contract.ClosedShapeSpec(connections=connections), **changes)


def test_it_is_the_throughput_against_the_null_server(bench: Bench) -> None:
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)


def test_the_null_server_runs_on_the_cores_that_the_engine_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "cores_for", lambda *_: Cores(engine=(6, 7), server=(0, 1, 2, 3, 4, 5)))
    path, log = tmp_path / "crumple-engine", tmp_path / "called"
    documents.fake_engine(tmp_path).rename(tmp_path / "inner")
    path.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {tmp_path / "inner"} "$@"\n')
    path.chmod(0o755)
    found = _after(Engine(path, "0.1.0"), tmp_path, 100, spec=_closed(32, threads=2))
    assert found is not None and found.throughput_per_s
    assert log.read_text().splitlines() == [
        "null-server --cores 0,1,2,3,4,5 --threads 4 --body-bytes 512",
        *["run"] * ceiling.READINGS,
    ]


def _read(per_s: float, why: str = "") -> Ceiling:
    return Ceiling(throughput_per_s=per_s, at_least=bool(why), why=why)


@pytest.mark.parametrize(
    ("readings", "kept"),
    [
        ([_read(9_000), _read(10_000), _read(9_500)], _read(10_000)),
        ([_read(4_000, "busy"), _read(10_000), _read(5_000, "busy")], _read(10_000)),
        ([_read(4_000, "busy"), _read(10_000, "waited"), _read(5_000, "busy")], _read(10_000, "waited")),
        ([_read(9_500), _read(10_000, "waited")], _read(10_000)),
        ([_read(6_000), _read(10_000, "waited")], _read(10_000, "waited")),
    ],
)
def test_of_several_readings_the_largest_is_kept(readings: list[Ceiling], kept: Ceiling) -> None:
    assert ceiling.largest(readings) == kept


def test_one_slow_second_is_not_cached(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    slow = f"""
marks = {str(marks)!r}
record['outcomes']['ok'] = 20_000 if os.path.exists(marks) else 2_000
open(marks, 'w').close()
"""
    assert Bench(tmp_path, slow).ceiling(_closed(32)) == MADE


def test_a_failed_reading_does_not_discard_the_others(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    dies = f"""
if not os.path.exists({str(marks)!r}):
    open({str(marks)!r}, 'w').close()
    sys.exit(1)
"""
    assert Bench(tmp_path, dies).ceiling(_closed(32)) == MADE


def test_the_ceiling_of_the_real_engine(tmp_path: Path) -> None:
    loaded = real_engine.loaded()
    for connection in ("keep-alive", "per-request"):
        found = _after(loaded, tmp_path, 100, spec=_closed(32, connection=connection))
        assert found is not None and found.throughput_per_s
        # Other programs may disturb the reading.
        assert found.at_least or not found.why


def test_it_is_measured_once_for_similar_loads(bench: Bench) -> None:
    alike = (_closed(32), _closed(32, label="another", seed=3))
    assert {bench.ceiling(spec) for spec in alike} == {Ceiling(throughput_per_s=10_000)}
    assert bench.connections == [32]
    for other in (_closed(33), _closed(32, threads=2), _closed(32, connection="per-request")):
        bench.ceiling(other)
    assert bench.connections == [32, 33, 32, 32]


def test_shapes_are_compared_by_their_largest_number_of_connections(bench: Bench) -> None:
    rates = (contract.RateSpec(from_per_s=1, to_per_s=1, duration_s=1),)
    bench.ceiling(documents.spec(shape=contract.OpenShapeSpec(connections=100, rates=rates)))
    bench.ceiling(
        documents.spec(shape=contract.RampShapeSpec(from_connections=0, to_connections=500, over_s=9))
    )
    bench.ceiling(_closed(60_000))
    assert bench.connections == [100, 500, 8_192]


def test_another_boot_or_engine_build_measures_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_damaged_or_unwritable_cache_only_costs_time(bench: Bench) -> None:
    bench.ceiling(_closed(32))
    (file,) = bench.cache.iterdir()
    file.write_text("{")
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)
    bench.cache = bench.engine.path / "no folder"
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=10_000)
    assert len(bench.connections) == 3


def test_there_is_none_if_the_null_server_cannot_replace_the_server(bench: Bench) -> None:
    tls = contract.TlsSpec(server_name="localhost")
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
def test_a_failed_measurement_says_why_and_is_not_cached(tmp_path: Path, body: str, why: str) -> None:
    bench = Bench(tmp_path, body)
    for _ in range(2):
        found = bench.ceiling(_closed(32))
        assert found is not None and found.throughput_per_s is None
        assert why in found.why
    assert len(bench.connections) == 2


def test_a_null_server_that_does_not_start_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "crumple-engine"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    found = _after(Engine(path, "0.1.0"), tmp_path / "cache", 100)
    assert found == Ceiling(
        throughput_per_s=None, why="the null server does not start; build the engine again"
    )


MADE = Ceiling(throughput_per_s=10_000)
BUSY = {"others": 0.34}
DISTURBED = Ceiling(
    throughput_per_s=10_000, at_least=True, why="other programs used 34% of the CPU during the measurement"
)


def test_after_a_load_that_hardly_used_the_engine_it_is_not_measured(bench: Bench) -> None:
    assert bench.after(9_000, busy=0.2) is None
    assert bench.after(0) is None
    assert (bench.connections, bench.told) == ([], 0)


def test_after_a_load_that_kept_the_engine_busy_it_is_measured_once(bench: Bench) -> None:
    assert (bench.after(9_000, busy=0.3), bench.after(9_500)) == (MADE, MADE)
    assert (bench.connections, bench.told) == ([32], 1)


def test_time_spent_waiting_for_a_core_counts_as_busy(bench: Bench) -> None:
    probes = documents.record().probes.model_copy(update={"threads": (documents.thread(0.1, 0.3),)})
    record = documents.record(probes=probes)
    assert ceiling.measured_after(bench.engine, record, bench.cache) == MADE


def test_nothing_is_measured_if_the_null_server_cannot_replace_the_server(bench: Bench) -> None:
    target = contract.Target(address="unix:/run/it", host="it")
    assert bench.after(9_000, spec=documents.spec(target=target)) is None
    assert bench.connections == []


@pytest.mark.parametrize(
    ("others_share", "steal", "body", "why"),
    [
        (0.16, 0.0, "", "other programs used 16% of the CPU during the measurement"),
        (0.0, 0.03, "", "the hypervisor took 3% of the CPU time during the measurement"),
        (
            0.0,
            0.0,
            "record['probes']['threads'][0]['window']['run_queue_ns'] = 240_000_000",
            "its thread waited for a core 12% of the time",
        ),
    ],
)
def test_a_reading_on_a_busy_machine_is_a_lower_bound(
    tmp_path: Path, meanwhile: dict[str, float], others_share: float, steal: float, body: str, why: str
) -> None:
    meanwhile |= {"others": others_share, "steal": steal}
    found = Bench(tmp_path, body).ceiling(_closed(32))
    assert found == Ceiling(throughput_per_s=10_000, at_least=True, why=why)


def test_a_lower_bound_far_above_the_load_is_not_measured_again(
    bench: Bench, meanwhile: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile |= BUSY
    assert bench.ceiling(_closed(32)) == DISTURBED
    monkeypatch.setattr(ceiling, "BOUND_HOLDS_S", 0.0)
    assert bench.after(6_900) == DISTURBED
    assert bench.connections == [32]
    meanwhile["others"] = 0.0
    assert bench.after(7_100) == MADE, "now it is calm"
    assert bench.connections == [32, 32]


def test_a_lower_bound_is_not_measured_again_immediately(bench: Bench, meanwhile: dict[str, float]) -> None:
    meanwhile |= BUSY
    assert [bench.ceiling(_closed(32)), bench.ceiling(_closed(32))] == [DISTURBED, DISTURBED]
    assert bench.after(9_000) == DISTURBED
    assert bench.connections == [32]


def test_a_ceiling_that_a_load_exceeded_is_measured_again(bench: Bench) -> None:
    bench.ceiling(_closed(32))
    (file,) = bench.cache.iterdir()
    file.write_text(file.read_text().replace("10000.0", "5000.0"))
    assert bench.ceiling(_closed(32)) == Ceiling(throughput_per_s=5_000)
    assert bench.after(5_400) == Ceiling(throughput_per_s=5_000), "readings differ by as much"
    assert bench.after(8_000) == MADE
    assert bench.ceiling(_closed(32)) == MADE
    assert (bench.connections, bench.told) == ([32, 32], 1)


def test_if_the_load_exceeded_the_second_reading_too_it_is_a_lower_bound(bench: Bench) -> None:
    bench.ceiling(_closed(32))
    above = Ceiling(throughput_per_s=17_500, at_least=True, why="a load went beyond what was measured then")
    assert bench.after(17_500) == above
    assert bench.ceiling(_closed(32)) == above
    assert bench.after(16_000) == above, "another reading so soon would be no better"
    assert bench.connections == [32, 32]


def test_no_reading_lowers_a_throughput_that_was_reached(
    bench: Bench, meanwhile: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ceiling, "BOUND_HOLDS_S", 0.0)
    bench.ceiling(_closed(32))
    bench.after(17_500)
    meanwhile |= BUSY
    found = bench.after(13_000)
    assert bench.connections == [32, 32, 32]
    assert found is not None and found.throughput_per_s == 17_500 and found.at_least
