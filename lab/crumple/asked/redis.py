"""Asks Redis over its socket for what it does in half a second, its clients and its slow log.

The password is that of the URL, or else of REDISCLI_AUTH.
"""

import os
import socket
import time

from crumple.asked import calling, database_url, redis_replies
from crumple.asked.database_url import Database
from crumple.asked.said import NotAnswered, Peer, Server

NAME = redis_replies.NAME
read = redis_replies.read
_PORT = 6379
_LISTENERS = ("redis-server", "valkey-server")
# Time between the two readings of what each command has taken.
BETWEEN_S = 0.5


def applies(server: Server) -> Database | str:
    """The database to ask, or why there is none."""
    return database_url.of(server, ("redis", "valkey"), _PORT, _is_one) or ""


def command(database: Database) -> str:
    """How the user could ask."""
    host, port = database.host, str(database.port)
    place = ["-s", host] if host.startswith("/") else ["-h", host, "-p", port]
    cli = calling.typed(["redis-cli", *place])
    return "; ".join(f"{cli} {' '.join(words)}" for words in redis_replies.COMMANDS[-3:])


def call(database: Database, deadline: float) -> str:
    """The replies to COMMANDS, as they came. Raises NotAnswered."""
    at = database.host if database.host.startswith("/") else (database.host, database.port)
    password = os.environ.get("REDISCLI_AUTH") if database.password is None else database.password
    with calling.connected(at, deadline) as opened:
        if password is not None:
            user = [database.user] if database.user else []
            _check(_replies(opened, (("AUTH", *user, password),), deadline))
        first = _replies(opened, redis_replies.COMMANDS[: redis_replies.FIRST_HALF], deadline)
        _check(first)
        time.sleep(min(BETWEEN_S, calling.left_s(deadline)))
        second = _replies(opened, redis_replies.COMMANDS[redis_replies.FIRST_HALF :], deadline)
    return (first + second).decode("utf-8", "surrogateescape")


def _replies(opened: socket.socket, commands: tuple[tuple[str, ...], ...], deadline: float) -> bytes:
    def is_whole(read: bytes) -> bool:
        return len(redis_replies.values(read)) >= len(commands)

    return calling.exchanged(opened, b"".join(map(redis_replies.encoded, commands)), is_whole, deadline)


def _check(replies: bytes) -> None:
    """Raises NotAnswered if the first reply is an error: others may be refused alone."""
    first = next(iter(redis_replies.values(replies)), "-it closed the connection")
    if isinstance(first, str) and first.startswith("-"):
        refused = first.startswith(("-NOAUTH", "-WRONGPASS"))
        remedy = "; set REDISCLI_AUTH, or name it: --ask redis://USER@HOST:PORT" if refused else ""
        raise NotAnswered(f"{first[1:]}{remedy}")


def _is_one(peer: Peer) -> bool:
    return peer.listener_name in _LISTENERS or peer.port == _PORT
