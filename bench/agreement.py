"""Do the engine and its peers see the same server? Throughput of each server of the todo study, measured by
the engine, wrk and h2load in turn against one running process, on separate cores.

    python bench/agreement.py --rounds 5
    python bench/agreement.py --servers go-nethttp,node-http

Prints the ratio of the engine's throughput to each peer's with its 95 % interval over rounds; exits 1 where a
server's ratio lies further than the tolerance from 1.
"""

import argparse
import sys

import load
from bounds import run
from crumple import contract
from crumple.server import servers
from crumple.stats import stats
from peers import PEERS


def main() -> None:
    arguments = parse()
    peers = [peer for peer in PEERS if peer.name in ("wrk", "h2load") and peer.installed]
    described = servers.find(load.ROOT)
    chosen = arguments.servers or sorted(described)
    print(
        f"todos over {arguments.connections} keep-alive connections, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':24}{'crumple':>12}"
        + "".join(f"{peer.name:>12}" for peer in peers)
        + "   requests/s; ratio (95 % interval)"
    )
    apart = []
    for name in chosen:
        built = servers.build(described[name])
        with servers.start(built, cores=(arguments.server_core,), settings={}) as running:
            warm_up(running.address, arguments)
            seen = rounds(running.address, peers, arguments)
        apart += [f"{name} {peer.name}" for peer in peers if not report(name, seen, peer.name, arguments)]
    if apart:
        print(f"further apart than {arguments.tolerance:.0%}: {', '.join(apart)}")
        sys.exit(1)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds, once per server")
    parser.add_argument("--servers", type=lambda text: text.split(","))
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=0.05)
    return parser.parse_args()


def warm_up(address: str, arguments: argparse.Namespace) -> None:
    load.with_engine(spec(address, arguments.warm_up, arguments))


def spec(address: str, seconds: float, arguments: argparse.Namespace) -> contract.TrialSpec:
    shape = load.closed(arguments.connections)
    return load.spec(address, shape, seconds, arguments.load_core, path="/todos")


def rounds(address: str, peers: list, arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Throughput per round of the engine and each peer, in random order within a round."""
    seen: dict[str, list[float]] = {"crumple": [], **{peer.name: [] for peer in peers}}
    by_name = {peer.name: peer for peer in peers}
    for who in load.interleaved(seen, arguments.rounds):
        if who == "crumple":
            cost = load.with_engine(spec(address, arguments.seconds, arguments))
        else:
            url = f"http://{address}/todos"
            cost = load.with_peer(
                by_name[who], url, arguments.connections, arguments.seconds, arguments.load_core
            )
        seen[who].append(cost.throughput_per_s)
    return seen


def report(name: str, seen: dict[str, list[float]], peer: str, arguments: argparse.Namespace) -> bool:
    """Prints one line; whether the two agree."""
    ratio = stats.paired_ratio(seen["crumple"], seen[peer])
    rates = "".join(f"{load.middle(rates):12,.0f}" for rates in seen.values())
    print(
        f"{name:24}{rates}   over {peer:7}{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f})",
        flush=True,
    )
    return abs(ratio.estimate - 1) <= arguments.tolerance


if __name__ == "__main__":
    run(main)
