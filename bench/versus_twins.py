"""Does `crumple versus` tell a server from itself, and from one that is a tenth slower?

    python bench/versus_twins.py --pairs 200 --slower 20
    python bench/versus_twins.py --pairs 70 --slower 0 --results twins.jsonl     # an hour
    python bench/disturbed.py one -- python bench/versus_twins.py --slower-by 1.5

The server computes for each request (computing_server.py). A twin is the same server once more; the slower
one does a tenth more of the same work, or as many times the work as --slower-by says. Of twins at most 5 %
may be called different, in whichever figure; of the slower ones 90 % have to be found, by a figure that says
so, and none may be called faster. Pairs of which no block counts, because other programs used the machine,
are in no share. By default crumple starts each turn afresh; with --running both are processes that run all
the time, new ones for each pair. Exits 1 if a bound is not met.

A turn takes about 3.5 seconds, a block has three, and with fewer than four blocks hardly anything is decided:
a pair of 60 seconds has four. So pairs that start afresh are judged with their turns under other labels, too
(relabelled.py), which tells more of each. A labelling under which a pair would have gone on beyond its blocks
is cut off, and in no share. With --results each pair is appended to a file when it is over, and what the file
has is not measured again, so this may be interrupted and continued.
"""

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import load
import numpy as np
import options
import relabelled
import terminal
from bounds import Bounds, run, skip
from crumple.machine import facts
from crumple.stats import bootstrap, shares
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
    kept = Kept(arguments.results, arguments)
    ends_s = time.monotonic() + 60 * arguments.minutes
    twins = Tally("twins", relabels=not arguments.running)
    slower = Tally(f"{arguments.slower_by:g} times slower")
    for tally, times, pairs, budget in (
        (twins, 1.0, arguments.pairs, arguments.budget),
        (slower, arguments.slower_by, arguments.slower, arguments.slower_budget),
    ):
        for number in range(pairs):
            if time.monotonic() > ends_s:
                print(f"{tally.name}: the time was over after {number} of {pairs} pairs")
                break
            tally.add(number, kept.said(times, number + 1, budget))
    if twins.pairs:
        said = bounds.at_most("twins called different", twins.share(twins.different), DIFFERENT_SHARE_MAX)
        print(f"twins: {twins.different} of {twins.pairs} called different  {said}  {twins.figures}")
    if len(twins.relabelled) > 1:
        share = twins.relabelled_share()
        said = bounds.at_most("twins called different under other labels", share, DIFFERENT_SHARE_MAX)
        ends = f"{share.estimate:.1%} [{share.low:.1%} – {share.high:.1%}]"
        print(f"twins under other labels: {ends} called different  {said}")
    if twins.cut_off:
        share_cut_off = sum(twins.cut_off) / len(twins.cut_off)
        print(f"twins under other labels: {share_cut_off:.1%} cut off before their looks ended them")
    for tally in (twins, slower):
        if tally.unmeasured:
            print(f"{tally.name}: of {tally.unmeasured} pairs no block counts; run this on a calm machine")
    if slower.pairs:
        said = bounds.at_least(f"{slower.name} found", slower.share(slower.worse), FOUND_SHARE_MIN)
        print(f"{slower.name}: {slower.worse} of {slower.pairs} found  {said}  {slower.figures}")
        if slower.better:
            print(f"{slower.name}: {slower.better} called faster in a figure")
            bounds.miss("a slower server called faster")
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="pairs of a server and itself")
    parser.add_argument("--slower", type=int, default=10, help="pairs of a server and a slower one")
    parser.add_argument("--slower-by", type=float, default=TENTH, help="how many times the work it does")
    parser.add_argument("--budget", default="60s", help="of a pair of twins")
    parser.add_argument("--slower-budget", default="2m", help="of a pair with a slower one")
    parser.add_argument("--running", action="store_true", help="compare processes that run already")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no pair after so many")
    parser.add_argument("--results", type=Path, help="append each pair to this file, and continue it")
    return options.parse(parser, pairs=1, slower=0, budget="30s")


class Tally:
    """What pairs came to. `pairs`: those of which blocks count; `unmeasured`: the others.

    `different`: pairs of which some figure differs; `figures`: how often each did. `relabelled`: of each pair
    the share of labellings under which some figure differs, of those that ended; `cut_off`: the share of
    those that did not.
    """

    def __init__(self, name: str, *, relabels: bool = False) -> None:
        self.name, self._relabels = name, relabels
        self.pairs = self.unmeasured = self.different = self.worse = self.better = 0
        self.figures: Counter[str] = Counter()
        self.relabelled: list[float] = []
        self.cut_off: list[float] = []

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
        judged = relabelled.relabelled(said) if self._relabels else None
        if judged is not None:
            self.cut_off.append(judged.share_cut_off)
            if judged.share_different is not None:
                self.relabelled.append(judged.share_different)
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
        low, high = shares.exact_interval(times / self.pairs, self.pairs, CONFIDENCE)
        return Interval(times / self.pairs, low, high, CONFIDENCE, self.pairs)

    def relabelled_share(self) -> Interval:
        """The mean share over pairs with its interval."""
        if not any(self.relabelled):
            return self.share(0)
        samples = np.array([self.relabelled])
        low, high = bootstrap.mean_intervals(samples, CONFIDENCE)
        return Interval(float(samples.mean()), max(0.0, low[0]), high[0], CONFIDENCE, samples.shape[1])


class Kept:
    """Pairs, measured or read from the file in which they are kept."""

    def __init__(self, file: Path | None, arguments: argparse.Namespace) -> None:
        self._file, self._arguments = file, arguments
        lines = file.read_text(encoding="utf-8").splitlines() if file and file.is_file() else ()
        rows = map(json.loads, lines)
        self._known = {tuple(row["pair"]): row["said"] for row in rows}

    def said(self, times: float, seed: int, budget: str) -> dict[str, Any] | None:
        """What `crumple versus` says of a pair; None: no block was measured. Raises LoadError."""
        pair = (times, seed, budget, self._arguments.running)
        if pair not in self._known:
            self._known[pair] = compared(times, seed, budget, self._arguments)
            if self._file:
                with self._file.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps({"pair": pair, "said": _brief(self._known[pair])}) + "\n")
        said: dict[str, Any] | None = self._known[pair]
        return said


def _brief(said: dict[str, Any] | None) -> dict[str, Any] | None:
    """What is kept of a comparison: all but the histograms, which are most of it."""
    for block in said["blocks"] if said else ():
        for turn in block:
            for name in ("closed", "at_rate"):
                turn[name].pop("times", None)
    return said


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
    with command_start.start(command, cores=tuple(sorted(facts.usable_cores()))[:-1]) as server:
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
