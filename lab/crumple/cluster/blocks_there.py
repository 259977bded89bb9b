"""Measures blocks on a host of a cluster, in a process of its own: `python -m crumple.cluster.blocks_there`.

It reads its order as one line, and writes lines: what it does now, and each trial at the end. The worker that
started it writes to its input while somebody waits for the blocks. If that input closes or is silent, the
process ends, and with it engine and servers.
"""

import json
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

from crumple import contract, project
from crumple.contract_base import Frozen
from crumple.errors import CrumpleError, Interrupted
from crumple.interrupt import interruptible
from crumple.machine import alone, leftovers
from crumple.machine.leftovers import ScratchFolder
from crumple.run import given_blocks, run_file
from crumple.run.blocks import Begun
from crumple.run.run_file import RunFile
from crumple.run.run_plan import Block
from crumple.run.store import RunStore, StoredTrial, TrialIdentity
from crumple.study.study import Study

# A worker writes twice a second. One that wrote nothing for so long is frozen, and its blocks are dealt to
# another host after 5 to 10 s.
SILENT_S = 5.0
# Seconds to end engine and servers. After that the process ends at once; their guards end them all the same.
END_S = 8.0


class Order(Frozen):
    """Blocks to be measured on one host. `run`: their run, with nothing but them in its plan."""

    run: RunFile
    database: str | None
    """The URL of the user's database; null: a private one."""


class Telling:
    """Receives the events of the blocks, and writes what is to be shown of them."""

    def preparing(self, server: str) -> None:
        self._now(f"building {server}")

    def waiting(self) -> None:
        self._now(alone.WAITING)

    def calibrating(self) -> None:
        self._now("measuring the engine's own ceiling")

    def block(self, study: Study, block: Block, why: str) -> None: ...

    def began(self, trial: TrialIdentity) -> None:
        self._now(f"{trial.id}  starting")

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        self._now(f"{trial.id}  slice {number} of {of}")

    def progress(self, trial: TrialIdentity, progress: contract.ProgressLine) -> None:
        self._now(f"{trial.id}  {progress.phase}  {progress.throughput_per_s:,.0f} /s")

    def ended(self, stored: StoredTrial) -> None: ...

    def over(self, run: Begun) -> None: ...

    def skipped(self, server: str, reason: str) -> None:
        _write(stays=f"{server} is skipped: {reason}")

    def not_built(self, server: str, reason: str) -> None:
        _write(stays=f"{server} could not be built, so its trials fail: {reason}")

    def unfit(self, problem: str) -> None:
        _write(stays=problem)

    def _now(self, what: str) -> None:
        _write(now=what)


def measure(order: Order, folder: Path) -> None:
    """Measure the blocks, with `folder` for their trials, and write these. Raises CrumpleError."""
    # What an earlier process left here that was killed together with its guards.
    leftovers.end_all()
    store, plan = RunStore(folder / order.run.id), order.run.plan
    run_file.write(store, order.run)
    begun = Begun(store, order.run, plan.trials)
    given_blocks.execute(begun, range(len(plan.blocks)), project.root(), Telling(), order.database)
    # With this host among its hosts, also if that has joined since the run was begun.
    _write(run=store.read_run().decode())
    for trial in plan.trials:
        _write(trial=store.path_of(trial.id).read_text(encoding="utf-8"))


def _write(**what: str) -> None:
    # To the pipe of the worker, and not to a terminal.
    sys.stdout.buffer.write(f"{json.dumps(what)}\n".encode())
    sys.stdout.buffer.flush()


def _end_with_input() -> None:
    """Wait until nobody waits for the blocks any more, and end this process."""
    while select.select([sys.stdin], [], [], SILENT_S)[0] and os.read(0, 1 << 10):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_S)
    os._exit(1)


def main() -> None:
    """Measure what the input names."""
    order, folder = Order.model_validate_json(_line()), None
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        with interruptible():
            folder = ScratchFolder.made()
            measure(order, folder.path)
    except CrumpleError as error:
        _write(error=str(error))
    except Interrupted:
        sys.exit(1)
    finally:
        if folder:
            folder.remove()


def _line() -> bytes:
    """Read the first line; what is read beyond it says only that somebody waits."""
    read = b""
    while b"\n" not in read and (part := os.read(0, 1 << 16)):
        read += part
    return read.partition(b"\n")[0]


if __name__ == "__main__":
    main()
