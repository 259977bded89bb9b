"""Limits of control groups in words, and how each owner raises them."""

import pytest
from crumple.machine.group_limits import Limit
from crumple.machine.group_owner import Owner
from crumple.observation import group_words
from crumple.observation.group_words import Kind

MIB = 2**20
DOCKER = Owner("container", "3f2a9c1b0d2e", "docker")
PODMAN = Owner("container", "3f2a9c1b0d2e", "podman")
KUBERNETES = Owner("container", "3f2a9c1b0d2e", "kubernetes")
POD = Owner("pod", "8c9e6f0a", "kubernetes")
UNIT = Owner("unit", "shop.service", "systemd")
USERS = Owner("unit", "shop.service", "systemd --user")
OWN = Owner("container", "")
PLAIN = Owner("group", "/shop")


def limit(kind: Kind, owner: Owner, written: str = "") -> Limit:
    amounts: dict[Kind, float] = {"quota": 0.5, "cores": 1, "memory": 64 * MIB, "tasks": 20}
    texts: dict[Kind, str] = {"quota": "50000 100000", "cores": "0", "memory": "67108864", "tasks": "20"}
    files = {"quota": "cpu.max", "cores": "cpuset.cpus", "memory": "memory.max", "tasks": "pids.max"}
    return Limit(amounts[kind], owner, f"/sys/fs/cgroup/shop/{files[kind]}", written or texts[kind])


@pytest.mark.parametrize(
    ("kind", "owner", "said"),
    [
        ("quota", DOCKER, "its container 3f2a9c1b0d2e may use 0.50 CPU"),
        ("cores", DOCKER, "its container 3f2a9c1b0d2e may use core 0 only"),
        ("memory", POD, "its pod 8c9e6f0a may use 64.0 MiB of memory"),
        ("tasks", PLAIN, "its control group /shop may have 20 processes and threads"),
        ("quota", OWN, "its container may use 0.50 CPU"),
        ("quota", UNIT, "shop.service has CPUQuota=50%"),
        ("cores", UNIT, "shop.service has AllowedCPUs=0"),
        ("memory", USERS, "shop.service has MemoryMax=64M"),
        ("tasks", UNIT, "shop.service has TasksMax=20"),
    ],
)
def test_a_limit_is_said_with_its_owner(kind: Kind, owner: Owner, said: str) -> None:
    assert group_words.allows(kind, limit(kind, owner)).replace("\u202f", " ") == said


@pytest.mark.parametrize(
    ("kind", "owner", "amount", "command"),
    [
        ("quota", DOCKER, 1.0, "docker update --cpus 1 3f2a9c1b0d2e (cpus: in Compose)"),
        ("cores", DOCKER, 2, "docker update --cpuset-cpus 0-1 3f2a9c1b0d2e (cpuset: in Compose)"),
        (
            "memory",
            PODMAN,
            128 * MIB,
            "podman update --memory 128m --memory-swap 128m 3f2a9c1b0d2e (mem_limit: in Compose)",
        ),
        ("tasks", DOCKER, 40, "docker update --pids-limit 40 3f2a9c1b0d2e (pids_limit: in Compose)"),
        ("quota", KUBERNETES, 1.5, "resources.limits.cpu: 1.5"),
        ("memory", POD, 128 * MIB, "resources.limits.memory: 128Mi"),
        ("quota", UNIT, 1.0, "systemctl set-property shop.service CPUQuota=100%"),
        ("cores", UNIT, 2, "systemctl set-property shop.service AllowedCPUs=0-1"),
        ("tasks", USERS, 40, "systemctl --user set-property shop.service TasksMax=40"),
        ("quota", OWN, 1.0, "start its container with --cpus 1"),
        ("quota", PLAIN, 1.0, "echo '100000 100000' > /sys/fs/cgroup/shop/cpu.max"),
        ("memory", PLAIN, 128 * MIB, "echo 134217728 > /sys/fs/cgroup/shop/memory.max"),
        ("cores", PLAIN, 2, "echo 0-1 > /sys/fs/cgroup/shop/cpuset.cpus"),
    ],
)
def test_a_limit_is_raised_as_its_owner_does_it(
    kind: Kind, owner: Owner, amount: float, command: str
) -> None:
    assert group_words.raised(kind, limit(kind, owner), amount) == command


def test_version_1_has_the_period_in_another_file() -> None:
    found = limit("quota", PLAIN, written="50000")
    assert group_words.raised("quota", found, 0.75) == "echo 75000 > /sys/fs/cgroup/shop/cpu.max"
