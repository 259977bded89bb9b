"""What a record says of the CPU time becomes what is known of it; what it lacks stays unknown."""

from typing import Any

import documents
import pytest
from crumple import contract
from crumple.observation import cpu_time
from crumple.words import cpu_time_sentences
from made_probes import of_probes, tasks, thread

SECOND_NS = 1_000_000_000


def record(**changes: Any) -> contract.TrialRecord:
    """A server that used 1 s of CPU time, half of it in the kernel, and what was read of its threads."""
    plain = documents.record()
    server = plain.probes.server
    assert server is not None and server.window is not None
    half = {"cpu_user_ns": SECOND_NS // 2, "cpu_kernel_ns": SECOND_NS // 2}
    window = server.window.model_copy(update=half)
    read = tasks(thread(1, 0.25), window_ns=plain.measured_ns, **changes)
    return of_probes(server=server.model_copy(update={"window": window}), tasks=read)


def profile(samples: int, **changes: Any) -> dict[str, Any]:
    function = {"function": "f", "object": "lib.so", "samples": samples}
    of = {"object": "lib.so", "samples": samples, "named": samples, "why": None}
    counts = dict.fromkeys(("lost", "cost_ns", "naming_cost_ns"), 0)
    plain = {"samples": samples, "period_ns": 5_000_000, "threads": 1, "named": samples, "why": None}
    # As long as the measured phase.
    plain["window_ns"] = 2 * SECOND_NS
    return {**plain, **counts, "functions": [function], "between": [], "objects": [of], **changes}


def spent(**changes: Any) -> cpu_time.CpuTime:
    found = cpu_time.spent(record(**changes))
    assert found is not None
    return found


def test_samples_stand_for_time_in_user_space_as_far_as_its_threads_were_sampled() -> None:
    # 100 samples of 5 ms are all of the half second in user space.
    assert spent(profile=profile(100)).stands_for == pytest.approx(0.5)
    assert spent(profile=profile(40)).stands_for == pytest.approx(0.2)
    # Of many threads those that use most are sampled, as a collector's: the others may do something else.
    assert spent(profile=profile(40), threads=[200] * 10).stands_for == pytest.approx(0.2)


def test_samples_are_of_the_warm_up_in_which_it_used_as_much_per_second() -> None:
    # 20 samples of 5 ms in half of the time are as much as 40 in all of it.
    assert spent(profile=profile(20, window_ns=SECOND_NS)).stands_for == pytest.approx(0.2)
    without = spent(profile=profile(0, functions=[], objects=[], window_ns=0))
    assert "--warm-up" in without.why and without.stands_for == 0.0


def test_threads_have_shares_of_all_cpu_time_by_their_names() -> None:
    names = [{"name": "GC Thread", "threads": 2, "cpu_ns": SECOND_NS // 4}]
    found = spent(by_name=names)
    assert [(each.name, each.share) for each in found.threads] == [("GC Thread", pytest.approx(0.25))]
    assert (found.samples, found.stands_for) == (0, 0.0)


def test_processes_have_shares_of_all_cpu_time_and_the_names_of_their_threads() -> None:
    threads = [thread(1, 0.1), {**thread(2, 0.15), "pid": 11}, thread(3, 0.1)]
    found = cpu_time.spent(of_probes(tasks=tasks(*threads, window_ns=2 * SECOND_NS)))
    assert found is not None and found.processes is not None
    assert [each.names for each in found.processes] == [("thread-1", "thread-3"), ("thread-2",)]
    assert found.processes[0].share == pytest.approx(4 / 3 * found.processes[1].share)


def test_of_a_server_that_hardly_computes_nothing_is_told() -> None:
    idle = record(by_name=[{"name": "main", "threads": 1, "cpu_ns": 1}] * 2, profile=profile(100))
    server = idle.probes.server
    assert server is not None and server.window is not None
    assert cpu_time_sentences.rows(idle)
    window = server.window.model_copy(update={"cpu_user_ns": SECOND_NS // 4, "cpu_kernel_ns": 0})
    probes = idle.probes.model_copy(update={"server": server.model_copy(update={"window": window})})
    assert cpu_time_sentences.rows(idle.model_copy(update={"probes": probes})) == []


def test_what_was_not_read_is_not_known() -> None:
    assert cpu_time.spent(of_probes(server=None)) is None
    assert cpu_time.spent(record(why="process 7 is gone")) is None
    denied = spent(profile=profile(0, functions=[], objects=[], why="kernel.perf_event_paranoid is 4"))
    assert (denied.samples, denied.why) == (0, "kernel.perf_event_paranoid is 4")


def test_the_greatest_are_told_with_their_shares() -> None:
    names = [{"name": name, "threads": 1, "cpu_ns": ns} for name, ns in (("GC Thread", 600), ("main", 200))]
    names = [{**each, "cpu_ns": each["cpu_ns"] * SECOND_NS // 1_000} for each in names]
    rows = cpu_time_sentences.rows(record(by_name=names, profile=profile(100)))
    assert rows == [
        ("CPU by threads", "GC Thread 60\u202f%, main 20\u202f%"),
        ("CPU by code", "of 100 samples lib.so 100\u202f%; f of lib.so 100\u202f%"),
    ]
    assert cpu_time_sentences.rows(record(by_name=names[:1], profile=profile(10))) == []
    denied = profile(0, functions=[], objects=[], why="this kernel has no perf_event_open")
    told = ("CPU by code", "could not be read: this kernel has no perf_event_open")
    assert cpu_time_sentences.rows(record(profile=denied)) == [told]


def of_code(functions: dict[tuple[str, str], int], files: dict[str, int]) -> cpu_time.CpuTime:
    return cpu_time.CpuTime(
        samples=sum(files.values()),
        functions=tuple(cpu_time.Function(*each, samples) for each, samples in functions.items()),
        files=tuple(cpu_time.File(name, samples, 0) for name, samples in files.items()),
    )


def test_names_are_short_and_what_rests_on_few_samples_is_not_told() -> None:
    functions = {
        ("a::b::Set<int>::add", "srv"): 60,
        ("a::b::Set<char>::add", "srv"): 30,
        ("rare", "srv"): 9,
    }
    said = cpu_time_sentences.by_code(of_code(functions, {"srv": 99, "libc.so.6": 1}))
    assert said == "of 100 samples srv 99\u202f%; Set::add of srv 90\u202f%"


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("node", "--perf-basic-prof"),
        ("libnode.so.115", "--perf-basic-prof"),
        ("libjvm.so", "Compiler.perfmap"),
        ("libcoreclr.so", "DOTNET_PerfMapEnabled=1"),
        ("nodes", ""),
    ],
)
def test_how_code_made_at_run_time_gets_names_is_told(file: str, remedy: str) -> None:
    said = cpu_time_sentences.by_code(of_code({}, {"": 80, file: 20}))
    told = "of 100 samples code made at run time 80\u202f%, "
    assert said.startswith(told) and ("for names of" in said) == bool(remedy) and remedy in said
    named = cpu_time.File("", 80, 70)
    both = cpu_time.CpuTime(samples=100, files=(named, cpu_time.File(file, 20, 0)))
    assert "for names of" not in cpu_time_sentences.by_code(both)
