"""The ceiling of an engine on a load host is measured there, against a null server of that machine."""

from dataclasses import replace
from pathlib import Path

import documents
import other_hosts
import pytest
import real_engine
from crumple import contract
from crumple.engine import Engine
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.several_hosts import SeveralHosts
from crumple.machine import ceiling
from crumple.machine.ceiling import Ceiling

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def after(load: Engine, cache: Path, asked: list[str]) -> Ceiling | None:
    """The ceiling after a load that kept the engine busy."""
    probes = documents.record().probes.model_copy(update={"threads": (documents.thread(0.8),)})
    shape = contract.ClosedShapeSpec(connections=8)
    record = documents.record(probes=probes, spec=documents.spec(shape=shape, threads=1))
    return ceiling.measured_after(load, record, cache, lambda: asked.append("measured"))


@pytest.mark.skipif(bool(other_hosts.why_not()), reason=other_hosts.why_not())
def test_it_is_measured_on_the_load_host_and_kept_for_it(tmp_path: Path) -> None:
    near, asked = real_engine.loaded(), list[str]()
    with other_hosts.started("loader") as loader:
        # Its loopback is its own: a null server of this machine would not be reached from there.
        named = " ".join(loader.words())
        with LoadHost(where.read(named), near.path) as host:
            found = [after(replace(near, load_host=host), tmp_path, asked) for _ in range(2)]
            assert found[0] is not None and found[0].throughput_per_s and found[1] == found[0]
            assert other_hosts.at_last(lambda: "null-server" not in str(loader.processes()))
        with LoadHost(where.read(f"env A=1 {named}"), near.path) as host:
            assert after(replace(near, load_host=host), tmp_path, asked) is not None
    assert asked == ["measured"] * 2 and len(list(tmp_path.iterdir())) == 2


def test_a_shell_of_this_machine_has_a_ceiling_too(tmp_path: Path) -> None:
    near = real_engine.loaded()
    with LoadHost(where.read("env A=1"), near.path) as host:
        assert ceiling.at_a_glance(replace(near, load_host=host)).throughput_per_s


def test_where_it_cannot_be_measured_it_is_unknown_for_a_reason(tmp_path: Path) -> None:
    near = real_engine.loaded()
    with LoadHost(where.read("false of-a-test"), near.path) as host:
        found = after(replace(near, load_host=host), tmp_path, [])
    assert found is not None and found.throughput_per_s is None
    assert "false of-a-test gives no shell" in found.why and list(tmp_path.iterdir()) == []


def test_what_others_used_there_is_neither_the_engines_nor_the_null_servers(tmp_path: Path) -> None:
    named = [("crumple-engine", 900_000_000), ("postgres", 200_000_000)]
    programs = tuple(contract.OtherProgram(pid=1, name=name, cpu_ns=cpu) for name, cpu in named)
    # Of two cores, 4 s: the engine used 1 s, the null server 0.9 s, the kernel's threads 0.1 s.
    machine = documents.machine(2_400_000_000, 80_000_000, kernel_ns=100_000_000, programs=programs)
    plain = documents.record()
    probes = plain.probes.model_copy(update={"machine": machine, "engine": documents.probe(0.5)})
    with LoadHost(where.read("loader"), real_engine.loaded().path) as host:
        record = plain.model_copy(update={"probes": probes})
        assert host.cpu_shares(record) == pytest.approx((0.4 / 4, 0.02))
        unread = machine.model_copy(update={"all_processes": None})
        bare = probes.model_copy(update={"machine": unread})
        assert host.cpu_shares(plain.model_copy(update={"probes": bare})) is None


def test_of_several_load_hosts_it_is_the_sum_of_theirs(tmp_path: Path) -> None:
    near, asked = real_engine.loaded(), list[str]()
    with (
        LoadHost(where.read("env A=1"), near.path) as one,
        LoadHost(where.read("env A=2"), near.path) as other,
    ):
        load = replace(near, load_host=SeveralHosts([one, other]))
        plain = documents.record()
        hosts = tuple(made_host(name) for name in ("env A=1", "env A=2"))
        probes = plain.probes.model_copy(update={"threads": (documents.thread(0.8),)})
        shape = contract.ClosedShapeSpec(connections=9)
        record = documents.record(
            probes=probes, spec=documents.spec(shape=shape, threads=1), load_hosts=hosts
        )
        found = [ceiling.measured_after(load, record, tmp_path, lambda: asked.append("")) for _ in range(2)]
    assert found[0] is not None and found[0].throughput_per_s and found[1] == found[0] and asked == [""]
    kept = [Path(file).read_text(encoding="utf-8") for file in tmp_path.iterdir()]
    # Of nine connections no more than five come from one of them.
    assert len(kept) == 2 and all("-1t-5c-" in file.name for file in tmp_path.iterdir())


def made_host(name: str) -> contract.LoadHostRecord:
    none = documents.histogram({})
    return contract.LoadHostRecord(
        name=name, round_trip_ns=0, late_ns=0, late_off_ns=0, measured_ns=2_000_000_000, scheduled=10,
        outcomes=documents.outcomes(ok=10), response_time=none, engine_lateness=none, beside_others=None,
        validity="valid", problems=(),
    )  # fmt: skip


def test_ceilings_are_added_up_and_a_bound_stays_one() -> None:
    known, bound = Ceiling(throughput_per_s=5.0), Ceiling(throughput_per_s=7.0, at_least=True, why="busy")
    unread = Ceiling(throughput_per_s=None, why="gone")
    assert ceiling.together([known]) == known and ceiling.together([unread]) == unread
    assert ceiling.together([known, bound]) == Ceiling(throughput_per_s=12.0, at_least=True, why="busy")
    assert ceiling.together([known, unread, bound]).throughput_per_s is None
