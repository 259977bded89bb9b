"""When, where and with what something was measured, in short phrases. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from crumple.drawing import numerals
from crumple.verdict.machines import LOAD_HOST

# Marks of a trade and the clock in the name of a CPU, which say nothing of where it was measured.
_UNSAID = re.compile(r"\((?:R|TM)\)| CPU\b| @ .*$", re.IGNORECASE)
# The first two numbers of a kernel's version tell more of it than the rest, which a distribution gives.
_KERNEL = re.compile(r"\d+\.\d+")


def of(machine: Mapping[str, Any], began_unix_s: float, version: str) -> list[str]:
    """Return when it was measured, where, and with which crumple. `machine`: facts, as a result has them."""
    return [when(began_unix_s), *where(machine), f"crumple {version}"]


def when(unix_s: float) -> str:
    """Return an instant: "28 November 2026, 14:05 UTC"."""
    at = datetime.fromtimestamp(unix_s, UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def where(machine: Mapping[str, Any]) -> list[str]:
    """Return what the machine is, as far as it is known: "2 cores of Intel Xeon E5-2670", "Linux 6.18"."""
    model = " ".join(_UNSAID.sub("", str(machine.get("cpu_model") or "")).split())
    cores = machine.get("cores")
    has = numerals.count(cores, "core") if cores else ""
    kernel = _KERNEL.match(str(machine.get("kernel") or ""))
    return [
        *filter(None, [f"{has} of {model}" if has and model else has or model]),
        *([f"Linux {kernel[0]}"] if kernel else []),
        *([f"load from {machine[LOAD_HOST]}"] if machine.get(LOAD_HOST) else []),
    ]
