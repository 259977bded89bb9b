"""What was read at both ends of the measured phase → what was used in that phase. Pure.

The engine reads both ends in time if it gets a core. A window says how long it spans. What was used in it is
taken to be used evenly, and nothing is said of the phase if the window spans another time.
"""

from typing import Protocol

from crumple.contract import ProcessRecord, ProcessWindow, TrialRecord
from crumple.drawing import numerals

# The unit in which the kernel counts CPU time.
TICK_NS = 10_000_000
# The kernel truncates user and kernel time of each process to whole ticks. With fewer than five ticks per
# process, what is cut off decides the split (docs/method.md).
TICKS_TO_SPLIT = 5
# How far the span may be off the length of the measured phase, as a share of it.
OFF_MAX = 0.05


class Window(Protocol):
    """A window with CPU time, of a process tree or of a thread."""

    @property
    def span_ns(self) -> int: ...
    @property
    def cpu_ns(self) -> int: ...


def in_phase(record: TrialRecord, used: int | None, span_ns: int | None) -> float | None:
    """What was used in the measured phase, of what was used in the span; None: not read, or another time."""
    if used is None or span_ns is None or not _is_phase(record, span_ns):
        return None
    return evenly(record, used, span_ns)


def evenly(record: TrialRecord, used: float, span_ns: int) -> float:
    """What was used in the measured phase, if what was used in this span, which is not 0, was used evenly."""
    return used * record.measured_ns / span_ns


def cpu_ns(record: TrialRecord, window: Window | None) -> float | None:
    """The CPU time in the measured phase; None: not read, or another time."""
    return in_phase(record, window.cpu_ns, window.span_ns) if window is not None else None


def cores(record: TrialRecord, window: Window | None) -> float | None:
    """How many cores were used in the measured phase, on average; None: not read, or another time."""
    used_ns = cpu_ns(record, window)
    return None if used_ns is None else used_ns / record.measured_ns


def server(record: TrialRecord) -> ProcessWindow | None:
    """What was read of the server at both ends; None: nothing."""
    return record.probes.server.window if record.probes.server is not None else None


def engine_beside(record: TrialRecord, light: TrialRecord | None = None) -> float | None:
    """How many cores of the server's machine crumple's engines used; None: not read.

    Where the load comes from another machine, that is only the engine that reads beside the server. `light`:
    the record of a second engine; where only that was not read, it counts as another program.
    """
    probes = record.probes
    beside = 0.0 if probes.watch is None else cores(record, probes.watch.window)
    if probes.server_machine is not None or beside is None:
        return beside
    engine = cores(record, probes.engine.window)
    light_ns = cpu_ns(light, light.probes.engine.window) if light is not None else None
    return None if engine is None else engine + beside + (light_ns or 0.0) / record.measured_ns


def why(record: TrialRecord, probe: ProcessRecord | None) -> str:
    """Say why the CPU time in the measured phase is not known of a process tree; empty: it is known."""
    if probe is None or cpu_ns(record, probe.window) is not None:
        return ""
    if probe.window is None:
        return "; ".join(f"{each.field}: {each.why}" for each in probe.unread)
    return off(record, probe.window.span_ns)


def off(record: TrialRecord, span_ns: int) -> str:
    """Say that a window spans another time than the measured phase; empty: it spans that."""
    if _is_phase(record, span_ns):
        return ""
    span, phase = numerals.duration(span_ns), numerals.duration(record.measured_ns)
    return (
        f"its two readings lie {span} apart, and the measured phase took {phase} (limit {OFF_MAX:.0%} off): "
        "other work had the cores"
    )


def _is_phase(record: TrialRecord, span_ns: int) -> bool:
    phase_ns = record.measured_ns
    return span_ns > 0 and phase_ns > 0 and abs(span_ns - phase_ns) <= OFF_MAX * phase_ns


def is_split(window: ProcessWindow) -> bool:
    """Whether ticks were enough to tell user from kernel time."""
    return window.cpu_ns >= TICKS_TO_SPLIT * TICK_NS * window.processes_max
