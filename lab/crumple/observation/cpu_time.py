"""What a server's CPU time is spent on: by the names of its threads, and by functions, from samples. Pure."""

from dataclasses import dataclass

from crumple.contract import TaskRecord, TrialRecord
from crumple.drawing import numerals
from crumple.observation import code_names
from crumple.record import windows
from crumple.stats import shares

# The fewest samples of which it is shown where CPU time is spent.
SAMPLES_MIN = 50
NO_WARM_UP = "samples are taken in a warm-up, and there was none (--warm-up 2s)"
MADE, UNKNOWN = "code made at run time", "?"


@dataclass(frozen=True)
class Named:
    """The threads of one name, and their share of the server's CPU time."""

    name: str
    share: float


@dataclass(frozen=True)
class ProcessCpu:
    """One process: the names of its threads, and its share of the server's CPU time."""

    names: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Function:
    """A function, the file it is in (empty: made at run time), and how many samples were in it."""

    name: str
    file: str
    samples: int


@dataclass(frozen=True)
class Between:
    """Code of a stripped file that has no name, between two functions that have one."""

    after: str
    before: str
    file: str
    samples: int


@dataclass(frozen=True)
class File:
    """A file of code (empty: made at run time), how many samples were in it, and in functions with a name.

    `why`: why names could not be read; empty: they could, as far as the file has them.
    """

    name: str
    samples: int
    named: int
    why: str = ""


@dataclass(frozen=True)
class CpuTime:
    """Where the CPU time went. `threads`: by name, most first. `samples`: of time in user space.

    `stands_for`: the share of all CPU time that the samples speak of: the part in user space of the threads
    that were sampled. Of many threads those with most CPU time are, so they do not stand for the others.
    `why`: why there are no samples, or fewer; empty: there are. `processes`: of those threads that used
    most, most first; None: not known.
    """

    threads: tuple[Named, ...] = ()
    samples: int = 0
    functions: tuple[Function, ...] = ()
    files: tuple[File, ...] = ()
    stands_for: float = 0.0
    why: str = ""
    processes: tuple[ProcessCpu, ...] | None = None
    between: tuple[Between, ...] = ()

    @property
    def made(self) -> int:
        """Samples in code made at run time."""
        return sum(file.samples for file in self.files if not file.name)


def most(cpu: CpuTime | None) -> str:
    """Say in which function, or else in which file, most of the samples are; or why there are none.

    Empty: in none, or there are too few.
    """
    if cpu is None or (not cpu.samples and cpu.why in ("", NO_WARM_UP)):
        return ""
    if not cpu.samples:
        return f"; in which code could not be read: {cpu.why}"
    if cpu.samples < SAMPLES_MIN:
        return ""
    for function in cpu.functions[:1]:
        if function.samples > shares.MOST * cpu.samples:
            return _are_in(cpu, function.samples, in_file(function))
    for file in cpu.files[:1]:
        # If its functions are known, it says nothing that most is in the program itself.
        is_library = ".so" in file.name or not file.name
        are_known = not is_library and file.named > shares.MOST * file.samples
        if file.samples > shares.MOST * cpu.samples and file.name != UNKNOWN and not are_known:
            return f"{_are_in(cpu, file.samples, file.name or MADE)}{_unnamed(file)}"
    return ""


def in_file(function: Function) -> str:
    """The function, by a short name, and the file it is in."""
    name = code_names.short(function.name)
    return f"{name} of {function.file}" if function.file else name


def _are_in(cpu: CpuTime, samples: int, where: str) -> str:
    return f"; {numerals.share(samples / cpu.samples)} of its samples in user space are in {where}"


def _unnamed(file: File) -> str:
    """Why most functions of a file have no name; empty: they have one, or it was made at run time."""
    if not file.name or file.named > shares.MOST * file.samples:
        return ""
    return f", whose symbols could not be read: {file.why}" if file.why else ", which has no symbols for them"


def spent(record: TrialRecord) -> CpuTime | None:
    """Return what the server's CPU time was spent on; None: nothing of it was read."""
    tasks, window = record.probes.tasks, windows.server(record)
    cores = windows.cores(record, window)
    if tasks is None or tasks.why is not None or window is None or not cores or not tasks.window_ns:
        return None
    # The readings of threads begin and end at other instants than those of processes.
    cpu_ns = cores * tasks.window_ns
    profile = tasks.profile
    if profile is None:
        return CpuTime(threads=_threads(tasks, cpu_ns), processes=_processes(tasks, cpu_ns))
    user = max(0.0, 1.0 - window.cpu_kernel_ns / window.cpu_ns)
    # While samples were taken, before the measured phase, the server used about as much.
    used_ns = cores * profile.window_ns
    seen = min(1.0, profile.samples * profile.period_ns / used_ns) if used_ns else 0.0
    return CpuTime(
        threads=_threads(tasks, cpu_ns),
        samples=profile.samples,
        functions=tuple(Function(each.function, each.object, each.samples) for each in profile.functions),
        files=tuple(File(each.object, each.samples, each.named, each.why or "") for each in profile.objects),
        stands_for=min(user, seen),
        why=profile.why or ("" if profile.window_ns else NO_WARM_UP),
        processes=_processes(tasks, cpu_ns),
        between=tuple(
            Between(each.after, each.before, each.object, each.samples) for each in profile.between
        ),
    )


def _threads(tasks: TaskRecord, cpu_ns: float) -> tuple[Named, ...]:
    return tuple(Named(each.name, min(1.0, each.cpu_ns / cpu_ns)) for each in tasks.by_name)


def _processes(tasks: TaskRecord, cpu_ns: float) -> tuple[ProcessCpu, ...]:
    names: dict[int, set[str]] = {}
    used_ns: dict[int, int] = {}
    for thread in tasks.threads_seen:
        names.setdefault(thread.pid, set()).add(thread.name)
        used_ns[thread.pid] = used_ns.get(thread.pid, 0) + thread.cpu_ns
    most = sorted(used_ns, key=lambda each: -used_ns[each])
    return tuple(ProcessCpu(tuple(sorted(names[each])), min(1.0, used_ns[each] / cpu_ns)) for each in most)
