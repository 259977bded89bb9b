"""Loads of one server with the same arrivals from several places, in random order, and how far the figures of
a place lie from those of another: what scripts share that ask whether it matters where a load comes from."""

import random
from collections.abc import Callable, Sequence
from functools import partial

import asked_corpus
from asked_corpus import Row, Rows
from crumple.stats import estimate
from crumple.stats.interval import Interval

SERVER, PATH, RATE = "go-wait", "/wait?ms=5", 500
# Found, or no answer, or not valid: what a load or a search says then is kept as well.
CODES = (0, 1, 3)
# Figure → place → the figure of each pair.
Figures = dict[str, dict[str, list[float]]]


def interleaved(
    what: str,
    places: Sequence[str],
    pairs: int,
    seconds: float,
    seed: int,
    rows: Rows,
    put_on: Callable[[str, int], Row],
) -> Figures:
    """Put the loads of all pairs on, unless their rows are kept, and return their figures.

    `put_on` gets the place and the seed of the arrivals, and returns a row whose figures are what is "said".
    """
    order, figures = random.Random(seed), Figures()
    drawn = [place for _ in range(pairs) for place in order.sample(places, len(places))]
    keys = [(what, seconds, at // len(places), place) for at, place in enumerate(drawn)]
    for far, key in asked_corpus.counted(keys, rows.has):
        _, _, number, place = key
        said = rows.once(key, partial(put_on, place, number + 1))["said"]
        if said is None:
            print(f"{far:22} {number:3} {place:6} failed", flush=True)
            continue
        shown = "  ".join(f"{figure} {value:9.1f}" for figure, value in said.items())
        print(f"{far:22} {number:3} {place:6} {shown}", flush=True)
        for figure, value in said.items():
            figures.setdefault(figure, {}).setdefault(place, []).append(value)
    return figures


def loaded(
    url: str, seconds: float, seed: int, *more: str, path: str = asked_corpus.PATH, within: Sequence[str] = ()
) -> Row:
    """Put one load on; its p50, its p99 and the server's CPU time for a request, if that is known, in µs."""
    words = f"-q {RATE} -z {seconds}s --warm-up 1s --seed {seed}".split()
    row = asked_corpus.asked("load", *words, *more, url, codes=CODES, path=path, within=within)
    if row["said"] is None:
        print(row["error"][-300:])
        return row
    times = row["said"]["times"]["response_time"]["quantile_ns"]
    if "0.99" not in times:
        return {**row, "said": None}  # Others disturbed it, or it was too short.
    cpu_us = (row["said"]["server"] or {}).get("cpu_per_request_us")
    figures = {"p50": times["0.5"] / 1e3, "p99": times["0.99"] / 1e3}
    return {**row, "said": {**figures, **({"CPU": cpu_us} if cpu_us else {})}}


def compare(
    of: dict[str, list[float]], place: str, to: str, twin: str
) -> tuple[Interval, Interval, float] | None:
    """How many times as large a figure is at a place as at another, that of the other's twin, and the floor.

    In 19 of 20 pairs of twins the larger is at most so many times the smaller. None: loads failed.
    """
    if not {place, to, twin} <= of.keys() or len({len(each) for each in of.values()}) > 1:
        return None
    apart = sorted(max(one / other, other / one) for one, other in zip(of[twin], of[to], strict=True))
    floor = apart[round(0.95 * (len(apart) - 1))]
    return estimate.paired_ratio(of[place], of[to]), estimate.paired_ratio(of[twin], of[to]), floor


def worded(of: Interval) -> str:
    """A ratio with its interval."""
    return f"{of.estimate:.3f} ({of.low:.3f} to {of.high:.3f})"
