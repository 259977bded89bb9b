"""Asks MySQL or MariaDB for its process list and the lock waits of InnoDB, in statements that only read.

User and password are those of the client's options file (~/.my.cnf), and of MYSQL_PWD.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crumple.asked import calling, found, statements
from crumple.asked.found import AskedServer, NotAnswered, SourceFinding
from crumple.drawing import numerals
from crumple.observation.answers import AskedPart

if TYPE_CHECKING:
    from pymysql.connections import Connection

NAME = "mysql"
# The port at which MySQL and MariaDB listen unless they are configured otherwise.
_PORT = 3306
_LISTENERS = ("mysqld", "mariadbd")
_OPTIONS_FILE = Path("~/.my.cnf")
_REMEDY = "name user and password in ~/.my.cnf, under [client]"
PROCESSES = (
    "SELECT id, command, state, left(info, 300) AS query FROM information_schema.processlist"
    " WHERE id <> connection_id() LIMIT 2000"
)
# Who waits for whom: MySQL 8 and later, then MariaDB.
WAITS = tuple(
    f"SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM {table} w"
    f" JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_{trx}"
    f" JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_{trx} LIMIT 10000"
    for table, trx in (
        ("performance_schema.data_lock_waits", "engine_transaction_id"),
        ("information_schema.innodb_lock_waits", "trx_id"),
    )
)
# States of a wait for a lock that is no row's: of a table, of its definition, of the user (GET_LOCK).
_LOCKED = ("Waiting for table", "Waiting for global", "Waiting for backup", "User lock")
Row = Mapping[str, Any]
# Its connections, and which of them waits for which; None: this could not be read.
Activity = tuple[list[Row], list[tuple[int, int]] | None]


def applies(server: AskedServer) -> tuple[str, int] | str:
    """Return where to ask, or why not; empty: the server asks none."""
    peer = found.at_port(server.peers, _LISTENERS, _PORT)
    if peer is None:
        return ""
    if find_spec("pymysql") is None:
        return "pymysql is not installed: pip install pymysql"
    if why := calling.unreached(server.pids[0], peer.address):
        return why
    place = found.place_of(peer.address)
    return (place, 0) if isinstance(place, str) else place


def command(at: tuple[str, int]) -> str:
    """Return what is asked; the statements are those of docs/asking.md."""
    where = f"-h {at[0]} -P {at[1]}" if at[1] else f"-S {at[0]}"
    return f"mysql {where} (information_schema.processlist, innodb_trx, lock waits)"


def call(at: tuple[str, int], deadline: float) -> Activity:
    """Return what its connections do. Raises NotAnswered."""
    import pymysql

    try:
        connection = _connected(at, calling.left_s(deadline))
    except (pymysql.Error, OSError) as error:
        raise NotAnswered(f"{error.args[-1]}; {_REMEDY}") from None
    try:
        names = ("id", "command", "state", "query")
        rows: list[Row] = [
            dict(zip(names, row, strict=True)) for row in _rows(connection, PROCESSES, deadline)
        ]
        return rows, _waits(connection, deadline)
    except (pymysql.Error, OSError) as error:
        raise NotAnswered(f"{error.args[-1]}") from None
    finally:
        connection.close()


def read(activity: Activity) -> SourceFinding:
    """Return what the connections show."""
    rows, waits = activity
    at_work = [row for row in rows if row["command"] not in ("Sleep", "Daemon", "Binlog Dump")]
    waiting = {each for each, _ in waits or []}
    held = [row for row in at_work if row["id"] in waiting or str(row["state"] or "").startswith(_LOCKED)]
    runs = [row for row in at_work if row not in held]
    shows = f"{len(at_work)} of {numerals.count(len(rows), 'connection')} have a statement"
    shows += f": {len(held)} wait for a lock and {len(runs)} run"
    shows += "; lock waits could not be read: it takes the privilege PROCESS" if waits is None else ""
    parts = {
        "held_up": AskedPart(
            len(held), len(at_work), f"connections wait for a lock: {statements.most(held, True)}"
        ),
        "runs": AskedPart(len(runs), len(rows), f"connections run: {statements.most(runs, True)}"),
    }
    return SourceFinding(shows, parts, tuple(_holders(rows, waits or [])))


def _holders(rows: Sequence[Row], waits: Sequence[tuple[int, int]]) -> list[str]:
    """Return the connections that others wait for and that wait for none, with how many wait for each."""
    waiting = {each for each, _ in waits}
    heads = Counter(other for _, other in {pair for pair in waits if pair[1] not in waiting})
    queries = {
        row["id"]: statements.without_values(str(row["query"] or "no statement"), True) for row in rows
    }
    return [
        f"connection {which} blocks {count}: {queries.get(which, 'not listed')}"
        for which, count in heads.most_common(2)
    ]


def _connected(at: tuple[str, int], limit_s: float) -> "Connection":
    import pymysql

    file, password = _OPTIONS_FILE.expanduser(), os.environ.get("MYSQL_PWD")
    given: dict[str, Any] = {"host": at[0], "port": at[1]} if at[1] else {"unix_socket": at[0]}
    if password is not None:
        given["password"] = password
    if file.is_file():
        given["read_default_file"] = str(file)
    return pymysql.connect(
        connect_timeout=limit_s, read_timeout=limit_s, write_timeout=limit_s, autocommit=True, **given
    )


def _waits(connection: "Connection", deadline: float) -> list[tuple[int, int]] | None:
    """Return who waits for whom, by the statement that this database knows; None: it may not be read."""
    import pymysql

    for query in WAITS:
        try:
            return [(int(each), int(other)) for each, other in _rows(connection, query, deadline)]
        except (pymysql.err.OperationalError, pymysql.err.ProgrammingError, pymysql.err.InternalError):
            continue
    return None


def _rows(connection: "Connection", query: str, deadline: float) -> Sequence[Any]:
    calling.left_s(deadline)
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [tuple(map(_as_text, row)) for row in cursor.fetchall()]


def _as_text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
