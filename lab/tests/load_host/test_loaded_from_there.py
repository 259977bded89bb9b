"""The real engine loads a server of this machine from a network namespace, and the real one here watches it.

Where namespaces cannot be made, the load host is a shell of this machine: another process with three streams.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import other_hosts
import pytest
import real_engine
import slow_pipe
from crumple import contract, engine
from crumple.contract import TrialSpec
from crumple.engine import EndEarly, Engine
from crumple.load import canary
from crumple.load.canary import LightRequests
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from crumple.record import windows
from crumple.record.disturbance import Disturbance, disturbance
from loaded_server import is_of_the_load, seconds, server

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# Turns are further apart than what is read may be off.
APART_S = 1.5


def number(requests: int) -> contract.StopSpec:
    return contract.RequestsStopSpec(requests=requests, within_s=600.0)


@pytest.fixture(params=["a namespace", "a shell"])
def far(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, TrialSpec]]:
    """An engine whose loads come from elsewhere, and a load."""
    with ExitStack() as stack:
        address, words = "127.0.0.1", ["env", "A=1"]
        if request.param == "a namespace":
            if why := other_hosts.why_not():
                pytest.skip(why)
            host = stack.enter_context(other_hosts.started("loader"))
            address = stack.enter_context(other_hosts.joined(None, host)).addresses[0]
            words = host.words()
        near = real_engine.loaded()
        source = stack.enter_context(LoadHost(where.read(" ".join(words)), near.path))
        yield replace(near, load_host=source), stack.enter_context(server(address))


def assert_all_read(found: Disturbance) -> None:
    """Assert that all was read, but for connections of tests beside this one that were open for a moment."""
    assert not found.unread or "connections were closed before" in found.unread, found.unread


def test_a_record_has_the_load_from_there_and_the_server_from_here(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    record = engine.run(load, spec, lambda _: None)
    probes = record.probes
    assert record.outcomes.ok and not record.outcomes.failed and is_of_the_load(record)
    assert probes.tasks is not None and probes.tasks.at_ns and probes.dependencies is not None
    assert probes.watch is not None and probes.watch.window is not None
    # Both ends are on one kernel: then the engine there is not one of the others, and the machine is one.
    assert probes.server_machine is None and probes.server_sockets is not None
    assert_all_read(disturbance(record))


def test_phases_that_end_by_number_are_watched_as_they_are(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    warm_up = contract.WarmUpSpec(connections=None, pauses=True, stop=number(200))
    record = engine.run(
        load, spec.model_copy(update={"warm_up": warm_up, "stop": number(800)}), lambda _: None
    )
    assert record.outcomes.ok == 800 and is_of_the_load(record)


def test_turns_are_watched_without_what_is_between_them(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    turn = contract.TurnSpec(warm_up_s=0.1, measured_s=0.5)
    closed = contract.ClosedShapeSpec(connections=4)
    changes = {"turns": (turn, turn), "stop": seconds(1.0), "shape": closed, "warm_up": None}
    with engine.started(load, spec.model_copy(update=changes), lambda _: None) as loading:
        loading.turn()
        time.sleep(APART_S)
        loading.turn()
        record = loading.record()
    assert record.measured_ns == pytest.approx(1e9)
    assert is_of_the_load(record)


def test_a_load_that_is_ended_early_is_watched_until_then(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    early = EndEarly()

    def end(progress: contract.ProgressLine) -> None:
        if progress.measured.seconds > 0.8:
            early()

    lines = spec.progress.model_copy(update={"every_ms": 100})
    long = spec.model_copy(update={"stop": seconds(600.0), "progress": lines})
    record = engine.run(load, long, end, early)
    assert record.measured_ns < 500e9 and is_of_the_load(record)


def test_what_may_be_off_the_phase_by_much_of_it_is_left_out() -> None:
    near = real_engine.loaded()
    slow = " ".join(slow_pipe.words(0.2))
    with LoadHost(where.read(slow), near.path) as source, server("127.0.0.1") as spec:
        spec = spec.model_copy(update={"warm_up": None, "stop": seconds(1.0)})
        record = engine.run(replace(near, load_host=source), spec, lambda _: None)
    probes = record.probes
    assert record.outcomes.ok and probes.server is not None and windows.server(record) is None
    assert (said := windows.why(record, probes.server)).startswith("window: a line takes 4")
    assert (
        probes.tasks is not None and not probes.tasks.at_ns and said.startswith(f"window: {probes.tasks.why}")
    )
    # Then it is not known either what others took.
    assert disturbance(record).unread


def test_a_canary_loads_beside_from_there_too(far: tuple[Engine, TrialSpec]) -> None:
    load, spec = far
    light = LightRequests(spec.requests[0], rate_per_s=50.0)
    record, beside = canary.beside(load, spec, light, lambda _: None)
    assert beside is not None and beside.outcomes.ok and beside.load_host == record.load_host
    assert beside.probes.watch is None and is_of_the_load(record)
    assert_all_read(disturbance(record, beside))
