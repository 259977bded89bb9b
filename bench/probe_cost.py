"""What the probes cost the server they watch: its throughput with and without them, in interleaved rounds.

python bench/probe_cost.py --rounds 10 --servers go-nethttp,java-grizzly-worker
"""

import argparse

import load
from crumple import servers, stats


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2.0)
    names = ["go-nethttp", "java-grizzly-worker", "node-cluster"]
    parser.add_argument("--servers", type=lambda text: text.split(","), default=names)
    arguments = parser.parse_args()
    described = servers.find(load.ROOT)
    print(
        "throughput watched every 100 ms over unwatched, "
        f"{arguments.rounds} interleaved rounds of {arguments.seconds:g} s"
    )
    for name in arguments.servers:
        built = servers.build(described[name])
        with servers.start(built, cores=(0,), settings={}) as running:
            ratio = compare(running.address, running.pid, arguments)
        print(
            f"{name:24}{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f}, 95 % interval)",
            flush=True,
        )


def compare(address: str, pid: int, arguments: argparse.Namespace) -> stats.Interval:
    """The ratio of watched to unwatched throughput; who goes first alternates."""
    load.with_engine(address, "/todos", 32, 5.0, 1)
    watched, unwatched = [], []
    for turn in range(arguments.rounds):
        order = [(watched, pid), (unwatched, None)]
        for rates, server_pid in order if turn % 2 else reversed(order):
            cost = load.with_engine(address, "/todos", 32, arguments.seconds, 1, server_pid=server_pid)
            rates.append(cost.throughput_per_s)
    return stats.paired_ratio(watched, unwatched)


if __name__ == "__main__":
    main()
