"""How late is the engine? Open loads with Poisson arrivals at 20,000 requests/s, with one core for the engine
and another for the server, paced by sleeping and by spinning.

    python bench/lateness.py --rounds 10 --seconds 5
    python bench/lateness.py --only few

One load has 64 connections, the other has 19,000 open and in use. For the latter the server takes 0.95 s for
each answer (waiting_server.rs), and connections come from several source addresses: the kernel takes ever
longer to find a port once half of the ports of one address are in use. Each round also has a control: a loop
on the same core that waits for such due times and does nothing else (timer_loop.rs). It shows what the
machine does by itself: how late it wakes a thread that sleeps, and for how long it interrupts a thread that
spins. The script takes p99.9 of the engine's own lateness, subtracts what is allowed over that of the control
in the same round, and judges the median over the rounds by its interval. If requests were not sent, the
server was too slow. Exits 1 if a bound is not met.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import load
import options
import targets
from bounds import Bounds, run, skip
from crumple import contract
from crumple.machine import capacity, facts
from crumple.record import histogram
from intervals import median_interval

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
JUDGED = "p99.9"
SHARES = ("CPU", "not sent")
ENGINE, CONTROL = "engine lateness", "control: nothing but a clock"
PACINGS = ("sleep", "spin")
# The width of a column.
WIDTH = 28
# By so many standard deviations (of a Poisson number) there are more connections than are in use on average.
# The number in use varies, and a server that was slow has to catch up.
MORE = 6.2
# Standard streams, epoll, probes, libraries.
SPARE_DESCRIPTORS = 100
SOURCES = tuple(f"127.0.0.{last}" for last in range(2, 10))

Reading = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One server, with at most so many connections and a warm-up of so long. p99.9 may be `times` the
    control's plus `more_us`."""

    name: str
    start: Callable[[int], AbstractContextManager[str]]
    connections: int
    warm_up_s: float
    times: float
    more_us: float
    sources: tuple[str, ...] = ()


def main() -> None:
    arguments = parse()
    try:
        programs = {
            name: load.example(name, debug_will_do=arguments.shortest)
            for name in ("timer_loop", "waiting_server")
        }
    except load.NotBuiltError as error:
        skip(str(error))
    bounds = Bounds(judging=not arguments.shortest)
    for case in cases(programs["waiting_server"], arguments):
        with case.start(arguments.server_core) as address:
            compare(case, address, programs["timer_loop"], arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 9, 4.0)
    options.cores(parser)
    parser.add_argument("--rate", type=float, default=20_000.0, help="requests per second")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--many", type=int, default=19_000, help="connections open at once")
    parser.add_argument("--only", choices=("few", "many"))
    return options.parse(parser, rounds=1, seconds=1.0, rate=2_000.0, many=80)


def cases(waiting_server: Path, arguments: argparse.Namespace) -> Iterator[Case]:
    """The cases that can run here. Prints which are left out, and why."""
    if arguments.only != "many":
        servers = targets.installed()
        for name in list(servers)[: 1 if arguments.shortest else None]:
            yield Case(name, servers[name], arguments.connections, 0.5, times=1.2, more_us=20)
    if arguments.only == "few":
        return
    capacity.raise_open_files()
    may_open = facts.open_files_soft()
    at_most = round(arguments.many + MORE * math.sqrt(arguments.many))
    if may_open < at_most + SPARE_DESCRIPTORS:
        print(f"left out: {at_most:,} connections need more open files than the {may_open:,} allowed here")
        return
    work_ms = 1e3 * arguments.many / arguments.rate
    yield Case(
        f"answers after {work_ms:.0f} ms",
        lambda core: targets.waiting_server(waiting_server, core, work_ms),
        at_most,
        2.5 * work_ms / 1e3,
        times=1.5,
        more_us=100,
        sources=SOURCES,
    )


def compare(
    case: Case, address: str, timer_loop: Path, arguments: argparse.Namespace, bounds: Bounds
) -> None:
    """Runs the rounds of one case and prints the table."""
    seen: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    opened: list[int] = []
    turns = [f"{who} {pacing}" for who in ("engine", "control") for pacing in PACINGS]
    for number, turn in enumerate(load.interleaved(turns, arguments.rounds)):
        who, pacing = turn.split()
        if who == "control":
            seen[pacing, CONTROL].append(control_reading(pacing, timer_loop, arguments))
            continue
        record = engine_record(case, pacing, address, number, arguments)
        opened.append(record.connections_opened)
        for what, reading in engine_readings(record):
            seen[pacing, what].append(reading)
    print(
        f"\n{case.name}, Poisson, {arguments.rate:,.0f} requests/s "
        f"on at most {case.connections:,} connections ({min(opened):,} to {max(opened):,} opened), "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':34}"
        + "".join(f"{q:>{WIDTH}}" for q in (*QUANTILES, "max"))
        + "".join(f"{share:>10}" for share in SHARES)
        + "   µs"
    )
    for pacing in PACINGS:
        for what in ("lateness", ENGINE, CONTROL):
            print(line(pacing, what, seen[pacing, what]), flush=True)
        print(judged(case, pacing, seen[pacing, ENGINE], seen[pacing, CONTROL], bounds), flush=True)


def engine_record(
    case: Case, pacing: str, address: str, seed: int, arguments: argparse.Namespace
) -> contract.TrialRecord:
    """One load."""
    seconds, core = arguments.seconds, arguments.load_core
    shape = load.poisson(arguments.rate, case.connections, seconds)
    return load.measured(
        load.spec(
            address,
            shape,
            seconds,
            core,
            warm_up_s=case.warm_up_s,
            pacing="spin" if pacing == "spin" else "sleep",
            sources=case.sources,
            seed=seed,
        )
    )[0]


def engine_readings(record: contract.TrialRecord) -> Iterator[tuple[str, Reading]]:
    """The lateness of one load, and the engine's own part of it."""
    spent = record.probes.engine.window
    cpu_ns = spent.cpu_user_ns + spent.cpu_kernel_ns if spent else 0
    for what, measured in (
        ("lateness", record.histograms.lateness),
        (ENGINE, record.histograms.engine_lateness),
    ):
        assert measured is not None  # An open shape has both.
        yield (
            what,
            {
                **quantiles(measured),
                "CPU": cpu_ns / record.measured_ns,
                "not sent": record.outcomes.not_sent / record.scheduled,
            },
        )


def quantiles(measured: contract.HistogramRecord) -> Reading:
    times = histogram.decode(measured.encoded)
    return {
        **{name: times.quantile_ns(q) / 1e3 for name, q in QUANTILES.items()},
        "max": (measured.max_ns or 0) / 1e3,
    }


def control_reading(pacing: str, timer_loop: Path, arguments: argparse.Namespace) -> Reading:
    """One run of the loop, without a server."""
    command = [str(timer_loop), pacing, str(arguments.rate), str(arguments.seconds)]
    output, cpu_s = load.Running(command, arguments.load_core).finish()
    said = json.loads(output)
    reading = {q: said[f"{q.replace('.', '')}_ns"] / 1e3 for q in (*QUANTILES, "max")}
    return {**reading, "CPU": cpu_s / arguments.seconds, "not sent": 0.0}


def line(pacing: str, what: str, readings: list[Reading]) -> str:
    """One row of the table: medians over the rounds, with the lowest and the highest value."""
    cells = ""
    for q in (*QUANTILES, "max"):
        values = [reading[q] for reading in readings]
        low, middle, high = (brief(us) for us in (min(values), load.middle(values), max(values)))
        cells += f"{f'{middle} ({low}-{high})':>{WIDTH}}"
    for share in SHARES:
        cells += f"{load.middle([reading[share] for reading in readings]):>10.1%}"
    return f"{pacing:6}{what:28}{cells}".rstrip()


def judged(case: Case, pacing: str, engine: list[Reading], control: list[Reading], bounds: Bounds) -> str:
    """How far p99.9 is above what the control of the same round allows. Below 0 it is within the bound."""
    above_us = [
        ours[JUDGED] - case.times * its[JUDGED] - case.more_us
        for ours, its in zip(engine, control, strict=True)
    ]
    interval = median_interval(above_us)
    name = f"{JUDGED} of {pacing}, {case.name}"
    allowed = f"{case.times:g} × control + {case.more_us:g} µs"
    return (
        f"{pacing:6}{JUDGED} of the engine's own less ({allowed}): {interval.estimate:+.1f} µs "
        f"({interval.low:+.1f} to {interval.high:+.1f}, 95 % interval)   "
        f"{bounds.at_most(name, interval, 0, ' µs')}"
    )


def brief(us: float) -> str:
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


if __name__ == "__main__":
    run(main)
