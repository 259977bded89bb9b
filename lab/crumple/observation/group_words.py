"""Limits of a server's control groups in words, and how their owner raises them. Pure."""

import math
from collections.abc import Mapping
from typing import Literal

from crumple.drawing import numerals
from crumple.machine.group_limits import Limit
from crumple.machine.group_owner import Owner

# "quota": CPU time, in cores; "cores": those that it may run on; "tasks": processes and threads.
Kind = Literal["quota", "cores", "memory", "tasks"]
# How who sets a limit spells it.
_SYSTEMD: Mapping[Kind, str] = {
    "quota": "CPUQuota",
    "cores": "AllowedCPUs",
    "memory": "MemoryMax",
    "tasks": "TasksMax",
}
_COMPOSE: Mapping[Kind, str] = {
    "quota": "cpus",
    "cores": "cpuset",
    "memory": "mem_limit",
    "tasks": "pids_limit",
}
_FLAGS: Mapping[Kind, str] = {
    "quota": "--cpus {}",
    "cores": "--cpuset-cpus {}",
    "memory": "--memory {0} --memory-swap {0}",
    "tasks": "--pids-limit {}",
}
# Kubernetes gives whole cores, and processes, by settings of the node.
_KUBERNETES: Mapping[Kind, str] = {
    "quota": "resources.limits.cpu: {}",
    "cores": "resources.limits.cpu: {}",
    "memory": "resources.limits.memory: {}",
    "tasks": "podPidsLimit: {} of its kubelet",
}
MIB = 2**20


def whose(owner: Owner) -> str:
    """Return whose a group is: "its container 3f2a9c1b0d2e", "shop.service"."""
    if owner.kind == "unit":
        return owner.name
    named = f" {owner.name}" if owner.name else ""
    return f"its {'control group' if owner.kind == 'group' else owner.kind}{named}"


def allows(kind: Kind, limit: Limit) -> str:
    """Return a limit with its owner: "its container may use 0.5 CPU", "shop.service has CPUQuota=50%"."""
    who = whose(limit.owner)
    if limit.owner.kind == "unit":
        return f"{who} has {_of_unit(kind, limit.amount, limit.written)}"
    if kind == "quota":
        return f"{who} may use {numerals.significant(limit.amount, 2)}{numerals.NARROW}CPU"
    if kind == "cores":
        return f"{who} may use core{'s' if limit.amount > 1 else ''} {limit.written} only"
    if kind == "memory":
        return f"{who} may use {numerals.size(limit.amount)} of memory"
    return f"{who} may have {limit.amount:,.0f} processes and threads"


def raised(kind: Kind, limit: Limit, amount: float) -> str:
    """Return how a limit is raised to an amount, as its owner does it."""
    owner, value = limit.owner, _value(kind, amount)
    if owner.by in ("docker", "podman", "nerdctl"):
        command = f"{owner.by} update {_FLAGS[kind].format(value)} {owner.name}"
        return f"{command} ({_COMPOSE[kind]}: in Compose)"
    if owner.by == "kubernetes":
        return _KUBERNETES[kind].format(f"{amount / MIB:.0f}Mi" if kind == "memory" else _number(amount))
    if owner.by in ("systemd", "systemd --user"):
        user = " --user" if owner.by == "systemd --user" else ""
        return f"systemctl{user} set-property {owner.name} {_of_unit(kind, amount, value)}"
    if owner.kind == "container" and not owner.name:
        # What runs it is not known from inside.
        return f"start its container with {_FLAGS[kind].format(value)}"
    return f"echo {_in_file(kind, limit, amount)} > {limit.file}"


def _value(kind: Kind, amount: float) -> str:
    if kind == "cores":
        return "0" if amount <= 1 else f"0-{amount - 1:.0f}"
    return f"{amount / MIB:.0f}m" if kind == "memory" else _number(amount)


def _number(amount: float) -> str:
    return f"{round(amount, 2):g}"


def _of_unit(kind: Kind, amount: float, cores: str) -> str:
    values: Mapping[Kind, str] = {
        "quota": f"{100 * amount:.0f}%",
        "cores": cores,
        "memory": f"{amount / MIB:.0f}M",
        "tasks": f"{amount:.0f}",
    }
    return f"{_SYSTEMD[kind]}={values[kind]}"


def _in_file(kind: Kind, limit: Limit, amount: float) -> str:
    """Return what is written to the file of a limit."""
    if kind == "cores":
        return _value(kind, amount)
    if kind != "quota":
        return f"{amount:.0f}"
    # Of version 2, the period is in the same file; both versions write the quota for it first.
    allowed, _, period = limit.written.partition(" ")
    of_period = math.ceil(int(allowed) * amount / limit.amount)
    return f"'{of_period} {period}'" if period else str(of_period)
