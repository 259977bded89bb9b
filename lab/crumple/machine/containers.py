"""The containers that run on this machine: by their engine's socket, else by what /proc shows of them.

Docker and Podman answer the same requests over a Unix socket. Without it Podman's monitor still says the name
of its container, in its command line, and control groups say the id of each.
"""

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crumple.machine import group_owner, network_namespaces, process_tree
from crumple.machine.group_owner import ID_SHOWN

# How long an engine has to answer, in seconds, and the most bytes of its answer that are read.
ANSWERS_S, BYTES_MOST = 2.0, 4 << 20
# Of the command line of Podman's monitor: the container's id and name.
_MONITORED = re.compile(r"conmon\0(?:.*\0)?-c\0([0-9a-f]{64})\0(?:.*\0)?-n\0([^\0]+)\0", re.DOTALL)
_SOCKET = "unix://"


@dataclass(frozen=True)
class Container:
    """A container that runs. `pid`: its first process. `names`: what it may be called by, its name first."""

    pid: int
    names: tuple[str, ...]


def running() -> tuple[Container, ...]:
    """Return the containers that run here, each with as many names as are known."""
    monitored = _monitored()
    names = {**{its: name for its, (name, _) in monitored.items()}, **_told()}
    pids = {**_by_control_groups(), **{its: pids for its, (_, pids) in monitored.items()}}
    firsts = {its: network_namespaces.first_of(among) for its, among in pids.items()}
    return tuple(
        Container(pid, tuple(dict.fromkeys((names.get(its, its), its))))
        for its, pid in firsts.items()
        if pid is not None
    )


def name_of(pid: int) -> str:
    """Return the name or id of the container that a process is in; empty: in crumple's own, or in none."""
    its = container_of(pid)
    if its == container_of("self") and network_namespaces.is_own(pid):
        return ""
    for above in process_tree.ancestors(pid):
        if found := _MONITORED.search(_command(above)):
            return found[2]
    return _told().get(its, its) if its else ""


def _by_control_groups() -> Mapping[str, list[int]]:
    """Return the id of each container, or its name in LXC, and its processes."""
    pids: dict[str, list[int]] = {}
    own = container_of("self")
    for pid in process_tree.pids():
        if (its := container_of(pid)) and its != own:
            pids.setdefault(its, []).append(pid)
    return pids


def _monitored() -> Mapping[str, tuple[str, list[int]]]:
    """Return the id of each container of Podman → its name and the processes that its monitors started."""
    found: dict[str, tuple[str, list[int]]] = {}
    for pid in process_tree.pids():
        if each := _MONITORED.search(_command(pid)):
            _, started = found.setdefault(each[1][:ID_SHOWN], (each[2], []))
            started += process_tree.children(pid)
    return found


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def _told() -> Mapping[str, str]:
    """Return the id → the name of each container, as engines say it whose sockets can be read."""
    return {
        str(each["Id"])[:ID_SHOWN]: str(each["Names"][0]).removeprefix("/")
        for path in _sockets()
        for each in _asked(path)
    }


def _sockets() -> Iterator[str]:
    for name in ("DOCKER_HOST", "CONTAINER_HOST"):
        if (told := os.environ.get(name, "")).startswith(_SOCKET):
            yield told.removeprefix(_SOCKET)
    yield from ("/var/run/docker.sock", "/run/podman/podman.sock")
    own = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    yield from (f"{own}/docker.sock", f"{own}/podman/podman.sock")


def _asked(path: str) -> list[Any]:
    """Return the containers that run, as an engine lists them; none: it does not answer."""
    # Imported here, as it imports the TLS of Python, which takes longer than all else that a load imports.
    import http.client

    connection = http.client.HTTPConnection("localhost")
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(ANSWERS_S)
        connection.sock.connect(path)
        connection.request("GET", "/containers/json")
        found = json.loads(connection.getresponse().read(BYTES_MOST))
    except (OSError, ValueError, http.client.HTTPException):
        return []
    finally:
        connection.close()
    return [each for each in found if each.get("Id") and each.get("Names")] if type(found) is list else []


def container_in(groups: str) -> str:
    """Return the id or name of the container that control groups are of; empty: of none.

    `groups`: what /proc/PID/cgroup says.
    """
    paths = (line.split(":", 2)[2] for line in groups.splitlines() if line.count(":") >= 2)
    return next(filter(None, map(group_owner.container_of, paths)), "")


def container_of(pid: int | str) -> str:
    """Return the id or name of the container that a process is in; empty: in none."""
    with contextlib.suppress(OSError):
        return container_in(Path(f"/proc/{pid}/cgroup").read_text())
    return ""
