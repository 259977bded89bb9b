"""Whose a control group is, by its path: a container's, a pod's, a unit's of systemd, or a plain group. Pure.

Docker, Podman, containerd, CRI-O and LXC name groups by the container, Kubernetes by the pod, and systemd by
the unit; each with or without systemd as what makes them.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

Kind = Literal["container", "pod", "unit", "group"]
# Who sets the limits of a group.
By = Literal["docker", "podman", "nerdctl", "kubernetes", "lxc", "systemd", "systemd --user", ""]

_ID = r"(?P<id>[0-9a-f]{64})"
# A container's group, by its last name: libpod-ID.scope, cri-containerd-ID.scope, ID, with what runs it.
_CONTAINER = re.compile(
    rf"(?:(?P<engine>docker|libpod|cri-containerd|crio|nerdctl|[\w:.-]+:cri-containerd)[-:])?{_ID}(?:\.scope)?"
)
_LXC = re.compile(r"lxc\.payload\.(?P<name>[\w.-]+)")
_POD = re.compile(r"(?:kubepods[\w.-]*?-)?pod(?P<id>[0-9a-f]{8}[-_][0-9a-f_-]+|[0-9a-f]{32})(?:\.slice)?")
_UNIT = re.compile(r".+\.(?:service|scope|slice)")
_USER_MANAGER = re.compile(r"/user@\d+\.service/")
_ENGINES: dict[str, By] = {"docker": "docker", "libpod": "podman", "nerdctl": "nerdctl"}
# The first digits of a container's id that are shown, as `docker ps` does.
ID_SHOWN = 12


@dataclass(frozen=True)
class Owner:
    """Whose a group is. `name`: a container's id or name, a pod's id, a unit, or the group's path.

    `by`: who sets its limits; empty: nobody who can be told by its path. A container without a name is the
    one that crumple is in.
    """

    kind: Kind
    name: str
    by: By = ""


def of(path: str) -> Owner:
    """Return the owner of the group at a path."""
    place = PurePosixPath(path)
    if not place.name:
        # The group that holds all others has no limits. So this is the root of a namespace of groups.
        return Owner("container", "")
    around = str(place.parent)
    in_kubernetes = "kubepods" in path
    if found := _CONTAINER.fullmatch(place.name):
        engine = found["engine"] or ("docker" if place.parent.name == "docker" else "")
        by = "kubernetes" if in_kubernetes else _ENGINES.get(engine, "")
        return Owner("container", found["id"][:ID_SHOWN], by)
    if found := _LXC.fullmatch(place.name):
        return Owner("container", found["name"], "lxc")
    if place.parent.name == "lxc":
        return Owner("container", place.name, "lxc")
    if in_kubernetes and (found := _POD.fullmatch(place.name)):
        return Owner("pod", found["id"].replace("_", "-"), "kubernetes")
    if _UNIT.fullmatch(place.name):
        return Owner(
            "unit", place.name, "systemd --user" if _USER_MANAGER.search(f"{around}/") else "systemd"
        )
    return Owner("group", path)


def container_of(path: str) -> str:
    """Return the id or name of the innermost container that a group is in; empty: it is in none."""
    place = PurePosixPath(path)
    owners = (of(str(each)) for each in (place, *place.parents) if each.name)
    return next((each.name for each in owners if each.kind == "container"), "")
