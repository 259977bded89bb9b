"""Real engines of several load hosts load one server, which the real one here watches."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import other_hosts
import pytest
import real_engine
from command_line import caller
from crumple import contract, engine
from crumple.contract import TrialRecord, TrialSpec
from crumple.engine import EndEarly, Engine
from crumple.load import canary
from crumple.load.canary import LightRequests
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.several_hosts import SeveralHosts
from crumple.record import invariants
from crumple.record.disturbance import disturbance
from loaded_server import is_of_the_load, seconds, server

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

HOSTS = 3
APART_S = 0.5


@pytest.fixture(params=["namespaces", "shells"])
def far(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, TrialSpec]]:
    """An engine whose loads come from three load hosts, and a load."""
    with ExitStack() as stack:
        address, words = "127.0.0.1", [["env", f"A={number}"] for number in range(HOSTS)]
        if request.param == "namespaces":
            if why := other_hosts.why_not():
                pytest.skip(why)
            hosts = [stack.enter_context(other_hosts.started(f"loader-{at}")) for at in range(HOSTS)]
            links = [stack.enter_context(other_hosts.joined(None, host)) for host in hosts]
            address = links[0].addresses[0]
            for host, link in zip(hosts[1:], links[1:], strict=True):
                host.run("ip", "route", "add", address, "via", link.addresses[0])
            words = [host.words() for host in hosts]
        near = real_engine.loaded()
        each = [stack.enter_context(LoadHost(where.read(" ".join(named)), near.path)) for named in words]
        yield replace(near, load_host=SeveralHosts(each)), stack.enter_context(server(address))


def put_on(far: tuple[Engine, TrialSpec], **changes: Any) -> TrialRecord:
    load, spec = far
    return engine.run(load, spec.model_copy(update=changes), lambda _: None)


def test_users_with_pauses_are_shared_and_account_for_all_their_time(far: tuple[Engine, TrialSpec]) -> None:
    record = put_on(far, shape=contract.ClosedShapeSpec(connections=7, pause_ms=5.0))
    assert record.users == 7 and record.outcomes.ok and not record.outcomes.failed
    assert record.scheduled == record.outcomes.total == sum(host.scheduled for host in record.load_hosts)
    assert invariants.problem(record) is None
    assert is_of_the_load(record) and record.probes.tasks is not None and record.probes.tasks.at_ns
    # All hosts are on the kernel of the server, whose machine is one.
    assert record.probes.server_machine is None and disturbance(record).unread == ""


def test_a_rate_is_shared(far: tuple[Engine, TrialSpec]) -> None:
    rate = contract.RateSpec(from_per_s=300, to_per_s=300, duration_s=2)
    for arrivals in ("even", "poisson"):
        shape = contract.OpenShapeSpec(connections=30, arrivals=arrivals, rates=(rate,))
        record = put_on(far, shape=shape, stop=seconds(2.0), warm_up=None)
        # Of a Poisson process 600 are expected, ± 24; five times that is no chance.
        most_off = HOSTS if arrivals == "even" else 120
        assert abs(record.scheduled - 600) <= most_off
        rows = zip(record.series.ok, record.series.phase, strict=True)
        assert sum(ok for ok, phase in rows if phase == "measured") == record.outcomes.ok


def test_a_ramp_rises_by_one_user_of_each_in_turn(far: tuple[Engine, TrialSpec]) -> None:
    ramp = contract.RampShapeSpec(from_connections=0, to_connections=9, over_s=1.0, pause_ms=5.0)
    warm_up = contract.WarmUpSpec(connections=None, pauses=True, stop=seconds(0.2))
    record = put_on(far, shape=ramp, warm_up=warm_up, stop=seconds(1.5))
    assert record.users == 9 and max(record.series.connections) == 9
    assert [host.validity for host in record.load_hosts if host.validity == "not-valid"] == []


def test_turns_begin_together(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    turn = contract.TurnSpec(warm_up_s=0.1, measured_s=0.5)
    closed = contract.ClosedShapeSpec(connections=4)
    changes = {"turns": (turn, turn), "stop": seconds(1.0), "shape": closed, "warm_up": None}
    with engine.started(load, spec.model_copy(update=changes), lambda _: None) as loading:
        loading.turn()
        time.sleep(APART_S)
        loading.turn()
        record = loading.record()
    assert record.measured_ns == pytest.approx(1e9) and is_of_the_load(record)
    assert record.log.duration_ns and sum(record.log.duration_ns) <= record.measured_ns


def test_a_load_that_is_ended_early_ends_everywhere(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    early = EndEarly()

    def end(progress: contract.ProgressLine) -> None:
        if progress.measured.seconds > 0.8:
            early()

    lines = spec.progress.model_copy(update={"every_ms": 100})
    long = spec.model_copy(update={"stop": seconds(600.0), "progress": lines})
    record = engine.run(load, long, end, early)
    assert record.measured_ns < 500e9 and is_of_the_load(record) and len(record.load_hosts) == HOSTS


def test_a_canary_loads_beside_from_all_of_them(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    light = LightRequests(spec.requests[0], rate_per_s=50.0)
    record, beside = canary.beside(load, spec, light, lambda _: None)
    assert beside is not None and beside.outcomes.ok and len(beside.load_hosts) == HOSTS
    assert record.outcomes.ok


def test_one_connection_comes_from_the_first(far: tuple[Engine, TrialSpec]) -> None:
    record = put_on(far, shape=contract.ClosedShapeSpec(connections=1))
    assert record.load_hosts == () and record.outcomes.ok


def test_a_command_names_each_and_shows_what_each_saw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    real_engine.used(monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")
    call = caller(monkeypatch, capsys, "load")
    shells = [f"env XDG_CACHE_HOME={tmp_path} A={at}" for at in (1, 2)]
    named = [word for shell in shells for word in ("--from", shell)]
    with server("127.0.0.1") as spec:
        asked = (f"http://{spec.target.address}/", "-c", "4", "-z", "1s", "--no-store", *named)
        code, out, err = call(*asked, "--json")
        assert code in (0, 3), err
        said = json.loads(out)
        text = call(*asked)[1]
    assert [host["where"] for host in said["loaded_from"]["each"]] == shells
    assert [host["name"] for host in said["load_hosts"]] == shells
    assert sum(host["outcomes"]["ok"] for host in said["load_hosts"]) == said["outcomes"]["ok"]
    assert said["command"].count("--from") == 2
    # Where it came from, and a row for each.
    shown = " ".join(text.split())
    assert f"load from {shells[0]} and {shells[1]}" in shown and shown.count("A=2") >= 2


def test_a_host_that_is_named_twice_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = caller(monkeypatch, capsys, "load")
    code, _, err = call("http://127.0.0.1:1/", "--from", "env A=1", "--from", "env A=1")
    assert code == 2 and "--from env A=1 is given twice; name each load host once" in err
