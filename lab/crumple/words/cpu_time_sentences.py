"""What a server's CPU time is spent on, in words: plain text, no markup. `load` and `diagnose` share them."""

import re

from crumple.contract import TrialRecord
from crumple.drawing import numerals
from crumple.observation import cpu_time
from crumple.observation.cpu_time import SAMPLES_MIN, CpuTime
from crumple.record import windows

# A line has the ten names of threads, functions or files that take most.
LISTED_MAX = 10
# What takes less than 1 % of the CPU time is left out.
SHARE_MIN = 0.01
# What a server that uses less than 0.3 cores spends them on is not worth a line.
CORES_MIN = 0.3
# A function or file needs ten samples, of which the share is known to a third; with fewer it is left out.
LISTED_SAMPLES_MIN = 10
# If code that was made at run time and has no name takes 20 % or more, the line says how it gets one.
UNNAMED_SHARE = 0.2
# How runtimes write down where the functions are that they make, by the files of their programs.
NAMED_BY = (
    (re.compile(r"node(js)?$|libnode\."), "start it by node --perf-basic-prof"),
    (re.compile(r"libjvm\."), "jcmd PID Compiler.perfmap beforehand (Java 17 or later)"),
    (re.compile(r"libcoreclr\."), "start it with DOTNET_PerfMapEnabled=1"),
)


def rows(record: TrialRecord) -> list[tuple[str, str]]:
    """What it is spent on by the names of threads and by functions, as far as there is something to say."""
    cpu, cores = cpu_time.spent(record), windows.cores(record, windows.server(record))
    if cpu is None or cores is None or cores < CORES_MIN:
        return []
    said = [("CPU by threads", by_threads(cpu)), ("CPU by code", by_code(cpu))]
    return [(name, each) for name, each in said if each]


def by_threads(cpu: CpuTime) -> str:
    """The threads that take most, by name; empty: all have one name."""
    listed = [each for each in cpu.threads[:LISTED_MAX] if each.share >= SHARE_MIN]
    return (
        ", ".join(f"{each.name} {numerals.share(each.share)}" for each in listed) if len(listed) > 1 else ""
    )


def by_code(cpu: CpuTime) -> str:
    """The functions in which most samples are, and the files; or why there are none."""
    if not cpu.samples:
        return f"could not be read: {cpu.why}" if cpu.why else ""
    if cpu.samples < SAMPLES_MIN:
        return ""

    functions = _listed(cpu, [(cpu_time.in_file(each), each.samples) for each in cpu.functions])
    files = _listed(cpu, [(each.name or cpu_time.MADE, each.samples) for each in cpu.files])
    said = (f"of {cpu.samples:,} samples {files}".rstrip(), functions, _unnamed(cpu))
    return "; ".join(each for each in said if each)


def _listed(cpu: CpuTime, of: list[tuple[str, int]]) -> str:
    """What most samples are in, if it is enough of them for a share. What has one name is listed as one."""
    together: dict[str, int] = {}
    for name, samples in of:
        together[name] = together.get(name, 0) + samples
    most = sorted(together.items(), key=lambda each: -each[1])[:LISTED_MAX]
    listed = [(name, samples / cpu.samples) for name, samples in most if samples >= LISTED_SAMPLES_MIN]
    return ", ".join(f"{name} {numerals.share(share)}" for name, share in listed if share >= SHARE_MIN)


def _unnamed(cpu: CpuTime) -> str:
    """How code that was made at run time gets names; empty: it has them, or is little, or it is not known."""
    made = next((each for each in cpu.files if not each.name), None)
    if made is None or made.samples < UNNAMED_SHARE * cpu.samples or 2 * made.named > made.samples:
        return ""
    for file, remedy in NAMED_BY:
        if any(file.match(each.name) for each in cpu.files):
            return f"for names of {cpu_time.MADE}: {remedy}"
    return ""
