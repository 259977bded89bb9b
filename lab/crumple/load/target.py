"""A URL as typed → the `Target` to connect to, and whether it may be loaded at all.

It resolves names and reads this machine's own addresses and listeners; it opens no connection.
"""

import contextlib
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.load import addresses, certificates, container_url, through, typed_url
from crumple.load.addresses import is_harmless
from crumple.load.load_flags import TargetFlags
from crumple.load.through import Hop
from crumple.machine import load_machine, tcp_tables
from crumple.machine.load_machine import Address, LoadMachine, is_own


@dataclass(frozen=True)
class Resolved:
    """A target that may be loaded."""

    target: contract.Target
    path: str
    """The path of the URL, with its query."""
    url: str
    is_local: bool
    """Whether the server is on this machine."""


@dataclass(frozen=True)
class _How:
    """What limits the choice of an address."""

    sources: Sequence[Address]
    versions: Sequence[int]
    allow_remote: bool
    machine: LoadMachine


def resolve(typed: str, flags: TargetFlags | None = None, machine: LoadMachine | None = None) -> Resolved:
    """Return where a load on a URL goes from a machine, by default this one.

    Raises UsageError with every mistake, one line each.
    """
    flags, machine, mistakes = flags or TargetFlags(), machine or load_machine.this(), Mistakes()
    url = mistakes.of(lambda: typed_url.read(container_url.reached(typed, machine)))
    sources = mistakes.of(lambda: addresses.sources(flags.source_address or (), machine)) or ()
    way = through.way(flags, url, mistakes)
    if way.unix_socket is not None and machine.where:
        mistakes.add(
            f"--unix-socket is on this machine, and the load comes from {machine.where}",
            "leave out --from, or let the server listen on a port",
        )
    tls = certificates.tls(flags, url, mistakes)
    how = _How(sources, _versions(flags), flags.allow_remote, machine)
    if way.proxy is not None and url is not None and not how.allow_remote:
        mistakes.of(lambda: _check_harmless_there(url.host, how))
    hop = way.hop
    found = None if hop is None else mistakes.of(lambda: _place(hop, how))
    if found is not None and way.proxy is None and machine.is_shared(found):
        mistakes.add(
            f"{found} is an address of {machine.where}, too, so that its load would not leave it",
            "write an address in the URL that only this machine has",
        )
    mistakes.none()
    assert url and (found or way.unix_socket)
    return Resolved(
        target=contract.Target(
            address=f"unix:{way.unix_socket}"
            if found is None or hop is None
            else _with_port(found, hop.port),
            host=url.host_header,
            tls=tls,
            proxy=contract.ProxySpec(authority=url.proxied_authority, headers=way.proxy.headers)
            if way.proxy
            else None,
            sources=tuple(map(str, sources)),
        ),
        path=url.path,
        url=typed if typed.startswith(container_url.SCHEME) else url.text,
        is_local=found is None or (way.proxy is None and is_own(found)),
    )


def _versions(flags: TargetFlags) -> tuple[int, ...]:
    """Return the versions of IP that may be used; either if both are asked for, or none is."""
    chosen = {4: flags.ipv4, 6: flags.ipv6}
    return tuple(version for version, asked in chosen.items() if asked or not any(chosen.values()))


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
        found = [_normal(ipaddress.ip_address(text)) for text in how.machine.addresses_of(host)]
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


def _place(hop: Hop, how: _How) -> Address:
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
        return next((each for each in in_order if tcp_tables.listens_at(each, port)), in_order[0])
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
