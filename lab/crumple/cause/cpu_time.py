"""What a server's CPU time is spent on: by the names of its threads, and by functions, from samples. Pure."""

from dataclasses import dataclass

from crumple.contract import TaskRecord, TrialRecord
from crumple.drawing import numerals

# Fewer samples tell nothing.
SAMPLES_MIN = 50
# Most of the samples.
MOST_SHARE = 0.5
MADE, UNKNOWN = "code made at run time", "?"
# So many threads are sampled at a time. Of more, those that are stand for the others.
SAMPLED_AT_ONCE = 64


@dataclass(frozen=True)
class Named:
    """The threads of one name, and their share of the server's CPU time."""

    name: str
    share: float


@dataclass(frozen=True)
class Function:
    """A function, the file it is in (empty: made at run time), and how many samples were in it."""

    name: str
    file: str
    samples: int


@dataclass(frozen=True)
class File:
    """A file of code (empty: made at run time), how many samples were in it, and in functions with a name."""

    name: str
    samples: int
    named: int


@dataclass(frozen=True)
class CpuTime:
    """Where the CPU time went. `threads`: by name, most first. `samples`: of time in user space.

    `stands_for`: the share of all CPU time that the samples speak of: the part in user space of the threads
    that were sampled; of threads that were chosen from many, of all of them. `why`: why there are no samples,
    or fewer; empty: there are.
    """

    threads: tuple[Named, ...] = ()
    samples: int = 0
    functions: tuple[Function, ...] = ()
    files: tuple[File, ...] = ()
    stands_for: float = 0.0
    why: str = ""

    @property
    def unnamed(self) -> int:
        """Samples of which neither the function is known nor that it was made at run time."""
        return sum(file.samples - file.named for file in self.files if file.name)


def most(cpu: CpuTime | None) -> str:
    """Say in which function, or else in which file, most of the samples are; empty: in none, or too few."""
    if cpu is None or cpu.samples < SAMPLES_MIN:
        return ""
    functions = [
        (each.samples, f"{each.name} of {each.file}" if each.file else each.name) for each in cpu.functions
    ]
    files = [(each.samples, each.name or MADE) for each in cpu.files if each.name != UNKNOWN]
    found = next((each for each in [*functions[:1], *files[:1]] if each[0] > MOST_SHARE * cpu.samples), None)
    return f"; {numerals.share(found[0] / cpu.samples)} of its samples are in {found[1]}" if found else ""


def spent(record: TrialRecord) -> CpuTime | None:
    """Return what the server's CPU time was spent on; None: nothing of it was read."""
    tasks, server = record.probes.tasks, record.probes.server
    window = server.window if server is not None else None
    if tasks is None or tasks.why is not None or window is None or not window.cpu_ns or not tasks.window_ns:
        return None
    # The readings of threads begin and end at other instants than those of processes.
    cpu_ns = window.cpu_ns * tasks.window_ns / record.measured_ns
    profile = tasks.profile
    if profile is None:
        return CpuTime(threads=_threads(tasks, cpu_ns))
    user = 1.0 - window.cpu_kernel_ns / window.cpu_ns
    seen = min(1.0, profile.samples * profile.period_ns / cpu_ns)
    chosen = max(tasks.threads, default=0) > SAMPLED_AT_ONCE
    return CpuTime(
        threads=_threads(tasks, cpu_ns),
        samples=profile.samples,
        functions=tuple(Function(each.function, each.object, each.samples) for each in profile.functions),
        files=tuple(File(each.object, each.samples, each.named) for each in profile.objects),
        stands_for=user if chosen else min(user, seen),
        why=profile.why or "",
    )


def _threads(tasks: TaskRecord, cpu_ns: float) -> tuple[Named, ...]:
    return tuple(Named(each.name, min(1.0, each.cpu_ns / cpu_ns)) for each in tasks.by_name)
