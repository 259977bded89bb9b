"""What a server's CPU time is spent on, in words: plain text, no markup. `load` and `diagnose` share them."""

from crumple.cause import cpu_time
from crumple.cause.cpu_time import SAMPLES_MIN, CpuTime
from crumple.contract import TrialRecord
from crumple.drawing import numerals

# So many names, functions and files are told.
TOLD = 10
# What takes a smaller share is not told.
SHARE_MIN = 0.01
# What uses fewer cores is nothing to look at.
CORES_MIN = 0.3


def rows(record: TrialRecord) -> list[tuple[str, str]]:
    """What it is spent on by the names of threads and by functions, as far as there is something to say."""
    cpu, server = cpu_time.spent(record), record.probes.server
    window = server.window if server is not None else None
    if cpu is None or window is None or window.cpu_ns < CORES_MIN * record.measured_ns:
        return []
    said = [("CPU by threads", by_threads(cpu)), ("CPU by code", by_code(cpu))]
    return [(name, each) for name, each in said if each]


def by_threads(cpu: CpuTime) -> str:
    """The threads that take most, by name; empty: all have one name."""
    told = [each for each in cpu.threads[:TOLD] if each.share >= SHARE_MIN]
    return ", ".join(f"{each.name} {numerals.share(each.share)}" for each in told) if len(told) > 1 else ""


def by_code(cpu: CpuTime) -> str:
    """The functions in which most samples are, and the files; or why there are none."""
    if not cpu.samples:
        return f"could not be read: {cpu.why}" if cpu.why else ""
    if cpu.samples < SAMPLES_MIN:
        return ""

    def listed(of: list[tuple[str, int]]) -> str:
        told = [(name, samples / cpu.samples) for name, samples in of[:TOLD]]
        return ", ".join(f"{name} {numerals.share(share)}" for name, share in told if share >= SHARE_MIN)

    functions = listed([(cpu_time.in_file(each), each.samples) for each in cpu.functions])
    files = listed([(each.name or cpu_time.MADE, each.samples) for each in cpu.files])
    return "; ".join(each for each in (f"of {cpu.samples:,} samples {files}", functions) if each)
