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
from crumple.machine import process_tree

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str], Sequence[str]]

PORTS = {"http": 80, "https": 443}
SOURCES_MAX = 1_024
# sockaddr_un holds 108 bytes, the last of which is zero.
UNIX_PATH_BYTES_MAX = 107
PEM = b"-----BEGIN CERTIFICATE-----"
# Loopback and private networks (RFC 1918, RFC 4193), which need no --allow-remote. `is_private` would also
# allow link-local addresses, where clouds have their metadata services, and reserved ones.
OWN_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)


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
        name = self.host.partition("%")[0]  # RFC 6874: the zone is not sent
        name = f"[{name}]" if ":" in name else name
        return name if self.port == PORTS[self.scheme] else f"{name}:{self.port}"


def addresses_of(host: str) -> list[str]:
    """The numeric addresses of a name, in the system's order. Raises OSError, UnicodeError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def resolve(
    url: str,
    *,
    unix_socket: str | None = None,
    insecure: bool = False,
    ca_file: str | None = None,
    sources: Sequence[str] = (),
    allow_remote: bool = False,
    lookup: Lookup = addresses_of,
) -> Resolved:
    """Return where a load on `url` goes. Raises UsageError with every mistake, one line each.

    `sources`: local addresses, or ranges such as 127.0.0.2-127.0.0.9, to connect from.
    """
    mistakes = Mistakes()
    url = mistakes.of(lambda: _with_scheme(url)) or ""
    written = mistakes.of(lambda: _written(url)) if url else None
    from_addresses = mistakes.of(lambda: _sources(sources)) or ()
    if ca_file is not None:
        mistakes.of(lambda: _check_ca_file(ca_file))
    if insecure and ca_file is not None:
        mistakes.add("--insecure verifies nothing, so --cacert has no use", "leave one of them out")
    if written and written.scheme == "http" and (insecure or ca_file is not None):
        flag = "--insecure" if insecure else "--cacert"
        mistakes.add(f"{flag} is about certificates, and http has none", "write https://, or leave it out")
    if unix_socket is not None:
        mistakes.of(lambda: _check_unix_socket(unix_socket))
        if sources:
            mistakes.add("a unix socket has no --source-address", "leave it out")
        address, is_local = f"unix:{unix_socket}", True
    else:
        place = (
            mistakes.of(lambda: _place(written, from_addresses, allow_remote, lookup)) if written else None
        )
        address = _with_port(place, written.port) if place and written else ""
        is_local = place is not None and is_own(place)
    mistakes.none()
    assert written
    tls = contract.Tls(server_name=written.host, verify=not insecure, ca_file=ca_file)
    target = contract.Target(
        address=address,
        host=written.host_header,
        tls=tls if written.scheme == "https" else None,
        sources=tuple(str(source) for source in from_addresses),
    )
    return Resolved(target=target, path=written.path, url=_in_utf8(url), is_local=is_local)


def is_harmless(address: Address) -> bool:
    """Whether loading it needs no --allow-remote: it is loopback or private."""
    return any(address in network for network in OWN_NETWORKS if network.version == address.version)


def is_own(address: Address) -> bool:
    """Whether it is an address of this machine."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family) as probe:
        probe.bind((str(address), 0))
        return True
    return False


def encoded(path: str) -> str:
    """Percent-encode what a request line may not contain; the rest stays as typed."""
    as_typed = "".join(chr(code) for code in range(0x21, 0x7F))
    return quote(path, safe=as_typed, errors="surrogateescape")


def _in_utf8(url: str) -> str:
    """Return the URL as typed, with bytes that are not UTF-8 percent-encoded."""
    return "".join(
        quote(letter, errors="surrogateescape") if "\udc80" <= letter <= "\udcff" else letter
        for letter in url
    )


def _with_scheme(url: str) -> str:
    """Return the URL, with http:// if it has no scheme, as in curl. Raises UsageError."""
    url = url.strip()
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
        raise UsageError(
            "a user or password in the URL is not sent", "give them as -H 'Authorization: Basic …'"
        )
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise UsageError(f"{url}: no such port", "write one from 1 to 65535")
    if not parts.hostname:
        raise UsageError(f"{url} names no host", f"write {parts.scheme}://localhost, for instance")
    path = parts.path or "/"
    return _Written(
        scheme=parts.scheme,
        host=_host_in_ascii(parts.hostname),
        port=port or PORTS[parts.scheme],
        path=encoded(f"{path}?{parts.query}" if parts.query else path),
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


def _place(written: _Written, sources: Sequence[Address], allow_remote: bool, lookup: Lookup) -> Address:
    """Choose the address to load among those of the host. Raises UsageError."""
    try:
        found = [_normal(ipaddress.ip_address(text)) for text in lookup(written.host)]
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot resolve the host {written.host}: {why}", "check its spelling, or write its address"
        ) from None
    strangers = [] if allow_remote else [address for address in found if not is_harmless(address)]
    if strangers:
        which = "" if str(strangers[0]) == written.host else f" is {strangers[0]}, which"
        raise UsageError(
            f"{written.host}{which} is neither a loopback nor a private address",
            "if that server is yours to load, add --allow-remote",
        )
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
    return _heard(fitting, written.port)


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


def _sources(written: Sequence[str]) -> tuple[Address, ...]:
    found = [address for text in written for address in _source_range(text)]
    if len({address.version for address in found}) > 1:
        raise UsageError("--source-address names both IPv4 and IPv6", "give addresses of one kind")
    if len(found) > SOURCES_MAX:
        raise UsageError(
            f"--source-address names {len(found):,} addresses", f"give at most {SOURCES_MAX:,} of them"
        )
    for address in found:
        if not is_own(address):
            raise UsageError(
                f"--source-address {address} is not an address of this machine",
                "see: ip address; on loopback all of 127.0.0.0/8 are",
            )
    return tuple(dict.fromkeys(found))


def _source_range(text: str) -> Sequence[Address]:
    try:
        low, dash, high = text.strip().partition("-")
        first = ipaddress.ip_address(low)
        last = ipaddress.ip_address(high) if dash else first
    except ValueError:
        raise UsageError(
            f"--source-address {text} is no address", "write 127.0.0.2, or a range: 127.0.0.2-127.0.0.9"
        ) from None
    if first.version != last.version or int(first) > int(last):
        raise UsageError(f"--source-address {text} is no range", "write its lowest address first")
    # Stop at one more than the limit, which is enough for a refusal.
    count = min(int(last) - int(first), SOURCES_MAX) + 1
    return [first + step for step in range(count)]


def _check_ca_file(ca_file: str) -> None:
    try:
        found = PEM in Path(ca_file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the certificates {ca_file}: {error.strerror}", "check the path after --cacert"
        ) from None
    if not found:
        raise UsageError(f"--cacert {ca_file} holds no certificate", "give a file in PEM form")


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
