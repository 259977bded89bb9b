"""The database that servers query: a private MariaDB that ends with the run, or one that the user names.

with database.on_demand(url=None) as databases:
    data = databases.ready(cores)

A database of the system is used only if the user names it. `tables` checks the counters.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Protocol
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection

from crumple.errors import DatabaseFailed, UsageError
from crumple.machine import load_machine, process_tree
from crumple.subject import database_process, tables
from crumple.subject.database_process import SERVERS_USER, DatabaseProcess, running
from crumple.subject.tables import Counters

URL_FORM = "write mysql://USER:PASSWORD@HOST:PORT/NAME"
# The port of MySQL and MariaDB, for a URL that has none.
DEFAULT_PORT = 3306
# Seconds after which the counters are taken as they are, although they still change.
SETTLED_S = 2.0
# Seconds between two readings of the counters; they have settled when two are the same.
POLL_S = 0.05
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PRIVATE = "private"


class Database(Protocol):
    """A running database with both tables. `place`: "private", or host:port/name of the user's."""

    place: str
    version: str

    def environment(self) -> dict[str, str]:
        """The environment variables by which a server knows how to connect."""

    def counters(self, table: str) -> Counters:
        """What the database has answered so far, once that no longer changes. Raises DatabaseFailed."""

    def cpu_ns(self) -> int | None:
        """CPU time it has used since its start; None if it is the user's, or has ended."""

    def alive(self) -> bool:
        """Whether it still answers."""

    def ended(self) -> DatabaseFailed:
        """The error to raise if it does not."""


class OnDemand:
    """The database of a run: started when first needed, and again if it ended or must use other cores."""

    def __init__(self, url: str | None, stack: ExitStack) -> None:
        self._url = url
        self._stack = stack
        self._cores: tuple[int, ...] | None = None
        self._database: Database | None = None

    @property
    def users(self) -> bool:
        """Whether it is the user's own."""
        return self._url is not None

    def ready(self, cores: tuple[int, ...]) -> Database:
        """The running database, on `cores`. Raises DatabaseMissing, DatabaseFailed, UsageError."""
        if self._database is not None and self._database.alive() and self._on(cores):
            return self._database
        self._database = None
        self._stack.close()
        opened = private(cores) if self._url is None else of_url(self._url)
        self._database = self._stack.enter_context(opened)
        self._cores = cores
        return self._database

    def _on(self, cores: tuple[int, ...]) -> bool:
        return self._url is not None or cores == self._cores


@contextmanager
def on_demand(url: str | None = None) -> Iterator[OnDemand]:
    """The database of a run: the user's at `url`, or a private one, which ends with the block.

    Starts nothing yet. Raises UsageError if `url` names no database.
    """
    if url is not None:
        check(url)
    with ExitStack() as stack:
        yield OnDemand(url, stack)


def check(url: str) -> None:
    """Raises UsageError if `url` names no database; does not connect."""
    _parsed(url)


@contextmanager
def private(cores: tuple[int, ...]) -> Iterator[Database]:
    """A private MariaDB on `cores` (all, if empty). Raises DatabaseMissing, DatabaseFailed."""
    found = database_process.programs()
    data = database_process.filled(found)
    with (
        running(found, cores=cores, data=data) as process,
        contextlib.closing(_Private(process)) as ours,
    ):
        yield ours


@contextmanager
def of_url(url: str) -> Iterator[Database]:
    """The user's database, with crumple's tables. Raises UsageError, DatabaseFailed."""
    named = _parsed(url)
    try:
        connection = _connected(named)
    except pymysql.Error as error:
        raise DatabaseFailed(f"cannot connect to {named.place}: {_said(error)}", remedy=URL_FORM) from None
    try:
        with contextlib.closing(connection):
            tables.see_to(connection, named.place)
    except pymysql.Error as error:
        message = f"cannot make crumple's tables in {named.place}: {_said(error)}"
        remedy = "let the user CREATE, INSERT and SELECT there"
        raise DatabaseFailed(message, remedy=remedy) from None
    with contextlib.closing(_Users(named)) as users:
        yield users


class _CountedDatabase:
    """What both kinds of database share: the lab's connection and the counters."""

    place = PRIVATE

    def __init__(self, opened: Callable[[], Connection]) -> None:
        self._opened = opened
        self._connection = opened()
        # MariaDB puts this before its version, because old replicas accept only a version 5.
        # The stubs of pymysql give this method no types.
        info = self._connection.get_server_info()  # type: ignore[no-untyped-call]
        self.version = str(info).removeprefix("5.5.5-")

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(pymysql.Error):
            self._connection.close()

    def counters(self, table: str) -> Counters:
        """What the database has answered so far, once that no longer changes. Raises DatabaseFailed."""
        deadline = time.monotonic() + SETTLED_S
        last = self._counted(table)
        while True:
            time.sleep(POLL_S)
            now = self._counted(table)
            if now == last or time.monotonic() > deadline:
                return now
            last = now

    def _counted(self, table: str) -> Counters:
        try:
            with self._there().cursor() as cursor:
                # SHOW, because a SELECT would count itself.
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_select'")
                selects = int(cursor.fetchall()[0][1])
                return Counters(selects, self._rows_read(cursor, table))
        except pymysql.Error as error:
            raise DatabaseFailed(
                f"the database {self.place} does not show its counters: {_said(error)}"
            ) from None

    def _there(self) -> Connection:
        """The connection; a new one if the old one was closed for being idle. Raises pymysql.Error."""
        try:
            self._connection.ping(reconnect=False)
        except pymysql.Error:
            self._connection = self._opened()
        return self._connection

    def _rows_read(self, cursor: pymysql.cursors.Cursor, table: str) -> int | None:
        """Rows read from the table; None if the database does not count them."""
        try:
            cursor.execute("SHOW VARIABLES LIKE 'userstat'")
            if [value for _, value in cursor.fetchall()] != ["ON"]:
                return None
            cursor.execute("SHOW TABLE_STATISTICS")
        except (pymysql.OperationalError, pymysql.ProgrammingError):
            return None
        schema = self._connection.db or ""
        if isinstance(schema, bytes):
            schema = schema.decode()
        rows = cursor.fetchall()
        return next((int(row[2]) for row in rows if (row[0], row[1]) == (schema, table)), 0)


class _Private(_CountedDatabase):
    """The database that crumple started."""

    def __init__(self, process: DatabaseProcess) -> None:
        super().__init__(process.opened)
        self._process = process

    def environment(self) -> dict[str, str]:
        """The environment variables by which a server knows how to connect."""
        user, schema = SERVERS_USER, tables.SCHEMA
        return _environment(load_machine.HOST, self._process.port, user, self._process.password, schema)

    def cpu_ns(self) -> int | None:
        """CPU time it has used since its start; None if it has ended."""
        try:
            user, system = process_tree.stat(self._process.guarded.pid)[11:13]
        except OSError:
            return None
        return (int(user) + int(system)) * 1_000_000_000 // TICKS_PER_S

    def alive(self) -> bool:
        """Whether its process still runs."""
        return self._process.guarded.ended() is None

    def ended(self) -> DatabaseFailed:
        """The error that says how it ended."""
        how = self._process.guarded.ended() or "does not answer"
        return DatabaseFailed(f"the database {how}", self._process.guarded.output_tail())


class _Named:
    """The parts of a database's URL."""

    def __init__(self, host: str, port: int, user: str, password: str, name: str) -> None:
        self.host, self.port, self.user, self.password, self.name = host, port, user, password, name
        self.place = f"{host}:{port}/{name}"


class _Users(_CountedDatabase):
    """The user's database."""

    def __init__(self, named: _Named) -> None:
        super().__init__(partial(_connected, named))
        self.place = named.place
        self._named = named

    def environment(self) -> dict[str, str]:
        """The environment variables by which a server knows how to connect."""
        named = self._named
        return _environment(named.host, named.port, named.user, named.password, named.name)

    def cpu_ns(self) -> int | None:
        """None: the user's process is not read."""
        return None

    def alive(self) -> bool:
        """Whether it answers."""
        try:
            self._there()
        except pymysql.Error:
            return False
        return True

    def ended(self) -> DatabaseFailed:
        """The error that says that it does not answer."""
        return DatabaseFailed(f"the database {self.place} does not answer any more", remedy="start it again")


def _parsed(url: str) -> _Named:
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise UsageError("--database: the port is no number", URL_FORM) from None
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname or not parts.username or not name:
        # The URL itself is not repeated: it may hold a password.
        raise UsageError("--database: that names no database", URL_FORM)
    # Many drivers take "localhost" for a Unix socket, but the port means TCP.
    host = load_machine.HOST if parts.hostname == "localhost" else parts.hostname
    return _Named(host, port, unquote(parts.username), unquote(parts.password or ""), name)


def _connected(named: _Named) -> Connection:
    return pymysql.connect(
        host=named.host,
        port=named.port,
        user=named.user,
        password=named.password,
        database=named.name,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=10,
        read_timeout=60,
    )


def _environment(host: str, port: int, user: str, password: str, name: str) -> dict[str, str]:
    return {
        "DB_HOST": host,
        "DB_PORT": str(port),
        "DB_USER": user,
        "DB_PASSWORD": password,
        "DB_NAME": name,
    }


def _said(error: pymysql.Error) -> str:
    return str(error.args[-1])
