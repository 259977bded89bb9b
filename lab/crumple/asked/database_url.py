"""Whom to ask of the databases: those that the user named by URL, or else the server's dependencies.

A password of a URL is kept apart from the rest, which may be shown. Pure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from crumple.asked.said import Peer, Server

_SECRETS = ("password", "passwd", "sslpassword")


@dataclass(frozen=True)
class Database:
    """A database to ask. `host` may be the path of a Unix-domain socket or of its folder.

    `password` None: not given. It is not part of how this is shown.
    """

    host: str
    port: int
    user: str = ""
    name: str = ""
    options: tuple[tuple[str, str], ...] = ()
    password: str | None = field(default=None, repr=False)

    def url(self, scheme: str) -> str:
        """The URL without the password."""
        options = [*self.options]
        if self.host.startswith("/"):
            options = [("host", self.host), ("port", str(self.port)), *options]
            place = ""
        else:
            place = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        name = f"/{quote(self.name, safe='')}" if self.name or options else ""
        query = f"?{urlencode(options, safe='/')}" if options else ""
        return f"{scheme}://{user}{place}{name}{query}"


def named(url: str, default_port: int) -> Database | None:
    """The database of a URL; None: it is not a URL of one."""
    try:
        parts = urlsplit(url)
        port = parts.port or default_port
    except ValueError:
        return None
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    given = [value for key, value in pairs if key == "password"]
    password = unquote(parts.password) if parts.password is not None else next(iter(given), None)
    host = unquote(parts.hostname or "") or next(
        (value for key, value in pairs if key == "host"), "localhost"
    )
    options = tuple((key, value) for key, value in pairs if key not in (*_SECRETS, "host", "port"))
    return Database(
        host, port, unquote(parts.username or ""), unquote(parts.path.strip("/")), options, password
    )


def of(
    server: Server, schemes: tuple[str, ...], default_port: int, is_one: Callable[[Peer], bool]
) -> Database | None:
    """The first that the user named, or else the first dependency that is one; None: there is none."""
    for url in server.urls:
        if urlsplit(url).scheme in schemes and (database := named(url, default_port)):
            return database
    peer = next((peer for peer in server.peers if is_one(peer)), None)
    if peer is None:
        return None
    if peer.port is None:
        return Database(peer.address.removeprefix("unix:"), default_port)
    return Database(peer.host, peer.port)
