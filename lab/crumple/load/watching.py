"""Which process answers at a URL of this machine: it is watched beside a load, unless another is named.

It reads /proc. Where other network namespaces have sockets, it opens connections, on which it sends nothing.
"""

import ipaddress
from dataclasses import replace

from crumple import contract
from crumple.errors import UsageError
from crumple.load import typed_again
from crumple.load.addresses import port_of
from crumple.load.load_options import Options
from crumple.load.target import Resolved
from crumple.machine import network_namespaces, program, serving
from crumple.machine.load_machine import Address
from crumple.machine.serving import Served

# A load of less than a second, or of fewer than 50 requests, says nothing about what limits a server: it is
# only
# to be quick.
JUDGED_MIN_S, JUDGED_REQUESTS_MIN = 1.0, 50
BY_NAME = "name its process: --watch PID"


def watch(options: Options, resolved: Resolved, *, by_itself: bool = True) -> tuple[Options, str]:
    """Return the options with the server's process, and why its side is not known, or not all of it.

    Not `by_itself`, they stay as they are. A process that was named stays the one to watch; it is only found
    out where it listens in its own network namespace. Empty: its side is known, or nobody asked.
    """
    named = options.server_pid
    if not by_itself or (named is not None and network_namespaces.is_own(named)):
        return options, ""
    try:
        served = _served(resolved)
    except UsageError as unknown:
        return options, "" if named is not None else str(unknown)
    if named is None:
        found = replace(options, server_pid=served.pid, server_address=served.address or None)
        return found, _unseen(served)
    is_there = network_namespaces.number(named) == network_namespaces.number(served.pid)
    return (replace(options, server_address=served.address or None) if is_there else options), ""


def may_be_judged(stop: contract.StopSpec) -> bool:
    """Whether a load that ends so may last long enough to say what limits the server."""
    if isinstance(stop, contract.RequestsStopSpec):
        return stop.requests >= JUDGED_REQUESTS_MIN
    return stop.duration_s >= JUDGED_MIN_S


def _served(resolved: Resolved) -> Served:
    """Return the server at the URL. Raises UsageError if it is not known which process that is."""
    port = port_of(resolved.target.address)
    if port is None:
        raise UsageError("it listens on a Unix socket", BY_NAME)
    if resolved.target.proxy is not None:
        raise UsageError(f"the proxy {resolved.target.address} is in front of it", BY_NAME)
    served = serving.at(_address(resolved), port, is_local=resolved.is_local)
    if served is None:
        raise UsageError("it is not on this machine", "run crumple where it is")
    seen = program.of(served.pid)
    if not served.address and seen is not None and seen.name.startswith(serving.PASS_ON):
        raise UsageError(
            f"{seen.name} takes connections there, and none of them arrives in a container",
            "let the server listen on 0.0.0.0 inside its container, not on its loopback",
        )
    return served


def _address(resolved: Resolved) -> Address:
    text = resolved.target.address.rpartition(":")[0].strip("[]")
    return ipaddress.ip_address(text.partition("%")[0])


def _unseen(served: Served) -> str:
    """Why not all of a server is known; empty: it is, or may be."""
    if not served.is_foreign:
        return ""
    return (
        f"process {served.pid} is another user's, so that its connections and files are not seen; as root "
        f"they are: {typed_again.as_root(typed_again.command())}"
    )
