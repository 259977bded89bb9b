"""Looks at the server's processes beside a load, for what the load's record does not have."""

import time

from crumple.contract import ProgressLine
from crumple.experiment.subject import Subject
from crumple.machine import bounds_of, control_groups, group_limits, tcp_tables
from crumple.machine.group_limits import GroupCounts
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
        self._groups = None if subject.pid is None else control_groups.of(subject.pid)
        self._limits, self._quota_cores = seen.limits, seen.quota_cores
        self._begin()

    def _begin(self) -> None:
        self._at_s = 0.0
        self._open_files: tuple[int, int] | None = None
        # How many connections waited to be accepted, at each look.
        self._queued: list[int] = []
        # When it was read, and what the control groups of the server had counted until then.
        self._counts: list[tuple[float, GroupCounts]] = []

    def look(self, progress: ProgressLine) -> None:
        """Look at the server; the engine calls this once a second."""
        if progress.at_s < self._at_s:
            self._begin()
        self._at_s = progress.at_s
        if self._pid is None or progress.phase != "measured":
            return
        if self._groups is not None:
            self._counts.append((time.monotonic(), group_limits.counts(self._groups)))
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
            self._stalled_share(),
            self._tasks(),
            self._quota_cores,
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
        if len(self._counts) < 2:
            return None
        (from_s, before), (to_s, after) = self._counts[0], self._counts[-1]
        stopped_ns = (ns - before.stopped_ns.get(group, ns) for group, ns in after.stopped_ns.items())
        longest_ns = max(stopped_ns, default=None)
        if longest_ns is None:
            return None
        cores = min(float(self._cores), max(1.0, threads or 1.0))
        return min(1.0, longest_ns / 1e9 / (to_s - from_s) / cores)

    def _stalled_share(self) -> float | None:
        """Return for how much of the measured time threads waited for memory at its limit; None: not known.

        Where the limit was not met, they waited for none.
        """
        if self._limits.memory is None or len(self._counts) < 2:
            return None
        (from_s, before), (to_s, after) = self._counts[0], self._counts[-1]
        if after.full == before.full:
            return 0.0
        if before.stalled_ns is None or after.stalled_ns is None:
            return None
        return min(1.0, (after.stalled_ns - before.stalled_ns) / 1e9 / (to_s - from_s))

    def _tasks(self) -> tuple[int, int] | None:
        """Return how many processes and threads there were, and may be: as many, if one was refused."""
        if self._limits.tasks is None or not self._counts:
            return None
        most, before, after = round(self._limits.tasks.amount), self._counts[0][1], self._counts[-1][1]
        return most if after.refused > before.refused else after.tasks or 0, most
