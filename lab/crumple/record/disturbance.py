"""What disturbed a trial: CPU time that others used, and that the hypervisor took, over the measured window.

Pure. It reads only the machine's CPU time and never the trial's results, so that a run can repeat a disturbed
trial without choosing among results.
"""

import math

from crumple.contract import Frozen, ProbeRecord, TrialRecord

OTHERS_TOO_MUCH = 0.05
STEAL_TOO_MUCH = 0.02
# The unit in which the kernel reports the CPU time of the whole machine.
TICK_NS = 10_000_000
STEAL_ROUNDING_TICKS = 2


class Disturbance(Frozen):
    """Shares of all cores' time over the measured window (0..1), and the limit of each.

    None: not read, and `unread` says why. `others_share`: CPU time used by programs other than the engine,
    the canary, the server and the database.
    """

    others_share: float | None
    steal_share: float | None
    others_limit: float
    steal_limit: float
    unread: str = ""

    @property
    def disturbed(self) -> bool:
        """Whether a share exceeds its limit."""
        return bool(self.why)

    @property
    def why(self) -> str:
        """What took the time, and how much of it; empty if no share exceeds its limit."""
        return " and ".join(
            f"{who} {share:.1%} of the CPU time while measured (limit {limit:.1%})"
            for who, share, limit in (
                ("other programs used", self.others_share, self.others_limit),
                ("the hypervisor took", self.steal_share, self.steal_limit),
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

    `database_ns`: CPU time of its database over the window; None: it has one, whose time was not read.
    `windows`: in how many parts the measured window was read, one for each slice.
    """
    window = record.probes.machine.window
    ticks = max(1.0, (window.cores if window else 1) * record.measured_ns / TICK_NS)
    limits = {"others_limit": others_limit(ticks), "steal_limit": steal_limit(ticks, windows)}
    if window is None or not window.cores or record.measured_ns <= 0:
        why = "; ".join(each.why for each in record.probes.machine.unread)
        unread = why or "the CPU time of the whole machine was not read"
        return Disturbance(others_share=None, steal_share=None, unread=unread, **limits)
    all_ns = window.cores * record.measured_ns
    ours = {
        "the engine": _used_ns(record.probes.engine),
        "the canary": _used_ns(canary.probes.engine) if canary else 0,
        "the server": _used_ns(record.probes.server),
        "the database": database_ns,
    }
    unknown = [who for who, used_ns in ours.items() if used_ns is None]
    known_ns = sum(used_ns or 0 for used_ns in ours.values())
    others_share = None if unknown else max(0.0, round((window.busy_ns - known_ns) / all_ns, 4))
    return Disturbance(
        others_share=others_share,
        steal_share=round(window.steal_ns / all_ns, 4),
        unread=f"the CPU time of {' and '.join(unknown)} was not read" if unknown else "",
        **limits,
    )


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
