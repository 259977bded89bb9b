"""How late is the engine? An open load, Poisson arrivals, 20,000 requests/s on 64 connections, one core for
the engine and another for the server; pacing by sleeping and by spinning.

    python bench/lateness.py --rounds 10 --seconds 5

Beside it a control: a loop on the same core that waits for such due times and does nothing else
(timer_loop.rs). It shows what the machine does by itself: how late a sleeper wakes, and for how long a
spinner is interrupted. Every quantile is the median over the rounds, with the lowest and the highest. Where
requests were not sent, the server was behind, and the lateness is that of a full queue. Exits 1 where one is
above its bound.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator

import load
import targets
from bounds import Bounds, run, skip
from crumple import contract
from crumple.record import histogram

# Of the lateness, in µs.
AT_MOST_US = {("sleep", "p50"): 20, ("sleep", "p99.9"): 100, ("spin", "p99.9"): 20}
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
SHARES = ("CPU", "not sent")

Reading = dict[str, float]


def main() -> None:
    arguments = parse()
    try:
        load.example("timer_loop")
    except FileNotFoundError as error:
        skip(str(error))
    bounds = Bounds()
    for name, start in targets.installed().items():
        with start(arguments.server_core) as address:
            compare(name, address, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=20_000.0, help="requests per second")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    return parser.parse_args()


def compare(name: str, address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Runs the rounds against one server and prints the table."""
    seen: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    once = {"crumple": engine_readings, "control": control_readings}
    turns = [f"{who} {pacing}" for who in once for pacing in ("sleep", "spin")]
    for number, turn in enumerate(load.interleaved(turns, arguments.rounds)):
        who, pacing = turn.split()
        for what, reading in once[who](pacing, address, number, arguments):
            seen[pacing, what].append(reading)
    print(
        f"\n{name}, Poisson, {arguments.rate:,.0f} requests/s on {arguments.connections} connections, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':34}"
        + "".join(f"{q:>24}" for q in (*QUANTILES, "max"))
        + "".join(f"{share:>10}" for share in SHARES)
        + "   µs"
    )
    for pacing in ("sleep", "spin"):
        for what in ("lateness", "engine lateness", "control: nothing but a clock"):
            print(line(name, pacing, what, seen[pacing, what], bounds), flush=True)


def engine_readings(
    pacing: str, address: str, seed: int, arguments: argparse.Namespace
) -> Iterator[tuple[str, Reading]]:
    """One load: its lateness, and the engine's own part of it."""
    shape = load.poisson(arguments.rate, arguments.connections, arguments.seconds)
    spec = load.spec(
        address, shape, arguments.seconds, arguments.load_core, warm_up_s=0.5, pacing=pacing, seed=seed
    )
    record, _ = load.measured(spec)
    spent = record.probes.engine.window
    cpu_ns = spent.cpu_user_ns + spent.cpu_kernel_ns if spent else 0
    for what, measured in (
        ("lateness", record.histograms.lateness),
        ("engine lateness", record.histograms.engine_lateness),
    ):
        assert measured is not None  # an open shape has both
        yield (
            what,
            {
                **quantiles(measured),
                "CPU": cpu_ns / record.measured_ns,
                "not sent": record.outcomes.not_sent / record.scheduled,
            },
        )


def quantiles(measured: contract.Histogram) -> Reading:
    times = histogram.decode(measured.encoded)
    return {
        **{name: times.quantile_ns(q) / 1e3 for name, q in QUANTILES.items()},
        "max": (measured.max_ns or 0) / 1e3,
    }


def control_readings(
    pacing: str, _address: str, _seed: int, arguments: argparse.Namespace
) -> Iterator[tuple[str, Reading]]:
    """The loop, without a server."""
    command = [str(load.example("timer_loop")), pacing, str(arguments.rate), str(arguments.seconds)]
    output, cpu_s = load.Running(command, arguments.load_core).finish()
    said = json.loads(output)
    reading = {q: said[f"{q.replace('.', '')}_ns"] / 1e3 for q in (*QUANTILES, "max")}
    yield "control: nothing but a clock", {**reading, "CPU": cpu_s / arguments.seconds, "not sent": 0.0}


def line(name: str, pacing: str, what: str, readings: list[Reading], bounds: Bounds) -> str:
    """One row of the table; the lateness itself is held against its bounds."""
    cells, words = "", []
    for q in (*QUANTILES, "max"):
        values = [reading[q] for reading in readings]
        low, middle, high = (brief(us) for us in (min(values), load.middle(values), max(values)))
        cells += f"{f'{middle} ({low}-{high})':>24}"
        if what == "lateness" and (pacing, q) in AT_MOST_US:
            bound = bounds.at_most(
                f"{q} of {pacing}, {name}", load.middle(values), AT_MOST_US[pacing, q], " µs"
            )
            words.append(f"{q} {bound}")
    for share in SHARES:
        cells += f"{load.middle([reading[share] for reading in readings]):>10.1%}"
    return f"{pacing:6}{what:28}{cells}   {', '.join(words)}".rstrip()


def brief(us: float) -> str:
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


if __name__ == "__main__":
    run(main)
