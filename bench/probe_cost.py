"""What the probes cost the server: its throughput with and without them, in interleaved rounds.

Without them means: without those by which a load watches a server (its processes, their threads and
connections); at thousands of connections, without the readings of stages; and of a server with a thousand
threads, without those of its threads. Beside each stands a twin that is without them as well, as the control.

    python bench/probe_cost.py --rounds 10 --servers go-nethttp,java-grizzly-worker

Exits 1 if the readings of stages or threads cost 1 % of the throughput or more.
"""

import argparse
from typing import Literal

import load
import options
import project_servers
import targets
from bounds import Bounds, run
from crumple import contract
from crumple.machine import process_tree
from crumple.stats import estimate
from crumple.stats.interval import Interval
from crumple.subject import servers

SERVERS = ["go-nethttp", "java-grizzly-worker", "node-cluster"]
WATCHED, UNWATCHED = "watched", "unwatched"
READING, WITHOUT, TWIN = "reading", "without", "twin"
COST_AT_MOST_PERCENT = 1
# As many as crumple load opens by itself.
WATCHED_CONNECTIONS = 50
# All connections are opened, and the server has seen each of them, before anything is measured.
WARM_UP_S = 1.0


def main() -> None:
    arguments = parse()
    bounds = Bounds(judging=not arguments.shortest)
    stages(arguments, bounds)
    tasks(arguments, bounds)
    watching(arguments)
    bounds.close()


def stages(arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Prints what the readings of stages cost."""
    say_what("stages", arguments)
    servers_there = targets.installed()
    for name in list(servers_there)[: 1 if arguments.shortest else None]:
        with servers_there[name](arguments.server_core) as address:
            beside_a_twin("stages", name, reading_spec(address, arguments), arguments.rounds, bounds)


def tasks(arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Prints what the readings of a server's threads cost."""
    say_what("tasks", arguments)
    with targets.null_server(arguments.server_core, arguments.threads) as address:
        pid = process_tree.owner(int(address.rsplit(":", 1)[-1]))
        name = f"{arguments.threads:,} threads"
        beside_a_twin("tasks", name, reading_spec(address, arguments, pid), arguments.rounds, bounds)


def say_what(kind: str, arguments: argparse.Namespace) -> None:
    print(
        f"throughput of {arguments.connections:,} connections with {kind} over that without, "
        f"{arguments.rounds} interleaved rounds of {arguments.seconds:g} s"
    )


def beside_a_twin(
    kind: Literal["stages", "tasks"], name: str, spec: contract.TrialSpec, rounds: int, bounds: Bounds
) -> None:
    """Prints what the readings of this kind cost one server."""
    seen: dict[str, list[float]] = {READING: [], WITHOUT: [], TWIN: []}
    loop_us: dict[str, list[float]] = {how: [] for how in seen}
    readings, cost_ns = 0, 0
    for how in load.interleaved(seen, rounds):
        probe = spec.probe.model_copy(update={kind: how == READING})
        record, cost = load.measured(spec.model_copy(update={"probe": probe}))
        seen[how].append(cost.throughput_per_s)
        loop_us[how].append(load.parts(record, cost)["loop"])
        read = record.probes.stages if kind == "stages" else record.probes.tasks
        if (read is not None) != (how == READING) or (read and read.why):
            raise load.LoadError(f"{how}: the {kind} were not read as asked: {read and read.why}")
        readings, cost_ns = (len(read.at_ns), sum(read.cost_ns)) if read else (readings, cost_ns)
    ratio = estimate.paired_ratio(seen[READING], seen[WITHOUT])
    word = bounds.at_least(f"cost of {kind}, {name}", ratio, 1 - COST_AT_MOST_PERCENT / 100)
    print(f"{name:24}{said(ratio)}   {word}")
    print(f"{'  the twin without':24}{said(estimate.paired_ratio(seen[TWIN], seen[WITHOUT]))}")
    print(f"{'  CPU of the loop':24}{said(estimate.paired_ratio(loop_us[READING], loop_us[WITHOUT]))}")
    print(f"{'  the twin without':24}{said(estimate.paired_ratio(loop_us[TWIN], loop_us[WITHOUT]))}")
    each_us = cost_ns / max(1, readings) / 1e3
    print(f"{'  the last':24}{readings} readings, {each_us:.0f} µs each", flush=True)


def reading_spec(
    address: str, arguments: argparse.Namespace, server_pid: int | None = None
) -> contract.TrialSpec:
    return load.spec(
        address,
        load.closed(arguments.connections),
        arguments.seconds,
        arguments.load_core,
        warm_up_s=0.2 if arguments.shortest else WARM_UP_S,
        server_pid=server_pid,
    )


def watching(arguments: argparse.Namespace) -> None:
    """Prints what it costs to watch a server as crumple load does by itself."""
    described = project_servers.find()
    if arguments.shortest:
        project_servers.skip_unless_ready(described[name] for name in arguments.servers)
    print(
        f"a load of {WATCHED_CONNECTIONS} connections that watches the server over one that does not, "
        f"{arguments.rounds} interleaved rounds of {arguments.seconds:g} s"
    )
    with targets.null_server(arguments.server_core) as address:
        watching_one(
            "null server", address, process_tree.owner(int(address.rsplit(":", 1)[-1])), "/", arguments
        )
    for name in arguments.servers:
        built = servers.build(described[name])
        with servers.start(built, cores=(arguments.server_core,), settings={}) as running:
            watching_one(name, running.address, running.pid, "/todos", arguments)


def watching_one(name: str, address: str, pid: int, path: str, arguments: argparse.Namespace) -> None:
    """Prints the ratios of one server."""
    shape = load.closed(WATCHED_CONNECTIONS)
    specs = {
        how: load.spec(
            address,
            shape,
            arguments.seconds,
            arguments.load_core,
            path=path,
            server_pid=pid if how == WATCHED else None,
        )
        for how in (WATCHED, UNWATCHED, TWIN)
    }
    # Stages are read of any server on this machine.
    probes = {
        how: spec.probe.model_copy(
            update={"stages": True, "tasks": how == WATCHED, "dependencies": how == WATCHED}
        )
        for how, spec in specs.items()
    }
    load.with_engine(
        specs[UNWATCHED].model_copy(update={"stop": contract.DurationStopSpec(duration_s=arguments.warm_up)})
    )
    per_s: dict[str, list[float]] = {how: [] for how in specs}
    cpu_us: dict[str, list[float]] = {how: [] for how in specs}
    for how in load.interleaved(specs, arguments.rounds):
        cost = load.with_engine(specs[how].model_copy(update={"probe": probes[how]}))
        per_s[how].append(cost.throughput_per_s)
        cpu_us[how].append(cost.cpu_per_request_us)
    print(f"{name:24}{said(estimate.paired_ratio(per_s[WATCHED], per_s[UNWATCHED]))}")
    print(f"{'  the twin without':24}{said(estimate.paired_ratio(per_s[TWIN], per_s[UNWATCHED]))}")
    print(f"{'  CPU of the engine':24}{said(estimate.paired_ratio(cpu_us[WATCHED], cpu_us[UNWATCHED]))}")
    print(
        f"{'  the twin without':24}{said(estimate.paired_ratio(cpu_us[TWIN], cpu_us[UNWATCHED]))}", flush=True
    )


def said(ratio: Interval) -> str:
    return f"{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f}, 95 % interval)"


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 10, 2.0)
    options.cores(parser)
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds, once per server")
    parser.add_argument("--servers", type=options.words, default=SERVERS)
    parser.add_argument("--connections", type=int, default=5_000, help="of the load whose stages are read")
    parser.add_argument("--threads", type=int, default=1_000, help="of the server whose threads are read")
    return options.parse(
        parser,
        rounds=1,
        seconds=1.0,
        warm_up=0.5,
        connections=50,
        threads=20,
        servers=[project_servers.SHORTEST],
    )


if __name__ == "__main__":
    run(main)
