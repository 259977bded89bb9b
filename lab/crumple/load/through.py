"""How a load gets to the server of a URL: straight, or by --connect-to, --unix-socket or -x, a proxy.

Names are resolved and checked in `target`.
"""

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crumple.errors import Mistakes, UsageError
from crumple.load import header_lines
from crumple.load.load_flags import TargetFlags
from crumple.load.typed_url import TypedUrl

# Hosts may be in brackets, as IPv6 addresses are.
_HOST = r"(\[[^\[\]]*\]|[^:\[\]]*)"
_CONNECT_TO = re.compile(rf"{_HOST}:(\d*):{_HOST}:(\d*)")
# The port of a proxy whose URL names none, as that of HTTP.
PROXY_PORT = 80
# sockaddr_un holds 108 bytes for the path of a Unix socket, the last of which is zero.
UNIX_PATH_BYTES_MAX = 107


@dataclass(frozen=True)
class Hop:
    """What is connected to: a host and a port."""

    host: str
    port: int


@dataclass(frozen=True)
class HttpProxy:
    """An HTTP proxy, and the headers for it."""

    at: Hop
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WayToServer:
    """How a load gets to its server."""

    hop: Hop | None = None
    """What is connected to; None: a Unix socket, or nothing that is known."""
    unix_socket: str | None = None
    proxy: HttpProxy | None = None


def way(flags: TargetFlags, url: TypedUrl | None, mistakes: Mistakes) -> WayToServer:
    """Return how a load gets to the server of a URL. `url` None: it could not be read."""
    via = mistakes.of(lambda: proxy(flags.proxy, flags.proxy_header or ()))
    unix_socket, connect_to = flags.unix_socket, flags.connect_to or ()
    if unix_socket is not None and flags.source_address:
        mistakes.add("a unix socket has no --source-address", "leave it out")
    ways = {"--unix-socket": unix_socket, "--connect-to": connect_to, "-x": flags.proxy}
    given = [flag for flag, value in ways.items() if value]
    if len(given) > 1:
        mistakes.add(f"{' and '.join(given)} each say where to connect", "keep one of them")
    if unix_socket is not None:
        mistakes.of(lambda: _check_unix_socket(unix_socket))
        return WayToServer(unix_socket=unix_socket, proxy=via)
    if via is not None:
        return WayToServer(via.at, proxy=via)
    return WayToServer(mistakes.of(lambda: hop(connect_to, url.host, url.port)) if url is not None else None)


def hop(entries: Sequence[str], host: str, port: int) -> Hop:
    """Return where to connect for a URL with this host and port. Raises UsageError.

    `entries`: as in --connect-to HOST:PORT:HOST2:PORT2.
    """
    for entry in entries:
        found = _CONNECT_TO.fullmatch(entry.strip())
        if found is None:
            raise UsageError(
                f"--connect-to {entry}: that is not HOST:PORT:HOST2:PORT2",
                "write --connect-to example.org:443:localhost:8443, for instance",
            )
        of_host, of_port = found[1].strip("[]").lower(), found[2]
        if of_host in ("", host.lower()) and of_port in ("", str(port)):
            return Hop(found[3].strip("[]") or host, _port(entry, found[4]) if found[4] else port)
    if entries:
        raise UsageError(
            f"--connect-to {entries[0]} is not about the URL, whose host and port are {host}:{port}",
            f"write --connect-to {host}:{port}:HOST2:PORT2",
        )
    return Hop(host, port)


def _port(entry: str, text: str) -> int:
    if not 1 <= int(text) <= 65_535:
        raise UsageError(f"--connect-to {entry}: there is no port {text}", "write one from 1 to 65535")
    return int(text)


def proxy(typed: str | None, headers: Sequence[str]) -> HttpProxy | None:
    """Return the proxy that -x names: a URL, or host and port. Raises UsageError."""
    mistakes = Mistakes()
    read = [mistakes.of(partial(header_lines.parse, text, flag="--proxy-header")) for text in headers]
    if typed is None:
        if headers:
            mistakes.add("--proxy-header is for a proxy, and there is none", "add -x URL")
        mistakes.none()
        return None
    found = mistakes.of(lambda: _typed_proxy(typed))
    typed_headers = [each for each in read if each]
    for name, value in typed_headers:
        header_lines.check(name, value, mistakes)
    mistakes.none()
    assert found
    at, user = found
    own = [] if user is None else [("Proxy-Authorization", user)]
    return HttpProxy(at, (*own, *typed_headers))


def _typed_proxy(typed: str) -> tuple[Hop, str | None]:
    text = typed.strip() if "://" in typed else f"http://{typed.strip()}"
    shown = re.sub(r"//[^/@]*@", "//…@", text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if parts.scheme not in ("", "http"):
        raise UsageError(
            f"-x {shown}: a proxy is spoken to in plain HTTP",
            "write the URL of an HTTP proxy: http://HOST:PORT",
        )
    if not host or parts.path.strip("/") or parts.query:
        raise UsageError(f"-x {shown}: that names no proxy", "write -x http://localhost:3128, for instance")
    user = None
    if parts.username is not None:
        whole = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        user = header_lines.basic("-x", whole)
    return Hop(host, port or PROXY_PORT), user


def _check_unix_socket(path: str) -> None:
    if len(path.encode(errors="surrogateescape")) > UNIX_PATH_BYTES_MAX:
        raise UsageError(
            f"--unix-socket {path} is longer than the {UNIX_PATH_BYTES_MAX} bytes a socket's path may have",
            "change into its folder and give the name alone",
        )
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise UsageError(
            f"--unix-socket {path}: {error.strerror}", "start the server first, or check the path"
        ) from None
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"--unix-socket {path} is not a socket", "give the path the server listens on")
