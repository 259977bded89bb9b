"""What the probe read of threads, as parts of a record."""

from typing import Any

import documents
from crumple import contract

WINDOW_NS = 2_000_000_000


def of_probes(**probes: Any) -> contract.TrialRecord:
    plain = documents.record()
    return plain.model_copy(update={"probes": plain.probes.model_copy(update=probes)})


def thread(tid: int, cpu_share: float, ready_share: float = 0.0, pid: int = 10) -> dict[str, Any]:
    return {
        "pid": pid,
        "tid": tid,
        "name": f"thread-{tid}",
        "cpu_ns": round(cpu_share * WINDOW_NS),
        "run_queue_ns": round(ready_share * WINDOW_NS),
        "place": None,
        "ended": False,
    }


def tasks(*threads: dict[str, Any], **changes: Any) -> contract.TaskRecord:
    """Ten looks at ten threads each."""
    at_ns = [documents.record().warm_up_ns + 100_000_000 * look for look in range(10)]
    used = sum(each["cpu_ns"] for each in threads)
    plain: dict[str, Any] = {
        "at_ns": at_ns,
        **{name: [0] * 10 for name in ("late_ns", "cost_ns", "running", "disk", "stopped")},
        "threads": [10] * 10,
        "looked": [10] * 10,
        "places": [],
        "threads_seen": list(threads),
        "window_ns": WINDOW_NS,
        "cpu_ns": used,
        "run_queue_ns": 0,
        **dict.fromkeys(("ended", "ended_cpu_ns", "ended_run_queue_ns", "born"), 0),
        "ends_cost_ns": 0,
        "unread": [],
        "why": None,
    }
    return contract.TaskRecord.model_validate(plain | changes)
