"""Which of a server's CPU time is spent collecting garbage: by the names of threads and of functions. Pure.

Names are those of the runtimes' own sources. Allocating memory is not collecting it. A function's name alone
may be that of another program's function, so it counts only in a file that may be the runtime, or beside
other functions that only this runtime has; or if it says in any program that garbage is collected. A thread's
name counts only beside another that a JVM has.

More may be collecting than is known: runtimes that are not listed here have collectors, too, and collectors
call functions of the C library. So what sounds like it is not ruled out.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from crumple.cause import code_names
from crumple.cause.cpu_time import SAMPLES_MIN, Between, CpuTime, Function
from crumple.drawing import numerals
from crumple.stats import shares

# Threads of a JVM that do nothing but collect, and do all of it. The kernel cuts names to 15 characters. With
# the serial collector "VM Thread" collects; with the others it stops the threads for it.
JVM_THREADS = re.compile(
    r"(GC Thread|G1 (Main Marker|Conc|Refine|Service)|ParGC Thread|VM Thread|Shenandoah"
    r"|Z(Worker|Driver|Director)|X(Worker|Driver|Director))"
)
# Any program may call a thread "ZWorker" or "VM Thread". A JVM has several of these, or its library.
JVM_MARKS = re.compile(
    r"GC Thread|G1 |ParGC|VM (Thread|Periodic)|C[12] Compiler|Shenandoah|[ZX](Worker|Driver|Director)"
)
JVM_LIBRARY = "libjvm"
# Threads of .NET that collect; other threads may do so, too.
NET_THREADS = re.compile(r"\.NET (Server GC|BGC)")


# Functions whose names say it in any program: plain names, as C has them, that say of the collector that it
# marks, sweeps, moves or collects. A path, a package or a class may be called so for other reasons.
BY_NAME = re.compile(
    r"\w*((?<![A-Za-z])([gG]c|GC)_?([mM]ark(?!down|up|et)|[sS]weep|[sS]caveng|[eE]vacuat|[cC]ollect$)"
    r"|[gG]arbage_?[cC]ollect|[cC]ollect_?[gG]arbage)\w*$"
)
# What compilers add to the names of functions of which they make several.
CLONE = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*)+$")
# Functions that may be a collector's: of a runtime that is not in the list, or those that it moves and frees
# memory with.
MAYBE = re.compile(
    r"(?i:.*(garbage|sweep|scaveng|evacuat|nursery|sgen|slotvisitor|(?<!bench)mark(?!down|up|et)"
    r"|(?<!::)collect(?!ion)))"
    r"|.*(\bgc(?![md])|_gc(?![md])|gc_|GC(?!M)|[a-z]Gc)"
    r"|_*(mem(cpy|move|set)|c?free|munmap|madvise|int_free)"
)


@dataclass(frozen=True)
class Runtime:
    """The functions of a runtime that collect; they are its in these files, or beside these functions.

    `between`: where its collector lies in a stripped file: "NAME .. NAME" of the exported functions around.
    """

    functions: re.Pattern[str]
    files: re.Pattern[str] | None = None
    beside: re.Pattern[str] | None = None
    between: re.Pattern[str] | None = None

    def has(self, name: str, file: str, names: frozenset[str]) -> bool:
        """Whether a function of a file collects. `names`: of all functions that were seen."""
        if not self.functions.match(name) or (self.files is not None and not self.files.match(file)):
            return False
        return self.beside is None or any(self.beside.match(each) for each in names)

    def has_between(self, code: Between) -> bool:
        """Whether code without a name is its collector's."""
        if self.between is None or self.files is None or not self.files.match(code.file):
            return False
        return self.between.match(f"{code.after} .. {code.before}") is not None


def _of(functions: str, files: str = "", beside: str = "", between: str = "") -> Runtime:
    return Runtime(
        re.compile(functions), *(re.compile(each) if each else None for each in (files, beside, between))
    )


# Functions of Ruby's gc.c that are exported. After those of `_RUBY_NOT` come some that allocate memory, or
# that go through all objects for somebody who asks.
_RUBY_UNIT = (
    r"(rb_gc_\w+|rb_gc|rb_objspace_\w+|rb_(during_gc|obj_(gc_flags|info\w*|memsize_of)|memory_id|imemo_name"
    r"|free_tmp_buffer|mark_\w+|(un)?define_finalizer)|ruby_(sized_)?x(free|realloc)2?|ruby_malloc_size_overflow)"
)
_RUBY_NOT = r"(?!ruby_malloc_size_overflow|rb_obj_info |rb_gc_start|rb_gc_adjust|rb_objspace_each)"


RUNTIMES = (
    # Go. Since version 1.26 it scans spans.
    _of(
        r"runtime\.(gc(Drain|Assist|BgMark|Mark|mark|Sweep|sweep|Flush|Parkassist|Start|MarkTermination)"
        r"|scan(object|Object|Span|block|stack|frame|conservative|AllocBits|Conservative)|greyobject"
        r"|tryDeferToSpanScan|markroot|bgsweep|bgscavenge|sweepone|findObject$|wbBufFlush|newMarkBits"
        r"|\(\*(gcWork|spanQueue|spanInlineMarkBits|spanSPMC|sweepLocked|sweepLocker|workbuf|gcControllerState"
        r"|gcBits|localWorkQueue)\)|\(\*mspan\)\.(moveInlineMarks|sweep|mergeInlineMarks|markBits|typePointersOf)"
        r"|typePointers\.|getempty$|putfull$|putempty$|trygetfull$|handoff$)|gcWriteBarrier|internal/runtime/gc"
    ),
    # V8, and its collector of C++ objects.
    _of(
        r".*\bv8::internal::.*(MarkCompact|Marking|Scaveng|Sweep|Evacuat|CollectGarbage|YoungGeneration"
        r"|PointersUpdat|GCTracer|Minor(GC|Mark)|MarkBit|RecordMigrated)|.*cppgc::internal::.*(Mark|Sweep)"
    ),
    # CPython: traversing is done for the collector alone.
    _of(
        r"_?(Py)?gc_(collect|mark)|_?PyGC_Collect|deduce_unreachable|visit_(decref|reachable|move|clear)"
        r"|(update|subtract)_refs|move_(unreachable|legacy)|untrack_(tuples|dicts)|handle_weakrefs"
        r"|delete_garbage|mark_alive|\w*_?traverse(\.|$)",
        files=r"(lib)?python",
    ),
    _of(
        r"(rb_)?gc_(mark|sweep|start|compact|finalize|rest|page|set_stack|grey|marks|ref_update)|rgengc_"
        r"|heap_(page_sweep|prepare)|lazy_sweep|obj_free|mark_(locations|roots|stack|current|tbl|hash|m_tbl)"
        r"|each_location|garbage_collect",
        files=r"(lib)?ruby|puma",
        between=rf"{_RUBY_NOT}{_RUBY_UNIT} \.\. {_RUBY_UNIT}$",
    ),
    _of(
        r"mark_slice|sweep_slice|mark_stack|mark_(entry|chunk|root)|pool_sweep|do_some_marking|oldify_"
        r"|caml_(major_collection|minor_collection|empty_minor|oldify|darken|compact|finish_major|gc_|redarken"
        r"|do_roots|sweep)|major_collection_slice|stw_|large_alloc_sweep",
        beside=r"caml",
    ),
    _of(
        r"zend_gc_(collect|run)|gc_(mark|scan|collect|compact|add_garbage|remove_compressed)",
        files=r"php|libphp|mod_php",
    ),
    _of(
        r"(erts_)?garbage_collect|(do_)?(minor|major)_collection|sweep|full_sweep|any_heap_ref|offset_heap"
        r"|erts_gc_",
        files=r"beam\.",
        between=r"(.* )?erts_(garbage_collect\w*|(init|process)_gc\w*|gc_info_request|offset_heap\w*)( |$)",
    ),
    # GHC: names of its C functions, beside those of its closures.
    _of(
        r"evacuate|scavenge|GarbageCollect|todo_block|copy(_tag|Part)?$|push_scanned|alloc_for_copy"
        r"|markCAF|nonmoving|sweep|compact|thread_|update_fwd|gcWorkerThread|any_work|mark_root",
        beside=r"stg_|hs_main|(base|ghczmprim|ghczminternal)_\w+_(info|entry|closure)$",
    ),
    _of(
        r"(?!.*([Aa]lloc(ate|_|$)|try_allocate|adjust_limit))((SVR|WKS|BGC)::|.*\bgc_heap::(?!.*alloc))",
        files=r"lib(coreclr|clrgc)",
    ),
    _of(
        r"luaC_(?!newobj)|propagate(mark|all)|sweep(list|step|tolive)|singlestep|traverse\w+|reallymarkobject"
        r"|GCTM|atomic$|lj_gc_(?!new)|gc_(mark|sweep|traverse|propagate|onestep)",
        files=r".*(lua|nginx|openresty|redis)",
        beside=r"lua[A-Z]*_|lj_",
    ),
    _of(
        r"collect_garbage|garbage_collect|scav\w*|heap_scavenge|copy_\w+|gc_|pin_|sweep|trans_", files=r"sbcl"
    ),
    # The JVM's, where its symbols are not stripped.
    _of(
        r"(?!.*[Aa]llocate)(G1|PS|OopOopIterate|\w+::oops?_(do|iterate)|Parallel(Scav|Compact|GC|Old)|DefNew|MarkSweep|GenMark|Serial(Full|Block)GC|Mark(Ref|Stack"
        r"|Bitmap)|Z(Mark|Relocat|Generation|Sweep|Heap|Barrier)|Shenandoah|GenCollected|CMTask|StealTask"
        r"|\w*(FullGC|Evacuat|Scavenge|Adjust(Pointer|Closure)))",
        files=r"libjvm",
    ),
    # D: bits of its heap are set where it marks, and read where it sweeps.
    _of(
        r"_D4core8internal2gc4(bits|impl\w*([mM]ark|[sS]weep|[cC]ollect|[sS]can))"
        r"|core\.internal\.gc\.(bits|impl\..*([mM]ark|[sS]weep|[cC]ollect|[sS]can))"
    ),
    # Kotlin/Native.
    _of(r"kotlin::(gc|mm|alloc)::.*([mM]ark|[sS]weep|[cC]ollect)"),
    # Boehm's collector, which several languages link.
    _of(
        r"GC_(mark|push|reclaim|stopped_mark|try_to_collect|collect|finish|apply_to|add_to_black|build_fl|initiate)"
    ),
)


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
    jvm = [each for each in cpu.threads if JVM_THREADS.match(each.name)] if _has_jvm(cpu) else []
    found = jvm or [each for each in cpu.threads if NET_THREADS.match(each.name)]
    if not found:
        return None
    share = sum(each.share for each in found)
    names = ", ".join(each.name for each in found)
    said = f"its collector's threads ({names}) take {numerals.share(share)} of its CPU time"
    return Collecting(share, min(1.0, share + _beside_jvms(cpu)) if jvm else 1.0, said)


def by_functions(cpu: CpuTime) -> Collecting | None:
    """What functions that collect take; None: there are too few samples, or they speak of too little."""
    if cpu.samples < SAMPLES_MIN:
        return None
    names = frozenset(each.name for each in cpu.functions)
    found = [each for each in cpu.functions if _is_runtimes(each, names) or BY_NAME.match(_plain(each))]
    unnamed = [each for each in cpu.between if any(runtime.has_between(each) for runtime in RUNTIMES)]
    samples = sum(each.samples for each in found) + sum(each.samples for each in unnamed)
    samples = min(cpu.samples, samples)
    # Of what the samples do not speak, all may be collecting; so may be what is not known to be otherwise.
    others = [
        each for each in cpu.functions if each.file and each not in found and not MAYBE.match(each.name)
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


def _marks(names: Collection[str]) -> int:
    """How many of these names of threads a JVM has."""
    return sum(1 for each in names if JVM_MARKS.match(each))


def _is_runtimes(function: Function, names: frozenset[str]) -> bool:
    """Whether it collects, and is of a runtime that is known. `names`: of all functions that were seen."""
    name = _plain(function)
    return any(runtime.has(name, function.file, names) for runtime in RUNTIMES)


def _plain(function: Function) -> str:
    return CLONE.sub("", function.name)
