"""Which distributed engine suits a study on a cluster, Dask or Ray? One head and one worker of each, on hosts
in namespaces of their own.

    python bench/cluster_engines.py                        # fetches Ray into an environment of its own
    python bench/cluster_engines.py --only dask,dask-plain

It prints what head and worker cost while they wait (CPU as a share of a core, and memory), who listens where,
and after how many seconds it is known that a worker was killed, frozen or cut off. `dask` is set as crumple
sets it, `dask-plain` as it comes, and `ray` too, both without a dashboard. It takes root, and is skipped
without.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asked_corpus
import options
import other_hosts  # type: ignore[import-not-found]
from bounds import run, skip
from crumple import project

# Seconds until head and worker are there, and within which a loss must be known.
BEGIN_S, KNOWN_S = 60.0, 120.0
# Of Dask: crumple's head and worker, here without TLS, and what says every 50 ms how many workers there are.
DASK_HEAD = """
import asyncio, sys
from crumple.cluster import dask_settings
dask_settings.settle()
async def head():
    async with dask_settings.SilentScheduler(host=sys.argv[1], port=8786, dashboard=False) as it:
        await it.finished()
asyncio.run(head())
"""
DASK_WORKER = """
import asyncio, sys
from crumple.cluster import dask_settings
dask_settings.settle()
async def worker():
    async with dask_settings.SilentWorker(
        f"tcp://{sys.argv[1]}:8786", host=sys.argv[2], nthreads=1, memory_limit=0
    ) as it:
        await it.finished()
asyncio.run(worker())
"""
DASK_WATCH = """
import sys, time
from distributed import Client
client = Client(f"tcp://{sys.argv[1]}:8786", timeout=60)
while True:
    print(len(client.scheduler_info()["workers"]), flush=True)
    time.sleep(0.05)
"""
RAY_WATCH = """
import sys, time, ray
ray.init(address=f"{sys.argv[1]}:6379", log_to_driver=False, logging_level="critical")
while True:
    print(sum(each["Alive"] for each in ray.nodes()) - 1, flush=True)
    time.sleep(0.05)
"""


@dataclass(frozen=True)
class Engine:
    """The words that start head, worker and watch; {head}, {worker}: their addresses."""

    head: tuple[str, ...]
    worker: tuple[str, ...]
    watch: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def engines(ray: str) -> dict[str, Engine]:
    """The engines by name. `ray`: the folder with Ray's programs."""
    python, dask = (sys.executable, "-c"), (sys.executable, "-m", "dask")
    lab = {"PYTHONPATH": str(project.root() / "lab")}
    plain = ("--no-dashboard", "--host")
    own = Engine(
        (*python, DASK_HEAD, "{head}"), (*python, DASK_WORKER, "{head}", "{worker}"),
        (*python, DASK_WATCH, "{head}"), lab,
    )  # fmt: skip
    start = (f"{ray}/ray", "start", "--block", "--disable-usage-stats", "--node-ip-address")
    with_ray = Engine(
        (*start, "{head}", "--head", "--port", "6379", "--num-cpus", "0", "--include-dashboard", "false"),
        (*start, "{worker}", "--address", "{head}:6379", "--num-cpus", "1"),
        (f"{ray}/python", "-c", RAY_WATCH, "{head}"),
    )
    return {
        "dask": own,
        "dask-plain": Engine(
            (*dask, "scheduler", *plain, "{head}", "--port", "8786"),
            (*dask, "worker", *plain, "{worker}", "--no-nanny", "--nthreads", "1", "tcp://{head}:8786"),
            own.watch,
        ),
        "ray": with_ray,
    }


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(other_hosts.why_not())
    with tempfile.TemporaryDirectory() as folder:
        if "ray" in arguments.only:
            fetch_ray(Path(folder))
        for name in arguments.only:
            measure(name, engines(f"{folder}/bin")[name], arguments)


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--only", type=options.words, default=list(engines("")), help="these engines")
    parser.add_argument("--seconds", type=float, default=30.0, help="for which head and worker wait")
    parser.add_argument("--faults", type=options.words, default=list(FAULTS), help="these faults")
    return options.parse(parser, only=["dask"], seconds=1.0, faults=["killed"])


def fetch_ray(folder: Path) -> None:
    """Install Ray into an environment in this folder."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    words = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "ray"]
    if subprocess.run(words, check=False).returncode:
        skip("Ray cannot be installed here")


def measure(name: str, engine: Engine, arguments: argparse.Namespace) -> None:
    """Print a line for each figure of an engine."""
    with running(engine) as (head, worker, _, watch):
        # What watches costs, too, and is no part of it.
        watches = other_hosts.child(watch)
        os.kill(watches, signal.SIGSTOP)
        time.sleep(5.0 if arguments.seconds > 5 else 0.5)
        before, began_s = [cpu_s(each) for each in (head, worker)], time.monotonic()
        time.sleep(arguments.seconds)
        took_s = time.monotonic() - began_s
        for what, host, spent_s in zip(("head", "worker"), (head, worker), before, strict=True):
            share, pids = (cpu_s(host) - spent_s) / took_s, {*host.processes()} - {watches}
            memory = sum(map(pss_bytes, pids)) / 2**20
            print(
                f"{name:10} {what:6} waits: {share:6.2%} of a core, {memory:4.0f} MiB, {len(pids)} processes"
            )
            print(f"{name:10} {what:6} listens: {' '.join(listeners(host)) or 'nowhere'}", flush=True)
    for fault in arguments.faults:
        with running(engine) as (_, worker, link, watch):
            began_s = time.monotonic()
            FAULTS[fault](worker, link)
            known = any(int(line) == 0 for line in until(watch, began_s + KNOWN_S))
            after = f"after {time.monotonic() - began_s:5.1f} s" if known else f"not within {KNOWN_S:.0f} s"
            print(f"{name:10} worker {fault}: known {after}", flush=True)


@contextmanager
def running(engine: Engine) -> Iterator[tuple[Any, Any, Any, subprocess.Popen[str]]]:
    """Run head and worker, each on a host, until the `with` ends; yield both, their link, and the watch."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        other_hosts.started("head", ("/run", "/dev/shm")) as head,
        other_hosts.started("worker", ("/run", "/dev/shm")) as worker,
        other_hosts.joined(head, worker) as link,
    ):
        named = dict(zip(("head", "worker"), link.addresses, strict=True))
        how = {"env": {**os.environ, **engine.environment}}
        words = partial(_named, named=named)
        with (
            head.running(*words(engine.head), **how, **quiet),
            worker.running(*words(engine.worker), **how, **quiet),
        ):
            time.sleep(3.0)
            pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            with head.running(*words(engine.watch), **how, **pipe) as watch:
                over_s = time.monotonic() + BEGIN_S
                assert any(int(line) == 1 for line in until(watch, over_s)), "no worker has joined"
                yield head, worker, link, watch


def _named(words: tuple[str, ...], named: dict[str, str]) -> list[str]:
    found = list(words)
    for name, address in named.items():
        found = [each.replace(f"{{{name}}}", address) for each in found]
    return found


def until(watch: subprocess.Popen[str], over_s: float) -> Iterator[str]:
    """Its lines until then; Ray writes others between."""
    assert watch.stdout
    for line in watch.stdout:
        if line.strip().isdigit():
            yield line
        if time.monotonic() > over_s:
            return


def send(number: signal.Signals, host: Any, _link: Any) -> None:
    """Send a signal to all processes of a host."""
    for pid in host.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def cut(_host: Any, link: Any) -> None:
    """Let nothing pass between the hosts any more."""
    link.cut()


FAULTS: dict[str, Callable[[Any, Any], None]] = {
    "killed": partial(send, signal.SIGKILL),
    "frozen": partial(send, signal.SIGSTOP),
    "cut-off": cut,
}


def cpu_s(host: Any) -> float:
    """CPU time of all processes of a host."""
    ticks = 0
    for pid in host.processes():
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_bytes(pid: int) -> int:
    """Memory of a process; what several share is divided among them."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def listeners(host: Any) -> list[str]:
    """Where somebody listens on a host, over TCP."""
    return sorted({line.split()[3] for line in host.run("ss", "-Hltn").stdout.splitlines()})


if __name__ == "__main__":
    run(main)
