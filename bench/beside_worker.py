"""Is what a worker of a cluster does beside a measured block seen in it?

    python bench/beside_worker.py --rounds 30 --seconds 3

A host in namespaces of its own is in a cluster that `crumple cluster up` has started, and its worker holds a
task as it does while a block is measured: it sends heartbeats, and beats to a process of its own. Beside it
open loads are put on the engine's null server, in pairs: one while the worker works, one while it is stopped.
The engine's own lateness at p99.9 may be 1.1 times that beside the stopped worker, by the median over the
pairs, and the worker may use 1 % of a core. It takes root and sshd, and is skipped without.
"""

import argparse
import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import asked_corpus
import load
import options
import other_hosts  # type: ignore[import-not-found]
import secure_shell  # type: ignore[import-not-found]
import targets
from bounds import Bounds, run
from crumple import engine, project
from crumple.record import histogram
from intervals import median_interval
from made_cluster import MadeCluster, made  # type: ignore[import-not-found]

WORKS, STOPPED = "works", "stopped"
CONNECTIONS = 64
# What holds the worker's task, as a block does; {address} and {seconds} are filled in.
HOLD = """
import sys, time
from crumple.cluster import cluster_session, dask_settings
from crumple.load_host.piped_process import PipedProcess
def held(seconds):
    process = PipedProcess(["cat"])
    process.watch(b"\\n", 0.0)
    over_s = time.monotonic() + seconds
    while time.monotonic() < over_s:
        process.line(min(over_s, time.monotonic() + 1.0))
    process.close()
with cluster_session.reached(sys.argv[1], "beside") as cluster:
    print("holds", flush=True)
    cluster._client.submit(held, float(sys.argv[2]), resources={dask_settings.RESOURCE: 1}).result()
"""


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(other_hosts.why_not() or secure_shell.why_not())
    bounds, program = Bounds(judging=not arguments.shortest), engine.find(project.root()).resolve()
    late: dict[str, list[float]] = {WORKS: [], STOPPED: []}
    with tempfile.TemporaryDirectory() as folder, made(Path(folder), program, hosts=("loader",)) as cluster:
        cluster.bring_up()
        most_s = 60.0 + arguments.rounds * 2 * (arguments.seconds + 5.0)
        with cluster.running_python(HOLD, cluster.address, str(most_s)) as held:
            assert held.stdout and held.stdout.readline() == "holds\n"
            time.sleep(2.0)
            spent_s, took_s = 0.0, 0.0
            with targets.null_server(arguments.server_core) as address:
                for number, turn in enumerate(load.interleaved(late, arguments.rounds)):
                    worker = found(cluster)
                    before_s, began_s = cpu_s(worker), time.monotonic()
                    late[turn].append(lateness_us(cluster, worker, turn, address, number, arguments))
                    if turn == WORKS:
                        spent_s += cpu_s(worker) - before_s
                        took_s += time.monotonic() - began_s
    report(late, spent_s / took_s, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    options.rounds(parser, 30, 3.0)
    options.cores(parser)
    parser.add_argument("--rate", type=float, default=5_000.0, help="requests per second")
    return options.parse(parser, rounds=1, seconds=0.5)


def lateness_us(
    cluster: MadeCluster, worker: int, turn: str, address: str, seed: int, arguments: argparse.Namespace
) -> float:
    """The engine's own lateness at p99.9 in one load."""
    shape = load.poisson(arguments.rate, CONNECTIONS, arguments.seconds)
    asked = load.spec(address, shape, arguments.seconds, arguments.load_core, seed=seed)
    if turn == STOPPED:
        cluster.send(signal.SIGSTOP, [worker])
    try:
        record, _ = load.measured(asked)
    finally:
        cluster.send(signal.SIGCONT, [worker])
    assert record.histograms.engine_lateness is not None  # An open shape has it.
    return histogram.decode(record.histograms.engine_lateness.encoded).quantile_ns(0.999) / 1e3


def found(cluster: MadeCluster) -> int:
    """The worker. One that was stopped for longer than the scheduler waits has ended, and joins again."""
    assert other_hosts.at_last(lambda: cluster.workers(cluster.hosts[0]) != [], 60.0)
    pid: int = cluster.workers(cluster.hosts[0])[0]
    return pid


def cpu_s(pid: int) -> float:
    """CPU time that a process has used."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def report(late: dict[str, list[float]], share: float, bounds: Bounds) -> None:
    """Print what was measured, and judge it."""
    for turn, values in late.items():
        found = median_interval(values)
        print(f"worker {turn:8} p99.9 {found.estimate:6.0f} µs ({found.low:.0f} to {found.high:.0f})")
    ratios = [ours / theirs for ours, theirs in zip(late[WORKS], late[STOPPED], strict=True)]
    found = median_interval(ratios)
    judged = bounds.at_most("p99.9 beside a worker", found, 1.1)
    print(f"ratio {found.estimate:.3f} ({found.low:.3f} to {found.high:.3f})  {judged}")
    print(f"the worker uses {share:.2%} of a core")
    if share > 0.01:
        bounds.miss("the CPU time of a worker")


if __name__ == "__main__":
    run(main)
