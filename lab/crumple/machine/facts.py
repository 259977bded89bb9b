"""The facts of this machine, a function for each; one that cannot be read raises UnreadError with the reason.

`capacity` judges them. Host name, user and addresses are left out, because reports publish the facts.

Not psutil: of these facts it has cores, memory, load average and CPU times, which are ten lines here, and no
model, quota, governor, turbo, hypervisor or kernel setting.
"""

import contextlib
import hashlib
import os
import platform
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crumple import release
from crumple.machine import control_groups, core_list, group_limits

# Seconds after which a program that is asked about the machine is given up.
ASK_S = 5.0
CPUS = Path("/sys/devices/system/cpu")
MOUNTS = Path("/proc/self/mountinfo")
MACHINE_ID = Path("/etc/machine-id")
SYSCTLS = Path("/proc/sys")


class UnreadError(Exception):
    """A fact that this machine does not report, and why."""


def read(facts: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Each fact's value by its name; None: could not be read, for the reason in the list "unread"."""
    values: dict[str, Any] = {}
    unread: list[dict[str, str]] = []
    for name, fact in facts.items():
        try:
            values[name] = fact()
        except UnreadError as error:
            values[name] = None
            unread.append({"field": name, "why": str(error)})
    return {**values, "unread": unread}


def host_id() -> str:
    """What tells this machine from others: 16 hexadecimal digits, from which no name can be read.

    An image that holds a machine id gives it to all its copies, so the host's name counts besides. Most
    containers have none. Then it is the boot of the kernel, which all containers of a machine share.
    """
    with contextlib.suppress(UnreadError):
        if own := text(MACHINE_ID):
            return _hash(f"{own} {platform.node()}")
    with contextlib.suppress(UnreadError):
        return _hash(boot_id())
    return _hash(platform.node())


def boot_id() -> str:
    """Which start of this machine's kernel it is. Raises UnreadError."""
    return text(SYSCTLS / "kernel/random/boot_id")


def _hash(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def text(path: Path) -> str:
    """The file's text without space at its ends. Raises UnreadError."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise UnreadError(f"{path}: {error.strerror}") from None


def cpu_model() -> str:
    """The CPU's model as the kernel names it. Raises UnreadError."""
    fields = _cpuinfo()
    for name in ("model name", "Model", "Hardware", "cpu model"):
        if name in fields:
            return fields[name]
    raise UnreadError("/proc/cpuinfo names no model")


def usable_cores() -> list[int]:
    """Numbers of the logical cores this process may use."""
    return sorted(os.sched_getaffinity(0))


def physical_cores() -> list[list[int]]:
    """The usable logical cores, grouped by the physical core they share. Raises UnreadError."""
    usable = usable_cores()
    groups = {}
    for core in usable:
        siblings = core_list.read(text(CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"))
        groups[min(siblings)] = [sibling for sibling in siblings if sibling in usable]
    return [groups[first] for first in sorted(groups)]


def cpu_quota_cores() -> float | str:
    """How many cores' worth of CPU time the control groups of crumple grant; "none": no limit."""
    quota = group_limits.limits(control_groups.of("self")).quota
    return "none" if quota is None else quota.amount


def distribution() -> str:
    """Name and version, as in "Debian GNU/Linux 12 (bookworm)". Raises UnreadError."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        raise UnreadError("no os-release file names it") from None


def governor() -> str:
    """What sets the cores' clock rate, as in "performance"; several if they differ. Raises UnreadError."""
    found = {text(path) for path in CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if not found:
        raise UnreadError("the kernel offers no cpufreq here; usual in a virtual machine")
    return ", ".join(sorted(found))


def turbo() -> str:
    """ "on" or "off": whether cores may exceed their base rate for a while. Raises UnreadError."""
    with contextlib.suppress(UnreadError):
        return "off" if text(CPUS / "intel_pstate" / "no_turbo") == "1" else "on"
    with contextlib.suppress(UnreadError):
        return "on" if text(CPUS / "cpufreq" / "boost") == "1" else "off"
    raise UnreadError("the kernel does not show it here")


def steal_share_since_boot() -> float:
    """The share of all CPU time since boot that the hypervisor gave to others, 0 to 1. Raises UnreadError."""
    ticks = cpu_ticks()
    return round(ticks["steal"] / sum(ticks.values()), 6)


def cpu_ticks() -> dict[str, int]:
    """CPU time of all cores since boot by kind, in clock ticks. Raises UnreadError."""
    kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return dict(zip(kinds, map(int, text(Path("/proc/stat")).split()[1:]), strict=False))


def memory_bytes() -> int:
    """The machine's memory. Raises UnreadError."""
    return _meminfo("MemTotal")


def memory_available_bytes() -> int:
    """The memory that is available without swapping. Raises UnreadError."""
    return _meminfo("MemAvailable")


def scratch_file_system() -> str:
    """The file system that servers write their files to, as in "ext4" or "tmpfs". Raises UnreadError."""
    device = Path(tempfile.gettempdir()).stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = (line.split() for line in text(MOUNTS).splitlines())
    kind = next((fields[fields.index("-") + 1] for fields in mounts if fields[2] == number), None)
    if kind is None:
        raise UnreadError(f"{MOUNTS} does not list the device {number}")
    return kind


def load_average() -> list[float]:
    """The load average over one, five and fifteen minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def open_files_soft() -> int:
    """The soft limit of open descriptors of a process."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def open_files_hard() -> int:
    """The hard limit: how far the soft limit can be raised without privileges."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def sysctl(name: str) -> Callable[[], int]:
    """A function that reads one numeric kernel setting, by its path as in "net/core/somaxconn"."""
    return lambda: int(text(SYSCTLS / name))


def port_range() -> list[int]:
    """First and last local port for outgoing connections. Raises UnreadError."""
    return [int(port) for port in text(SYSCTLS / "net/ipv4/ip_local_port_range").split()]


def virtualisation() -> str:
    """The hypervisor or container, "none" on bare metal. Raises UnreadError."""
    detect = shutil.which("systemd-detect-virt")
    if detect and (said := _said([detect])):
        return said
    with contextlib.suppress(UnreadError):
        return text(Path("/sys/hypervisor/type"))
    with contextlib.suppress(UnreadError):
        return text(Path("/sys/class/dmi/id/sys_vendor"))
    if "hypervisor" in _cpuinfo().get("flags", "").split():
        return "a hypervisor that does not give its name"
    raise UnreadError("no systemd-detect-virt, and the CPU does not show it")


def crumple_version() -> str:
    """The lab's version."""
    return release.VERSION


def commit() -> str:
    """The commit that crumple runs from, and "+changes" if files differ from it. Raises UnreadError."""
    if carried := release.carried_commit():
        return carried
    here = Path(__file__).resolve()
    git = shutil.which("git")
    if git is None:
        raise UnreadError("git is not installed")
    in_folder = [git, "-C", str(here.parent)]
    head = _said([*in_folder, "rev-parse", "--verify", "HEAD"])
    # A virtual environment often lies inside another repository, whose commit is not crumple's.
    if not head or not _said([*in_folder, "ls-files", here.name]):
        raise UnreadError("not a git checkout with a commit")
    changes = _said([*in_folder, "status", "--porcelain", "--untracked-files=no"])
    return f"{head}+changes" if changes else head


def _said(command: list[str]) -> str:
    """What a command prints to stdout; empty if it cannot run. Its exit code is ignored."""
    try:
        asked = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


def _cpuinfo() -> dict[str, str]:
    pairs = (line.partition(":") for line in text(Path("/proc/cpuinfo")).splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _meminfo(name: str) -> int:
    for line in text(Path("/proc/meminfo")).splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise UnreadError(f"/proc/meminfo has no {name}")


LASTING: dict[str, Callable[[], Any]] = {
    "cpu_model": cpu_model,
    "architecture": platform.machine,
    "cores": lambda: os.cpu_count() or len(usable_cores()),
    "usable_cores": usable_cores,
    "physical_cores": physical_cores,
    "cpu_quota_cores": cpu_quota_cores,
    "governor": governor,
    "turbo": turbo,
    "steal_share_since_boot": steal_share_since_boot,
    "memory_bytes": memory_bytes,
    "kernel": platform.release,
    "distribution": distribution,
    "virtualisation": virtualisation,
    "scratch_file_system": scratch_file_system,
    "open_files_soft": open_files_soft,
    "open_files_hard": open_files_hard,
    "somaxconn": sysctl("net/core/somaxconn"),
    "tcp_max_syn_backlog": sysctl("net/ipv4/tcp_max_syn_backlog"),
    "ip_local_port_range": port_range,
    "tcp_tw_reuse": sysctl("net/ipv4/tcp_tw_reuse"),
    "python": platform.python_version,
    "crumple": crumple_version,
    "commit": commit,
}

OF_THE_MOMENT: dict[str, Callable[[], Any]] = {
    "load_average": load_average,
    "memory_available_bytes": memory_available_bytes,
    "open_files_soft": open_files_soft,
}
