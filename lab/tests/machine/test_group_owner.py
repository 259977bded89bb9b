"""Whose a control group is: paths as systemd, Docker, Podman, Kubernetes and LXC make them."""

import pytest
from crumple.machine import group_owner
from crumple.machine.group_owner import Owner

ID = "3f2a9c1b0d2e4f5a" * 4
SHORT = "3f2a9c1b0d2e"
POD = "8c9e6f0a-1b2c-4d3e-9f80-a1b2c3d4e5f6"
IN_POD = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice"
USER = "/user.slice/user-1000.slice/user@1000.service"


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/system.slice/shop.service", Owner("unit", "shop.service", "systemd")),
        ("/system.slice/system-shop.slice/shop@2.service", Owner("unit", "shop@2.service", "systemd")),
        ("/system.slice", Owner("unit", "system.slice", "systemd")),
        ("/init.scope", Owner("unit", "init.scope", "systemd")),
        ("/user.slice/user-1000.slice/session-2.scope", Owner("unit", "session-2.scope", "systemd")),
        (f"{USER}/app.slice/shop.service", Owner("unit", "shop.service", "systemd --user")),
        (USER, Owner("unit", "user@1000.service", "systemd")),
        (f"/system.slice/docker-{ID}.scope", Owner("container", SHORT, "docker")),
        (f"/docker/{ID}", Owner("container", SHORT, "docker")),
        (f"/docker/{ID}/docker/{'ab' * 32}", Owner("container", "ab" * 6, "docker")),
        (f"/machine.slice/libpod-{ID}.scope", Owner("container", SHORT, "podman")),
        (f"{USER}/user.slice/libpod-{ID}.scope", Owner("container", SHORT, "podman")),
        (f"/libpod_parent/libpod-{ID}", Owner("container", SHORT, "podman")),
        (f"/system.slice/nerdctl-{ID}.scope", Owner("container", SHORT, "nerdctl")),
        (f"/default/{ID}", Owner("container", SHORT, "")),
        (f"{IN_POD}/cri-containerd-{ID}.scope", Owner("container", SHORT, "kubernetes")),
        (f"{IN_POD}/crio-{ID}.scope", Owner("container", SHORT, "kubernetes")),
        (f"{IN_POD}/docker-{ID}.scope", Owner("container", SHORT, "kubernetes")),
        (IN_POD, Owner("pod", POD, "kubernetes")),
        (f"/kubepods/burstable/pod{POD}/{ID}", Owner("container", SHORT, "kubernetes")),
        (f"/kubepods/pod{POD}", Owner("pod", POD, "kubernetes")),
        (
            f"/system.slice/containerd.service/kubepods-pod{POD.replace('-', '_')}.slice:cri-containerd:{ID}",
            Owner("container", SHORT, "kubernetes"),
        ),
        ("/kubepods.slice", Owner("unit", "kubepods.slice", "systemd")),
        ("/lxc.payload.shop-1", Owner("container", "shop-1", "lxc")),
        ("/lxc/shop-1", Owner("container", "shop-1", "lxc")),
        ("/libpod-1.scope/container", Owner("group", "/libpod-1.scope/container")),
        ("/shop", Owner("group", "/shop")),
        (f"/process_api/{ID[:32]}", Owner("group", f"/process_api/{ID[:32]}")),
        ("/", Owner("container", "")),
    ],
)  # fmt: skip
def test_a_group_is_known_by_its_path(path: str, owner: Owner) -> None:
    assert group_owner.of(path) == owner


@pytest.mark.parametrize(
    ("path", "container"),
    [
        (f"/machine.slice/libpod-{ID}.scope/container", SHORT),
        (f"/machine.slice/libpod-{ID}.scope/init.scope/system.slice/shop.service", SHORT),
        (f"/docker/{ID}/docker/{'ab' * 32}/web", "ab" * 6),
        ("/lxc.payload.shop-1/system.slice/shop.service", "shop-1"),
        (f"/../{ID}", SHORT),
        ("/system.slice/shop.service", ""),
        ("/", ""),
    ],
)
def test_the_innermost_container_is_that_of_a_process(path: str, container: str) -> None:
    assert group_owner.container_of(path) == container
