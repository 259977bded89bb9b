"""A URL as typed → the `Target` to connect to, and whether it may be loaded at all.

It resolves names and reads this machine's own addresses and listeners; it opens no connection.
"""

import contextlib
import ipaddress
import re
import socket
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.load import addresses, certificates, through
from crumple.load.addresses import Address, is_harmless, is_own
from crumple.machine import process_tree

Lookup = Callable[[str], Sequence[str]]

PORTS = {"http": 80, "https": 443}
# sockaddr_un holds 108 bytes, the last of which is zero.
UNIX_PATH_BYTES_MAX = 107
# The letters that a request line may contain.
_AS_TYPED = "".join(chr(code) for code in range(0x21, 0x7F))


@dataclass(frozen=True)
class Resolved:
    """A target that may be loaded. `path`: with the query; `is_local`: on this machine."""

    target: contract.Target
    path: str
    url: str
    is_local: bool


@dataclass(frozen=True)
class _Written:
    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        return self.authority(with_port=self.port != PORTS[self.scheme])

    @property
    def asked_for(self) -> str:
        """What a proxy is asked for: a tunnel needs the port."""
        return self.authority(with_port=True) if self.scheme == "https" else self.host_header

    def authority(self, *, with_port: bool) -> str:
        name = self.host.partition("%")[0]  # RFC 6874: the zone is not sent
        name = f"[{name}]" if ":" in name else name
        return f"{name}:{self.port}" if with_port else name


@dataclass(frozen=True)
class _How:
    """What limits the choice of an address."""

    sources: Sequence[Address]
    versions: Sequence[int]
    allow_remote: bool
    lookup: Lookup


def addresses_of(host: str) -> list[str]:
    """The numeric addresses of a name, in the system's order. Raises OSError, UnicodeError.

    Names below localhost are this machine (RFC 6761, 6.3), which not every resolver knows.
    """
    if host.lower().rstrip(".").endswith(".localhost"):
        return ["127.0.0.1", "::1"]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def resolve(
    url: str,
    *,
    unix_socket: str | None = None,
    insecure: bool = False,
    ca_file: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    connect_to: Sequence[str] = (),
    versions: Sequence[int] = (4, 6),
    proxy: str | None = None,
    proxy_headers: Sequence[str] = (),
    sources: Sequence[str] = (),
    allow_remote: bool = False,
    lookup: Lookup = addresses_of,
) -> Resolved:
    """Return where a load on `url` goes. Raises UsageError with every mistake, one line each.

    `cert`, `key`: files of the client's certificate. `connect_to`: "host:port:host2:port2". `versions`: those
    of IP. `sources`: local addresses, or ranges such as 127.0.0.2-127.0.0.9, to connect from.
    """
    mistakes = Mistakes()
    url = mistakes.of(lambda: _with_scheme(url)) or ""
    written = mistakes.of(lambda: _written(url)) if url else None
    from_addresses = mistakes.of(lambda: addresses.sources(sources)) or ()
    via = mistakes.of(lambda: through.proxy(proxy, proxy_headers))
    tls = _tls(written, insecure, ca_file, cert, key, mistakes)
    _check_ways(unix_socket, sources, connect_to, proxy, mistakes)
    if unix_socket is not None:
        mistakes.of(lambda: _check_unix_socket(unix_socket))
        address, is_local = f"unix:{unix_socket}", True
    else:
        how = _How(from_addresses, versions, allow_remote, lookup)
        found = mistakes.of(lambda: _reached(written, connect_to, via, how)) if written else None
        address = _with_port(*found) if found else ""
        is_local = found is not None and via is None and is_own(found[0])
    mistakes.none()
    assert written
    target = contract.Target(
        address=address,
        host=written.host_header,
        tls=tls,
        proxy=contract.Proxy(authority=written.asked_for, headers=via.headers) if via else None,
        sources=tuple(str(source) for source in from_addresses),
    )
    return Resolved(target=target, path=written.path, url=_in_utf8(url), is_local=is_local)


def _tls(
    written: "_Written | None",
    insecure: bool,
    ca_file: str | None,
    cert: str | None,
    key: str | None,
    mistakes: Mistakes,
) -> contract.Tls | None:
    if ca_file is not None:
        mistakes.of(lambda: certificates.check_authorities(ca_file))
    if insecure and ca_file is not None:
        mistakes.add("--insecure verifies nothing, so --cacert has no use", "leave one of them out")
    client = mistakes.of(lambda: certificates.own(cert, key))
    about_tls = {"--insecure": insecure, "--cacert": ca_file, "--cert": cert}
    given = [flag for flag, value in about_tls.items() if value]
    if written is None or written.scheme == "https":
        host = written.host if written else ""
        return contract.Tls(server_name=host, verify=not insecure, ca_file=ca_file, client=client)
    if given:
        mistakes.add(
            f"{given[0]} is about certificates, and http has none", "write https://, or leave it out"
        )
    return None


def _check_ways(
    unix_socket: str | None,
    sources: Sequence[str],
    connect_to: Sequence[str],
    proxy: str | None,
    mistakes: Mistakes,
) -> None:
    """Refuse ways to the server that exclude each other."""
    if unix_socket is not None and sources:
        mistakes.add("a unix socket has no --source-address", "leave it out")
    ways = {"--unix-socket": unix_socket, "--connect-to": connect_to, "-x": proxy}
    given = [flag for flag, value in ways.items() if value]
    if len(given) > 1:
        mistakes.add(f"{' and '.join(given)} each say where to connect", "keep one of them")


def encoded(path: str) -> str:
    """Percent-encode what a request line may not contain; the rest stays as typed."""
    return quote(path, safe=_AS_TYPED, errors="surrogateescape")


def _in_utf8(url: str) -> str:
    """Return the URL as typed, with bytes that are not UTF-8 percent-encoded."""
    return "".join(
        quote(letter, errors="surrogateescape") if "\udc80" <= letter <= "\udcff" else letter
        for letter in url
    )


def _with_scheme(url: str) -> str:
    """Return the URL, with http:// if it has no scheme, as in curl. Raises UsageError."""
    url = re.sub(r"^(https?://)(?=:\d)", r"\1localhost", url.strip(), flags=re.IGNORECASE)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        return url
    if not url:
        raise UsageError("the URL is empty", "write http://localhost")
    if slip := re.match(r"(https?):/*", url):
        host = url[slip.end() :] or "localhost"
        raise UsageError(f"the URL {url} lacks //", f"write {slip[1]}://{host}")
    return f"http://localhost{url}" if url.startswith((":", "/")) else f"http://{url}"


def _written(url: str) -> _Written:
    parts = _split(url)
    if parts.scheme not in PORTS:
        raise UsageError(f"{url}: {parts.scheme} is not HTTP", "write http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise UsageError("a user or password in the URL is not sent", "give them as -a USER:PASSWORD")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise UsageError(f"{url}: no such port", "write one from 1 to 65535")
    if not parts.hostname:
        raise UsageError(f"{url} names no host", f"write {parts.scheme}://localhost, for instance")
    path = parts.path or "/"
    has_query = "?" in url.partition("#")[0]
    return _Written(
        scheme=parts.scheme,
        host=_host_in_ascii(parts.hostname),
        port=port or PORTS[parts.scheme],
        path=encoded(f"{path}?{parts.query}" if has_query else path),
    )


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url} is no URL: {error}", "write it as http://host:port/path") from None


def _host_in_ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"{host} is no name a host can have", "check its spelling") from None


def _reached(
    written: _Written, connect_to: Sequence[str], via: through.Proxy | None, how: _How
) -> tuple[Address, int]:
    """Return the address and port that are connected to: the server's, or the proxy's. Raises UsageError."""
    if via is None:
        hop = through.hop(connect_to, written.host, written.port)
        return _place(hop, how), hop.port
    if not how.allow_remote:
        _check_harmless_there(written.host, how)
    return _place(via.at, how), via.at.port


def _check_harmless_there(host: str, how: _How) -> None:
    """Return if a proxy may be asked for this host. Raises UsageError."""
    try:
        _addresses(host, how)
    except _UnresolvedError as error:
        raise UsageError(
            f"{error.message}, so it is not known whether it is a private address",
            "if that server is yours to load, add --allow-remote",
        ) from None


class _UnresolvedError(UsageError):
    """The addresses of a name are not known."""


def _addresses(host: str, how: _How) -> list[Address]:
    """Return the addresses of a host that may be loaded. Raises UsageError."""
    try:
        found = [_normal(ipaddress.ip_address(text)) for text in how.lookup(host)]
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise _UnresolvedError(
            f"cannot resolve the host {host}: {why}", "check its spelling, or write its address"
        ) from None
    strangers = [] if how.allow_remote else [address for address in found if not is_harmless(address)]
    if strangers:
        which = "" if str(strangers[0]) == host else f" is {strangers[0]}, which"
        raise UsageError(
            f"{host}{which} is neither a loopback nor a private address",
            "if that server is yours to load, add --allow-remote",
        )
    return found


def _place(hop: through.Hop, how: _How) -> Address:
    """Choose the address to connect to among those of the host. Raises UsageError."""
    all_found, sources = _addresses(hop.host, how), how.sources
    found = [address for address in all_found if address.version in how.versions]
    if not found:
        flag = f"ipv{how.versions[0]}"
        raise UsageError(f"{hop.host} has no {flag.replace('ip', 'IP')} address", f"leave out --{flag}")
    fitting = [each for each in found if all(source.version == each.version for source in sources)]
    if not fitting:
        raise UsageError(
            f"--source-address {sources[0]} cannot reach {found[0]}",
            f"give addresses of the same kind (IPv{found[0].version})",
        )
    if sources and sources[0].is_loopback and not fitting[0].is_loopback:
        raise UsageError(
            f"--source-address {sources[0]} is loopback and cannot reach {fitting[0]}",
            "give addresses of the network that leads there",
        )
    return _heard(fitting, hop.port)


def _heard(found: Sequence[Address], port: int) -> Address:
    """The first address; of several on loopback ("localhost") the first with a listener, IPv4 before IPv6."""
    if len(found) > 1 and all(address.is_loopback for address in found):
        in_order = sorted(found, key=lambda address: address.version)
        return next((each for each in in_order if process_tree.listens_at(each, port)), in_order[0])
    return found[0]


def _normal(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_unspecified:
        # Servers print 0.0.0.0 as their address; a connection to it goes to this machine.
        return ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return address


def _with_port(address: Address, port: int) -> str:
    if address.version == 4:
        return f"{address}:{port}"
    name, _, zone = str(address).partition("%")
    if zone and not zone.isdigit():
        with contextlib.suppress(OSError):
            zone = str(socket.if_nametoindex(zone))
    return f"[{name}%{zone}]:{port}" if zone else f"[{name}]:{port}"


def port_of(address: str) -> int | None:
    """Return the port of an address of the engine's; None: it is a Unix socket."""
    return None if address.startswith("unix:") else int(address.rpartition(":")[2])


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
