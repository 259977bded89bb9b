"""What the probes cost the server: its throughput with and without them, in interleaved rounds.

python bench/probe_cost.py --rounds 10 --servers go-nethttp,java-grizzly-worker
"""

import argparse

import load
import options
import project_servers
from bounds import run
from crumple.stats import stats
from crumple.subject import servers

SERVERS = ["go-nethttp", "java-grizzly-worker", "node-cluster"]
WATCHED, UNWATCHED = "watched", "unwatched"


def main() -> None:
    arguments = parse()
    described = project_servers.find()
    if arguments.shortest:
        project_servers.skip_unless_ready(described[name] for name in arguments.servers)
    print(
        "throughput watched every 100 ms over unwatched, "
        f"{arguments.rounds} interleaved rounds of {arguments.seconds:g} s"
    )
    for name in arguments.servers:
        built = servers.build(described[name])
        with servers.start(built, cores=(arguments.server_core,), settings={}) as running:
            ratio = compare(running.address, running.pid, arguments)
        print(
            f"{name:24}{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f}, 95 % interval)",
            flush=True,
        )


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 10, 2.0)
    options.cores(parser)
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds, once per server")
    parser.add_argument("--servers", type=options.words, default=SERVERS)
    return options.parse(parser, rounds=1, seconds=0.3, warm_up=0.2, servers=[project_servers.SHORTEST])


def compare(address: str, pid: int, arguments: argparse.Namespace) -> stats.Interval:
    """The ratio of the throughput with probes to that without."""
    throughput_per_s(address, arguments.warm_up, None, arguments.load_core)
    seen: dict[str, list[float]] = {WATCHED: [], UNWATCHED: []}
    for how in load.interleaved(seen, arguments.rounds):
        watched_pid = pid if how == WATCHED else None
        seen[how].append(throughput_per_s(address, arguments.seconds, watched_pid, arguments.load_core))
    return stats.paired_ratio(seen[WATCHED], seen[UNWATCHED])


def throughput_per_s(address: str, seconds: float, server_pid: int | None, core: int) -> float:
    spec = load.spec(address, load.closed(32), seconds, core, path="/todos", server_pid=server_pid)
    return load.with_engine(spec).throughput_per_s


if __name__ == "__main__":
    run(main)
