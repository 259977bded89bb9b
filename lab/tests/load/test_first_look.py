"""`crumple URL`: a look at the server alone, a short load, and a dozen lines that go on from there."""

import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import fault_servers
import faulty_servers
import made_loads
import made_overloads
import made_unloaded
import pytest
import started_servers
import synthetic_load
from command_line import Call, caller
from crumple.contract import OpenShapeSpec, TrialRecord
from crumple.drawing import report_text
from crumple.drawing.numerals import NARROW
from crumple.load import engine_spec, first_look, load_plan, watching
from crumple.load.load_flags import LoadFlags
from crumple.load.report import first_screen, load_sentences, server_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.machine import serving
from crumple.machine.group_limits import Limit
from crumple.machine.group_owner import Owner
from crumple.machine.program import Program
from crumple.observation import one_by_one
from crumple.observation.observed import FailuresAlone, WorkAlone
from crumple.results import result_store
from golden_file import as_golden

URL = "http://127.0.0.1:8080/hello"
# Tests of the command put a stand-in in its place.
WATCHED = watching.watch
PROGRAM = Program(4711, "python3 shop.py", "1f3a5c7d9e0b")


def of(
    mean_ms: float, *, first_ms: float | None = None, cpu_ms: float | None = None, **waits_ms: float
) -> WorkAlone:
    """Requests alone that take so long on average."""
    return WorkAlone(
        answers=9,
        mean_s=mean_ms / 1e3,
        least_s=mean_ms / 1e3,
        cpu_s=None if cpu_ms is None else cpu_ms / 1e3,
        first_byte_s=(mean_ms if first_ms is None else first_ms) / 1e3,
        waits_s={name.replace("_", " "): ms / 1e3 for name, ms in waits_ms.items()},
    )


def plain(text: str) -> str:
    return text.replace(NARROW, " ")


def looked_at(**changes: Any) -> LoadDocument:
    """A server whose requests wait to be read; alone, each waits for its answer to be acknowledged."""
    load = synthetic_load.remade(
        made_unloaded.watched(0.1), program=PROGRAM, url="http://localhost:8080/orders"
    )
    return synthetic_load.remade(load, **{"alone": of(61.9, first_ms=20.4, cpu_ms=0.48), **changes})


def stored() -> LoadDocument:
    """The same load, kept under a name."""
    return looked_at().model_copy(update={"name": "load-1"})


@pytest.mark.parametrize("width", [80, 100])
def test_the_screen_equals_the_golden_file(width: int) -> None:
    said = report_text.text(first_screen.report(stored()), width, styled=False)
    assert said == as_golden(f"first-look-{width}.txt", said)
    assert max(map(len, said.splitlines())) <= width


def test_the_screen_is_about_a_dozen_lines() -> None:
    lines = report_text.text(first_screen.report(stored()), 100, styled=False).splitlines()
    assert len([line for line in lines if line.strip()]) <= 14


@pytest.mark.parametrize(
    ("alone", "said"),
    [
        (of(0.05, cpu_ms=0.03), "50.0 µs a request: CPU 30.0 µs"),
        (of(0.05), "50.0 µs a request"),
        (
            of(61.9, first_ms=20.4, cpu_ms=0.4),
            "61.9 ms a request: kept back 41.5 ms · waiting inside 20.0 ms · CPU 400 µs",
        ),
        (of(61.9, first_ms=20.4), "61.9 ms a request: kept back 41.5 ms · else 20.4 ms"),
        (
            of(40, cpu_ms=5.5, a_core=30),
            "40.0 ms a request: waiting for a core 30.0 ms · CPU 5.50 ms · waiting inside 4.50 ms",
        ),
        (of(40, cpu_ms=39.5), "40.0 ms a request: CPU 39.5 ms"),
        # Threads that compute for a request at the same time.
        (of(40, cpu_ms=60), "40.0 ms a request: CPU 60.0 ms"),
        (
            dataclasses.replace(of(1.0, cpu_ms=0.9), disturbed="others used 40 %"),
            "1.00 ms a request: CPU 900 µs (others used 40 %)",
        ),
    ],
)
def test_where_the_time_of_a_request_alone_is(alone: WorkAlone, said: str) -> None:
    assert plain(server_sentences.alone(alone)) == said


def test_that_an_answer_is_kept_back_is_said_once_and_by_the_best_evidence() -> None:
    load = looked_at()
    names = [name for name, _ in first_screen.rows(load)]
    assert names.count("an answer") == 1
    assert ", as where a server writes it in parts" in server_sentences.in_parts(load)
    assert server_sentences.in_parts(synthetic_load.remade(load, alone=of(61.9))) == ""


def test_what_the_server_is() -> None:
    load = looked_at()
    assert server_sentences.program(load) == "python3 shop.py, process 4711, in container 1f3a5c7d9e0b"
    assert server_sentences.program(synthetic_load.remade(load, unwatched="why")).endswith("; why")
    half = Limit(0.5, Owner("container", "1f3a5c7d9e0b", "docker"), "/cpu.max", "50000 100000")
    limited = synthetic_load.remade(load, program=dataclasses.replace(PROGRAM, quota=half))
    said = f"its container 1f3a5c7d9e0b may use 0.50{NARROW}CPU"
    assert server_sentences.program(limited).endswith(f"in container 1f3a5c7d9e0b; {said}")
    assert load_sentences.server(limited).endswith(f" threads; {said}")
    unknown = synthetic_load.remade(load, program=None)
    assert server_sentences.program(unknown) == "not watched"
    assert server_sentences.program(synthetic_load.remade(unknown, unwatched="why")) == "not watched: why"


def test_the_commands_that_go_on_from_there() -> None:
    load = looked_at(alone=of(1.0))
    url = "http://localhost:8080/orders"
    assert [typed for typed, _ in first_screen.commands(load.model_copy(update={"name": "load-1"}))] == [
        f"crumple find {url}",
        f"crumple diagnose {url}",
        f"crumple versus {url} OTHER_URL",
        "crumple show load-1",
    ]
    far = synthetic_load.remade(load, program=None)
    assert [typed for typed, _ in first_screen.commands(far)] == [
        f"crumple find {url}", f"crumple versus {url} OTHER_URL", f"crumple load {url}"
    ]  # fmt: skip
    from_there = synthetic_load.remade(load, loaded_from=made_loads.FAR)
    assert first_screen.commands(from_there)[1][0] == f"crumple diagnose {url} --from 'ssh loader'"
    failing = synthetic_load.remade(synthetic_load.failing(), url="http://localhost/a?b=1&c=2")
    assert first_screen.commands(failing)[0][0] == "crumple 'http://localhost/a?b=1&c=2' --debug"


@pytest.mark.parametrize(
    ("alone_ms", "limit"), [(1.0, "250ms"), (62.5, "250ms"), (70.0, "500ms"), (163.0, "1s"), (900.0, "5s")]
)
def test_the_objective_of_a_search_is_one_that_a_request_alone_keeps(alone_ms: float, limit: str) -> None:
    load = looked_at(alone=of(alone_ms))
    assert first_screen.limit_of(load) == limit
    typed, meaning = first_screen.commands(load)[0]
    assert meaning == f"the highest rate with p99 below {limit}"
    assert ("--objective" in typed) == (limit != "250ms")


def test_what_failed_stands_above_the_rows_and_an_overload_in_the_answer() -> None:
    def lines(load: LoadDocument) -> list[str]:
        return plain(report_text.text(first_screen.report(load), 100, styled=False)).splitlines()

    assert not any(line.startswith(("✓", "✗", "!")) for line in lines(looked_at()))
    assert any(line.startswith("Overloaded: answers ") for line in lines(made_overloads.load_of())[-5:])
    assert any(line.startswith("✓ valid, 5.0 % failed") for line in lines(synthetic_load.failing())[:6])
    assert any(line.startswith("✗ schedule-missed, 12 % not") for line in lines(synthetic_load.stepped())[:6])


def test_the_load_is_short_unless_a_flag_says_how_long() -> None:
    assert first_look.shape(LoadFlags()) == LoadFlags(duration="6s", warm_up="2s")
    for given in (
        LoadFlags(duration="30s"),
        LoadFlags(requests=5),
        LoadFlags(ramp="0-5"),
        LoadFlags(steps="1,2"),
    ):
        assert first_look.is_shaped(given) and first_look.shape(given) == given
    assert not first_look.is_shaped(LoadFlags(connections=5, rate="5", header=["A: b"]))


@pytest.mark.parametrize(("spent_s", "lasts_s"), [(1.0, 6.0), (3.5, 6.0), (5.0, 4.5), (9.0, 3.0)])
def test_it_ends_in_time_where_the_look_alone_took_long(spent_s: float, lasts_s: float) -> None:
    for flags in (LoadFlags(), LoadFlags(rate="50")):
        spec = load_plan.plan(URL, first_look.shape(flags)).spec
        fitted = first_look.shorten(spec, spent_s)
        assert fitted.stop.kind == "duration" and fitted.stop.duration_s == lasts_s
        if isinstance(fitted.shape, OpenShapeSpec):
            assert [rate.duration_s for rate in fitted.shape.rates] == [lasts_s]


def test_after_a_slow_server_nothing_more_is_asked_and_late_the_engine_is_not_measured() -> None:
    assert (
        first_look.asks_after(of(20))
        and first_look.asks_after(None)
        and first_look.asks_after(FailuresAlone(0, 9))
    )
    assert not first_look.asks_after(of(900))
    assert [first_look.first_within_s(spent_s) for spent_s in (8.0, 11.0, 14.5)] == [5.0, 2.5, 0.5]
    assert first_look.compares_engine(10.0) and not first_look.compares_engine(13.0)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple …` in an empty folder, with a store of its own; no process is watched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(result_store, "folder", lambda: tmp_path / "results")
    monkeypatch.setattr(watching, "watch", lambda options, *_, **__: (options, "it is not to be found"))
    return caller(monkeypatch, capsys)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[TrialRecord], None]:
    """A stand-in for the engine that returns this record, whatever spec it gets."""

    def stand_in(record: TrialRecord) -> None:
        stored = tmp_path / "record.json"
        stored.write_text(record.model_dump_json(by_alias=True))
        loaded = f"record = json.load(open({str(stored)!r})); record['spec'] = spec\n"
        monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path, loaded)))
        monkeypatch.setattr(engine_spec, "check_listening", lambda target, machine: None)

    return stand_in


@pytest.mark.starts
@pytest.mark.parallel
def test_a_url_alone_is_looked_at_and_stored_as_a_load(
    call: Call, answering: Callable[[TrialRecord], None]
) -> None:
    answering(synthetic_load.closed().record.model_copy(update={"users": 50}))
    code, out, err = call(URL)
    assert code == 0, err
    assert out.startswith(f"How fast is GET {URL} with 50 connections ")
    assert "\nnot watched: it is not to be found\n\nalone " in out
    assert " answers a second; " in out and f"\ncrumple find {URL} " in out
    name = err.split("stored as ")[1].split()[0]
    assert f"crumple show {name}" in out
    code, again, _ = call("show", name)
    assert code == 0 and "\nvalid: " in again and "p99.9" in again
    document = json.loads(call("show", name, "--json")[1])
    assert document["kind"] == "load" and " --first-look --seed " in document["command"]
    assert json.loads(call(URL, "--json", "--no-store")[1])["kind"] == "load"


@pytest.mark.starts
@pytest.mark.parallel
def test_a_url_that_answers_nothing_as_expected_is_not_loaded(
    call: Call, answering: Callable[[TrialRecord], None]
) -> None:
    moved = documents.request_record(
        statuses={301: 40}, examples=(documents.example("wrong-status", 301, head="Location: /home"),)
    )
    ended = {"outcomes": documents.outcomes(wrong_status=40), "scheduled": 40, "requests": (moved,)}
    answering(documents.record(**ended))
    code, out, err = call(URL, "--quiet")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert err.endswith("; load where it leads: crumple http://127.0.0.1:8080/home\n")
    answering(documents.record(outcomes=documents.outcomes(not_sent=40), scheduled=40))
    code, out, err = call(URL, "--quiet")
    assert (code, out) == (1, "")
    assert err.startswith(
        "127.0.0.1:8080 takes a connection, but gave no answer within 3 s; if one takes longer"
    )


def test_a_server_that_refuses_connections_is_named_in_one_line(call: Call) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{bound.getsockname()[1]}"
        code, out, err = call(at)
    assert (code, out, err) == (1, "", f"nobody listens at {at}; start the server, or mend the URL\n")


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_on_another_machine_is_looked_at_without_its_process(
    call: Call, answering: Callable[[TrialRecord], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(synthetic_load.closed().record.model_copy(update={"users": 50}))
    monkeypatch.setattr(watching, "watch", WATCHED)
    monkeypatch.setattr(serving, "at", lambda *_, **__: None)
    url = "http://10.98.76.2:8080/"
    code, out, err = call(url, "--no-store")
    assert code == 0, err
    why = "not watched: it is not on this machine; run crumple where it is"
    assert f"\n{why}\n" in out and "\nalone " in out and " answers a second; " in out
    assert "first limit" not in out and "crumple diagnose" not in out


@pytest.mark.starts
@pytest.mark.parallel
@faulty_servers.as_nobody
def test_the_server_of_another_user_is_looked_at_and_the_reason_is_named() -> None:
    crumple = [*faulty_servers.NOBODY, sys.executable, "-c", "from crumple.cli import main; main()"]
    readable = subprocess.run([*crumple, "--help"], capture_output=True, cwd="/", check=False)
    if readable.returncode != 0:
        pytest.skip("another user may not run the program here")
    with fault_servers.serving("200") as served, tempfile.TemporaryDirectory() as cache:
        Path(cache).chmod(0o777)
        done = subprocess.run(
            [*crumple, served.at, "-z", "1s", "--no-store"],
            capture_output=True,
            text=True,
            cwd="/",
            env={**os.environ, "CRUMPLE_ROOT": str(started_servers.ROOT), "XDG_CACHE_HOME": cache},
            check=False,
        )
    _, server, *rows = done.stdout.splitlines()
    assert server.startswith("not watched: whoever listens on port"), done.stderr
    assert "belongs to another user; " in server
    assert any(" answers a second; " in row for row in rows)


@pytest.mark.starts
@pytest.mark.alone
def test_a_first_look_at_a_real_server_ends_in_time_and_names_it(tmp_path: Path) -> None:
    with started_servers.started(started_servers.PROGRAM, "", "") as (
        port,
        pid,
    ):
        done = subprocess.run(
            [Path(sys.executable).parent / "crumple", f":{port}/sleep?ms=20", "--json", "--no-store"],
            cwd=started_servers.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    found = json.loads(done.stdout)
    assert found["program"]["pid"] == pid and found["program"]["name"].startswith("python")
    assert found["alone"]["mean_s"] == pytest.approx(0.02, rel=0.5)
    assert found["record"]["warm_up_ns"] > 0 and found["findings"]


def test_the_median_tells_whether_answers_are_kept_back_as_the_first_are_not() -> None:
    """On a new connection the kernel acknowledges the first segments at once: the mean is less than 40 ms."""
    some = of(56.4, first_ms=20.4)
    assert some.unacknowledged_s == 0
    most = dataclasses.replace(some, rest_s=0.0415)
    assert most.unacknowledged_s == pytest.approx(0.036) and most.served_s == pytest.approx(0.0204)
    quick, late = 10_000_000, 51_500_000
    record = documents.record(
        outcomes=documents.outcomes(ok=15),
        histograms=documents.record().histograms.model_copy(
            update={
                "response_time": documents.histogram({quick: 2, late: 13}),
                "time_to_first_byte": documents.histogram({quick: 15}),
            }
        ),
    )
    found = one_by_one.alone(record, "")
    assert found is not None and found.rest_s == pytest.approx(0.0415, rel=0.01)
    assert 0.03 < found.unacknowledged_s < 0.038
