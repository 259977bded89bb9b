"""Real dependencies are asked while a known number of requests wait in them, and show how many do."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import asked_servers
import pytest
from asked_servers import found_when, until
from crumple.asked import all_sources, mysql, php_fpm, postgres
from crumple.errors import DatabaseMissing
from crumple.machine import process_tree
from crumple.observation.at_load import Peer
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


def listening(port: int, name: str) -> Peer:
    return Peer(f"127.0.0.1:{port}", name, 1, 1, 1)


def test_postgres_shows_who_holds_a_row_and_how_many_wait(
    postgres_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGUSER": "shop", "PGDATABASE": "postgres", "PGPASSWORD": PASSWORD}.items():
        monkeypatch.setenv(name, value)
    update = "UPDATE stock SET n = n + 1 WHERE id = 1"
    peer = listening(postgres_port, "postgres")
    holder = psql(postgres_port, f"{update}; SELECT pg_sleep(600)")
    with asked_servers.ended(holder):
        found_when(postgres, os.getpid(), lambda answer: "Timeout:PgSleep" in answer.shows, peer)
        waiting = [psql(postgres_port, update) for _ in range(3)]
        with asked_servers.ended(*waiting):
            answer = found_when(
                postgres, os.getpid(), lambda answer: answer.parts["held_up"].number == 3, peer
            )
    assert answer.parts["held_up"].does == "sessions wait for a lock: UPDATE stock SET n = n + ? WHERE id = ?"
    # The first waits for the holder's transaction, the others for their turn at the row.
    assert "2 wait for a lock (tuple)" in answer.shows
    assert " blocks 3, in its transaction for " in answer.evidence[0]
    assert PASSWORD not in str(answer)


def test_postgres_without_a_password_is_not_read_and_the_remedy_is_named(
    postgres_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    found = all_sources.of_server(os.getpid(), (listening(postgres_port, "postgres"),), (postgres,))
    (answer,) = all_sources.answers(found, asked_servers.LIMIT_S)
    assert "PGPASSWORD" in answer.why


def test_mariadb_shows_who_holds_a_row_and_how_many_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    try:
        programs = database_process.programs()
    except DatabaseMissing as missing:
        pytest.skip(missing.message)
    with database_process.running(programs, cores=(), data=database_process.filled(programs)) as process:
        holder = process.opened()
        user, password = (str(text, "ascii") for text in (holder.user, holder.password))
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".my.cnf").write_text(f"[client]\nuser = {user}\npassword = {password}\n")
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
            peer = listening(process.port, "mariadbd")
            answer = found_when(mysql, os.getpid(), lambda answer: answer.parts["held_up"].number == 3, peer)
            holder.commit()
            for thread in threads:
                thread.join()
    assert answer.parts["held_up"].does == "connections wait for a lock: UPDATE stock SET n = ? WHERE id = ?"
    assert " blocks 3: " in answer.evidence[0]
    assert password not in str(answer)


def request(parameters: dict[str, str]) -> bytes:
    """A request of FastCGI without a body, with short parameters."""
    pairs = b"".join(
        bytes([len(name), len(value)]) + name.encode() + value.encode() for name, value in parameters.items()
    )
    parts = ((1, struct.pack(">HB5x", 1, 0)), (4, pairs), (4, b""), (5, b""))
    return b"".join(struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content for kind, content in parts)


@pytest.mark.skipif(FPM is None, reason="php-fpm is not installed")
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_pool_of_php_shows_how_many_children_work_and_how_many_requests_wait(is_behind: bool) -> None:
    assert FPM is not None
    with asked_servers.unprivileged_folder() as (folder, who):
        released, script = folder / "released", folder / "a.php"
        script.write_text(f'<?php while (!file_exists("{released}")) {{ usleep(10000); clearstatcache(); }}')
        pool = [f"listen = {folder}/s", "pm = static", "pm.max_children = 5"]
        (folder / "fpm.conf").write_text("\n".join(["[global]", "error_log = /dev/null", "[shop]", *pool]))
        server = subprocess.Popen([FPM, "-n", "-F", "-y", "fpm.conf"], cwd=folder, **who)
        with asked_servers.ended(server):
            until(lambda: (folder / "s").is_socket())
            asks = request({"SCRIPT_FILENAME": str(script), "SCRIPT_NAME": "/a.php", "REQUEST_METHOD": "GET"})
            with contextlib.ExitStack() as opened:
                for _ in range(12):
                    connection = opened.enter_context(socket.socket(socket.AF_UNIX))
                    connection.connect(f"{folder}/s")
                    connection.sendall(asks)
                pid, peers = server.pid, ()
                if is_behind:
                    # A process that php-fpm does not descend from.
                    other = subprocess.Popen(["sleep", "600"])
                    opened.enter_context(asked_servers.ended(other))
                    pid, peers = other.pid, (Peer(f"unix:{folder}/s", "php-fpm", 12, 12, 12),)
                answer = found_when(php_fpm, pid, lambda answer: answer.shows.startswith("5 of 5"), *peers)
                released.touch()
    part = answer.parts["held_up" if is_behind else "occupied"]
    assert (part.number, part.of) == (5, 5)
    assert answer.shows == (
        "5 of 5 children of pool shop have a request (pm.max_children 5); 7 connections wait to be accepted"
    )
