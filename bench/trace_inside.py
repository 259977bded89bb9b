"""Does the time inside, divided, agree with a trace of the kernel's scheduler and system calls?

    sudo .venv/bin/python bench/trace_inside.py --rounds 5

A server whose workers take one request at a time is loaded, while tracefs records when each of its threads
ran, was ready or waited for a disk, and when it had read a request and had not answered it. The engine's
budget of the same load must agree: each time within a tenth or 50 µs. It needs root and tracefs at
/sys/kernel/tracing, and is skipped, with the reason, where either is missing.
"""

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import options
import project_servers
import trace_lines
from bounds import MET, NOT_MET, Bounds, run
from crumple import contract, engine, project
from crumple.commands.project_files import Project
from crumple.load import engine_spec
from crumple.load.load_options import Options
from crumple.machine import process_tree
from crumple.record import stages
from crumple.record.inside import Divided
from crumple.record.stages import Budget
from crumple.subject import servers

TRACING = Path("/sys/kernel/tracing")
BUFFER_KB = 65_536
# What is asked: a wait, and computing.
ASKED = (("hello", {"delay_ms": 20}), ("mix", {"spin_us": 5_000}))
SHARE_OFF, NS_OFF = 0.1, 50_000.0


def main() -> None:
    arguments = parse()
    bounds = Bounds(judging=not arguments.shortest)
    if reason := missing():
        print(f"skipped: {reason}")
        return
    described = project_servers.find()
    here = Project.here()
    for name in arguments.servers:
        built = servers.build(described[name])
        with servers.start(built, cores=(), settings={}) as running:
            for workload, parameters in ASKED:
                if workload in described[name].workloads:
                    request = here.workloads[workload].request_with(parameters)
                    compare(f"{name} {workload}", running, request, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 3, 6.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--servers", type=options.words, default=["python-gunicorn"])
    return options.parse(parser, rounds=1)


def missing() -> str:
    """Why nothing can be traced here; empty if it can."""
    if os.geteuid() != 0:
        return "a trace takes root"
    if not (TRACING / "instances").is_dir():
        return f"there is no tracefs at {TRACING}"
    absent = [event for event in trace_lines.EVENTS if not (TRACING / "events" / event).is_dir()]
    return f"this kernel has no tracepoint {absent[0]}" if absent else ""


def compare(
    name: str,
    running: servers.StartedServer,
    request: contract.RequestSpec,
    arguments: argparse.Namespace,
    bounds: Bounds,
) -> None:
    """Prints the times by the engine and by the trace, per request."""
    for number in range(arguments.rounds):
        with traced() as trace:
            budget = measured(running, request, arguments)
        if not isinstance(budget, Budget):
            print(f"{name}: no budget: {budget.why if budget else 'nobody asked'}")
            continue
        tids = threads(running.pid)
        spent = trace_lines.read(trace.lines(), tids)
        if not spent.answers:
            print(f"{name}: the trace has no answer")
            continue
        for what, ours_ns, theirs_s in pairs(budget, spent):
            theirs_ns = 1e9 * theirs_s / spent.answers
            agrees = abs(ours_ns - theirs_ns) <= max(SHARE_OFF * theirs_ns, NS_OFF)
            word = MET if agrees else NOT_MET
            bounds.count(f"{name} {what}", word)
            times = f"{ours_ns / 1e6:9.3f} ms, trace {theirs_ns / 1e6:9.3f} ms"
            print(f"{name} {number + 1} {what:8} {times} {word if bounds.judging else ''}".rstrip())


def pairs(budget: Budget, spent: trace_lines.Spent) -> Iterator[tuple[str, float, float]]:
    """The times per request by the engine in ns, and the sums of the trace in s."""
    yield "inside", budget.part("inside").mean_ns, spent.inside
    if isinstance(budget.inside, Divided):
        times = {piece.name: piece.mean_ns for piece in budget.inside.pieces}
        yield "cpu", sum(times.get(name, 0.0) for name in ("user", "kernel", "cpu")), spent.run
        yield "ready", times.get("ready", 0.0), spent.ready
        yield "disk", times.get("disk", 0.0), spent.disk


def measured(
    running: servers.StartedServer, request: contract.RequestSpec, arguments: argparse.Namespace
) -> stages.Budget | stages.NoBudget | None:
    """The budget of a load, by the engine. It is not warmed up, as the trace covers all of it."""
    spec = engine_spec.spec(
        label="trace",
        target=contract.Target(address=running.address, host=running.address),
        requests=(request,),
        shape=contract.ClosedShapeSpec(connections=arguments.connections),
        stop=contract.DurationStopSpec(duration_s=arguments.seconds),
        options=Options(server_pid=running.pid, stages=True, tasks=True, dependencies=True),
    )
    return stages.budget(engine.run(engine.load(project.root()), spec, lambda _: None))


def threads(pid: int) -> set[int]:
    """All threads of the process tree."""
    return {
        int(task.name)
        for process in (pid, *process_tree.descendants(pid))
        for task in Path(f"/proc/{process}/task").iterdir()
    }


class Trace:
    """A trace of its own, which leaves others as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[str] = []

    def begin(self) -> None:
        """Record from now on."""
        self._write("buffer_size_kb", str(BUFFER_KB))
        self._write("trace_clock", "mono")
        for event in trace_lines.EVENTS:
            self._write(f"events/{event}/enable", "1")
        self._write("tracing_on", "1")

    def end(self) -> None:
        """Stop, and keep what was recorded."""
        self._write("tracing_on", "0")
        self._lines = (self._folder / "trace").read_text(errors="replace").splitlines()

    def lines(self) -> list[str]:
        """What was recorded."""
        return self._lines

    def _write(self, file: str, text: str) -> None:
        (self._folder / file).write_text(text)


@contextlib.contextmanager
def traced() -> Iterator[Trace]:
    """A trace while the context is open."""
    folder = TRACING / "instances" / f"crumple-{os.getpid()}"
    folder.mkdir()
    try:
        trace = Trace(folder)
        trace.begin()
        yield trace
        trace.end()
    finally:
        folder.rmdir()


if __name__ == "__main__":
    run(main)
