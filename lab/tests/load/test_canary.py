"""The canary: its engine's spec, the records of load and canary, and that its process ends."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import documents
import one_run
import pytest
import real_engine
import tiny_runs
from crumple import contract
from crumple.contract import (
    DurationStopSpec,
    OpenShapeSpec,
    ProgressLine,
    RequestsStopSpec,
    TrialSpec,
    WarmUpSpec,
)
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.load import canary
from crumple.load.canary import LightRequests
from crumple.run import runs
from crumple.study import study

pytestmark = pytest.mark.starts

ROOT = Path(__file__).parents[3]
LIGHT = LightRequests(documents.request(path="/light"), rate_per_s=10)


@pytest.mark.parallel
def test_its_spec_is_light_and_uses_the_engines_cores() -> None:
    load = documents.spec(threads=1, cores=(1,))
    told = canary.spec_of(load, LIGHT)
    assert told.shape == OpenShapeSpec(
        connections=canary.CONNECTIONS,
        arrivals="even",
        rates=(contract.RateSpec(from_per_s=10, to_per_s=10, duration_s=2),),
    )
    assert (told.threads, told.cores, told.connection) == (1, (1,), "keep-alive")
    assert told.target == load.target and told.requests == (LIGHT.request,)
    assert told.probe.server_pid is None and told.probe.interval_ms > load.probe.interval_ms
    assert told.label == "shared/b01/go-nethttp/canary"


@pytest.mark.parallel
def test_it_is_measured_during_the_measured_phase_of_the_load() -> None:
    by_clock = canary.spec_of(documents.spec(), LIGHT)
    assert by_clock.warm_up == WarmUpSpec(connections=None, pauses=True, stop=DurationStopSpec(duration_s=1))
    assert by_clock.stop == DurationStopSpec(duration_s=2)
    by_requests = documents.spec(
        warm_up=WarmUpSpec(connections=1, pauses=True, stop=RequestsStopSpec(requests=9, within_s=5)),
        stop=RequestsStopSpec(requests=99, within_s=7),
    )
    told = canary.spec_of(by_requests, LIGHT)
    assert told.warm_up is None and told.stop == DurationStopSpec(duration_s=7)


@pytest.mark.parallel
def test_without_a_canary_no_second_engine_starts(tmp_path: Path) -> None:
    alone = Engine(documents.fake_engine(tmp_path), "0.1.0")
    record, beside = canary.beside(alone, documents.spec(), None, lambda _: None)
    assert record.spec == documents.spec() and beside is None


@pytest.mark.parallel
def test_a_failure_of_its_engine_is_raised(tmp_path: Path) -> None:
    body = "if spec['label'].endswith('/canary'): sys.exit(3)"
    fails = Engine(documents.fake_engine(tmp_path, body), "0.1.0")
    with pytest.raises(EngineFailed, match="ended with code 3"):
        canary.beside(fails, documents.spec(), LIGHT, lambda _: None)


@pytest.mark.parallel
def test_it_ends_if_the_load_fails(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    body = (
        "if spec['label'].endswith('/canary'):\n"
        f"    open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)\n"
        f"while not os.path.exists({str(pid_file)!r}): time.sleep(0.01)\n"
        "sys.exit(1)"
    )
    fails = Engine(documents.fake_engine(tmp_path, body), "0.1.0")
    with pytest.raises(EngineFailed, match="ended with code 1"):
        canary.beside(fails, documents.spec(), LIGHT, lambda _: None)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.fixture
def real() -> Engine:
    return real_engine.loaded()


@pytest.fixture
def address(real: Engine) -> Iterator[str]:
    """The engine's null server."""
    command = [real.path, "null-server", "--threads", "1", "--body-bytes", "13"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    process.stdin.close()
    process.wait(10)
    process.stdout.close()


def _spec(address: str, **changes: object) -> TrialSpec:
    return documents.spec(
        target=contract.Target(address=address, host=address),
        cores=(),
        warm_up=WarmUpSpec(connections=None, pauses=True, stop=DurationStopSpec(duration_s=0.5)),
        stop=DurationStopSpec(duration_s=1.5),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
        **changes,
    )


def test_real_engines_return_both_records(real: Engine, address: str) -> None:
    spec = _spec(address)
    record, beside = canary.beside(real, spec, LIGHT, lambda _: None)
    assert beside is not None and record.spec == spec
    # Ten a second for a second and a half; a request at either end may be missing.
    assert 14 <= beside.scheduled <= 16 and beside.outcomes.ok == beside.scheduled
    assert 4 <= beside.warm_up.scheduled <= 6
    assert beside.connections_opened == 1
    assert record.outcomes.ok > 100 and record.connections_opened == 32
    # The two windows overlap: both began within the first tenth of the load.
    assert abs(record.began_unix_ns - beside.began_unix_ns) < 1_000_000_000


@pytest.mark.parallel
def test_after_a_warm_up_by_requests_it_begins_with_the_measured_phase(real: Engine, address: str) -> None:
    spec = _spec(address).model_copy(
        update={
            "warm_up": WarmUpSpec(connections=1, pauses=True, stop=RequestsStopSpec(requests=100, within_s=5))
        }
    )
    spec = spec.model_copy(update={"stop": DurationStopSpec(duration_s=3)})
    seen: list[ProgressLine] = []
    record, beside = canary.beside(real, spec, LIGHT, seen.append)
    assert beside is not None and beside.warm_up.scheduled == 0
    assert beside.began_unix_ns > record.began_unix_ns + record.warm_up_ns
    assert seen and 1 <= beside.scheduled <= 31 and beside.measured_ns <= 3_100_000_000


@pytest.mark.parallel
def test_the_canarys_record_is_stored_with_the_trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tiny_runs.project(monkeypatch, tmp_path)
    asked = tiny_runs.study()
    beside = study.Canary(workload="hello", parameters={"delay_ms": 1}, rate_per_s=50)
    shared = asked.experiments["shared"].model_copy(update={"canary": beside})
    begun = tiny_runs.begin(root, asked=asked.model_copy(update={"experiments": {"shared": shared}}))
    one_run.execute(runs.narrow(begun, "shared/b01/tiny"), root, tiny_runs.Quiet())
    (stored,) = begun.store.trials()
    assert stored.status == "measured" and stored.record is not None and stored.canary is not None
    assert stored.canary.spec.requests[0].path == "/hello?delay_ms=1"
    assert stored.record.spec.requests[0].path == "/hello?delay_ms=0"
    # On a busy machine none may be answered within 0.3 seconds.
    assert stored.canary.scheduled > 0
    assert stored.canary.spec.target == stored.record.spec.target
