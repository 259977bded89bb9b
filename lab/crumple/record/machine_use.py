"""What was used of one machine in the measured phase: by the trial, by others, by nobody. Pure."""

from dataclasses import dataclass

from crumple.contract import MachineRecord, MachineWindow, TrialRecord
from crumple.record.windows import OFF_MAX, Window, evenly


@dataclass(frozen=True)
class MachineUse:
    """A machine of a trial over the measured phase, in ns."""

    all_ns: float
    """The time of all cores."""
    used_ns: float
    """The CPU time that was used."""
    ours_ns: float
    """What of it belongs to the trial."""
    others_ns: float
    """What of it all others used."""
    steal_ns: float
    taken_ns: float
    """How long the trial had no core because of others, at most."""

    @property
    def further_ns(self) -> float:
        """What the trial did not use: what others used, the hypervisor took, and was idle."""
        return self.others_ns + self.steal_ns + max(0.0, self.all_ns - self.used_ns - self.steal_ns)

    @property
    def used_share(self) -> float:
        """The CPU time that was used, as a share of that of all cores (0..1)."""
        return self.used_ns / self.all_ns

    def share(self, ns: float) -> float:
        """Return a time as a share of that of all cores."""
        return round(ns / self.all_ns, 4)


def of(
    record: TrialRecord, machine: MachineRecord, ours_ns: float, waited_ns: float, further_ns: float = 0.0
) -> MachineUse | None:
    """Return what was used of a machine; None: that was not read.

    `ours_ns`: what the trial used there; `waited_ns`: how long its threads waited for a core there;
    `further_ns`: what is neither the trial's nor others'.
    """
    window = machine.window
    if window is None or not window.cores or not window.span_ns or record.measured_ns <= 0:
        return None
    all_ns = window.cores * record.measured_ns
    used_ns, steal_ns = (evenly(record, each, window.span_ns) for each in (busy_ns(window), window.steal_ns))
    others_ns = max(0.0, used_ns - ours_ns - _kernel_ns(record, machine) - further_ns)
    return MachineUse(
        all_ns=all_ns,
        used_ns=used_ns,
        ours_ns=ours_ns,
        others_ns=others_ns,
        steal_ns=steal_ns,
        taken_ns=min(others_ns, waited_ns) + steal_ns + _unseen_ns(record, window.span_ns),
    )


def busy_ns(window: MachineWindow) -> int:
    """Return the CPU time that was used on all cores.

    The kernel measures how long each core was idle. What it was busy with, it looks at once a tick, so that
    short windows are inaccurate by chance.
    """
    cores = window.per_core
    if len(cores.core) < window.cores:
        return window.busy_ns
    return max(0, window.cores * window.span_ns - sum(cores.idle_ns) - sum(cores.steal_ns))


def used_ns(record: TrialRecord, window: Window | None) -> float | None:
    """Return the CPU time of the measured phase, whatever the window spans; None: not read."""
    return evenly(record, window.cpu_ns, window.span_ns) if window is not None and window.span_ns else None


def _unseen_ns(record: TrialRecord, span_ns: int) -> float:
    """Return how much of the phase the readings left out, which others may have had: they came late."""
    unseen_ns = record.measured_ns - span_ns
    return unseen_ns if unseen_ns > OFF_MAX * record.measured_ns else 0.0


def _kernel_ns(record: TrialRecord, machine: MachineRecord) -> float:
    """Return what the kernel's own threads used, if it was read, and otherwise counts as others'.

    They do what programs asked for, the server among them: they write to a disk, for instance.
    """
    everybody = machine.all_processes
    if everybody is None or not everybody.span_ns:
        return 0.0
    return evenly(record, everybody.kernel_threads_ns, everybody.span_ns)
