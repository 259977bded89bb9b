"""The task of a worker: it starts what measures blocks, and passes on what that writes.

The worker is not stopped meanwhile. As it is set (`dask_settings`) it wakes up a few times a second, which is
not seen in what is measured, and its heartbeats tell a host that is frozen or cut off from one that measures.
"""

import json
import sys
import time

from distributed import Worker, get_worker
from distributed.core import Status

from crumple.errors import CrumpleError
from crumple.load_host import host_errors
from crumple.load_host.piped_process import PipedProcess

# Seconds between two looks at whether somebody still waits for the blocks.
LOOK_EVERY_S = 1.0


def measured(order: str, topic: str) -> list[str]:
    """Measure blocks (`blocks_there.Order`) and return their run.json and their trials as documents.

    What it does meanwhile is told under `topic`. Raises CrumpleError.
    """
    worker = get_worker()
    key = worker.get_current_task()
    process = PipedProcess([sys.executable, "-m", "crumple.cluster.blocks_there"])
    process.send(f"{order}\n".encode())
    process.watch(b"\n", 0.0)
    documents: list[str] = []
    try:
        while not process.ending:
            line = process.line(time.monotonic() + LOOK_EVERY_S)
            if not _is_wanted(worker, key):
                raise CrumpleError("nobody waits for the blocks any more")
            said = json.loads(line) if line else {}
            if "error" in said:
                raise CrumpleError(f"{worker.name}: {said['error']}")
            if document := said.get("run") or said.get("trial"):
                documents.append(document)
            elif said:
                worker.log_event(topic, {"host": worker.name, **said})
    finally:
        process.close()
        worker.log_event(topic, {"host": worker.name, "now": ""})
    assert process.ending is not None
    if process.ending.code:
        why = host_errors.shown(" ".join(process.ending.errors[-1:]))
        how = host_errors.ended(process.ending.code)
        raise CrumpleError(f"{worker.name}: what measures blocks {how}{f': {why}' if why else ''}")
    return documents


def _is_wanted(worker: Worker, key: str) -> bool:
    """Whether the scheduler is there, and has not given the task to another host, nor its client ended."""
    task = worker.state.tasks.get(key)
    return worker.status == Status.running and task is not None and task.state == "executing"
