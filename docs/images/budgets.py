"""The picture of where the time goes at three loads, in docs/diagnose.md, of searches that are stored.

    crumple find SERVER --workload hash --parameter n=30 --name SERVER
    .venv/bin/python docs/images/budgets.py NAME NAME … [--out FILE]

NAME is a stored result of `crumple find`, as `crumple list` shows it.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from crumple.drawing import svg
from crumple.drawing.plot import Panel, Picture
from crumple.find.report import find_sentences, find_times
from crumple.find.report.find_figures import SearchFigures
from crumple.results import restored, result_store
from crumple.words import time_rows

# How many loads are shown of a search.
LEVELS = 3
# The width of the picture in px: that of a page of GitHub.
WIDTH_PX = 860


def search(name: str) -> SearchFigures:
    """Return the figures of the search of that name."""
    path = next(each.path for each in result_store.entries() if each.name == name)
    return SearchFigures(restored.read(result_store.read(path), name))


def panel(finding: SearchFigures) -> tuple[Panel, Picture]:
    """Return a bar for the lowest load, the highest, and the one that differs most from both."""
    bars = [
        (f"{find_sentences.load(level.load, finding.by_rate)}, {level.outcome}", budget)
        for level, budget in find_times.choose(finding, LEVELS)
    ]
    drawn = time_rows.rows(bars)
    if drawn is None:
        raise SystemExit(f"{finding.asked}: no level has a budget")
    return replace(drawn.panels[0], title=finding.asked), drawn


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".svg"))
    asked = parser.parse_args()
    found = [panel(search(name)) for name in asked.names]
    keys = {key.label: key for _, drawn in found for key in drawn.keys}
    whole = Picture(
        [each for each, _ in found], "; ".join(drawn.says for _, drawn in found), [*keys.values()]
    )
    asked.out.write_text(svg.file(whole, "Where the time goes", WIDTH_PX), encoding="utf-8")
    print(asked.out)


if __name__ == "__main__":
    main()
