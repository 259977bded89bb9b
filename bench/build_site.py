"""How long does `crumple report --site` take if nothing changed, and if one result is new? A load is stored
many times; the site is built once, then again without a change, then with one more, in each round.

    python bench/build_site.py --results 200 --rounds 5

The medians over the rounds are judged, by their intervals. Exits 1 if one is above its bound.
"""

import argparse
import json
import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import load
import options
import start
import terminal
from bounds import Bounds, run, skip
from intervals import median_interval

UNCHANGED_MAX_S = 2.0
ONE_NEW_MAX_S = 3.0
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    arguments = parse()
    if not terminal.CRUMPLE.is_file():
        skip(f"no crumple in {terminal.CRUMPLE.parent} (to install: {terminal.INSTALL})")
    bounds = Bounds(judging=not arguments.shortest)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CRUMPLE_RUNS"] = scratch
        document, store = measured(), Path(scratch) / "results"
        for number in range(arguments.results):
            keep(document, store, number)
        site = Path(scratch) / "site"
        print(f"{arguments.results} results: built in {built_s(site):.1f} s")
        unchanged_s, one_new_s = [], []
        for number in range(arguments.rounds):
            unchanged_s.append(built_s(site))
            keep(document, store, arguments.results + number)
            one_new_s.append(built_s(site))
    for what, each_s, most_s in (
        ("nothing changed", unchanged_s, UNCHANGED_MAX_S),
        ("one is new", one_new_s, ONE_NEW_MAX_S),
    ):
        interval = median_interval(each_s)
        print(
            f"again, {what}, {arguments.rounds} rounds: {interval.estimate:.2f} s "
            f"({interval.low:.2f} to {interval.high:.2f}, 95 % interval)   "
            f"{bounds.at_most(f'again, {what}', interval, most_s, ' s')}"
        )
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 5)
    parser.add_argument("--results", type=int, default=200)
    return options.parse(parser, rounds=1, results=3)


def measured() -> dict[str, object]:
    """The document of a short load. Raises LoadError if it fails."""
    with start.server() as (address, _):
        said = terminal.call("load", f"http://{address}/", "-z", "0.2s", "-c", "4", "--json", "--no-store")
    if said.code not in start.MEASURED:
        raise load.LoadError(f"crumple load ended with {said.code}: {said.screen[-300:].strip()}")
    found: dict[str, object] = json.loads(said.answer)
    return found


def keep(document: dict[str, object], store: Path, number: int) -> None:
    """Stores the load as one of that hour."""
    began = (FIRST + timedelta(hours=number)).isoformat(timespec="seconds")
    store.mkdir(exist_ok=True)
    (store / f"load-{number}.json").write_text(json.dumps({**document, "began": began}), encoding="utf-8")


def built_s(site: Path) -> float:
    """Builds the site, and returns how long that took. Raises LoadError if it fails."""
    said = terminal.call("report", "--site", str(site))
    took_s = time.monotonic() - said.entered_s
    if said.code:
        raise load.LoadError(f"crumple report ended with {said.code}: {said.screen[-300:].strip()}")
    return took_s


if __name__ == "__main__":
    run(main)
