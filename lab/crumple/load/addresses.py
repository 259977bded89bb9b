"""IP addresses: which may be loaded without asking, and which to connect from."""

import ipaddress
from collections.abc import Sequence

from crumple.errors import UsageError
from crumple.machine.load_machine import Address, LoadMachine

# Local addresses that may be named: their ports, some 28,000 each, are more than the connections of a load.
SOURCES_MAX = 1_024
# Loopback and private networks (RFC 1918, RFC 4193), which need no --allow-remote. `is_private` would also
# allow link-local addresses, where clouds have their metadata services, and reserved ones.
OWN_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)


def is_harmless(address: Address) -> bool:
    """Whether loading it needs no --allow-remote: it is loopback or private."""
    return any(address in network for network in OWN_NETWORKS if network.version == address.version)


def sources(written: Sequence[str], machine: LoadMachine) -> tuple[Address, ...]:
    """Return the addresses of that machine that --source-address names, each an address or a range.

    Raises UsageError.
    """
    found = [address for text in written for address in _source_range(text)]
    if len({address.version for address in found}) > 1:
        raise UsageError("--source-address names both IPv4 and IPv6", "give addresses of one kind")
    if len(found) > SOURCES_MAX:
        raise UsageError(
            f"--source-address names {len(found):,} addresses", f"give at most {SOURCES_MAX:,} of them"
        )
    for address in found:
        if not machine.owns(address):
            raise UsageError(
                f"--source-address {address} is not an address of {machine.where or 'this machine'}",
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


def port_of(address: str) -> int | None:
    """Return the port of an address of the engine's; None: it is a Unix socket."""
    return None if address.startswith("unix:") else int(address.rpartition(":")[2])
