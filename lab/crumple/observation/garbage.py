"""Which of a server's CPU time is spent collecting garbage: by the names of threads and of functions. Pure.

Names are those of the runtimes' own sources, in `garbage.toml`. Allocating memory is not collecting it. A
function's name alone may be that of another program's function, so it counts only in a file that may be the
runtime, or beside other functions that only this runtime has; or if it says in any program that garbage is
collected. A thread's name counts only beside another that a JVM has.

More may be collecting than is known: runtimes that are not listed have collectors, too, and collectors call
functions of the C library. So what sounds like it is not ruled out.
"""

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crumple.drawing import numerals
from crumple.observation import code_names
from crumple.observation.cpu_time import SAMPLES_MIN, Between, CpuTime, Function
from crumple.stats import shares

NAMES = Path(__file__).with_name("garbage.toml")
# A JVM's library.
JVM_LIBRARY = "libjvm"
# What compilers add to the names of functions of which they make several.
CLONE = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*)+$")


@dataclass(frozen=True)
class Runtime:
    """The functions of a runtime that collect; they are its in these files, or beside these functions.

    `between`: where its collector lies in a stripped file: "NAME .. NAME" of the exported functions around.
    """

    functions: re.Pattern[str]
    files: re.Pattern[str] | None = None
    beside: re.Pattern[str] | None = None
    between: re.Pattern[str] | None = None

    def has(self, name: str, file: str, seen: frozenset[str]) -> bool:
        """Whether a function of a file collects. `seen`: all functions that were."""
        if not self.functions.match(name) or (self.files is not None and not self.files.match(file)):
            return False
        return self.beside is None or any(self.beside.match(each) for each in seen)

    def has_between(self, code: Between) -> bool:
        """Whether code without a name is its collector's."""
        if self.between is None or self.files is None or not self.files.match(code.file):
            return False
        return self.between.match(f"{code.after} .. {code.before}") is not None


@dataclass(frozen=True)
class Names:
    """The names in `garbage.toml`: of a JVM's threads, and of .NET's; in any program; of each runtime."""

    jvm: re.Pattern[str]
    jvm_marks: re.Pattern[str]
    net: re.Pattern[str]
    collects: re.Pattern[str]
    may_collect: re.Pattern[str]
    runtimes: tuple[Runtime, ...]


@cache
def names() -> Names:
    """Return the names of what collects."""
    read = tomllib.loads(NAMES.read_text(encoding="utf-8"))
    written = {**read["threads"], **read["any_program"]}
    runtimes = tuple(
        Runtime(**{key: _any_of(each[key]) for key in each if key != "name"}) for each in read["runtime"]
    )
    return Names(**{key: _any_of(each) for key, each in written.items()}, runtimes=runtimes)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


@dataclass(frozen=True)
class Collecting:
    """The CPU time spent collecting, as shares of all of it. `said`: what shows it, without a full stop.

    `low`, `high`: the ends of a 95 % interval. The upper end has what may be collecting, too: functions
    without a name, those that are not among the listed ones, and those whose names sound like it.
    """

    low: float
    high: float
    said: str


def collecting(cpu: CpuTime | None) -> list[Collecting]:
    """What the collector's threads take, and what functions that collect do, as far as either is known."""
    return [] if cpu is None else [each for each in (by_threads(cpu), by_functions(cpu)) if each is not None]


def by_threads(cpu: CpuTime) -> Collecting | None:
    """What the collector's own threads take; None: it has none by their names.

    They do all that a JVM collects, and say nothing of other processes, which may collect in other threads.
    """
    jvm = [each for each in cpu.threads if names().jvm.match(each.name)] if _has_jvm(cpu) else []
    found = jvm or [each for each in cpu.threads if names().net.match(each.name)]
    if not found:
        return None
    share = sum(each.share for each in found)
    named = ", ".join(each.name for each in found)
    said = f"its collector's threads ({named}) take {numerals.share(share)} of its CPU time"
    return Collecting(share, min(1.0, share + _beside_jvms(cpu)) if jvm else 1.0, said)


def by_functions(cpu: CpuTime) -> Collecting | None:
    """What functions that collect take; None: there are too few samples, or they speak of too little."""
    if cpu.samples < SAMPLES_MIN:
        return None
    seen, known = frozenset(each.name for each in cpu.functions), names()
    found = [each for each in cpu.functions if _is_runtimes(each, seen) or known.collects.match(_plain(each))]
    unnamed = [each for each in cpu.between if any(runtime.has_between(each) for runtime in known.runtimes)]
    samples = sum(each.samples for each in found) + sum(each.samples for each in unnamed)
    samples = min(cpu.samples, samples)
    # All that the samples do not cover may be collecting; so may be what is not known to be otherwise.
    others = [
        each
        for each in cpu.functions
        if each.file and each not in found and not known.may_collect.match(each.name)
    ]
    maybe = max(samples, cpu.samples - sum(each.samples for each in others) - cpu.made)
    high = shares.interval(maybe, cpu.samples)[1] * cpu.stands_for + (1.0 - cpu.stands_for)
    said = (
        f"{samples:,} of {cpu.samples:,} samples of its CPU time are in functions that collect garbage"
        f"{_most(found, unnamed)}"
    )
    return Collecting(shares.interval(samples, cpu.samples)[0] * cpu.stands_for, high, said)


def _most(found: Sequence[Function], unnamed: Sequence[Between]) -> str:
    """In which of these functions most samples are; of those without a name, where they lie."""
    most = sum(each.samples for each in found)
    if unnamed and sum(each.samples for each in unnamed) > most:
        first = unnamed[0]
        return f", most in code of {first.file} without names, by the exported functions around it"
    return f", most in {code_names.short(found[0].name)}" if found else ""


def _beside_jvms(cpu: CpuTime) -> float:
    """The share of the CPU time of processes that are not known to be JVMs, by the threads that used most.

    If its library is in one of several processes, it is in that with a thread of its collector.
    """
    has_library = any(each.name.startswith(JVM_LIBRARY) for each in cpu.files)
    least = 1 if has_library else 2
    known = sum(each.share for each in cpu.processes or ())
    jvms = sum(each.share for each in cpu.processes or () if _marks(each.names) >= least)
    return 1.0 - jvms / known if known else 1.0


def _has_jvm(cpu: CpuTime) -> bool:
    """Whether a JVM is among the server's programs, by two names of threads or by its library."""
    marks = _marks([each.name for each in cpu.threads])
    return marks > 1 or any(each.name.startswith(JVM_LIBRARY) for each in cpu.files)


def _marks(threads: Collection[str]) -> int:
    """How many of these names of threads a JVM has."""
    return sum(1 for each in threads if names().jvm_marks.match(each))


def _is_runtimes(function: Function, seen: frozenset[str]) -> bool:
    """Whether it collects, and is of a runtime that is known. `seen`: all functions that were."""
    name = _plain(function)
    return any(runtime.has(name, function.file, seen) for runtime in names().runtimes)


def _plain(function: Function) -> str:
    return CLONE.sub("", function.name)
