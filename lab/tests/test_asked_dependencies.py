"""Real dependencies are asked while a known number of requests wait in them, and say how many do."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import asked_servers
import pytest
from asked_servers import needs, said_when, until
from crumple import asked
from crumple.asked import fast_cgi, mysql, php_fpm, postgres, redis, redis_replies
from crumple.asked.said import NotAsked, Peer, Said
from crumple.errors import DatabaseMissing
from crumple.machine import process_tree
from crumple.subject import database_process

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
PASSWORD = "s3cret"


def beside(pattern: str, name: str) -> str | None:
    """The path of a program that distributions do not have in the PATH."""
    return shutil.which(name) or next(map(str, sorted(Path("/").glob(pattern))), None)


POSTGRES, INITDB = (beside(f"usr/lib/postgresql/*/bin/{name}", name) for name in ("postgres", "initdb"))
FPM = beside("usr/sbin/php-fpm*", "php-fpm")


@pytest.fixture(scope="module")
def postgres_port() -> Iterator[int]:
    """A PostgreSQL with one table of two rows, whose user shop has a password."""
    if not (POSTGRES and INITDB):
        pytest.skip("postgres is not installed")
    port = process_tree.free_port()
    with asked_servers.unprivileged_folder() as (folder, who):
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        made = [
            "-D",
            "data",
            "-A",
            "scram-sha-256",
            "-U",
            "shop",
            "--pwfile=password",
            "--no-sync",
            "--locale=C",
        ]
        subprocess.run([INITDB, *made], cwd=folder, check=True, stdout=subprocess.DEVNULL, **who)
        options = ["-D", "data", "-p", str(port), "-k", str(folder), "-h", "127.0.0.1", "-F"]
        server = subprocess.Popen([POSTGRES, *options], cwd=folder, stderr=subprocess.DEVNULL, **who)
        # It ends at once, whatever its sessions do.
        with asked_servers.ended(server, by=signal.SIGQUIT):
            until(lambda: psql(port, "SELECT 1").wait() == 0)
            assert psql(port, "CREATE TABLE stock AS SELECT generate_series(1, 2) AS id, 0 AS n").wait() == 0
            yield port


def psql(port: int, statements: str) -> "subprocess.Popen[bytes]":
    place = ["-h", "127.0.0.1", "-p", str(port), "-U", "shop", "-d", "postgres"]
    env = {**os.environ, "PGPASSWORD": PASSWORD}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(["psql", "-Xwq", *place, "-c", statements], env=env, stdout=quiet, stderr=quiet)


def test_postgres_says_who_holds_a_row_and_how_many_wait(
    postgres_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = "UPDATE stock SET n = n + 1 WHERE id = 1"
    url = f"postgres://shop:{PASSWORD}@127.0.0.1:{postgres_port}/postgres"
    holder = psql(postgres_port, f"{update}; SELECT pg_sleep(600)")
    with asked_servers.ended(holder):
        said_when(postgres, os.getpid(), lambda said: "wait for Timeout:PgSleep" in said.shows, [url])
        waiting = [psql(postgres_port, update) for _ in range(3)]
        with asked_servers.ended(*waiting):
            said = said_when(postgres, os.getpid(), lambda said: " blocks 3: " in said.evidence[0], [url])
    assert (said.points_to, said.count, said.place) == (
        "row-lock",
        1,
        "UPDATE stock SET n = n + ? WHERE id = ?",
    )
    # The first waits for the holder's transaction, the others for their turn at the row.
    assert "2 wait for a lock (tuple)" in said.shows
    assert PASSWORD not in str(said)


def test_postgres_without_a_password_is_not_asked_and_the_remedy_is_named(
    postgres_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    peers = (Peer(f"127.0.0.1:{postgres_port}", 1, "postgres"),)
    (answer,) = asked.all_of(os.getpid(), peers, sources=(postgres,), total_s=asked_servers.LIMIT_S)
    assert isinstance(answer, NotAsked)
    assert answer.there
    assert "PGPASSWORD" in answer.why


def test_mariadb_says_who_holds_a_row_and_how_many_wait() -> None:
    try:
        programs = database_process.programs()
    except DatabaseMissing as missing:
        pytest.skip(missing.message)
    with database_process.running(programs, cores=(), data=database_process.filled(programs)) as process:
        holder = process.opened()
        user, password = (str(text, "ascii") for text in (holder.user, holder.password))
        holder.autocommit(False)
        waiting = [process.opened() for _ in range(3)]
        with contextlib.closing(holder), holder.cursor() as cursor:
            cursor.execute("CREATE TABLE stock (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
            cursor.execute("INSERT INTO stock VALUES (1, 0)")
            holder.commit()
            cursor.execute("UPDATE stock SET n = n + 1 WHERE id = 1")
            threads = [
                threading.Thread(target=lambda each=each: each.query("UPDATE stock SET n = 2 WHERE id = 1"))
                for each in waiting
            ]
            for thread in threads:
                thread.start()
            url = f"mysql://{user}:{password}@127.0.0.1:{process.port}"
            said = said_when(mysql, os.getpid(), lambda said: "3 wait for a row" in said.shows, [url])
            holder.commit()
            for thread in threads:
                thread.join()
    assert (said.points_to, said.count, said.place) == ("row-lock", 1, "UPDATE stock SET n = ? WHERE id = ?")
    assert " blocks 3, in its transaction for " in said.evidence[0]
    assert password not in str(said)


@contextlib.contextmanager
def redis_port() -> Iterator[int]:
    port = process_tree.free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", PASSWORD]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    with asked_servers.ended(server):
        yield port


def redis_connection(port: int, *commands: Sequence[str]) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port))
    opened.sendall(b"".join(map(redis_replies.encoded, (("AUTH", PASSWORD), *commands))))
    return opened


@needs("redis-server")
def test_redis_says_how_many_clients_are_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    with redis_port() as port, contextlib.ExitStack() as opened:
        url = f"redis://127.0.0.1:{port}"
        until(lambda: isinstance(asked.all_of(os.getpid(), (), [url], (redis,))[0], Said))
        for _ in range(3):
            opened.enter_context(redis_connection(port, ("BLPOP", "permits", "0")))
        said = said_when(redis, os.getpid(), lambda said: "3 of them blocked" in said.shows, [url])
        monkeypatch.delenv("REDISCLI_AUTH")
        (refused,) = asked.all_of(os.getpid(), (), [url], (redis,))
    assert (said.points_to, said.place) == ("gate", "blpop")
    assert isinstance(refused, NotAsked)
    assert "set REDISCLI_AUTH" in refused.why


@needs("redis-server")
def test_redis_says_that_its_one_thread_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", PASSWORD)
    # Some milliseconds of computing: the clock of Redis stands still for a script, which cannot wait by it.
    busy = redis_replies.encoded(("EVAL", "local n = 0; for i = 1, 200000 do n = n + i end", "0"))
    over = threading.Event()

    def keep_busy() -> None:
        with redis_connection(port) as opened:
            while not over.is_set() and opened.recv(4096):
                opened.sendall(busy)

    with redis_port() as port:
        url = f"redis://127.0.0.1:{port}"
        until(lambda: isinstance(asked.all_of(os.getpid(), (), [url], (redis,))[0], Said))
        asking = threading.Thread(target=keep_busy)
        asking.start()
        try:
            said = said_when(redis, os.getpid(), lambda said: said.points_to == "dependency", [url])
        finally:
            over.set()
            asking.join()
    assert (said.count, said.place) == (1, "EVAL")


@pytest.mark.skipif(FPM is None, reason="php-fpm is not installed")
@pytest.mark.parametrize("status_path", ["", "/status"])
def test_a_pool_of_php_says_how_many_children_work_and_how_many_requests_wait(
    tmp_path: Path, status_path: str
) -> None:
    assert FPM is not None
    with asked_servers.unprivileged_folder() as (folder, who):
        released, script = folder / "released", folder / "a.php"
        script.write_text(f'<?php while (!file_exists("{released}")) {{ usleep(10000); clearstatcache(); }}')
        pool = [
            f"listen = {folder}/s",
            "pm = static",
            "pm.max_children = 5",
            *([f"pm.status_path = {status_path}"] if status_path else []),
        ]
        (folder / "fpm.conf").write_text("\n".join(["[global]", "error_log = /dev/null", "[shop]", *pool]))
        server = subprocess.Popen([FPM, "-n", "-F", "-y", "fpm.conf"], cwd=folder, **who)
        with asked_servers.ended(server):
            until(lambda: (folder / "s").is_socket())
            request = fast_cgi.request(
                {"SCRIPT_FILENAME": str(script), "SCRIPT_NAME": "/a.php", "REQUEST_METHOD": "GET"}
            )
            with contextlib.ExitStack() as opened:
                for _ in range(12):
                    connection = opened.enter_context(socket.socket(socket.AF_UNIX))
                    connection.connect(f"{folder}/s")
                    connection.sendall(request)
                said = said_when(php_fpm, server.pid, lambda said: "5 of 5" in said.shows)
                released.touch()
    assert (said.points_to, said.count) == ("workers", 5)
    assert said.shows == (
        "pool shop: 5 of 5 children have a request (pm.max_children 5); 7 connections wait to be accepted"
    )
