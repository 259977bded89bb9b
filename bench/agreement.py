"""Do the engine and its peers measure the same throughput of the same server? For each server of the todo
study, the engine, wrk and h2load load one running process in turn, on separate cores.

    python bench/agreement.py --rounds 5
    python bench/agreement.py --servers go-nethttp,node-http

Prints the ratio of the engine's throughput to each peer's, with its 95 % interval over rounds. The ratio must
lie within the tolerance around 1. Exits 1 if a whole interval lies outside.
"""

import argparse

import load
import options
import project_servers
from bounds import Bounds, run, skip
from crumple import contract
from crumple.stats import estimate
from crumple.subject import servers
from peers import INSTALL, PEERS, Peer


def main() -> None:
    arguments = parse()
    peers = [peer for peer in PEERS if peer.name in arguments.peers and peer.installed]
    if not peers:
        skip(f"none of {', '.join(arguments.peers)} is installed (to install: {INSTALL})")
    described = project_servers.find()
    chosen = arguments.servers or sorted(described)
    if arguments.shortest:
        project_servers.skip_unless_ready(described[name] for name in chosen)
    bounds = Bounds(judging=not arguments.shortest)
    print(
        f"todos over {arguments.connections} keep-alive connections, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':24}{'crumple':>12}"
        + "".join(f"{peer.name:>12}" for peer in peers)
        + "   requests/s; ratio (95 % interval)"
    )
    for name in chosen:
        built = servers.build(described[name])
        with servers.start(built, cores=(arguments.server_core,), settings={}) as running:
            warm_up(running.address, arguments)
            seen = rounds(running.address, peers, arguments)
        for peer in peers:
            report(name, seen, peer.name, arguments.tolerance, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 5, 3.0)
    options.cores(parser)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds, once per server")
    parser.add_argument("--servers", type=options.words)
    parser.add_argument("--peers", type=options.words, default=["wrk", "h2load"])
    parser.add_argument("--tolerance", type=float, default=0.05)
    return options.parse(
        parser,
        rounds=1,
        seconds=1.0,
        connections=4,
        warm_up=0.5,
        servers=[project_servers.SHORTEST],
        peers=["wrk"],
    )


def warm_up(address: str, arguments: argparse.Namespace) -> None:
    load.with_engine(spec(address, arguments.warm_up, arguments))


def spec(address: str, seconds: float, arguments: argparse.Namespace) -> contract.TrialSpec:
    shape = load.closed(arguments.connections)
    return load.spec(address, shape, seconds, arguments.load_core, path="/todos")


def rounds(address: str, peers: list[Peer], arguments: argparse.Namespace) -> dict[str, list[float]]:
    """The throughput of the engine and of each peer in each round. The order within a round is random."""
    seen: dict[str, list[float]] = {"crumple": [], **{peer.name: [] for peer in peers}}
    by_name = {peer.name: peer for peer in peers}
    for who in load.interleaved(seen, arguments.rounds):
        if who == "crumple":
            cost = load.with_engine(spec(address, arguments.seconds, arguments))
        else:
            url = f"http://{address}/todos"
            seconds = max(arguments.seconds, 1.0)  # The peers count whole seconds.
            cost = load.with_peer(by_name[who], url, arguments.connections, seconds, arguments.load_core)
        seen[who].append(cost.throughput_per_s)
    return seen


def report(name: str, seen: dict[str, list[float]], peer: str, tolerance: float, bounds: Bounds) -> None:
    """Prints one line of the table."""
    ratio = estimate.paired_ratio(seen["crumple"], seen[peer])
    rates = "".join(f"{load.middle(rates):12,.0f}" for rates in seen.values())
    word = bounds.within(f"{name} {peer}", ratio, 1 - tolerance, 1 + tolerance)
    interval = f"{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f})"
    print(f"{name:24}{rates}   over {peer:7}{interval}   {word}", flush=True)


if __name__ == "__main__":
    run(main)
