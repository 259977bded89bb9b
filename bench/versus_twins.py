"""Does `crumple versus` tell a server from itself, and from one that is a tenth slower?

    python bench/versus_twins.py --pairs 200 --slower 20

The server computes for each request (computing_server.py). A twin is the same server once more; the slower
one does a tenth more of the same work. Of twins at most 5 % may be called different, in whichever figure; of
the slower ones 90 % have to be found, by a figure that says so, and none may be called faster. Pairs of which
no block counts, because other programs used the machine, are in no share. By default crumple starts each turn
afresh; with --running both are processes that run all the time, new ones for each pair. Exits 1 if a bound is
not met.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import load
import options
import terminal
from bounds import Bounds, run, skip
from crumple.machine import facts
from crumple.stats import stats
from crumple.stats.interval import CONFIDENCE, Interval
from crumple.subject import command_start

SERVER = str(Path(__file__).with_name("computing_server.py"))
# About a millisecond of CPU time.
ROUNDS, TENTH = 4_000, 1.1
DIFFERENT_SHARE_MAX, FOUND_SHARE_MIN = 0.05, 0.9
# The exit code of a comparison of which no block counts, or for which the budget is too short here.
NOTHING = 3
MORE_IS_BETTER = "throughput"


def main() -> None:
    """Compare pair after pair, and judge the shares."""
    arguments = parse()
    if not terminal.CRUMPLE.is_file():
        skip(f"no crumple beside {sys.executable} (to install: {terminal.INSTALL})")
    if len(facts.usable_cores()) < 2:
        skip("engine and server need a core each")
    bounds = Bounds(judging=not arguments.shortest)
    twins = Tally("twins")
    for number in range(arguments.pairs):
        twins.add(number, compared(1.0, number + 1, arguments.budget, arguments))
    slower = Tally("a tenth slower")
    for number in range(arguments.slower):
        slower.add(number, compared(TENTH, number + 1, arguments.slower_budget, arguments))
    if twins.pairs:
        said = bounds.at_most("twins called different", twins.share(twins.different), DIFFERENT_SHARE_MAX)
        print(f"twins: {twins.different} of {twins.pairs} called different  {said}  {twins.figures}")
    for tally in (twins, slower):
        if tally.unmeasured:
            print(f"{tally.name}: of {tally.unmeasured} pairs no block counts; run this on a calm machine")
    if slower.pairs:
        said = bounds.at_least("a tenth found", slower.share(slower.worse), FOUND_SHARE_MIN)
        print(f"a tenth slower: {slower.worse} of {slower.pairs} found  {said}  {slower.figures}")
        if slower.better:
            print(f"a tenth slower: {slower.better} called faster in a figure")
            bounds.miss("a slower server called faster")
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="pairs of a server and itself")
    parser.add_argument("--slower", type=int, default=10, help="pairs of a server and a slower one")
    parser.add_argument("--budget", default="60s", help="of a pair of twins")
    parser.add_argument("--slower-budget", default="2m", help="of a pair with a slower one")
    parser.add_argument("--running", action="store_true", help="compare processes that run already")
    return options.parse(parser, pairs=1, slower=0, budget="30s")


class Tally:
    """What pairs came to. `pairs`: those of which blocks count; `unmeasured`: the others.

    `different`: pairs of which some figure differs; `figures`: how often each did.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.pairs = self.unmeasured = self.different = self.worse = self.better = 0
        self.figures: Counter[str] = Counter()

    def add(self, number: int, said: dict[str, Any] | None) -> None:
        """Count one comparison, and print it; None: no block was measured."""
        if said is None or all(each["ratio"] is None for each in said["ratios"]):
            self.unmeasured += 1
            print(f"{self.name:15} {number + 1:4}  no block counts", flush=True)
            return
        apart = {
            each["figure"]: each["ratio"]["estimate"]
            for each in said["ratios"]
            if each["answer"] == "different"
        }
        alike = sum(each["answer"] == "alike" for each in said["ratios"])
        worse = {figure for figure, ratio in apart.items() if (ratio > 1) != (figure == MORE_IS_BETTER)}
        self.pairs += 1
        self.different += bool(apart)
        self.worse += bool(worse)
        self.better += bool(apart.keys() - worse)
        self.figures.update(apart)
        named = ", ".join(f"{figure} {ratio:.3f}" for figure, ratio in apart.items()) or "none"
        print(
            f"{self.name:15} {number + 1:4}  {said['ending']:8} {len(said['blocks']):2} blocks "
            f"{said['took_s']:4.0f} s   different: {named}; alike: {alike} of {len(said['ratios'])}",
            flush=True,
        )

    def share(self, times: int) -> Interval:
        """A share of the pairs with its interval (Clopper and Pearson)."""
        low, high = stats.pooled(times / self.pairs, self.pairs, CONFIDENCE)
        return Interval(times / self.pairs, low, high, CONFIDENCE, self.pairs)


def compared(times: float, seed: int, budget: str, arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Compare the server with one that takes so many times the work. Raises LoadError if that failed.

    None: the budget is too short for two blocks.
    """
    commands = [(sys.executable, SERVER, "{port}", str(round(ROUNDS * each))) for each in (1.0, times)]
    flags = ("--json", "--quiet", "--no-store", "--budget", budget, "--seed", str(seed))
    if not arguments.running:
        return called(*flags, "--", *commands[0], "--", *commands[1])
    with running(commands[0]) as one, running(commands[1]) as other:
        return called(*flags, one, other)


@contextmanager
def running(command: tuple[str, ...]) -> Iterator[str]:
    """Run the server beside the engine's core until the `with` ends; yield its URL."""
    with command_start.started(command, cores=tuple(sorted(facts.usable_cores()))[:-1]) as server:
        yield f"http://{server.address}/"


def called(*words: str) -> dict[str, Any] | None:
    """What `crumple versus` says as data; None: nothing was compared."""
    said = terminal.call("versus", *words)
    if said.code == NOTHING and not said.answer:
        print(said.screen.strip().rpartition("\n")[2])
        return None
    if said.code not in (0, NOTHING) or not said.answer:
        raise load.LoadError(f"crumple versus ended with {said.code}: {said.screen[-300:].strip()}")
    found: dict[str, Any] = json.loads(said.answer)
    return found


if __name__ == "__main__":
    run(main)
