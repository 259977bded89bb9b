"""Does the search find the breaking point? `crumple find`, with a budget of a minute, searches again and
again a server with five workers that take 50 ms for each request (waiting_server.rs).

    python bench/find.py --rounds 10
    python bench/disturbed.py one -- python bench/find.py --rounds 20 --holds     # beside another program
    python bench/find.py --computing --rounds 5                                   # a server that computes

The truth is known: it is the rate, with Poisson arrivals, at which p99 of such an endless queue reaches the
objective. A search is a hit if its whole interval lies within a tenth of the truth. With --holds it is one if
its interval holds the truth, as an interval must also where others use the machine. Exits 1 if fewer than
nine of ten searches are hits. Fewer than ten searches are not judged. With --computing the server computes
(computing_server.py), and how fast it is on a calm machine is not known: the script prints the mean of its
searches, which --truth then takes.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import load
import numpy as np
import options
import targets
import terminal
from bounds import MET, NOT_MET, OPEN, Bounds, run, skip
from crumple.subject import command_start
from numpy.typing import NDArray

WORKERS, WORK_MS = 5, 50.0
OBJECTIVE_MS = 250.0
QUANTILE = 0.99
COMPUTING, ROUNDS = str(Path(__file__).with_name("computing_server.py")), 4_000
TOLERANCE = 0.1
HITS_SHARE_MIN = 0.9
SEARCHES_MIN = 10
# Found, or no answer: the budget was too short, the engine was the limit, or the objective holds nowhere.
ANSWERED = (0, 1, 3)
REQUESTS = 2_000_000


def main() -> None:
    arguments = parse()
    if not terminal.CRUMPLE.is_file():
        skip(f"no crumple beside {sys.executable} (to install: {terminal.INSTALL})")
    try:
        program = load.example("waiting_server", debug_will_do=arguments.shortest)
    except load.NotBuiltError as error:
        skip(str(error))
    bounds = Bounds(judging=not arguments.shortest)
    truth_per_s = arguments.truth
    if truth_per_s is None and not arguments.computing:
        truth_per_s = breaking_point_per_s(50_000 if arguments.shortest else REQUESTS)
    print(f"p99 < {OBJECTIVE_MS:g} ms, budget {arguments.budget}; the truth: {truth_per_s or 'not known'}")
    hits, points = 0, []
    for number in range(arguments.rounds):
        with server(program, arguments) as address:
            said = search(address, number + 1, arguments)
        point = said["breaking_point"]
        hit = truth_per_s is not None and is_hit(said, truth_per_s, holds=arguments.holds)
        hits += hit
        points += [point["estimate"]] if point else []
        found = f"{point['estimate']:6.1f}  ({point['low']:.1f} to {point['high']:.1f})" if point else "none"
        took = f"{len(said['levels'])} levels, {said['took_s']:.0f} s"
        print(f"{number + 1:4}  {said['ending']:9} {found}   {took}   {'hit' if hit else 'miss'}", flush=True)
    if truth_per_s is None:
        print(f"mean of {len(points)} breaking points: {sum(points) / max(1, len(points)):.1f}/s")
        return
    word = judged(hits, arguments.rounds)
    bounds.count("searches that hit", word)
    print(f"{hits} of {arguments.rounds} hit   ≥ {HITS_SHARE_MIN:.0%}{f' {word}' if bounds.judging else ''}")
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 10)
    options.cores(parser)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--holds", action="store_true", help="a hit: the interval holds the truth")
    parser.add_argument("--computing", action="store_true", help="of a server that computes")
    parser.add_argument("--truth", type=float, help="its breaking point on a calm machine, per second")
    # This is the shortest budget.
    return options.parse(parser, rounds=1, budget="10s")


def server(program: Path, arguments: argparse.Namespace) -> AbstractContextManager[str]:
    """Start the server; yields its address."""
    if arguments.computing:
        return computing(arguments.server_core)
    return targets.waiting_server(program, arguments.server_core, WORK_MS, WORKERS)


@contextmanager
def computing(core: int) -> Iterator[str]:
    """Start the server that computes; yields its address."""
    command = (sys.executable, COMPUTING, "{port}", str(ROUNDS))
    with command_start.start(command, cores=(core,)) as started:
        yield started.address


def is_hit(said: dict[str, Any], truth_per_s: float, *, holds: bool) -> bool:
    """Whether the search found the truth; "at least" a load below it holds it."""
    point = said["breaking_point"]
    if holds:
        low, high = (point["low"], point["high"]) if point else (said["highest_held"] or math.inf, math.inf)
        return bool(low <= truth_per_s <= high)
    low, high = truth_per_s * (1 - TOLERANCE), truth_per_s * (1 + TOLERANCE)
    return point is not None and low <= point["low"] and point["high"] <= high


def search(address: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """One search. Raises LoadError if it failed."""
    said = terminal.call(
        *("find", f"http://{address}/", "--json", "--no-store", "--objective", f"p99<{OBJECTIVE_MS:g}ms"),
        *("--budget", arguments.budget, "--cores", str(arguments.load_core), "--seed", str(seed)),
    )
    if said.code not in ANSWERED or not said.answer:
        raise load.LoadError(f"crumple find ended with {said.code}: {said.screen[-300:].strip()}")
    found: dict[str, Any] = json.loads(said.answer)
    return found


def judged(hits: int, searches: int) -> str:
    if searches < SEARCHES_MIN:
        return OPEN
    return MET if hits >= HITS_SHARE_MIN * searches else NOT_MET


def breaking_point_per_s(requests: int) -> float:
    """The rate at which the quantile reaches the objective, found by halving on one series of arrivals."""
    gaps = np.random.default_rng(1).exponential(1, requests)
    low, high = 0.0, WORKERS / WORK_MS * 1e3
    while high - low > 0.01:
        rate_per_s = (low + high) / 2
        times_ms = response_times_ms(np.cumsum(gaps) / rate_per_s * 1e3)
        if np.quantile(times_ms, QUANTILE) < OBJECTIVE_MS:
            low = rate_per_s
        else:
            high = rate_per_s
    return (low + high) / 2


def response_times_ms(arrivals_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Response times of a queue with five workers who all take equally long. The n-th request waits for the
    one five before it, so every fifth request belongs to a queue with one worker (Lindley's recursion)."""
    times_ms = np.empty_like(arrivals_ms)
    for worker in range(WORKERS):
        own_ms = arrivals_ms[worker::WORKERS]
        worked_ms = np.arange(len(own_ms)) * WORK_MS
        times_ms[worker::WORKERS] = np.maximum.accumulate(own_ms - worked_ms) + worked_ms + WORK_MS - own_ms
    return times_ms


if __name__ == "__main__":
    run(main)
