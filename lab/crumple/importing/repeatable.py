"""A request as another program sent it → as a load can repeat it, or why it cannot."""

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, urlsplit

from crumple.errors import Mistakes
from crumple.importing.recorded import LeftOut, Recorded
from crumple.load import header_lines, typed_url, varying
from crumple.words import masked

# Letters of a name of a host (RFC 1035, 2.3.4: 255 bytes with two that are no letters).
LETTERS_MAX = 253
# Names within a network may have underscores.
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?", re.ASCII | re.IGNORECASE)
_ZONE = re.compile(r"[\w.~-]+", re.ASCII)


@lru_cache(maxsize=1024)
def is_host(text: str) -> bool:
    """Return whether a load could go there, if the name has an address."""
    if ":" in text:
        return _is_ipv6(text)
    if not 0 < len(text) <= LETTERS_MAX:
        return False
    try:
        name = text if text.isascii() else text.encode("idna").decode("ascii")
    except UnicodeError:
        return False
    if len(name) > LETTERS_MAX or not _NAME.fullmatch(name):
        return False
    return _is_ipv4(name) if name.rstrip(".").rpartition(".")[2].isdecimal() else True


def _is_ipv4(text: str) -> bool:
    """Whether it is an address, which may be short: 127.1."""
    try:
        socket.inet_aton(text)
    except OSError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    address, percent, zone = text.partition("%")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return not percent or bool(_ZONE.fullmatch(zone))


# What the engine writes itself.
OF_ENGINE = frozenset({
    "content-length", "connection", "keep-alive", "proxy-connection", "te", "trailer", "expect",
    "transfer-encoding", "upgrade", "http2-settings",
})  # fmt: skip
# What a browser says of itself.
OF_BROWSER = frozenset({
    "user-agent", "referer", "dnt", "priority", "pragma", "cache-control", "upgrade-insecure-requests",
    "alt-used",
})  # fmt: skip
# A server answers them from what this one client had: with 304, or for its session.
_OF_ONE_CLIENT = frozenset({"cookie", "if-none-match", "if-modified-since", "if-match", "if-range"})
BINARY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd\ud800-\udfff]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}")
# A lone surrogate, which UTF-8 cannot encode.
_HALF = re.compile("[\ud800-\udfff]")
DEFAULT_PORTS = {"http": 80, "https": 443}
# Letters of a URL, which may be as long as a picture, that are masked to be shown; a reason shows fewer.
SHOWN_LETTERS = 1_000
# The status of an answer behind which the connection no longer speaks HTTP/1.1.
SWITCHED = 101
UNANSWERED = "that no server answered"
WEBSOCKET = "to open a WebSocket"
UPGRADED = "whose answer changed the protocol (101), as for a WebSocket"
TUNNEL = "to open a tunnel (CONNECT)"
FRAGMENT = "without the fragment of its URL (#…), which no client sends"
UNREADABLE = "without a URL that can be read"
NO_HOST = "to a host that is neither a name nor an address"


class Unplaced(Exception):  # noqa: N818 - says what happened
    """Why no load can go to a URL, as the end of a sentence about its request."""


def repeat(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    body: str | None,
    left_out: LeftOut,
    *,
    body_file: str | None = None,
    status: int | None = None,
    typed: bool = False,
    is_whole: bool = False,
) -> Recorded | None:
    """Return the request; None: it is left out, and `left_out` says why.

    `typed`: a person wrote the headers, so those that a browser adds are meant. `is_whole`: nothing lacks in
    the body, even if it is multipart.
    """
    method, given = method.strip().upper(), list(headers)
    scheme = url.partition(":")[0].lower()
    shown = f"{method} {masked.url(url[:SHOWN_LETTERS])}"
    said = {name.lower(): value.lower() for name, value in given}
    if why := UPGRADED if status == SWITCHED else _unrepeatable(method, scheme, said, body, is_whole):
        left_out.add(why, shown)
        return None
    try:
        origin, path = split_url(url)
    except Unplaced as why:
        left_out.add(str(why), shown)
        return None
    own = tuple(_headers(given, origin, typed, left_out, shown))
    if any(varying.PLACE.search(text) for text in (body or "", *(value for _, value in own))):
        left_out.add("with text that a load would replace, such as {seq}", shown)
        return None
    if "@" in url.partition("://")[2].partition("/")[0]:
        left_out.header("Authorization")
    if "#" in url:
        left_out.part(FRAGMENT, shown)
    return Recorded(origin, method, path, own, body or None, body_file, status=status)


def _unrepeatable(method: str, scheme: str, headers: dict[str, str], body: str | None, is_whole: bool) -> str:
    """Return why a load cannot repeat a request; empty if it can."""
    if method == "CONNECT":
        return TUNNEL
    if not _SCHEME.fullmatch(scheme):
        return UNREADABLE
    if scheme in ("ws", "wss") or "websocket" in headers.get("upgrade", ""):
        return WEBSOCKET
    if scheme not in DEFAULT_PORTS:
        return f"to {scheme}: instead of http:"
    if not header_lines.TOKEN.fullmatch(method):
        return "with a method that no load sends"
    if headers.get("content-type", "").startswith("multipart/") and not is_whole:
        return "with a multipart body, whose files are not in it"
    if body and headers.get("content-encoding", "identity") != "identity":
        return "with a compressed body"
    if body and BINARY.search(body):
        return "with a binary body"
    return ""


def split_url(url: str) -> tuple[str, str]:
    """Return origin and path of an absolute URL. Raises Unplaced."""
    try:
        parts = urlsplit(url.strip())
        # One that is empty is sent, too.
        has_query = "?" in url.partition("#")[0]
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Unplaced(UNREADABLE) from None
    if not host and parts.netloc.startswith(":") and port:
        # As `crumple load :8080`.
        host = "localhost"
    if not host or _HALF.search(url):
        raise Unplaced(UNREADABLE)
    # The origin stands in a command that is shown, to be pasted into a shell.
    if not is_host(host):
        raise Unplaced(NO_HOST)
    at = f"[{host}]" if ":" in host else host
    port = None if port == DEFAULT_PORTS.get(parts.scheme) else port
    return f"{parts.scheme}://{at}{'' if port is None else f':{port}'}", path_of(
        parts.path, parts.query if has_query else None
    )


def path_alone(written: str, shown: str, left_out: LeftOut) -> str:
    """Return path and query of a URL without a host as a request file has them. `shown`: its request."""
    before, sign, _ = written.partition("#")
    if sign:
        left_out.part(FRAGMENT, shown)
    path, mark, query = before.partition("?")
    return path_of(path, query if mark else None)


def path_of(path: str, query: str | None) -> str:
    """Return path and query as a request file has them: nothing in them is filled in. None: without a "?"."""
    whole = typed_url.encoded(f"{path or '/'}{'' if query is None else f'?{query}'}")
    return varying.PLACE.sub(lambda found: quote(found[0], safe=""), whole)


def _headers(
    given: Iterable[tuple[str, str]], origin: str, typed: bool, left_out: LeftOut, shown: str
) -> Iterable[tuple[str, str]]:
    together: dict[str, tuple[str, str]] = {}
    joined = ""
    for name, value in given:
        small = name.lower()
        if small in OF_ENGINE or small.startswith((":", "proxy-")):
            continue
        if not typed and (small in OF_BROWSER or small.startswith("sec-")):
            continue
        if small == "host" and _is_of(origin, value):
            continue
        mistakes = Mistakes()
        header_lines.check(name, value, mistakes)
        if mistakes.any or _HALF.search(value):
            left_out.unsendable(name)
        elif small in _OF_ONE_CLIENT or masked.header(name, value) != value:
            left_out.header(name)
        elif small in together:
            together[small] = (together[small][0], f"{together[small][1]}, {value}")
            joined = joined or name
        else:
            together[small] = (name, value)
    if joined:
        left_out.part("with headers of the same name joined by a comma to one", f"{joined} of {shown}")
    return together.values()


def _is_of(origin: str, host: str) -> bool:
    """Whether a Host header is what the engine writes for an origin; another one leads to another site."""
    scheme, _, at = origin.partition("://")
    return host.strip().lower() in ("", at, f"{at}:{DEFAULT_PORTS.get(scheme)}")
