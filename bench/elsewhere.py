"""Does it make a difference which machine the load comes from? Everything is asked of crumple twice: with the
load from here, and with `--from` a host in namespaces of its own, behind a link and a real sshd.

    python bench/elsewhere.py --results elsewhere.jsonl               # all parts: about four hours
    python bench/elsewhere.py --only pairs                            # 20 interleaved pairs: six minutes
    python bench/elsewhere.py --only diagnose --results elsewhere.jsonl
    python bench/elsewhere.py --only find --seeds 3 --results elsewhere.jsonl
    python bench/elsewhere.py --only stages --lot 20

pairs: loads of one server with the same arrivals, in random order: from here, from here again, over the link
by a local engine in the load host's network namespace, and from there. p50 and p99 from there have to differ
by no more than those of the two from here, and the server's CPU time for a request by 5 % from what it is
over the link: what the link itself costs the server is no fault of --from. diagnose: of 40 servers with a
planted cause, drawn by lot, the first finding is the same for 95 %. find: the intervals of the two searches
overlap for 95 % of servers and seeds, and are no more than 1.2 times as wide. stages: where the mean response
time goes is read from the server's end alone, or from both ends; for 95 % of the stages of all servers the
intervals overlap. Rows in the file of --results are not measured again. It takes root and sshd, and is
skipped without.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asked_corpus
import load_hosts
import load_pairs
import options
import same_findings
import secure_shell  # type: ignore[import-not-found]
from asked_corpus import NotServed, Row, Rows
from bounds import Bounds, run
from crumple.machine import process_tree
from crumple.stats import estimate
from load_hosts import Elsewhere
from load_pairs import worded
from same_findings import BESIDE

SEED, LOT, PAIRS, SEEDS = 42, 40, 20, 10
# Here again: so much do two loads differ that come from the same machine.
HERE, TWIN, THERE = "here", "twin", "there"
# From here over the link: what the kernel does for a link between two namespaces is the server's CPU time.
LINKED = "linked"
CPU_WITHIN = 0.05
# Their limit is workers, a lock, a pool, a loop and the cores: all that a search may run into.
SEARCHED = ("c-pool", "go-lock", "go-pool", "c-epoll-wait", "go-compute")
OVERLAP_MIN, WIDER_MAX = 0.95, 1.2
STAGES = ("not_accepted", "unread", "inside", "returning")
PARTS = ("pairs", "diagnose", "find", "stages")


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(secure_shell.why_not())
    rows, bounds = Rows(arguments.results), Bounds(judging=not arguments.shortest)
    parts: dict[str, Callable[..., None]] = dict(zip(PARTS, (pairs, diagnoses, finds, stages), strict=True))
    with load_hosts.started() as there:
        for part in arguments.only:
            print(f"== {part}", flush=True)
            parts[part](there, rows, bounds, arguments)
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--only", type=options.words, default=list(PARTS), help="these parts")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seconds", type=float, default=5.0, help="of one load")
    parser.add_argument("--lot", type=int, default=LOT, help="so many servers, by lot")
    parser.add_argument("--servers", type=options.words, help="these instead of a lot")
    parser.add_argument("--seed", type=int, default=SEED, help="of the lot and of the order")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches of each server")
    parser.add_argument("--budget", default="60s", help="of a search")
    parser.add_argument("--results", type=Path, help="append each row to this file, and continue it")
    shortest = {"only": ["pairs"], "pairs": 1, "seconds": 3.0, "seeds": 1, "servers": ["c-pool"]}
    return options.parse(parser, **shortest)


def from_where(place: str, there: Elsewhere) -> tuple[tuple[str, ...], str]:
    """The flags that let the load come from a place, and the PATH."""
    return (there.words, there.path) if place == THERE else ((), asked_corpus.PATH)


def pairs(there: Elsewhere, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare times and CPU time of interleaved loads of one server."""
    places = (HERE, TWIN, LINKED, THERE)
    with asked_corpus.served(load_pairs.SERVER) as port:
        url = f"http://{there.here}:{port}{load_pairs.PATH}"
        watched = ("--watch", str(process_tree.owner(port)))

        def put_on(place: str, seed: int) -> Row:
            flags, path = from_where(place, there)
            within = ("nsenter", f"--net=/proc/{there.host.pid}/ns/net") if place == LINKED else ()
            more = (*watched, *flags)
            return load_pairs.loaded(url, arguments.seconds, seed, *more, path=path, within=within)

        figures = load_pairs.interleaved(
            "pairs", places, arguments.pairs, arguments.seconds, arguments.seed, rows, put_on
        )
    for figure, of in figures.items():
        judge_pairs(figure, of, bounds)


def judge_pairs(figure: str, of: dict[str, list[float]], bounds: Bounds) -> None:
    """Judge the ratio of a figure from there to that from here; of CPU time, to that over the link."""
    compared, linked = (load_pairs.compare(of, each, HERE, TWIN) for each in (THERE, LINKED))
    if compared is None or linked is None:
        print(f"{figure}: not known, as loads failed")
        return
    ratio, twins, floor = compared
    low, high = 1 / floor, floor
    if figure == "CPU":
        ratio, low, high = estimate.paired_ratio(of[THERE], of[LINKED]), 1 - CPU_WITHIN, 1 + CPU_WITHIN
    word = bounds.within(f"{figure} from there", ratio, round(low, 4), round(high, 4))
    shown = f"twins {worded(twins)}, pairs within {floor:.3f}; linked {worded(linked[0])}"
    print(f"{figure}: from there {worded(ratio)} {word}; {shown}")


def diagnoses(there: Elsewhere, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare first findings."""

    def diagnosed(place: str, name: str) -> Row:
        flags, path = from_where(place, there)
        with asked_corpus.served(name) as port:
            return same_findings.diagnosed(name, f"{there.here}:{port}", *flags, path=path)

    places = {BESIDE: partial(diagnosed, HERE), THERE: partial(diagnosed, THERE)}
    same_findings.compare(drawn(arguments), places, rows, bounds)


def drawn(arguments: argparse.Namespace) -> list[str]:
    """The servers that are asked about."""
    return arguments.servers or asked_corpus.lot(arguments.lot, arguments.seed)


def finds(there: Elsewhere, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare breaking points."""
    names, overlaps, wider = arguments.servers or SEARCHED, list[bool](), list[float]()
    asked = [(name, seed) for seed in range(1, arguments.seeds + 1) for name in names]

    def searched(name: str, seed: int, place: str) -> Row:
        flags, path = from_where(place, there)
        words = ("--budget", arguments.budget, "--seed", str(seed))
        with asked_corpus.served(name) as port:
            url = f"http://{there.here}:{port}/work"
            return brief(asked_corpus.asked("find", *words, *flags, url, codes=load_pairs.CODES, path=path))

    def keys(at: tuple[str, int]) -> list[tuple[str, str, int, str]]:
        return [("find", *at, place) for place in (HERE, THERE)]

    for far, at in asked_corpus.counted(asked, lambda at: all(map(rows.has, keys(at)))):
        try:
            points = [rows.once(key, partial(searched, *key[1:])) for key in keys(at)]
        except NotServed as failed:
            print(f"{far:22} left out: {failed}", flush=True)
            continue
        one, other = (row["said"] and row["said"]["point"] for row in points)
        print(f"{far:22} {at[0]:16} {at[1]:3}  here {point(one)}  there {point(other)}", flush=True)
        if one and other:
            overlaps.append(one["low"] <= other["high"] and other["low"] <= one["high"])
            wider.append((other["high"] / other["low"]) / (one["high"] / one["low"]))
        elif one or other:
            overlaps.append(False)
    judge_overlaps("find", overlaps, bounds)
    if len(wider) > 1:
        ratio = estimate.paired_ratio(wider, [1.0] * len(wider))
        print(f"wider from there: {worded(ratio)} {bounds.at_most('find wider', ratio, WIDER_MAX)}")


def brief(row: Row) -> Row:
    """What is kept of a search: its breaking point."""
    return {**row, "said": row["said"] and {"point": row["said"]["breaking_point"]}}


def point(found: dict[str, float] | None) -> str:
    """A breaking point as it is shown."""
    return (
        f"{found['estimate']:8.1f} [{found['low']:8.1f} – {found['high']:8.1f}]" if found else f"{'none':30}"
    )


def stages(there: Elsewhere, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare where the mean response time goes."""
    overlaps: list[bool] = []
    names = drawn(arguments)

    def divided(port: int, place: str) -> Row:
        flags, path = from_where(place, there)
        url = f"http://{there.here}:{port}/work"
        words = ("-c", "32", "-z", f"{2 * arguments.seconds}s", "--warm-up", "1s")
        row = asked_corpus.asked("load", *words, *flags, url, codes=load_pairs.CODES, path=path)
        return {**row, "said": row["said"] and row["said"]["stages"]}

    def keys(name: str) -> list[tuple[str, str, str]]:
        return [("stages", name, place) for place in (HERE, THERE)]

    for far, name in asked_corpus.counted(names, lambda name: all(map(rows.has, keys(name)))):
        try:
            with asked_corpus.served(name) as port:
                made = [rows.once(key, partial(divided, port, key[2])) for key in keys(name)]
        except NotServed as failed:
            print(f"{far:22} left out: {failed}", flush=True)
            continue
        budgets = [(row["said"] or {"why": row["error"]}) for row in made]
        if whys := [each["why"] for each in budgets if each["why"]]:
            print(f"{far:22} {name:20} does not count: {'; '.join(whys)[:90]}", flush=True)
            continue
        both = [overlap(name, stage, *budgets) for stage in STAGES]
        overlaps += both
        print(f"{far:22} {name:20} {sum(both)} of {len(both)} stages overlap", flush=True)
    judge_overlaps("stages", overlaps, bounds)


def overlap(name: str, stage: str, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the intervals of a stage overlap; they are printed if they do not."""
    here, there = (each["parts"].get(stage, {"low_ns": 0.0, "high_ns": 0.0}) for each in (one, other))
    both = bool(here["low_ns"] <= there["high_ns"] and there["low_ns"] <= here["high_ns"])
    if not both:
        shown = [[round(each["low_ns"] / 1e3, 1), round(each["high_ns"] / 1e3, 1)] for each in (here, there)]
        print(f"{name}, {stage}: here {json.dumps(shown[0])} µs, there {json.dumps(shown[1])} µs", flush=True)
    return both


def judge_overlaps(name: str, overlaps: list[bool], bounds: Bounds) -> None:
    """Judge how often intervals overlap."""
    if overlaps:
        share = same_findings.share(overlaps)
        word = bounds.at_least(f"{name} overlap", share, OVERLAP_MIN)
        print(f"intervals overlap in {same_findings.shown(share)}  {word}")


if __name__ == "__main__":
    run(main)
