"""Which process answers at a URL of this machine: it is watched beside a load, unless another is named.

It reads /proc and opens no connection.
"""

import ipaddress
import os
import shlex
from dataclasses import replace

from crumple import contract
from crumple.errors import UsageError
from crumple.load.addresses import port_of
from crumple.load.load_options import Options
from crumple.load.target import Resolved
from crumple.machine import network_namespaces, process_tree
from crumple.words import masked

# A load of less than a second, or of fewer than 50 requests, says nothing about what limits a server: it is
# only
# to be quick.
JUDGED_MIN_S, JUDGED_REQUESTS_MIN = 1.0, 50
BY_NAME = "name its process: --watch PID"


def watch(options: Options, resolved: Resolved, *, by_itself: bool = True) -> tuple[Options, str]:
    """Return the options with the server's process, and why its side is not known, or not all of it.

    They stay as they are if a process was named, if it cannot be found, or not `by_itself`. Empty: its side
    is known, or nobody asked.
    """
    if options.server_pid is not None or not by_itself:
        return options, ""
    pid, why = _found(resolved)
    return replace(options, server_pid=pid), why


def may_be_judged(stop: contract.StopSpec) -> bool:
    """Whether a load that ends so may last long enough to say what limits the server."""
    if isinstance(stop, contract.RequestsStopSpec):
        return stop.requests >= JUDGED_REQUESTS_MIN
    return stop.duration_s >= JUDGED_MIN_S


def _found(resolved: Resolved) -> tuple[int | None, str]:
    port = port_of(resolved.target.address)
    if port is None:
        return None, f"it listens on a Unix socket: {BY_NAME}"
    if resolved.target.proxy is not None:
        return None, f"the proxy {resolved.target.address} is in front of it: {BY_NAME}"
    if not resolved.is_local:
        return _elsewhere(resolved, _address(resolved), port)
    try:
        pid = process_tree.owner(port)
    except UsageError as unknown:
        return None, str(unknown)
    inner = network_namespaces.passed_on_by(pid)
    return (pid, "") if inner is None else _elsewhere(resolved, *inner)


def _address(resolved: Resolved) -> network_namespaces.Address:
    text = resolved.target.address.rpartition(":")[0].strip("[]")
    return ipaddress.ip_address(text.partition("%")[0])


def _elsewhere(resolved: Resolved, address: network_namespaces.Address, port: int) -> tuple[int | None, str]:
    """Return a server that listens in another network namespace, or on another machine."""
    pid = network_namespaces.listener(address, port)
    as_root = "" if os.geteuid() == 0 else "sudo "
    if pid is None:
        may_be = "; if it is a container of this one, run as root" if as_root else ""
        return None, f"it is not on this machine: run crumple where it is{may_be}"
    scheme, host = "https" if resolved.target.tls else "http", str(address)
    there = masked.url(f"{scheme}://{f'[{host}]' if address.version == 6 else host}:{port}{resolved.path}")
    return pid, (
        f"process {pid} is in another network namespace, and its connections are seen only there: "
        f"{as_root}nsenter -t {pid} -n crumple {shlex.quote(there)}"
    )
