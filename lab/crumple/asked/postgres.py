"""Asks PostgreSQL by psql what its sessions do, in one statement that only reads.

User, database and password are those of the environment (PGUSER, PGDATABASE, PGPASSWORD) or of ~/.pgpass.
"""

import os
from pathlib import PurePath

from crumple.asked import calling, found, postgres_activity
from crumple.asked.found import AskedServer, NotAnswered

NAME = "postgres"
read = postgres_activity.read
# The port at which PostgreSQL listens unless it is configured otherwise.
_PORT = 5432
_SOCKET = ".s.PGSQL."
_LISTENERS = ("postgres", "postmaster")
_OPTIONS = f"-c default_transaction_read_only=on -c statement_timeout={calling.LIMIT_S * 1000:.0f}"
_REMEDY = "set PGUSER and PGPASSWORD, and PGDATABASE if it has another name than the user"
_REFUSED = ("password", "role", "authentication", "database")


def applies(server: AskedServer) -> tuple[str, str] | str:
    """Return the host and port to ask, or why not; empty: the server asks no PostgreSQL."""
    peer = next((each for each in server.peers if _SOCKET in each.address), None)
    peer = peer or found.at_port(server.peers, _LISTENERS, _PORT)
    if peer is None:
        return ""
    if calling.program("psql") is None:
        return "psql is not installed: install PostgreSQL's client"
    if why := calling.unreached(server.pids[0], peer.address):
        return why
    place = found.place_of(peer.address)
    if isinstance(place, str):
        path = PurePath(place)
        return str(path.parent), path.name.removeprefix(_SOCKET)
    return place[0], str(place[1])


def command(at: tuple[str, str]) -> str:
    """Return what is run; the statement is that of docs/asking.md."""
    return f"{' '.join(_command(at))} (pg_stat_activity, pg_blocking_pids)"


def call(at: tuple[str, str], deadline: float) -> str:
    """Return its sessions as CSV. Raises NotAnswered."""
    options = f"{os.environ.get('PGOPTIONS', '')} {_OPTIONS}".strip()
    env = {"PGOPTIONS": options, "PGCONNECT_TIMEOUT": "2", "PGAPPNAME": "crumple"}
    try:
        return calling.run_program([*_command(at), "-c", postgres_activity.QUERY], deadline, env)
    except NotAnswered as error:
        is_refused = any(each in str(error) for each in _REFUSED)
        raise NotAnswered(f"{error}; {_REMEDY}" if is_refused else str(error)) from None


def _command(at: tuple[str, str]) -> list[str]:
    return ["psql", "-Xwq", "--csv", "-h", at[0], "-p", at[1]]
