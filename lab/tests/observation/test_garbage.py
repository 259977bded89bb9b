"""Collecting garbage is found in the CPU time that it takes, and is not where it takes little."""

from dataclasses import replace

import pytest
from crumple.cause import judged
from crumple.limit.finding import Finding, Said
from crumple.observation import cpu_time, garbage
from crumple.observation.cpu_time import Between, CpuTime, File, Function, Named, ProcessCpu
from crumple.observation.server_facts import ServerFacts
from made_at_load import CPU, LOCK, ONE_LOOP, WORKERS, facts, threads


def sampled(*functions: tuple[str, str, int], others: int = 0, stands_for: float = 1.0) -> CpuTime:
    """The samples of these functions (name, file, number), and others of a file without names."""
    found = [Function(*each) for each in sorted(functions, key=lambda each: -each[2])]
    files = {each.file: 0 for each in found}
    for each in found:
        files[each.file] += each.samples
    told = [File(name, number, number) for name, number in files.items()]
    if others:
        told.append(File("stripped", others, 0))
    told.sort(key=lambda each: -each.samples)
    return CpuTime(
        samples=sum(each.samples for each in told),
        functions=tuple(found),
        files=tuple(told),
        stands_for=stands_for,
    )


def by_names(*threads: tuple[str, float], others: tuple[tuple[str, float], ...] = ()) -> CpuTime:
    """The threads of one process, and those of another process."""

    def process(of: tuple[tuple[str, float], ...]) -> ProcessCpu:
        return ProcessCpu(tuple(name for name, _ in of), sum(share for _, share in of))

    return CpuTime(
        threads=tuple(Named(*each) for each in (*threads, *others)),
        processes=(process(threads), process(others)) if others else (process(threads),),
    )


def with_time(given: ServerFacts, cpu: CpuTime) -> ServerFacts:
    return facts(given, cpu_time=cpu)


def first(given: ServerFacts) -> Said:
    return judged.judged(given)[0]


def names_memory(given: ServerFacts) -> bool:
    return any(isinstance(each, Finding) and each.cause == "memory" for each in judged.judged(given))


GO = sampled(
    ("runtime.scanObjectSmall", "server", 400),
    ("runtime.gcDrain", "server", 200),
    ("runtime.mallocgc", "server", 100),
    ("main.work", "server", 300),
)
# It makes garbage, and little of it lives.
GO_ALLOCATES = sampled(
    ("runtime.mallocgcSmallScanNoHeader", "server", 500),
    ("runtime.memclrNoHeapPointers", "server", 200),
    ("runtime.scanobject", "server", 60),
    ("main.work", "server", 240),
)


JVM = by_names(("GC Thread", 0.41), ("http-nio", 0.3), ("G1 Conc", 0.2), ("VM Thread", 0.01))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            with_time(CPU, GO),
            "600 of 1,000 samples of its CPU time are in functions that collect garbage, most in "
            "runtime.scanObjectSmall",
        ),
        (
            with_time(ONE_LOOP, GO),
            "600 of 1,000 samples of its CPU time are in functions that collect garbage, most in "
            "runtime.scanObjectSmall",
        ),
        (
            with_time(CPU, JVM),
            "its collector's threads (GC Thread, G1 Conc, VM Thread) take 62\u202f% of its CPU time",
        ),
    ],
)
def test_a_collector_that_takes_most_of_the_cpu_time_is_named(given: ServerFacts, said: str) -> None:
    found = first(given)
    assert isinstance(found, Finding) and (found.cause, found.sure) == ("memory", "likely")
    assert found.evidence == said and found.share_s == given.waited_s


@pytest.mark.parametrize(
    "little",
    [GO_ALLOCATES, by_names(("http-nio", 0.89), ("GC Thread", 0.1), ("VM Thread", 0.001))],
)
def test_a_server_that_collects_little_is_not_short_of_memory(little: CpuTime) -> None:
    given = with_time(CPU, little)
    assert first(given).cause == "cpu" and not names_memory(given)


def test_threads_of_a_jvm_say_nothing_of_another_runtime_beside_it() -> None:
    # Node.js collects in its one thread, and in threads that have no name of their own.
    beside = by_names(("GC Thread", 0.04), ("VM Thread", 0.01), others=(("node", 0.9),))
    collecting = garbage.by_threads(beside)
    assert collecting is not None and collecting.low == pytest.approx(0.05)
    assert collecting.high > 0.9
    # Of processes that are not known, the JVM may be a small part.
    unknown = garbage.by_threads(replace(beside, processes=None))
    assert unknown is not None and unknown.high == 1.0


@pytest.mark.parametrize("name", ["ZWorker", "XWorker", "VM Thread", "GC Thread"])
def test_a_thread_that_has_its_name_by_chance_is_no_collectors(name: str) -> None:
    alike = by_names((name, 0.95), ("main", 0.02))
    assert garbage.by_threads(alike) is None
    jvm = replace(alike, files=(File("libjvm.so", 10, 0),))
    assert garbage.by_threads(jvm) is not None


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("JSC::SlotVisitor::drain", "bun"),
        ("pypy_g_IncrementalMiniMarkGC_visit", "libpypy3.11-c.so"),
        ("sgen_drain_gray_stack", "libmonosgen-2.0.so"),
        ("__memmove_avx_unaligned_erms", "libc.so.6"),
        ("cfree", "libc.so.6"),
    ],
)
def test_what_may_be_a_collector_that_is_not_known_is_not_ruled_out(name: str, file: str) -> None:
    found = garbage.by_functions(sampled((name, file, 600), ("main", file, 400)))
    assert found is not None and found.low == 0.0 and found.high > 0.6, name


def test_functions_that_are_not_listed_may_collect() -> None:
    # The record lists those with most samples. Of 1,000 samples all have a name, and 500 are listed.
    tail = replace(
        sampled(("main.work", "server", 500)), samples=1_000, files=(File("server", 1_000, 1_000),)
    )
    found = garbage.by_functions(tail)
    assert found is not None and found.high >= 0.5


def test_code_made_at_run_time_does_not_collect() -> None:
    made = replace(
        sampled(("main", "node", 500)), samples=1_000, files=(File("", 500, 0), File("node", 500, 500))
    )
    found = garbage.by_functions(made)
    assert found is not None and found.high < 0.01


def test_what_has_no_name_rules_nothing_out() -> None:
    ruby = sampled(("rb_gc_mark_movable", "libruby-3.1.so.3.1.2", 5), others=900)
    found = garbage.by_functions(ruby)
    assert found is not None and found.low < 0.02 and found.high > 0.98
    assert found.said == (
        "5 of 905 samples of its CPU time are in functions that collect garbage, most in rb_gc_mark_movable"
    )


RUBY, BEAM = "libruby-3.1.so.3.1.2", "beam.smp"


@pytest.mark.parametrize(
    ("after", "before", "file", "collects"),
    [
        ("rb_gc_enable", "ruby_malloc_size_overflow", RUBY, True),
        ("rb_objspace_reachable_objects_from_root", "rb_objspace_reachable_objects_from", RUBY, True),
        ("ruby_xfree", "rb_gc_unregister_address", RUBY, True),
        # Where one source file ends and another begins.
        ("rb_find_file", "rb_obj_id", RUBY, False),
        ("ruby_xrealloc2", "rb_hash_size", RUBY, False),
        ("rb_check_funcall", "rb_vm_exec", RUBY, False),
        # Memory is allocated there, or somebody goes through all objects.
        ("ruby_malloc_size_overflow", "rb_obj_info", RUBY, False),
        ("rb_gc_start", "rb_gc_adjust_memory_usage", RUBY, False),
        ("rb_obj_id", "rb_imemo_name", RUBY, False),
        ("rb_objspace_each_objects_without_setup", "rb_newobj", RUBY, False),
        ("rb_gc_enable", "ruby_malloc_size_overflow", "server", False),
        ("driver_async", "erts_init_gc", BEAM, True),
        ("erts_garbage_collect_hibernate", "erts_gc_info_request", BEAM, True),
        ("os_set_signal_2", "ebif_plusplus_2", BEAM, False),
    ],
)
def test_code_of_a_stripped_collector_is_told_by_what_is_around_it(
    after: str, before: str, file: str, *, collects: bool
) -> None:
    code = Between(after, before, file, 80)
    stripped = replace(sampled(("main", "server", 20), others=80), between=(code,))
    found = garbage.by_functions(stripped)
    assert found is not None and (found.low > 0.7) is collects and (found.low == 0.0) is not collects
    if collects:
        assert f"most in code of {file} without names, by the exported functions around it" in found.said


def test_of_what_the_samples_do_not_speak_all_or_nothing_may_collect() -> None:
    # 600 of 1,000 samples, which speak of the 40 % in user space.
    found = garbage.by_functions(replace(GO, stands_for=0.4))
    assert found is not None and found.low == pytest.approx(0.6 * 0.4, abs=0.02)
    assert found.high == pytest.approx(0.6 * 0.4 + 0.6, abs=0.02)


def test_too_few_samples_tell_nothing() -> None:
    few = sampled(("runtime.gcDrain", "server", garbage.SAMPLES_MIN - 1))
    assert garbage.by_functions(few) is None and cpu_time.most(few) == ""
    assert garbage.by_functions(CpuTime()) is None and garbage.by_threads(CpuTime()) is None


@pytest.mark.parametrize("given", [WORKERS, LOCK])
def test_where_cores_are_idle_collecting_is_not_what_requests_wait_for(given: ServerFacts) -> None:
    assert not names_memory(with_time(given, GO))


def test_where_another_program_uses_the_cores_collecting_is_not_what_requests_wait_for() -> None:
    # Its database uses 1.7 of two cores, and the server 0.2.
    near = facts(CPU, cores=0.2, idle_most=0.05, cpu_time=GO, threads=threads(sharing=4, busiest=0.1))
    assert near.idle_cores == pytest.approx(0.05) and not names_memory(near)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("runtime.(*spanQueue).put", "server"),
        ("v8::internal::MarkCompactCollector::ProcessMarkingWorklist", "node"),
        ("v8::internal::Scavenger::Process", "node"),
        ("v8::internal::ConcurrentMarking::RunMajor", "libnode.so.127"),
        ("deduce_unreachable", "python3.14"),
        ("dict_traverse", "libpython3.12.so.1.0"),
        ("gc_mark_children", "libruby-3.3.so.3.3"),
        ("zend_gc_collect_cycles", "php-fpm8.2"),
        ("sweep_new_heap", "beam.smp"),
        ("SVR::gc_heap::mark_object_simple", "libcoreclr.so"),
        ("scav_instance", "sbcl"),
        ("G1FullGCMarker::complete_marking", "libjvm.so"),
        ("OopOopIterateDispatch<G1MarkAndPushClosure>::Table::oop_oop_iterate<InstanceKlass>", "libjvm.so"),
        ("PSParallelCompact::marking_phase", "libjvm.so"),
        ("GC_mark_from", "libgc.so.1"),
        ("_D4core8internal2gc4bits6GCBits9setLockedMFNaNbNiNlNemZm", "libdruntime-ldc-shared.so.100.1"),
        # Of runtimes that are not listed: the name says it.
        ("_D4core8internal2gc4impl12conservativeQw3Gcx__T4markVbi0Vbi1Z", "libdruntime-ldc-shared.so.100.1"),
        ("gc_mark_loop", "libjulia-internal.so.1"),
        ("kotlin::gc::Mark", "server.kexe"),
        ("gc_mark_outrefs", "libjulia-internal.so.1.11"),
        ("core.internal.gc.impl.conservative.gc.Gcx.mark", "vibe-server"),
        ("collect_garbage", "interpreter"),
        ("gc_mark", "server"),
    ],
)
def test_functions_of_runtimes_that_collect(name: str, file: str) -> None:
    found = garbage.by_functions(sampled((name, file, 100)))
    assert found is not None and found.low > 0.9, name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("runtime.mallocgc", "server"),
        ("main.sweep", "server"),
        ("v8::internal::Heap::AllocateRaw", "node"),
        ("v8::internal::compiler::GraphReducer::Reduce", "node"),
        ("dict_traverse", "server"),
        ("_PyEval_EvalFrameDefault", "python3.14"),
        ("sweep", "server"),
        ("main.gcStats", "server"),
        ("renderGcMarkdown", "server"),
        ("marketgc", "server"),
        ("_D4core8internal2gc4impl12conservativeQw3Gcx10smallAllocMFNbmKmkxC8TypeInfoZ", "libdruntime.so"),
        ("evacuate", "rescue-planner"),
        ("rb_newobj_of", "libruby-3.3.so.3.3"),
        ("luaC_newobj", "lua5.4"),
        ("G1CollectedHeap::mem_allocate", "libjvm.so"),
        ("PhaseChaitin::Split", "libjvm.so"),
        ("WKS::gc_heap::allocate_more_space", "libcoreclr.so"),
        ("WKS::gc_heap::adjust_limit_clr", "libcoreclr.so"),
        ("SVR::GCHeap::Alloc", "libcoreclr.so"),
        ("traverse_tree", "graph-evaluator"),
        ("traverse_list", "redistributor"),
        ("sweep", "beamline"),
        ("propagatemark", "lua5.4"),
        ("malloc", "libc.so.6"),
        ("{0.__class__}", "server"),
    ],
)
def test_functions_that_do_not_collect(name: str, file: str) -> None:
    found = garbage.by_functions(sampled((name, file, 100)))
    assert found is not None and found.low == 0.0, name


def test_functions_with_common_names_count_beside_those_of_their_runtime() -> None:
    alone = sampled(("mark_slice", "server", 100))
    ocaml = sampled(("mark_slice", "server", 100), ("camlStdlib__map_12", "server", 20))
    low = [found.low for each in (alone, ocaml) if (found := garbage.by_functions(each)) is not None]
    assert low[0] == 0.0 and low[1] > 0.7


def test_functions_of_lua_count_beside_it() -> None:
    found = garbage.by_functions(sampled(("propagatemark", "lua5.4", 100), ("luaV_execute", "lua5.4", 20)))
    assert found is not None and found.low > 0.7


def test_busy_cores_are_told_with_the_function_that_takes_most() -> None:
    hashing = sampled(("sha256_block_data_order", "libcrypto.so.3", 58), ("main", "server", 42))
    for given in (CPU, ONE_LOOP):
        said = first(with_time(given, hashing))
        assert isinstance(said, Finding) and said.cause in ("cpu", "one-loop")
        told = "; 58\u202f% of its samples in user space are in sha256_block_data_order of libcrypto.so.3"
        assert said.evidence.endswith(told) and "make a request cheaper" in said.remedy
    # A server that hardly computes spends its time on something else.
    idle = first(with_time(LOCK, hashing))
    assert isinstance(idle, Finding) and "samples" not in idle.evidence


def test_where_no_function_takes_most_the_file_is_told() -> None:
    program = sampled(("a", "node", 40), ("b", "node", 30), ("c", "other", 30))
    assert cpu_time.most(program) == ""
    many = sampled(("a", "lib.so", 40), ("b", "lib.so", 30), ("c", "other", 30))
    assert cpu_time.most(many) == "; 70\u202f% of its samples in user space are in lib.so"
    made = replace(many, files=(File("", 90, 0), File("lib.so", 10, 0)), functions=())
    assert cpu_time.most(made) == "; 90\u202f% of its samples in user space are in code made at run time"
    even = sampled(("a", "x", 50), ("b", "y", 50))
    assert cpu_time.most(even) == ""


def test_where_functions_have_no_name_or_could_not_be_sampled_it_says_why() -> None:
    stripped = sampled(("rb_gc_mark_movable", "libruby.so", 5), others=95)
    told = "; 95\u202f% of its samples in user space are in stripped, which has no symbols for them"
    assert cpu_time.most(stripped) == told
    gone = replace(stripped, files=(File("libgone.so", 100, 0, "it is broken"),), functions=())
    assert cpu_time.most(gone).endswith("libgone.so, whose symbols could not be read: it is broken")
    denied = CpuTime(why="kernel.perf_event_paranoid is 4: sysctl kernel.perf_event_paranoid=2 allows it")
    said = first(with_time(CPU, denied))
    assert isinstance(said, Finding) and said.evidence.endswith(
        f"; in which code could not be read: {denied.why}"
    )
    assert cpu_time.most(CpuTime()) == "" and cpu_time.most(None) == ""


@pytest.mark.parametrize(
    "name",
    [
        "storage::mvcc::gc::collect_versions",
        "rocksdb::CompactionIterator::GarbageCollectBlobIfNeeded",
        "LazyCompile:*markPaid /srv/gc-invoices/src/a.js",
        "gc_report::build::collect",
        "com.acme.gc.GiftCardService.collectTotals",
        "GCPBookmarks.load",
        "mvcc_gc_collect_versions",
    ],
)
def test_what_a_program_calls_so_for_other_reasons_does_not_collect(name: str) -> None:
    assert not garbage.names().collects.match(name)


@pytest.mark.parametrize("suffix", ["", ".constprop.0", ".isra.0", ".part.0", ".cold", ".isra.0.cold"])
def test_a_function_of_which_a_compiler_made_several_is_the_same(suffix: str) -> None:
    some = sampled((f"gc_mark_loop{suffix}", "libjulia-internal.so.1", 90), ("main", "server", 9))
    found = garbage.by_functions(some)
    assert found is not None and found.low > 0.8
