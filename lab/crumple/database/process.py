"""One mariadbd of our own under the guard: started on a data directory, awaited, ended with the lab.

What it holds and who asks it is `database`'s; no database of the system is touched.
"""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pymysql
from pymysql.connections import Connection

from crumple.database import files
from crumple.database.files import Programs
from crumple.database.tables import SCHEMA
from crumple.errors import DatabaseFailed, ServerFailed
from crumple.machine import machine
from crumple.processes import guard, listening
from crumple.processes.guard import Guarded
from crumple.processes.scratch_folder import ScratchFolder
from crumple.server import runtimes

SERVERS_USER = "crumple"
LAB_USER = "crumple_lab"
PORTS_TRIED = 3
LIMIT_S = 60.0
POLL_S = 0.02

# Small, since its tables are; no cache of answers; nothing that wakes up by itself while a load runs.
SETTINGS = (
    "--bind-address=127.0.0.1",
    "--socket=db.sock",  # in the data directory, wherever that is: a path may be too long for a socket
    "--skip-log-bin",
    "--skip-name-resolve",
    "--skip-slave-start",
    "--max-connections=2000",
    "--back-log=4096",
    "--max-connect-errors=1000000000",
    "--thread-cache-size=256",
    "--table-open-cache=4000",
    "--query-cache-type=0",
    "--query-cache-size=0",
    "--innodb-buffer-pool-size=32M",
    files.REDO_LOG,
    "--innodb-flush-log-at-trx-commit=2",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=8M",
    "--performance-schema=0",
    "--userstat=1",
    "--local-infile=0",
    "--character-set-server=utf8mb4",
)


@dataclass(frozen=True)
class Process:
    """A mariadbd that answers on `port`. `password`: of SERVERS_USER, who may read; `opened`: ours."""

    guarded: Guarded
    port: int
    password: str
    opened: Callable[[], Connection]


@contextmanager
def running(found: Programs, *, cores: tuple[int, ...], data: Path) -> Iterator[Process]:
    """A mariadbd for the length of the `with`, on a copy of `data`.

    Raises DatabaseFailed.
    """
    machine.raise_open_files()  # each of its connections is one, and it inherits how many there may be
    process = _launched(found, cores, data)
    try:
        yield process
    finally:
        _end(process.guarded)


def _launched(found: Programs, cores: tuple[int, ...], data: Path) -> Process:
    for attempt in range(1, PORTS_TRIED + 1):
        port = listening.free_port()
        passwords = (secrets.token_hex(16), secrets.token_hex(16))
        guarded = _started(found, cores, data, port, passwords)
        try:
            opened = partial(_opened, port, passwords[1])
            _await(guarded, opened)
            return Process(guarded, port, passwords[0], opened)
        except BaseException as error:
            _end(guarded)
            # Between our looking and its listening somebody else may have taken the port.
            taken = isinstance(error, DatabaseFailed) and listening.is_taken(port)
            if not taken or attempt == PORTS_TRIED:
                raise
    raise AssertionError("the last attempt returns or raises")


def _started(
    found: Programs,
    cores: tuple[int, ...],
    data: Path,
    port: int,
    passwords: tuple[str, str],
) -> Guarded:
    try:
        held = ScratchFolder.made()
        scratch = held.path
        try:
            _furnish(scratch, found, data, passwords)
        except BaseException:
            held.remove()
            raise
    except OSError as error:
        message = f"no room for the database: {error.filename or 'its scratch folder'}: {error.strerror}"
        remedy = "free some space, or name another place in TMPDIR"
        raise DatabaseFailed(message, remedy=remedy) from None
    command = [
        found.server,
        "--no-defaults",
        f"--datadir={scratch / 'data'}",
        f"--tmpdir={scratch}",
        f"--pid-file={scratch / 'pid'}",
        f"--init-file={scratch / 'accounts.sql'}",
        f"--port={port}",
        *([f"--user={found.user}"] if found.user else []),
        *SETTINGS,
    ]
    try:
        env = runtimes.environment()
        return guard.launch("start", command, cwd=scratch, env=env, cores=cores, scratch=held)
    except ServerFailed as error:
        raise DatabaseFailed(f"the database: {error.message}", error.output_tail, error.remedy) from None


def _furnish(scratch: Path, found: Programs, data: Path, passwords: tuple[str, str]) -> None:
    """Data directory and accounts, for the eyes of the database's user only."""
    shutil.copytree(data, scratch / "data")
    accounts = scratch / "accounts.sql"
    with os.fdopen(os.open(accounts, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.writelines(f"{line};\n" for line in _accounts(*passwords))
    files.handed_over(scratch, found.user)


def _accounts(servers: str, lab: str) -> Sequence[str]:
    """What it does before it listens: only two accounts are left, with passwords of this run."""
    return (
        "DELETE FROM mysql.global_priv WHERE user <> 'mariadb.sys'",
        "DELETE FROM mysql.db",
        "FLUSH PRIVILEGES",
        f"CREATE USER {SERVERS_USER}@127.0.0.1 IDENTIFIED BY '{servers}'",
        f"GRANT SELECT ON {SCHEMA}.* TO {SERVERS_USER}@127.0.0.1",
        f"CREATE USER {LAB_USER}@127.0.0.1 IDENTIFIED BY '{lab}'",
        f"GRANT ALL ON *.* TO {LAB_USER}@127.0.0.1 WITH GRANT OPTION",
    )


def _opened(port: int, password: str) -> Connection:
    return pymysql.connect(
        host=listening.HOST,
        port=port,
        user=LAB_USER,
        password=password,
        database=SCHEMA,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=5,
        read_timeout=30,
        ssl_disabled=True,  # it never leaves the machine, and a context for TLS costs 20 ms
    )


def _await(guarded: Guarded, opened: Callable[[], Connection]) -> None:
    """Return as soon as it takes our connection."""
    deadline = time.monotonic() + LIMIT_S
    said = "it does not listen"
    while time.monotonic() < deadline:
        try:
            opened().close()
            return
        except pymysql.Error as error:
            said = str(error.args[-1])
        ended = guarded.ended(POLL_S)
        if ended:
            raise DatabaseFailed(f"the database {ended} as it started", guarded.output_tail())
    message = f"the database took no connection within {LIMIT_S:.0f} s: {said}"
    raise DatabaseFailed(message, guarded.output_tail())


def _end(guarded: Guarded) -> None:
    try:
        guarded.end()
    except ServerFailed as error:
        raise DatabaseFailed(f"the database {error.message}", error.output_tail, error.remedy) from None
