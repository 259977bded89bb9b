"""Trials that query a database: an honest server, one that answers from memory, a dying database, none."""

import os
import signal
from pathlib import Path

import pytest
import stand_ins
import tiny_servers
from crumple import engine, project
from crumple.contract import ProgressLine
from crumple.engine import OnProgress
from crumple.errors import DatabaseMissing
from crumple.machine import capacity
from crumple.run import database_part, trial
from crumple.run.store import RunStore, StoredTrial, TrialIdentity
from crumple.study.study import Experiment
from crumple.study.study_load import ClosedShape, Scale, Until, WarmUp
from crumple.subject import database, database_process, servers, workload
from crumple.subject.database import OnDemand

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

ROOT = project.root()

# One database connection per thread, and one thread per client's connection. REMEMBER: keep the first answer.
PROGRAM = """
import http.server, json, os, sys, threading
import pymysql
QUERY = "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10"
REMEMBER, KEPT, OWN = {remember}, [], threading.local()

def asked():
    if KEPT and REMEMBER:
        return KEPT[0]
    try:
        if not hasattr(OWN, "connection"):
            OWN.connection = pymysql.connect(
                host=os.environ["DB_HOST"], port=int(os.environ["DB_PORT"]), user=os.environ["DB_USER"],
                password=os.environ["DB_PASSWORD"], database=os.environ["DB_NAME"], autocommit=True,
                cursorclass=pymysql.cursors.DictCursor)
        with OWN.connection.cursor() as cursor:
            cursor.execute(QUERY)
            KEPT[:] = [json.dumps(cursor.fetchall(), separators=(",", ":")).encode()]
        return KEPT[0]
    except pymysql.Error:
        return None

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = asked() if self.path == "/rows" else b"no"
        self.send_response(404 if body == b"no" else 200 if body else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def filled() -> Path:
    try:
        return database_process.filled(database_process.programs())
    except DatabaseMissing as missing:
        pytest.skip(str(missing))


def conducted(
    folder: Path,
    databases: OnDemand | None,
    *,
    remember: bool = False,
    number: int = 1,
    measured_s: float = 1.0,
    on_progress: OnProgress = lambda _: None,
) -> StoredTrial:
    name = f"asks-{number}"
    described = tiny_servers.described(folder, name, program=PROGRAM.replace("{remember}", str(remember)))
    scale = Scale(blocks=1, warm_up=WarmUp(duration_s=0.3), stop=Until(duration_s=measured_s))
    experiment = Experiment(
        title="Rows",
        servers=(name,),
        twin=name,
        workload="rows",
        shape=ClosedShape(connections=4),
        placement="shared",
        scales={"quick": scale},
    )
    identity = TrialIdentity(
        id=f"rows/b01/{name}", experiment="rows", block=1, position=1, server=name, twin=False, seed=1
    )
    job = trial.Job(
        trial=identity,
        experiment=experiment,
        scale=scale,
        workload=workload.find(ROOT)["rows"],
        built=servers.build(described),
        versions={},
        settings={},
        databases=databases,
    )
    return stand_ins.conducted(job, engine.load(ROOT), RunStore(folder / "run"), on_progress)


def of_the_database(stored: StoredTrial) -> list[str]:
    return [problem for problem in stored.problems if problem.startswith("the database")]


def test_a_server_that_queries_for_each_answer_is_valid(filled, tmp_path):
    with database.on_demand() as databases:
        stored = conducted(tmp_path, databases)
        assert stored.failure is None and stored.record is not None and stored.database is not None
        assert of_the_database(stored) == []
        answered = stored.record.outcomes.ok + stored.record.warm_up.outcomes.ok
        assert 0 < answered <= stored.database.queries
        assert stored.database.place == "private" and stored.database.cpu_s is not None
        assert stored.disturbance is not None and stored.disturbance.unread == "", (
            "its CPU is told from others'"
        )
        assert stored.database.version in databases.ready(capacity.cores_for("shared", 1).server).version


def test_a_server_that_answers_from_memory_is_not_valid(filled, tmp_path):
    stored = conducted(tmp_path, None, remember=True)
    assert stored.status == "measured" and not stored.valid
    assert stored.database is not None and stored.database.queries == 0
    (said,) = of_the_database(stored)
    assert "the server answers without asking, or keeps what the database answered" in said


def test_a_database_that_dies_fails_only_its_trial(filled, tmp_path):
    cores = capacity.cores_for("shared", 1).server
    with database.on_demand() as databases:
        pid = databases.ready(cores)._process.guarded.pid
        killed: list[int] = []

        def kill(_: ProgressLine) -> None:
            if not killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        stored = conducted(tmp_path, databases, on_progress=kill, measured_s=3.0)
        assert stored.failure is not None
        assert (stored.failure.step, stored.failure.message) == (
            "database",
            "the database was killed by signal 9 (SIGKILL)",
        )
        again = conducted(tmp_path, databases, number=2)
        assert again.failure is None and of_the_database(again) == []


def test_without_a_database_the_trial_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(database_process.shutil, "which", lambda *_, **__: None)
    with database.on_demand() as databases:
        cores = capacity.cores_for("shared", 1).server
        rows = workload.find(ROOT)["rows"]
        with (
            pytest.raises(DatabaseMissing) as caught,
            database_part.part(databases, rows, None, cores, own_server=False),
        ):
            pass
    assert "apt-get install mariadb-server-core" in str(caught.value)
    assert database_part.step_of(caught.value, "start") == "setup"


def test_a_database_that_no_workload_needs_is_not_started(monkeypatch):
    monkeypatch.setattr(database, "private", lambda _: 1 / 0)
    todos = workload.find(ROOT)["todos"]
    with database.on_demand() as databases, database_part.part(databases, todos, None, (), False) as part:
        part.count()
        assert part.environment() == {} and part.facts is None


def test_a_running_servers_own_database_is_not_counted():
    rows = workload.find(ROOT)["rows"]
    with database.on_demand() as databases, database_part.part(databases, rows, None, (), True) as part:
        assert part.data is None and part.warnings[0].startswith("nothing checked that the server asked")
