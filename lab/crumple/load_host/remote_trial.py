"""A trial whose load comes from a load host: an engine there loads, and a second one here watches the server.

Both follow the same course. `go` is given to the one here when the other is taken to have it: half a round
trip later. What only the load knows (that a number of requests ended its warm-up, or the load) is passed on
to the one here as it is told.
"""

import os
import re
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen
from typing import IO

from pydantic import ValidationError

from crumple import engine as engines
from crumple import parsing
from crumple.contract import Probes, ProbeSpec, ProgressLine, TrialRecord, TrialSpec
from crumple.engine import Engine, OnProgress
from crumple.errors import EngineFailed
from crumple.load_host import carried_files, out_of_step
from crumple.load_host.link import SILENCE_S, Link

# What an engine says once a number of requests has ended its warm-up, or its load.
MEASURES, OVER = b'{"measures":', b'{"over":'
HELD = re.compile(r'\{"held":\d+\}')
# Seconds within which the engine here is ready for a turn, or has written what it read: it reads all
# processes of this machine at both ends, which takes less than one even where there are thousands.
WATCH_S = 20.0


class RemoteTrial:
    """A load from a load host (`engine.Loading`). Its record has the probes of the server's end, too."""

    def __init__(
        self,
        link: Link,
        watch: "Watch | None",
        spec: TrialSpec,
        on_progress: OnProgress,
        *,
        name: str,
        is_here: bool,
        round_trip_ns: float,
    ) -> None:
        """`watch`: None if no server is watched. `is_here`: the load host is this machine's kernel, too.

        `round_trip_ns`: how long a line takes there and back; not used without a watch.
        """
        self._link = link
        self._watch = watch
        self._spec = spec
        self._on_progress = on_progress
        self._name, self._is_here = name, is_here
        self._round_trip_ns = round_trip_ns
        self._begun = self._ends = False

    def turn(self) -> None:
        """Begin the next turn of the load, and wait until it is over. Raises EngineFailed."""
        within_s = engines.at_most_s(self._spec)
        if not self._begun:
            self._begun = True
            if self._watch is not None:
                self._watch.prepare(spec_here(self._spec))
            self._link.load(spec_there(self._spec).model_dump_json())
            if not self._link.listen(self._heard, within_s):
                return  # It has ended, and its record says why.
        if self._watch is not None:
            self._watch.ready()
        self._link.go()
        if self._watch is not None:
            time.sleep(self._round_trip_ns / 2 / 1e9)
            self._watch.tell("go")
        if self._ends:
            self._link.end()
        if not self._link.listen(self._heard, within_s):
            self._tell_watch("end")

    def end_early(self) -> None:
        """End the load at once; its record is kept. It may be called from a signal handler."""
        self._ends = True
        if self._begun:
            self._link.end()  # When it is over there, it is told, and then it is over here.

    def record(self) -> TrialRecord:
        """Return the record after the last turn, with what was read here. Raises EngineFailed."""
        record = engines.record_of(self._link.record(), self._spec)
        probes = record.probes if self._watch is None else self._together(record)
        return record.model_copy(update={"spec": self._spec, "probes": probes, "load_host": self._name})

    def _together(self, record: TrialRecord) -> Probes:
        assert self._watch is not None
        here, there = self._watch.probes(), record.probes
        phases = len(self._spec.turns) or 1
        if reason := out_of_step.why(self._round_trip_ns, record.measured_ns, phases):
            here = out_of_step.without(here, reason)
        return with_server(there, here, self._is_here)

    def _tell_watch(self, line: str) -> None:
        if self._watch is not None:
            self._watch.tell(line)

    def _heard(self, line: bytes) -> None:
        if line.startswith(MEASURES):
            self._tell_watch("measure")
            return
        if line.startswith(OVER):
            # A turn that ends by its time ends here, too, and is no end of the load.
            if self._ends or not self._spec.turns:
                self._tell_watch("end")
            return
        with suppress(ValidationError):  # Other lines are what a failure shows.
            self._on_progress(ProgressLine.model_validate_json(line))


class Watch:
    """The engine that reads a server's processes on this machine, while the load comes from elsewhere."""

    def __init__(self, process: Popen[str], answer: IO[str]) -> None:
        self._process, self._answer = process, answer
        self._tail: deque[str] = deque(maxlen=engines.TAIL_LINES)

    def prepare(self, spec: TrialSpec) -> None:
        """Have it open its probes for this spec."""
        self.tell(spec.model_dump_json())

    def tell(self, line: str) -> None:
        """Give it a line at once. It may be called from a signal handler."""
        assert self._process.stdin
        with suppress(BrokenPipeError):  # It has ended, and `ready` or `probes` says why.
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())

    def ready(self) -> None:
        """Wait until it can begin a turn. Raises EngineFailed."""
        assert self._process.stderr
        with _killed_after(self._process, WATCH_S):
            for line in self._process.stderr:
                if HELD.match(line):
                    return
                self._tail.append(line.rstrip())
            raise engines.failure(self._process.wait(), self._tail)

    def probes(self) -> Probes:
        """Return what it read, when the load is over. Raises EngineFailed."""
        assert self._process.stderr
        with _killed_after(self._process, WATCH_S):
            self._tail.extend(line.rstrip() for line in self._process.stderr if not HELD.match(line))
            code = self._process.wait()
        if code != 0:
            raise engines.failure(code, self._tail)
        self._answer.seek(0)
        try:
            return Probes.model_validate_json(self._answer.read())
        except ValidationError as error:
            message = f"the engine's probes are not what the contract says ({parsing.first_fault(error)})"
            raise EngineFailed(message, "build engine and lab from the same sources") from None


@contextmanager
def _killed_after(process: Popen[str], seconds: float) -> Iterator[None]:
    """Kill the process if this context takes longer."""
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def with_server(there: Probes, here: Probes, is_here: bool) -> Probes:
    """Return what was read where the load came from, and beside the server.

    `is_here`: the load came from this machine's kernel, too, which says of the machine what holds for both.
    """
    whose = "machine" if is_here else "server_machine"
    return here.model_copy(
        update={
            "engine": there.engine,
            "threads": there.threads,
            "sockets": there.sockets,
            "machine": there.machine,
            "server_sockets": here.sockets,
            "watch": here.engine,
            whose: here.machine,
        }
    )


@contextmanager
def watching(engine: Engine, spec: TrialSpec) -> Iterator[Watch | None]:
    """Start the engine that watches the server of this spec; None: there is none. Raises EngineFailed."""
    if spec.probe.server_pid is None:
        yield None
        return
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as answer,
        engines.process(engine, answer, "watch") as begun,
    ):
        yield Watch(begun, answer)


@contextmanager
def started(
    link: Link,
    engine: Engine,
    spec: TrialSpec,
    on_progress: OnProgress,
    *,
    name: str,
    is_here: bool,
    round_trip_ns: float,
) -> Iterator[RemoteTrial]:
    """Open what a trial takes here, beside the link to the load host. Raises EngineFailed."""
    with watching(engine, spec) as watch:
        yield RemoteTrial(
            link, watch, spec, on_progress, name=name, is_here=is_here, round_trip_ns=round_trip_ns
        )


def spec_there(spec: TrialSpec) -> TrialSpec:
    """Return what the engine on the load host is to do: the load, without a server to look at.

    Raises EngineFailed for a file that is gone.
    """
    probe = ProbeSpec(interval_ms=spec.probe.interval_ms, server_pid=None)
    return carried_files.carrying(spec).model_copy(
        update={"begins": "told", "silence_s": SILENCE_S, "probe": probe}
    )


def spec_here(spec: TrialSpec) -> TrialSpec:
    """Return what the engine here is to do: the probes. The cores are those of the load host."""
    return spec.model_copy(update={"begins": "told", "cores": (), "files": ()})
