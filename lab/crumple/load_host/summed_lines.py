"""The lines of progress of several load hosts → those of the whole load. Pure.

All begin at one instant and write in the same step, so lines of one number say what had happened by the same
time. A line of the whole comes when all have written theirs. If one has left a number out, since it had no
core, so does the whole.
"""

from collections import defaultdict
from collections.abc import Sequence

from crumple.contract import MeasuredSoFar, ProgressLine
from crumple.record import together


class SummedLines:
    """Takes the lines of each host, in their order."""

    def __init__(self, hosts: int, every_ms: int) -> None:
        """`every_ms`: how often each writes a line."""
        self._hosts, self._every_s = hosts, every_ms / 1e3
        self._waiting: dict[int, dict[int, ProgressLine]] = defaultdict(dict)
        self._last = -1

    def add(self, host: int, line: ProgressLine) -> ProgressLine | None:
        """Return the line of the whole load, if this was the last that it lacked."""
        number = round(line.at_s / self._every_s)
        if number <= self._last:
            return None
        lines = self._waiting[number]
        lines[host] = line
        if len(lines) < self._hosts:
            return None
        self._last = number
        self._waiting = defaultdict(dict, {at: each for at, each in self._waiting.items() if at > number})
        return summed(list(lines.values()))


def summed(lines: Sequence[ProgressLine]) -> ProgressLine:
    """Return these lines, one of each host, as one.

    A quantile is the highest of any host: that of all is not known of quantiles. A time is the least.
    """
    return ProgressLine(
        at_s=min(line.at_s for line in lines),
        # It is measured when all measure.
        phase="warm-up" if any(line.phase == "warm-up" for line in lines) else "measured",
        ok=sum(line.ok for line in lines),
        failed=sum(line.failed for line in lines),
        throughput_per_s=sum(line.throughput_per_s for line in lines),
        p50_ns=_highest([line.p50_ns for line in lines]),
        p99_ns=_highest([line.p99_ns for line in lines]),
        max_ns=_highest([line.max_ns for line in lines]),
        connections=sum(line.connections for line in lines),
        left_s=max(line.left_s for line in lines),
        statuses=together.counted(line.statuses for line in lines),
        measured=_measured([line.measured for line in lines]),
    )


def _measured(parts: Sequence[MeasuredSoFar]) -> MeasuredSoFar:
    return MeasuredSoFar(
        seconds=min(part.seconds for part in parts),
        scheduled=sum(part.scheduled for part in parts),
        outcomes=together.added([part.outcomes for part in parts]),
        slower=tuple(map(sum, zip(*(part.slower for part in parts), strict=True))),
    )


def _highest(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
