"""All checks of a running server, on a small correct server and on servers with one error each."""

from types import SimpleNamespace

import documents
import pytest
import real_engine
import tiny_servers
from crumple import engine, project
from crumple.errors import WrongAnswer
from crumple.subject import effects, server_check, servers, workload
from crumple.subject.effects import MachineSpeed, NotJudged, Pids
from crumple.subject.server_check import HTTP, MODEL, CheckedServer, CheckFinding
from crumple.subject.tables import Counters

ROOT = project.root()
WORKLOADS = workload.find(ROOT)

REFUSES_AFTER_MANY = """
ASKED = []
right = Handler.do_GET
def do_GET(self):
    global STATUS
    ASKED.append(1)
    if len(ASKED) > {many}: STATUS = 503
    right(self)
Handler.do_GET = do_GET
"""

CLOSES_AFTER_TEN = """
COUNTS = {}
right = Handler.do_GET
def do_GET(self):
    global CLOSE
    COUNTS[self.client_address] = COUNTS.get(self.client_address, 0) + 1
    CLOSE = COUNTS[self.client_address] >= 10
    right(self)
Handler.do_GET = do_GET
"""


@pytest.fixture(autouse=True)
def short(tmp_path, monkeypatch):
    """Keep a test's builds in its own folder, and shorten the load."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(server_check, "LOAD_S", 0.2)


@pytest.fixture(scope="session")
def load():
    return real_engine.loaded()


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """A server that does not wait, for tests that do not look at the server's own CPU time."""
    tiny = tiny_servers.described(tmp_path_factory.mktemp("at_once"), here="WAITS = False")
    with servers.start(servers.build(tiny), cores=(), settings={}) as running:
        yield running


def findings(
    load, tmp_path, here: str = "", declared: str = "thread-per-connection"
) -> dict[str, CheckFinding]:
    tiny = tiny_servers.described(tmp_path, here=here).model_copy(update={"io_model": declared})
    with servers.start(servers.build(tiny), cores=(), settings={}) as running:
        subject = CheckedServer(
            description=tiny,
            address=running.address,
            keeps=True,
            pids=Pids(running.guarded.guard_pid),
            workloads=WORKLOADS,
            load=load,
            files_left=running.files_left,
            database=None,
            no_database="mariadbd is not installed",
        )
        return {finding.check: finding for finding in server_check.findings(subject)}


@pytest.mark.starts
@pytest.mark.parallel
def test_a_correct_server_passes_every_check(load, tmp_path):
    found = findings(load, tmp_path)
    assert {(check, finding.state) for check, finding in found.items()} == {
        ("hello", "right"),
        (HTTP, "right"),
        (MODEL, "right"),
    }


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("here", "check", "said"),
    [
        ("WAITS = False", "hello", "delay_ms=120: answered after"),
        ("REFUSES = WAITS = False", "hello", "answer 400"),
        ("BODY = b'Hello'", "hello", "the contract says 13 bytes"),
        (CLOSES_AFTER_TEN, HTTP, "number 10 on its connection: it closes the connection"),
        (REFUSES_AFTER_MANY.format(many=200), HTTP, "wrong-status"),
        ("UNKNOWN = 200", HTTP, "answer 404"),
    ],
)
def test_each_error_is_found_by_its_check(load, tmp_path, monkeypatch, here, check, said):
    monkeypatch.setattr(server_check, "_model", lambda _: None)
    found = findings(load, tmp_path, here)
    assert found[check].state == "wrong" and said in found[check].reason


@pytest.mark.starts
@pytest.mark.parallel
def test_a_wrongly_declared_io_model_fails(load, tmp_path, monkeypatch):
    monkeypatch.setattr(server_check, "WAITS_S", (1.5,))
    monkeypatch.setattr(server_check, "_http", lambda _: None)
    found = findings(load, tmp_path, declared="event-loop")[MODEL]
    assert found.state == "wrong"
    assert found.reason.startswith("declared event-loop, but 1 process with ")


@pytest.mark.starts
@pytest.mark.parallel
def test_an_io_model_contradicted_only_once_passes(load, tmp_path, monkeypatch):
    monkeypatch.setattr(server_check, "_http", lambda _: None)
    said = iter(["declared it, but …", None])
    monkeypatch.setattr(effects, "contradiction", lambda *_: next(said))
    assert findings(load, tmp_path)[MODEL].state == "right"


@pytest.mark.starts
@pytest.mark.parallel
def test_without_a_database_its_workloads_are_skipped_with_the_reason(load, tmp_path, monkeypatch):
    monkeypatch.setattr(server_check, "_model", lambda _: None)
    monkeypatch.setattr(server_check, "_http", lambda _: None)
    tiny = tiny_servers.described
    monkeypatch.setattr(
        tiny_servers,
        "described",
        lambda *a, **k: tiny(*a, **k).model_copy(update={"workloads": ("hello", "rows", "no-such")}),
    )
    found = findings(load, tmp_path)
    assert found["rows"] == CheckFinding("rows", "skipped", "mariadbd is not installed")
    assert found["no-such"].state == "wrong" and "no no-such.toml" in found["no-such"].reason


# The load


def loaded(monkeypatch, *ended: dict[str, int]) -> list[float]:
    """Check a server under loads whose requests end like this, one load after the other; their lengths."""
    lasted_s: list[float] = []
    left = iter(ended)

    def run(_engine, spec, _on_progress):
        lasted_s.append(spec.stop.duration_s)
        return documents.record(outcomes=documents.outcomes(**next(left)))

    monkeypatch.setattr(engine, "run", run)
    subject = SimpleNamespace(address="127.0.0.1:1", load=None)
    server_check._load(subject, WORKLOADS["hello"])
    return lasted_s


def test_a_load_in_which_no_request_ended_is_repeated_longer(monkeypatch):
    assert loaded(monkeypatch, {"unfinished": 64}, {"ok": 3, "unfinished": 61}) == [0.2, 0.8]


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ([{"unfinished": 64}] * 3, "64 unfinished"),
        ([{"ok": 900, "wrong_status": 2}], "2 wrong-status"),
        ([{"unfinished": 64}, {"refused": 9, "unfinished": 55}], "9 refused"),
    ],
)
def test_a_load_whose_requests_fail_or_never_end_is_wrong(monkeypatch, ended, said):
    with pytest.raises(WrongAnswer, match=f"hello on 64 connections: .*{said}"):
        loaded(monkeypatch, *ended)


# Requests


def paths(name: str) -> list[str]:
    return [request.path for request in server_check.wrong_requests(WORKLOADS[name])]


def test_each_parameter_is_tried_at_and_beyond_its_limits():
    assert server_check.right_parameters(WORKLOADS["hash"]) == ({}, {"n": 3}, {"n": 100})
    assert {"below": 2} in server_check.right_parameters(WORKLOADS["primes"])
    assert server_check.right_parameters(WORKLOADS["file"]) == ({}, {"fill": "bulk"})
    assert {"/hash?n=0", "/hash?n=100001", "/hash?n=-1", "/hash?n=%2B1", "/hash?n=1.5"} <= set(paths("hash"))
    assert "/mix?wait_ms=0&spin_us=10000001&bytes=13" in paths("mix")
    assert paths("file") == ["/file?fill=no-such-word"]
    assert paths("todos") == []


def test_a_request_without_a_query_uses_the_defaults():
    assert server_check.without_query(WORKLOADS["hash"]).path == "/hash"
    assert server_check.without_query(WORKLOADS["todos"]) is None


# Effects


class Counting:
    """A database that returns these counters, one after the other."""

    def __init__(self, *counters: Counters) -> None:
        self._counters = iter(counters)

    def counters(self, _: str) -> Counters:
        return next(self._counters)


@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        (Counters(0, 0), Counters(4, 40), True),
        (Counters(0, 0), Counters(9, 40), True),
        (Counters(0, 0), Counters(4, 30), False),
        (Counters(0, 0), Counters(4, 50), False),
        (Counters(3, None), Counters(7, None), True),
        (Counters(3, None), Counters(9, None), True),
        (Counters(3, None), Counters(4, None), False),
    ],
)
def test_the_database_must_be_queried_once_per_request(before, after, right):
    def ask() -> None:
        with effects.queries_counted(Counting(before, after), WORKLOADS["rows"]) as counted:
            counted.add(4)

    if right:
        ask()
    else:
        with pytest.raises(WrongAnswer, match="rows: 4 requests, but the database was asked"):
            ask()


def test_files_left_behind_are_counted():
    effects.leaves_no_file(lambda: 0, WORKLOADS["file"])
    effects.leaves_no_file(lambda: 3, WORKLOADS["hello"])
    with pytest.raises(WrongAnswer, match="3 of its files are left"):
        effects.leaves_no_file(lambda: 3, WORKLOADS["file"])


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("spent_s", "busy", "loop_ms", "outcome"),
    [
        ([0.5], "", [10, 10], None),
        ([0.36], "", [10, 10], None),
        ([0.9, 0.2, 0.55], "", [10, 10, 10, 10], None),
        ([0.0, 0.0, 0.0], "", [10, 10, 10, 10], WrongAnswer),
        ([0.9, 0.8, 0.7], "", [10, 10, 10, 10], WrongAnswer),
        ([0.9, 0.8, 0.7], "other programs use 50% of the CPU", [10, 10, 10, 10], NotJudged),
        # The machine's speed changed by as much as the loop's CPU time deviates.
        ([0.7, 0.7, 0.7], "", [10, 14, 14, 14], NotJudged),
        ([0.34, 0.34, 0.34], "", [14, 10, 10, 10], NotJudged),
        # The machine's speed changed too little to explain these times.
        ([1.0, 1.0, 1.0], "", [10, 14, 14, 14], WrongAnswer),
        ([0.0, 0.0, 0.0], "", [10, 14, 14, 14], WrongAnswer),
        # Readings on a machine of constant speed differ by this much.
        ([0.7, 0.7, 0.7], "", [10, 10.9, 10, 10], WrongAnswer),
    ],
)
def test_cpu_work_must_take_the_cpu_time_asked_for(at_once, monkeypatch, spent_s, busy, loop_ms, outcome):
    readings = [reading for spent in spent_s for reading in (1.0, 1.0 + spent)]
    monkeypatch.setattr(effects, "cpu_s", lambda _: readings.pop(0))
    monkeypatch.setattr(effects, "SPINS", {"hello": "delay_ms"})
    monkeypatch.setattr(effects, "SPIN_ATTEMPTS", 3)
    monkeypatch.setattr(effects.alone, "look", lambda: busy)
    pids = Pids(at_once.guarded.guard_pid)

    def spend() -> None:
        loop_s = iter([ms / 1e3 for ms in loop_ms])
        effects.spends_cpu(at_once.address, pids, WORKLOADS["hello"], MachineSpeed(lambda: next(loop_s)))

    if outcome is None:
        spend()
    else:
        with pytest.raises(outcome, match="of CPU time for each, asked 20 ms"):
            spend()
    assert not readings


@pytest.mark.starts
@pytest.mark.parallel
def test_cpu_time_includes_child_processes(tmp_path):
    here = 'subprocess.run([sys.executable, "-c", "for _ in range(3_000_000): pass"])'
    with servers.start(
        servers.build(tiny_servers.described(tmp_path, here=here)), cores=(), settings={}
    ) as running:
        # The child process has ended, and its CPU time still counts.
        assert effects.cpu_s(Pids(running.guarded.guard_pid)) > 0.04
