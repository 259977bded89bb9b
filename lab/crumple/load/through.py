"""How a load gets to the server of a URL where not straight: --connect-to, and -x for a proxy.

Pure: names are resolved and checked in `target`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, urlsplit

from crumple.errors import Mistakes, UsageError
from crumple.load import header_lines

# Hosts may be in brackets, as IPv6 addresses are.
_HOST = r"(\[[^\[\]]*\]|[^:\[\]]*)"
_CONNECT_TO = re.compile(rf"{_HOST}:(\d*):{_HOST}:(\d*)")
PROXY_PORT = 80


@dataclass(frozen=True)
class Hop:
    """What is connected to: a host and a port."""

    host: str
    port: int


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, and the headers for it."""

    at: Hop
    headers: tuple[tuple[str, str], ...]


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


def proxy(typed: str | None, headers: Sequence[str]) -> Proxy | None:
    """Return the proxy that -x names: a URL, or host and port. Raises UsageError."""
    mistakes = Mistakes()
    read = [mistakes.of(partial(header_lines.read, text, flag="--proxy-header")) for text in headers]
    if typed is None:
        if headers:
            mistakes.add("--proxy-header is for a proxy, and there is none", "add -x URL")
        mistakes.none()
        return None
    found = mistakes.of(lambda: _proxy(typed))
    typed_headers = [each for each in read if each]
    for name, value in typed_headers:
        header_lines.check(name, value, mistakes)
    mistakes.none()
    assert found
    at, user = found
    own = [] if user is None else [("Proxy-Authorization", user)]
    return Proxy(at, (*own, *typed_headers))


def _proxy(typed: str) -> tuple[Hop, str | None]:
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
