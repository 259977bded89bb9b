"""Lets the launcher build the engine while other work goes on that does not need it.

In a checkout without a built engine, `./crumple setup` and `./crumple try` begin all the same: the packages
of the system that they install take as long as the engine. The launcher names itself in LAUNCHER, and is
started once more here, for the engine alone.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crumple.errors import CrumpleError
from crumple.interrupt import held_back

# Set by the launcher, and read by it.
LAUNCHER, PART = "CRUMPLE_LAUNCHER", "CRUMPLE_SET_UP"


@contextmanager
def beside() -> Iterator[Callable[[], None]]:
    """Inside, the engine is being built, if it has to be. The yielded function waits for it.

    The function raises CrumpleError, with the end of what the compiler wrote, if it cannot be built. A build
    that is not over at the end of the block is ended.
    """
    launcher = os.environ.pop(LAUNCHER, None)
    if launcher is None:
        yield lambda: None
        return
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as written,
        held_back() as let_through,
    ):
        process = subprocess.Popen(
            [launcher],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, PART: "engine"},
            process_group=0,  # Ctrl-C reaches only this process, which then ends the build
        )

        def built() -> None:
            if process.wait():
                written.seek(0)
                last = written.read().strip().rpartition("\n")[2]
                raise CrumpleError(f"the engine could not be built: {last}", f"see why: {launcher} --version")

        try:
            let_through()
            yield built
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
