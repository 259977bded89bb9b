"""Whether others disturbed a trial over its measured window. Pure.

`disturbance` reads only the CPU time that others used and that the hypervisor took, and never the trial's
results, so that a run can repeat a disturbed trial without choosing among results.
"""

import math
from dataclasses import dataclass

from crumple.contract import DependencyRecord, ProbeRecord, TrialRecord
from crumple.contract_base import Frozen
from crumple.record.ticks import TICK_NS

OTHERS_TOO_MUCH = 0.05
STEAL_TOO_MUCH = 0.02
# Other programs are named if so few used so much of what all of them used.
NAMED_MAX, MOST = 2, 0.5
STEAL_ROUNDING_TICKS = 2
# The field of a record of dependencies that has the CPU time of those who serve them.
SERVING = "serving_cpu_ns"


class Disturbance(Frozen):
    """Shares of all cores' time over the measured window (0..1), and the limit of each.

    None: not known, and `unread` says why. `others_share`: CPU time used by programs other than the engine,
    the canary, the server and those who serve its dependencies, its database among them, without that of
    the kernel's own threads. Where some of these could not be found, it is the least or the most that it
    may be, whichever decides. `by`: the programs that used most of it; empty: there are none that did.
    """

    others_share: float | None
    steal_share: float | None
    others_limit: float
    steal_limit: float
    unread: str = ""
    by: str = ""

    @property
    def disturbed(self) -> bool:
        """Whether a share exceeds its limit."""
        return bool(self.why)

    @property
    def why(self) -> str:
        """What took the time, and how much of it; empty if no share exceeds its limit."""
        by = f", most of it {self.by}" if self.by else ""
        return " and ".join(
            f"{who} {share:.1%} of the CPU time while measured (limit {limit:.1%}){said}"
            for who, share, limit, said in (
                ("other programs used", self.others_share, self.others_limit, by),
                ("the hypervisor took", self.steal_share, self.steal_limit, ""),
            )
            if share is not None and share > limit
        )

    @property
    def sentence(self) -> str:
        """The disturbance with its remedy; empty if there is none."""
        if not self.disturbed:
            return ""
        return f"disturbed: {self.why}; end other programs, or run later or elsewhere"


def disturbance(
    record: TrialRecord,
    canary: TrialRecord | None = None,
    database_ns: int | None = 0,
    windows: int = 1,
) -> Disturbance:
    """Return how much others disturbed one trial.

    `database_ns`: CPU time of its database over the window, which is one of its dependencies; None: it has
    one, whose time was not read. `windows`: in how many parts the measured window was read, one for each
    slice.
    """
    window = record.probes.machine.window
    ticks = max(1.0, (window.cores if window else 1) * record.measured_ns / TICK_NS)
    limit, steal = others_limit(ticks), steal_limit(ticks, windows)
    if window is None or not window.cores or record.measured_ns <= 0:
        why = "; ".join(each.why for each in record.probes.machine.unread)
        unread = why or "the CPU time of the whole machine was not read"
        return Disturbance(
            others_share=None, steal_share=None, others_limit=limit, steal_limit=steal, unread=unread
        )
    all_ns = window.cores * record.measured_ns
    behind = _behind(record.probes.dependencies, database_ns)
    ours = {
        "the engine": _used_ns(record.probes.engine),
        "the canary": _used_ns(canary.probes.engine) if canary else 0,
        "the server": _used_ns(record.probes.server),
        "the database": behind.used_ns,
        # It does what programs have asked for, the server among them: it writes to a disk, for instance.
        "the kernel": window.kernel_threads_ns,
    }
    unknown = [who for who, used_ns in ours.items() if used_ns is None]
    known_ns = sum(used_ns or 0 for used_ns in ours.values())
    most, least = (
        max(0.0, round((window.busy_ns - known_ns - further_ns) / all_ns, 4))
        for further_ns in (0, behind.further_ns)
    )
    unread = ""
    others_share: float | None = least if least > limit else most
    if unknown:
        others_share, unread = None, f"the CPU time of {' and '.join(unknown)} was not read"
    elif least <= limit < most:
        others_share, unread = None, behind.unread
    return Disturbance(
        others_share=others_share,
        steal_share=round(window.steal_ns / all_ns, 4),
        others_limit=limit,
        steal_limit=steal,
        unread=unread,
        by=_most_of(record, least * all_ns, behind.further_ns > 0) if (others_share or 0.0) > limit else "",
    )


def _most_of(record: TrialRecord, others_ns: float, is_any_unfound: bool) -> str:
    """Return the other programs that used most of this time; empty: none, or more than two.

    `is_any_unfound`: those are left out, too, that may serve a dependency.
    """
    found = record.probes.dependencies
    serving = set(found.serving_pids) if found is not None else set()
    if found is not None and is_any_unfound:
        serving.update(found.unfound_pids)
    named: list[str] = []
    used_ns = 0
    for program in record.probes.machine.programs:
        if program.pid not in serving and len(named) < NAMED_MAX and used_ns < MOST * others_ns:
            used_ns += program.cpu_ns
            named.append(f"{program.name} (pid {program.pid})")
    return " and ".join(named) if used_ns >= MOST * others_ns else ""


@dataclass(frozen=True)
class _Behind:
    """CPU time of those who serve the server's dependencies; None: not read.

    `further_ns`: what further ones may have used at most, which could not be found: `unread` says why.
    """

    used_ns: int | None
    further_ns: float = 0.0
    unread: str = ""


def _behind(found: DependencyRecord | None, database_ns: int | None) -> _Behind:
    serving_ns = found.serving_cpu_ns if found is not None else None
    if found is None or serving_ns is None:
        return _Behind(database_ns)
    # Both may count the same database. Of one that is not read, it is enough that those who serve were found.
    used_ns = max(database_ns, serving_ns) if database_ns is not None else serving_ns or None
    further_ns = math.inf if found.unfound_cpu_ns is None else found.unfound_cpu_ns
    whys = "; ".join(each.why for each in found.unread if each.field == SERVING)
    return _Behind(used_ns, further_ns, f"the CPU time of its dependencies was not read: {whys}")


def others_limit(ticks: float) -> float:
    """Return the largest share (0..1) that others may use in a window of so many ticks.

    The kernel counts busy time by looking at each tick what runs, so that short windows are inaccurate by
    chance. Of n looks at a core that is busy for a share p the standard deviation is √(p(1−p)/n), half of
    1/√n or less.
    """
    return round(OTHERS_TOO_MUCH + 1 / math.sqrt(ticks), 4)


def steal_limit(ticks: float, windows: int = 1) -> float:
    """Return the largest share (0..1) that the hypervisor may take in so many ticks, read in `windows` parts.

    The hypervisor reports steal, so its only error is the rounding to ticks. The rounding errors of n windows
    are independent, so the error of their sum is √n times as large.
    """
    return round(STEAL_TOO_MUCH + STEAL_ROUNDING_TICKS * math.sqrt(windows) / ticks, 4)


def _used_ns(probe: ProbeRecord | None) -> int | None:
    return probe.window.cpu_ns if probe and probe.window else None
