"""The private database and the user's, with a real mariadbd if it is installed."""

import contextlib
import os
import pwd
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from crumple.errors import DatabaseFailed, DatabaseMissing, UsageError
from crumple.machine.leftovers import ScratchFolder
from crumple.subject import database, database_process
from crumple.subject.database import Database
from crumple.subject.database_process import DatabaseProcess
from crumple.subject.table_rows import BOOKS, books, wp_options

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

TEN = "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10"


@pytest.fixture(scope="module")
def found() -> database_process.DatabasePrograms:
    try:
        return database_process.programs()
    except DatabaseMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def unchanged(found: database_process.DatabasePrograms) -> Iterator[Database]:
    """A private database for tests that change nothing in it."""
    with database.private(()) as data:
        yield data


@pytest.fixture(scope="module")
def users(found: database_process.DatabasePrograms) -> Iterator[DatabaseProcess]:
    """A database that stands for the user's own, which crumple did not start."""
    data = database_process.filled(found)
    with database_process.running(found, cores=(), data=data) as process:
        done(process, "CREATE USER alice@127.0.0.1 IDENTIFIED BY 'p@ss/word'")
        yield process


@pytest.fixture
def empty(users: DatabaseProcess, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database there, in which its user has all privileges."""
    name = f"own_{abs(hash(request.node.name)) % 10**9}"
    done(users, f"CREATE DATABASE {name}")
    done(users, f"GRANT ALL ON {name}.* TO alice@127.0.0.1")
    return f"mysql://alice:p%40ss%2Fword@localhost:{users.port}/{name}"


def done(process: DatabaseProcess, statement: str) -> tuple[tuple[object, ...], ...]:
    """Execute the statement with all privileges; its rows."""
    with contextlib.closing(process.opened()) as connection:
        return rows(connection, statement)


def connected(environment: dict[str, str]) -> pymysql.connections.Connection:
    """A connection with a server's variables."""
    return pymysql.connect(
        host=environment["DB_HOST"],
        port=int(environment["DB_PORT"]),
        user=environment["DB_USER"],
        password=environment["DB_PASSWORD"],
        database=environment["DB_NAME"],
    )


def rows(connection: pymysql.connections.Connection, query: str) -> tuple[tuple[object, ...], ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchall())


def test_it_has_both_tables_counts_queries_and_is_removed(found):
    with database.on_demand() as databases:
        data = databases.ready(())
        assert databases.ready(()) is data and data.alive() and data.version.startswith("1")
        environment = data.environment()
        with contextlib.closing(connected(environment)) as server:
            listed = ", ".join(wp_options().columns)
            assert rows(server, f"SELECT {listed} FROM wp_options ORDER BY option_id") == wp_options().rows
            before = data.counters("books")
            for _ in range(3):
                assert rows(server, TEN) == books().rows[:10]
            after = data.counters("books")
            assert (after.selects - before.selects, after.rows_read - before.rows_read) == (3, 30)
            # Reading the counters does not change them.
            assert data.counters("books") == after
        assert data.cpu_ns() > 0
    assert not data.alive()
    with pytest.raises(pymysql.OperationalError):
        connected(environment)


def test_it_accepts_more_connections_than_the_default_limit_of_open_files(found):
    with database_process.running(found, cores=(), data=database_process.filled(found)) as process:
        (said,) = done(process, "SHOW VARIABLES LIKE 'open_files_limit'")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        assert int(said[1]) >= min(hard, 2_000)


def test_a_server_may_only_read(unchanged):
    with contextlib.closing(connected(unchanged.environment())) as server:
        for statement in (
            "DELETE FROM books",
            "CREATE TABLE other (id int)",
            "SELECT * FROM mysql.global_priv",
            "SELECT LOAD_FILE('/etc/passwd') FROM mysql.user",
        ):
            with pytest.raises(pymysql.Error, match="denied"):
                rows(server, statement)
        assert len(rows(server, "SELECT id FROM books")) == BOOKS


@pytest.mark.parametrize("user", ["root", "", "nobody", "crumple_lab"])
def test_no_other_user_can_connect(unchanged, user):
    environment = {**unchanged.environment(), "DB_USER": user, "DB_PASSWORD": ""}
    with pytest.raises(pymysql.OperationalError, match="denied"):
        connected(environment)


def test_it_runs_on_the_servers_cores_without_privileges(found):
    cores = tuple(sorted(os.sched_getaffinity(0)))[:1]
    with database.on_demand() as databases:
        first = databases.ready(cores)
        pid = first._process.guarded.pid
        assert tuple(os.sched_getaffinity(pid)) == cores
        if found.user:
            uid = pwd.getpwnam(found.user).pw_uid
            status = Path(f"/proc/{pid}/status").read_text()
            assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in status
        moved = databases.ready(())
        assert moved is not first and not first.alive() and moved.alive()


def test_a_database_that_died_is_reported_and_started_again(found):
    with database.on_demand() as databases:
        data = databases.ready(())
        pid = data._process.guarded.pid
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while data.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert str(data.ended()) == "the database was killed by signal 9 (SIGKILL)"
        with pytest.raises(DatabaseFailed, match="does not show its counters"):
            data.counters("books")
        again = databases.ready(())
        assert again.alive() and again.environment() != data.environment()


KILLED = """
import os, signal
from crumple.subject import database
with database.private(()) as data:
    guarded = data._process.guarded
    print(guarded.pid, guarded.scratch, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_with_a_lab_that_is_killed(found):
    lab = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120)
    assert lab.returncode == -signal.SIGKILL, lab.stderr
    pid, scratch = lab.stdout.split()
    deadline = time.monotonic() + 20
    while (Path(f"/proc/{pid}").exists() or Path(scratch).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists() and not Path(scratch).exists()


def test_another_user_gets_files_of_its_own(found, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = database_process.filled(found)
    assert place.is_relative_to(tmp_path) and (place / "crumple").is_dir()
    made = place.stat().st_ctime_ns
    assert database_process.filled(found) == place and place.stat().st_ctime_ns == made
    left = {file.name for file in place.parent.iterdir()}
    assert left == {place.name, f"{place.name}.lock"}


def test_a_failed_creation_leaves_no_files(found, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(database_process.tables, "statements", lambda: ["NO SUCH STATEMENT"])
    with pytest.raises(DatabaseFailed, match="making the database's files ended with code 1") as caught:
        database_process.filled(found)
    assert any("NO SUCH STATEMENT" in line for line in caught.value.output_tail)
    assert [file.suffix for file in (tmp_path / "crumple" / "database").iterdir()] == [".lock"]


def test_a_full_disk_is_one_sentence(found, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "ibdata1")

    scratches: list[ScratchFolder] = []
    made = ScratchFolder.made

    def noted() -> ScratchFolder:
        scratches.append(made())
        return scratches[-1]

    data = database_process.filled(found)
    monkeypatch.setattr(ScratchFolder, "made", noted)
    monkeypatch.setattr(database_process.shutil, "copytree", full)
    with pytest.raises(DatabaseFailed) as caught, database_process.running(found, cores=(), data=data):
        pass
    assert str(caught.value) == (
        "no room for the database: ibdata1: No space left on device; "
        "free some space, or name another place in TMPDIR"
    )
    assert scratches and not any(scratch.path.exists() for scratch in scratches)


def test_a_missing_mariadb_is_reported_with_its_package(monkeypatch):
    monkeypatch.setattr(database_process.shutil, "which", lambda *_, **__: None)
    with pytest.raises(DatabaseMissing) as caught, database.on_demand() as databases:
        databases.ready(())
    said = "mariadbd is not installed; install it with: apt-get install mariadb-server-core"
    assert str(caught.value) == said


def test_the_users_database_is_filled_once_and_not_changed_again(empty):
    for _ in range(2):
        with database.on_demand(empty) as databases:
            data = databases.ready((0,))
            assert databases.ready(()) is data and databases.users
            with contextlib.closing(connected(data.environment())) as server:
                assert rows(server, TEN) == books().rows[:10]
            assert data.cpu_ns() is None and data.place.startswith("127.0.0.1:")
            assert "p@ss/word" not in data.place
            before = data.counters("books")
            with contextlib.closing(connected(data.environment())) as server:
                rows(server, TEN)
            after = data.counters("books")
            assert (after.selects - before.selects, after.rows_read - before.rows_read) == (1, 10)


def test_a_database_that_counts_no_rows_counts_its_statements(users, empty):
    with database.of_url(empty) as data:
        done(users, "SET GLOBAL userstat = 0")
        try:
            assert data.counters("books").rows_read is None and data.counters("books").selects > 0
        finally:
            done(users, "SET GLOBAL userstat = 1")


def test_a_connection_closed_while_idle_is_opened_again(users, empty):
    with database.of_url(empty) as data:
        before = data.counters("books")
        listed = done(users, "SHOW PROCESSLIST")
        for number in [row[0] for row in listed if row[1] == "alice"]:
            done(users, f"KILL {number}")
        assert data.alive() and data.counters("books") == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE books SET year = 1 WHERE id = 1000",
        "DELETE FROM books WHERE id = 1000",
        "INSERT INTO books VALUES (1001, 'More', 'Us', 1, 1)",
        "ALTER TABLE books ADD COLUMN more int",
        "DELETE FROM books",
    ],
)
def test_a_table_that_is_not_ours_is_left_alone(users, empty, change):
    with database.of_url(empty):
        pass
    name = empty.rpartition("/")[2]
    done(users, change.replace("books", f"{name}.books"))
    left = done(users, f"SELECT * FROM {name}.books")
    with pytest.raises(UsageError) as caught, database.of_url(empty):
        pass
    assert "holds a table books that is not crumple's; name an empty database" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert done(users, f"SELECT * FROM {name}.books") == left


def test_a_user_without_privileges_is_told_which_are_missing(users, empty):
    name = empty.rpartition("/")[2]
    done(users, f"REVOKE ALL ON {name}.* FROM alice@127.0.0.1")
    done(users, f"GRANT SELECT ON {name}.* TO alice@127.0.0.1")
    with pytest.raises(
        DatabaseFailed, match=r"cannot make crumple's tables in .*denied.*; let the user CREATE"
    ):
        database.of_url(empty).__enter__()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgres://a:b@h/n", "that names no database; write mysql://USER:PASSWORD@HOST:PORT/NAME"),
        ("mysql://a:secret@h:port/n", "the port is no number"),
        ("mysql://a:secret@h:1/", "that names no database"),
        ("mysql://h:1/n", "that names no database"),
    ],
)
def test_an_invalid_url_is_refused_without_repeating_it(url, said):
    with pytest.raises(UsageError) as caught:
        database.on_demand(url).__enter__()
    assert said in str(caught.value) and "secret" not in str(caught.value)


def test_an_unreachable_database_is_reported():
    with pytest.raises(DatabaseFailed, match=r"cannot connect to 127\.0\.0\.1:1/x: .*; write mysql://USER"):
        database.of_url("mysql://alice:secret@127.0.0.1:1/x").__enter__()
