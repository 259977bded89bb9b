"""Asks MySQL or MariaDB for its process list and the lock waits of InnoDB, in statements that only read.

User and password are those of the URL, or else of the client's options file (~/.my.cnf) and of MYSQL_PWD.
"""

import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crumple.asked import calling, database_url, mysql_activity
from crumple.asked.database_url import Database
from crumple.asked.said import NotAnswered, Peer, Server

if TYPE_CHECKING:
    from pymysql.connections import Connection

NAME = mysql_activity.NAME
read = mysql_activity.read
_PORT = 3306
_LISTENERS = ("mysqld", "mariadbd")
_OPTIONS_FILE = Path("~/.my.cnf")
_REMEDY = "set MYSQL_PWD and name it: --ask mysql://USER@HOST:PORT"
PROCESSES = (
    "SELECT id, command, time, state, left(info, 300) AS info FROM information_schema.processlist"
    " WHERE id <> connection_id() LIMIT 2000"
)
# Who waits for whom, and since when those in a transaction are: MySQL 8 and later, then MariaDB.
WAITS = (
    "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM performance_schema.data_lock_waits w"
    " JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id"
    " JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id LIMIT 10000",
    "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM information_schema.innodb_lock_waits w"
    " JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id"
    " JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id LIMIT 10000",
)
HELD = (
    "SELECT trx_mysql_thread_id, timestampdiff(SECOND, trx_started, now())"
    " FROM information_schema.innodb_trx LIMIT 2000"
)


def applies(server: Server) -> Database | str:
    """The database to ask, or why there is none."""
    found = database_url.of(server, ("mysql", "mariadb"), _PORT, _is_one)
    if found is None:
        return ""
    if find_spec("pymysql") is None:
        return "pymysql is not installed: install it, as for studies"
    return found


def command(database: Database) -> str:
    """How the user could ask."""
    host, port = database.host, str(database.port)
    place = ["-S", host] if host.startswith("/") else ["-h", host, "-P", port]
    user = ["-u", database.user] if database.user else []
    statements = f"{PROCESSES}; SELECT * FROM information_schema.innodb_trx"
    return calling.typed(["mysql", *place, *user, "-e", statements])


def call(database: Database, deadline: float) -> str:
    """Its connections and lock waits as JSON. Raises NotAnswered."""
    import pymysql

    try:
        connection = _connected(database, deadline)
    except (pymysql.Error, OSError) as error:
        raise NotAnswered(f"{error.args[-1]}; {_REMEDY}") from None
    try:
        processes = _rows(connection, PROCESSES, deadline)
        names = ("id", "command", "time", "state", "info")
        listed = [dict(zip(names, row, strict=True)) for row in processes]
        waits = _first(connection, WAITS, deadline)
        held = dict(_first(connection, (HELD,), deadline) or ())
        return json.dumps({"processes": listed, "waits": waits, "held": held}, default=_as_text)
    except (pymysql.Error, OSError) as error:
        raise NotAnswered(f"{error.args[-1]}") from None
    finally:
        connection.close()


def _connected(database: Database, deadline: float) -> "Connection":
    import pymysql

    limit_s = calling.left_s(deadline)
    file = _OPTIONS_FILE.expanduser()
    password = os.environ.get("MYSQL_PWD") if database.password is None else database.password
    given: dict[str, Any] = {"user": database.user} if database.user else {}
    if password is not None:
        given["password"] = password
    if file.is_file():
        given["read_default_file"] = str(file)
    if database.host.startswith("/"):
        given["unix_socket"] = database.host
    else:
        given |= {"host": database.host, "port": database.port}
    return pymysql.connect(
        connect_timeout=limit_s, read_timeout=limit_s, write_timeout=limit_s, autocommit=True, **given
    )


def _first(connection: "Connection", queries: Sequence[str], deadline: float) -> Sequence[Any] | None:
    """The rows of the first statement that this database knows and this user may ask; None: of none."""
    import pymysql

    for query in queries:
        try:
            return _rows(connection, query, deadline)
        except (pymysql.err.OperationalError, pymysql.err.ProgrammingError, pymysql.err.InternalError):
            continue
    return None


def _rows(connection: "Connection", query: str, deadline: float) -> Sequence[Any]:
    calling.left_s(deadline)
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _is_one(peer: Peer) -> bool:
    return peer.listener_name in _LISTENERS or peer.port == _PORT or peer.address.endswith("mysqld.sock")
