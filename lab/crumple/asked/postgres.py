"""Asks PostgreSQL by psql what its sessions do, in one statement that only reads.

User, database and password are those of the URL, or else of the environment (PGUSER, PGPASSWORD, ~/.pgpass).
"""

import os
from pathlib import PurePath

from crumple.asked import calling, database_url, postgres_activity
from crumple.asked.database_url import Database
from crumple.asked.said import NotAnswered, Peer, Server

NAME = postgres_activity.NAME
read = postgres_activity.read
_PORT = 5432
_SOCKET = ".s.PGSQL."
_LISTENERS = ("postgres", "postmaster")
_OPTIONS = f"-c default_transaction_read_only=on -c statement_timeout={calling.LIMIT_S * 1000:.0f}"
_REMEDY = "set PGUSER and PGPASSWORD, or name it: --ask postgresql://USER@HOST:PORT/NAME"


def applies(server: Server) -> Database | str:
    """The database to ask, or why there is none."""
    found = database_url.of(server, ("postgres", "postgresql"), _PORT, _is_one)
    if found is None:
        return ""
    if calling.program("psql") is None:
        return "psql is not installed: install PostgreSQL's client"
    if _SOCKET in found.host:
        path = PurePath(found.host)
        return Database(str(path.parent), int(path.name.removeprefix(_SOCKET)))
    return found


def command(database: Database) -> str:
    """How the user could ask."""
    return calling.typed(_command(database))


def call(database: Database, deadline: float) -> str:
    """Its sessions as CSV. Raises NotAnswered."""
    options = f"{os.environ.get('PGOPTIONS', '')} {_OPTIONS}".strip()
    env = {"PGOPTIONS": options, "PGCONNECT_TIMEOUT": "2", "PGAPPNAME": "crumple"}
    if database.password is not None:
        env["PGPASSWORD"] = database.password
    try:
        return calling.printed(_command(database), deadline, env)
    except NotAnswered as error:
        refused = "password" in error.why or "role" in error.why or "authentication" in error.why
        raise NotAnswered(f"{error.why}; {_REMEDY}" if refused else error.why) from None


def _command(database: Database) -> list[str]:
    return ["psql", "-Xwq", "--csv", "-d", database.url("postgresql"), "-c", postgres_activity.QUERY]


def _is_one(peer: Peer) -> bool:
    return peer.listener_name in _LISTENERS or peer.port == _PORT or _SOCKET in peer.address
