"""Looks at the server's processes beside a load, for what the load's record does not have."""

import time
from pathlib import Path

from crumple.contract import ProgressLine
from crumple.experiment.subject import Subject
from crumple.machine import bounds_of, tcp_tables
from crumple.observation.loaded import Beside
from crumple.observation.observed import Observed

# The fewest looks at the queue in front of the server that say something of it.
LOOKS_MIN = 3


class BesideLoad:
    """Looks at the server once a second while it is loaded. A load that is put on again is looked at anew."""

    def __init__(self, subject: Subject, seen: Observed) -> None:
        self._pid = subject.pid
        self._port = subject.server_port
        self._rest = seen.rest
        self._cores = subject.cores
        self._begin()

    def _begin(self) -> None:
        self._at_s = 0.0
        self._open_files: tuple[int, int] | None = None
        # How many connections waited to be accepted, at each look.
        self._queued: list[int] = []
        # When it was read, and for how long each control group had stopped the server until then.
        self._stopped: list[tuple[float, dict[Path, int]]] = []

    def look(self, progress: ProgressLine) -> None:
        """Look at the server; the engine calls this once a second."""
        if progress.at_s < self._at_s:
            self._begin()
        self._at_s = progress.at_s
        if self._pid is None or progress.phase != "measured":
            return
        stopped_ns = bounds_of.throttled_ns(self._pid)
        if stopped_ns:
            self._stopped.append((time.monotonic(), stopped_ns))
        files = [each for each in (self._open_files, bounds_of.open_files(self._pid)) if each]
        self._open_files = bounds_of.nearest(files)
        queued = None if self._port is None else tcp_tables.queued(self._port, self._pid)
        if queued is not None:
            self._queued.append(queued)

    def seen(self, threads: float | None) -> Beside:
        """Return what was seen. `threads`: as many as shared the server's CPU time; None: not known."""
        return Beside(
            self._open_files,
            self._throttled_share(threads),
            self._rest,
            self._queue_empty_share(),
        )

    def _queue_empty_share(self) -> float | None:
        """Return at which share of the looks no connection waited to be accepted; None: too few looks."""
        looks = len(self._queued)
        return self._queued.count(0) / looks if looks >= LOOKS_MIN else None

    def _throttled_share(self, threads: float | None) -> float | None:
        """Return for how much of the measured time a control group stopped the server.

        The kernel adds up the times of all cores on which it would have run. If there are several groups, the
        one that stopped it longest in this load counts; another may have done so before.
        """
        if len(self._stopped) < 2:
            return None
        (from_s, before_ns), (to_s, after_ns) = self._stopped[0], self._stopped[-1]
        cores = min(float(self._cores), max(1.0, threads or 1.0))
        longest_ns = max(ns - before_ns.get(group, ns) for group, ns in after_ns.items())
        return min(1.0, longest_ns / 1e9 / (to_s - from_s) / cores)
