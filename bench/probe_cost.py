"""What the probes cost the server they watch: its throughput with and without them, in interleaved rounds.

python bench/probe_cost.py --rounds 10 --servers go-nethttp,java-grizzly-worker
"""

import argparse

import load
from bounds import run
from crumple.server import servers
from crumple.stats import stats


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
    throughput_per_s(address, 5.0, None)
    watched, unwatched = [], []
    for turn in range(arguments.rounds):
        order = [(watched, pid), (unwatched, None)]
        for rates, server_pid in order if turn % 2 else reversed(order):
            rates.append(throughput_per_s(address, arguments.seconds, server_pid))
    return stats.paired_ratio(watched, unwatched)


def throughput_per_s(address: str, seconds: float, server_pid: int | None) -> float:
    spec = load.spec(address, load.closed(32), seconds, core=1, path="/todos", server_pid=server_pid)
    return load.with_engine(spec).throughput_per_s


if __name__ == "__main__":
    run(main)
