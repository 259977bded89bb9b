"""Do two maps of one machine say the same? `crumple run wait-or-compute`, several times; pairs are compared.

    python bench/map_stability.py --rounds 2 --results maps.txt
    python bench/map_stability.py --runs RUN RUN

Of two maps a cell agrees if it is undecided in one of them, or neither says of the other's best server that
it serves less. At least 90 % of the cells of each pair have to, at least 60 % have to be decided in both, and
a run has to end within a quarter of an hour. --results keeps the names of the runs; the same again continues.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import load
import options
import terminal
from bounds import MET, NOT_MET, Bounds, run

STUDY = "wait-or-compute"
AGREE_MIN, DECIDED_MIN, LONGEST_S = 0.9, 0.6, 900.0
# The shortest form measures one server, whose map it compares with itself.
SERVER, SHORTEST = "node-http", "6s"

# Point → whether it is decided, the best server, and all those that are not behind it.
Cells = dict[tuple[int, int, int], tuple[bool, str, frozenset[str]]]


def main() -> None:
    """Measure the maps, and compare each pair."""
    arguments = parse()
    bounds = Bounds(judging=not arguments.shortest)
    runs = list(arguments.runs or read(arguments.results))
    while not arguments.runs and len(runs) < arguments.rounds:
        name, took_s = measured(len(runs) + 1, arguments.scale, arguments.shortest)
        runs.append(name)
        print(f"{name}: {took_s:.0f} s, {'' if took_s <= LONGEST_S else 'not '}within a quarter of an hour")
        if took_s > LONGEST_S:
            bounds.miss("a quarter of an hour")
        if arguments.results:
            with arguments.results.open("a", encoding="utf-8") as kept:
                kept.write(f"{name}\n")
    try:
        maps = {name: cells(name) for name in runs}
    except load.LoadError as error:
        if not arguments.shortest:
            raise
        print(error)  # On a busy machine no trial of so short a run may count.
        return
    pairs = [*itertools.combinations(maps, 2)] or [(name, name) for name in maps]
    for one, other in pairs:
        compare(one, other, maps[one], maps[other], bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    options.rounds(parser, 2)
    parser.add_argument("--runs", nargs="*", default=[], help="compare these stored runs; measure nothing")
    parser.add_argument("--results", type=Path, help="keep the names of the runs in this file")
    parser.add_argument("--scale", default="quick")
    return options.parse(parser, rounds=1)


def read(file: Path | None) -> list[str]:
    """The names of the runs that a file keeps."""
    return file.read_text(encoding="utf-8").split() if file and file.exists() else []


def measured(seed: int, scale: str, shortest: bool) -> tuple[str, float]:
    """Measure a map; return the run's name and how long it took. Raises LoadError if it gave none."""
    short = ("--servers", SERVER, "--budget", SHORTEST) if shortest else ()
    began_s = time.monotonic()
    said = terminal.call("run", STUDY, "--scale", scale, "--seed", str(seed), "--json", *short)
    if not said.answer:
        raise load.LoadError(f"crumple run ended with {said.code}: {said.screen[-300:].strip()}")
    return str(json.loads(said.answer)["run"]), time.monotonic() - began_s


def cells(name: str) -> Cells:
    """The cells of a stored map. Raises LoadError if it has none."""
    said = terminal.call("map", name, "--json")
    if not said.answer:
        raise load.LoadError(f"crumple map ended with {said.code}: {said.screen[-300:].strip()}")
    return dict(_cells(json.loads(said.answer)["cells"]))


def _cells(found: Sequence[Any]) -> Iterator[tuple[tuple[int, int, int], tuple[bool, str, frozenset[str]]]]:
    for cell in found:
        front = frozenset(each["server"] for each in cell["servers"] if each["rank"] != "behind")
        point = cell["wait_ms"], cell["compute_us"], cell["users"]
        yield point, (cell["decided"], cell["servers"][0]["server"], front)


def agrees(one: tuple[bool, str, frozenset[str]], other: tuple[bool, str, frozenset[str]]) -> bool:
    """Whether a cell is undecided in one of two maps, or each has the other's best server among its best."""
    if not (one[0] and other[0]):
        return True
    return one[1] in other[2] and other[1] in one[2]


def compare(name: str, against: str, one: Cells, other: Cells, bounds: Bounds) -> None:
    """Print how many cells of two maps agree, and which do not."""
    both = sorted(one.keys() & other.keys())
    against_each_other = [point for point in both if not agrees(one[point], other[point])]
    decided = sum(one[point][0] and other[point][0] for point in both)
    same = sum(one[point][2] == other[point][2] for point in both)
    share, of_all = 1 - len(against_each_other) / len(both), decided / len(both)
    agreed = _word(bounds, "agreement", share, AGREE_MIN)
    known = _word(bounds, "decided", of_all, DECIDED_MIN)
    print(f"{name} and {against}: {share:.1%} of {len(both)} cells agree ({agreed}), ", end="")
    print(f"{of_all:.1%} are decided in both ({known}), {same} have the same best servers")
    for point in against_each_other:
        print(f"  {point}: {one[point][1]} and {other[point][1]}")


def _word(bounds: Bounds, name: str, share: float, least: float) -> str:
    word = MET if share >= least else NOT_MET
    bounds.count(name, word)
    return f"≥ {least:.0%}{f' {word}' if bounds.judging else ''}"


if __name__ == "__main__":
    run(main)
