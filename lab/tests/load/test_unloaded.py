"""A watched load: what is looked at before and after it, and what its summary and its data then say."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import documents
import made_at_load
import made_inside
import pytest
import started_servers
import synthetic_load
from crumple import contract
from crumple.cause import in_short, judged
from crumple.contract import (
    ClosedShapeSpec,
    OpenShapeSpec,
    RampShapeSpec,
    RateSpec,
    RequestsStopSpec,
    ShapeSpec,
)
from crumple.limit.finding import CAUSES, Finding, Unclear
from crumple.load import unloaded
from crumple.load.report import load_sentences as say
from crumple.machine import at_rest, connection_ends, program
from crumple.machine.at_rest import AtRest
from crumple.machine.load_machine import LoadMachine
from crumple.observation import one_by_one
from crumple.observation.observed import FailuresAlone, WorkAlone
from crumple.words import cause_sentences
from made_unloaded import ASLEEP, MS, watched


@pytest.fixture(autouse=True)
def named_though_a_rival_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loads here are too plain to tell causes apart; what is made of a named one is tested."""
    monkeypatch.setattr("crumple.cause.judged.LIKELY", 0.3)


def test_41_requests_are_sent_one_at_a_time() -> None:
    spec = synthetic_load.closed().record.spec
    assert unloaded.spec_alone(spec).probe == spec.probe
    watched_probe = spec.probe.model_copy(update={"server_pid": 7, "stages": True, "tasks": True})
    asked = unloaded.spec_alone(spec.model_copy(update={"probe": watched_probe}))
    assert asked.shape == ClosedShapeSpec(connections=1)
    assert asked.warm_up and isinstance(asked.warm_up.stop, RequestsStopSpec)
    assert isinstance(asked.stop, RequestsStopSpec)
    assert asked.warm_up.stop.requests + asked.stop.requests == 41
    # Where a request alone is, and what it waits for.
    assert asked.probe == watched_probe
    assert asked.requests == synthetic_load.closed().record.spec.requests


@pytest.mark.parametrize(
    ("shape", "pause_ms"),
    [
        (ClosedShapeSpec(connections=8), 0.0),
        (ClosedShapeSpec(connections=8, pause_ms=40), 5.0),
        (RampShapeSpec(from_connections=1, to_connections=10, over_s=5, pause_ms=40), 4.0),
        (OpenShapeSpec(connections=8, rates=(RateSpec(from_per_s=10, to_per_s=200, duration_s=5),)), 5.0),
        (
            OpenShapeSpec(connections=8, rates=(RateSpec(from_per_s=8, to_per_s=8, duration_s=5),)),
            unloaded.APART_MS,
        ),
    ],
)
def test_requests_alone_come_as_far_apart_as_under_the_load(shape: ShapeSpec, pause_ms: float) -> None:
    spec = synthetic_load.closed().record.spec.model_copy(update={"shape": shape})
    assert unloaded.spec_alone(spec).shape == ClosedShapeSpec(connections=1, pause_ms=pause_ms)


def test_a_server_that_is_not_watched_is_not_looked_at() -> None:
    spec = synthetic_load.closed().record.spec
    probe = spec.probe.model_copy(update={"server_pid": None})
    assert unloaded.before(spec.model_copy(update={"probe": probe})) == unloaded.Before()


@pytest.mark.parametrize(
    ("seen", "others"), [((1, 0), 0), ((3, 2), 2), ((2, 5), 2), ((0,), 0), ((None,), None)]
)
def test_a_connection_that_an_earlier_load_has_left_is_none_of_another_client(
    monkeypatch: pytest.MonkeyPatch, seen: tuple[int | None, ...], others: int | None
) -> None:
    looks = iter(seen)
    monkeypatch.setattr(connection_ends, "held_by_others", lambda *_: next(looks))
    monkeypatch.setattr(at_rest, "look", lambda _: None)
    monkeypatch.setattr(program, "of", lambda _: None)
    spec = synthetic_load.closed().record.spec
    probe = spec.probe.model_copy(update={"server_pid": 4711})
    assert unloaded.before(spec.model_copy(update={"probe": probe})).others == others


def test_a_queue_in_front_of_idle_cores_is_found_with_and_without_the_time_alone() -> None:
    # One takes 0.1 ms alone, so 6.4 inside are more than are served at a time; without that they look busy.
    for alone_ms, cause in ((0.1, "gate"), (None, "workers")):
        load = watched(alone_ms)
        assert isinstance(load.findings[0], Finding) and load.findings[0].cause == cause, load.findings
        rows = dict(say.facts(load))
        assert ": 6.4 requests are inside, " in rows["first limit"] and rows["try"]
        assert f"first limit is {CAUSES[load.findings[0].cause]}" in synthetic_load.screen(
            load, 100, styled=False
        )


def test_without_the_time_alone_harm_is_shown_by_a_queue_only() -> None:
    calm = replace(made_at_load.NOTHING, alone_s=None)
    (said, *_) = judged.judged(calm)
    assert isinstance(said, Unclear) and "how long a request takes alone" in said.why
    assert cause_sentences.in_short([said]) == [("first limit", f"cannot tell: {said.why}")]
    ready = made_at_load.facts(
        replace(made_at_load.CPU, alone_s=None), threads=made_at_load.threads(runnable=14.0)
    )
    assert ready.is_harmed and not replace(calm).is_harmed
    (said, *_) = judged.judged(ready)
    assert isinstance(said, Finding) and said.cause == "cpu"


def test_a_thread_that_burns_a_core_while_nobody_asks_is_no_loop_at_its_limit() -> None:
    """Workers that wait are asked too much, beside a thread that burns a core: the load is not for it."""
    record = watched(0.1).record
    burner = contract.TaskThread(
        pid=1, tid=9, name="burner", cpu_ns=round(0.99 * record.measured_ns), run_queue_ns=0, place=None,
        ended=False,
    )  # fmt: skip
    tasks = made_inside.tasks(
        record, [(1, 0, 0)] * 60, threads_seen=(burner,), cpu_ns=burner.cpu_ns, places=ASLEEP
    )
    probes = record.probes.model_copy(update={"tasks": tasks, "server": made_inside.server(record, 1.05)})
    record = record.model_copy(update={"probes": probes})
    (blind, *_) = in_short.judged(record, 4)
    (found, *_) = in_short.judged(record, 4, rest=AtRest(1.0, 0.0, (9,)))
    assert isinstance(blind, Finding) and blind.cause == "one-loop"
    assert isinstance(found, Finding) and found.cause == "workers"


def test_of_requests_that_are_cut_off_the_cpu_time_is_not_counted_for_the_others() -> None:
    # Two seconds of computing on one core; of requests of 1.5 s each one ended, and the next was cut off.
    plain = documents.record(outcomes=documents.outcomes(ok=1, unfinished=1))
    times = documents.histogram({1_500_000_000: 1})
    server = made_inside.server(plain, 1.0)
    record = plain.model_copy(
        update={
            "histograms": plain.histograms.model_copy(
                update={"response_time": times, "unfinished_age": documents.histogram({500_000_000: 1})}
            ),
            "probes": plain.probes.model_copy(update={"server": server}),
        }
    )
    found = unloaded.alone_of(record)
    assert isinstance(found, WorkAlone) and found.cpu_s == pytest.approx(1.5, rel=0.01)
    hangs = documents.histogram({9_000_000_000: 1})
    hung = record.model_copy(
        update={"histograms": record.histograms.model_copy(update={"unfinished_age": hangs})}
    )
    assert one_by_one.cpu_s(hung) == pytest.approx(1.0, rel=0.01)
    whole = record.model_copy(update={"outcomes": documents.outcomes(ok=1)})
    assert one_by_one.cpu_s(whole) == pytest.approx(2.0)
    unread = record.model_copy(update={"probes": record.probes.model_copy(update={"server": None})})
    assert one_by_one.cpu_s(unread) is None


def test_a_request_that_is_cut_after_longer_than_all_others_counts_for_the_mean() -> None:
    """Three took 10 ms each, and a fourth had no answer for 1,170 ms: the mean is none of the short ones."""
    times = documents.record().histograms.model_copy(
        update={
            "response_time": documents.histogram({10_000_000: 3}),
            "unfinished_age": documents.histogram({1_170_000_000: 1}),
        }
    )
    cut = documents.record(outcomes=documents.outcomes(ok=3, unfinished=1), histograms=times)
    found = unloaded.alone_of(cut)
    assert isinstance(found, WorkAlone) and found.mean_s == pytest.approx(1.2 / 3, rel=0.01)
    assert found.spread_s > found.mean_s and one_by_one.is_uneven(cut)
    short = times.model_copy(update={"unfinished_age": documents.histogram({8_000_000: 1})})
    even = documents.record(outcomes=documents.outcomes(ok=3, unfinished=1), histograms=short)
    found = unloaded.alone_of(even)
    assert isinstance(found, WorkAlone) and found.mean_s == pytest.approx(0.01, rel=0.01)
    assert not one_by_one.is_uneven(even)


def test_requests_that_fail_alone_are_counted() -> None:
    times = documents.record().histograms.model_copy(
        update={"response_time": documents.histogram({1_000_000: 30})}
    )
    some = documents.record(outcomes=documents.outcomes(ok=30, wrong_status=10), histograms=times)
    found = unloaded.alone_of(some)
    assert isinstance(found, WorkAlone) and (found.answers, found.failed) == (30, 10)
    none = times.model_copy(update={"response_time": documents.histogram({})})
    every = documents.record(outcomes=documents.outcomes(ok=0, wrong_status=40), histograms=none)
    assert unloaded.alone_of(every) == FailuresAlone(0, 40)
    nothing = documents.record(outcomes=documents.outcomes(ok=0, unfinished=1), histograms=none)
    assert unloaded.alone_of(nothing) is None


@pytest.mark.parametrize(("late_share", "cpu_s"), [(0.0, 0.1), (0.04, 0.1), (0.06, None)])
def test_a_window_that_begins_late_counts_for_the_requests_that_it_covers(
    late_share: float, cpu_s: float | None
) -> None:
    plain = documents.record(outcomes=documents.outcomes(ok=10))
    # Half a core is used all the time, and the window sees what is left of it.
    server = made_inside.server(plain, 0.5 * (1 - late_share))
    assert server.window is not None
    late = server.window.model_copy(update={"span_ns": round((1 - late_share) * plain.measured_ns)})
    server = server.model_copy(update={"window": late})
    record = plain.model_copy(update={"probes": plain.probes.model_copy(update={"server": server})})
    found = one_by_one.cpu_s(record)
    assert found == (None if cpu_s is None else pytest.approx(0.05 * plain.measured_ns / 1e9, rel=0.01))


def test_the_engine_has_the_cores_that_are_not_the_servers() -> None:
    machine = LoadMachine((0, 1, 2, 3), open_files=1_024, ports=None)
    assert machine.apart((2, 3), (0, 1)) == 2
    assert machine.apart((1, 2), (0, 1)) == 1
    assert machine.apart((), (0, 1, 2, 3)) == 0
    assert replace(machine, is_apart=True).apart((), (0, 1, 2, 3)) == 4


def test_a_load_that_read_nothing_of_the_server_is_not_judged() -> None:
    record = synthetic_load.closed().record
    assert in_short.judged(record, 2) == ()
    assert cause_sentences.in_short(()) == []


def test_the_data_have_what_was_found_and_the_time_alone() -> None:
    written = json.loads(json.dumps(synthetic_load.printed(watched(0.1))))
    first = written["findings"][0]
    assert (first["kind"], first["cause"], first["sure"]) == ("finding", "gate", "likely")
    assert 0.5 < first["probability"] < 1 and first["evidence"] and first["remedy"]
    assert written["alone"]["mean_s"] == pytest.approx(0.1 * MS)
    assert written["idle_cores"] == 0.1
    assert {each["name"] for each in written["stages"]["pieces"]} >= {"user", "ready", "disk", "otherwise"}
    assert "inside" not in {each["name"] for each in written["stages"]["pieces"]}


@pytest.mark.starts
@pytest.mark.alone
def test_a_url_that_always_answers_with_an_error_is_asked_without_load_too() -> None:
    with started_servers.started(started_servers.PROGRAM, "", "") as (port, pid):
        url = f"http://127.0.0.1:{port}/sleep?ms=20"
        how = ("-c", "4", "-z", "2s", "--expect-status", "404", "--json", "--watch", str(pid))
        done = subprocess.run(
            [Path(sys.executable).parent / "crumple", "load", url, *how],
            cwd=started_servers.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    said = [each["why"] for each in json.loads(done.stdout)["findings"] if each["kind"] == "unclear"]
    if disturbed := [each for each in said if "other programs used" in each]:
        pytest.skip(disturbed[0])
    assert [each for each in said if "answers fail as often without load" in each], done.stdout


@pytest.mark.starts
@pytest.mark.alone
def test_a_watched_load_ends_with_the_divided_time_and_what_limits_it() -> None:
    with started_servers.started(started_servers.PROGRAM, "", "") as (port, pid):
        url, how = f"http://127.0.0.1:{port}/sleep?ms=30", ("-c", "8", "-z", "5s", "--json")
        done = subprocess.run(
            [Path(sys.executable).parent / "crumple", "load", url, *how, "--watch", str(pid)],
            cwd=started_servers.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    said = json.loads(done.stdout)
    assert 9 <= said["alone"]["answers"] <= 40 and said["alone"]["mean_s"] > 0.03
    assert said["idle_cores"] < 0.1
    assert said["findings"]
    if said["stages"]["why"] and "others had the cores" in said["stages"]["why"]:
        pytest.skip(said["stages"]["why"])
    assert said["stages"]["inside_not_divided"] is None, said["stages"]
    pieces = {each["name"]: each["mean_ns"] for each in said["stages"]["pieces"]}
    assert pieces["otherwise"] > 0.8 * said["stages"]["measured_ns"]
    assert pieces.get("dependency", 0) == 0


@pytest.mark.starts
@pytest.mark.parallel
def test_what_a_request_without_load_computes_is_all_counted() -> None:
    """The phase of its requests begins when one has ended, and no sample of the server is due then."""
    with started_servers.started(started_servers.PROGRAM, "", "") as (port, pid):
        url, how = f"http://127.0.0.1:{port}/hash?ms=4", ("-c", "1", "-z", "1s", "--json")
        done = subprocess.run(
            [str(started_servers.ROOT / "crumple"), "load", url, *how, "--watch", str(pid)],
            cwd=started_servers.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert json.loads(done.stdout)["alone"]["cpu_s"] > 0.004
