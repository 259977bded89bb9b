"""The picture of where the time goes at three loads, in docs/diagnose.md, of searches that are stored.

    crumple find SERVER --workload hash --parameter n=30 --name SERVER
    .venv/bin/python docs/images/budgets.py NAME NAME … [--out FILE]

NAME is a stored result of `crumple find`, as `crumple list` shows it.
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt
from crumple.drawing import theme
from crumple.find.report import find_sentences, find_times
from crumple.find.report.find_figures import SearchFigures
from crumple.results import restored, result_store
from crumple.words import time_chart

LEVELS, WIDTH_PX, BARS_PX = 3, 760, 620


def search(name: str) -> SearchFigures:
    """Return the figures of the search of that name."""
    path = next(each.path for each in result_store.entries() if each.name == name)
    return SearchFigures(restored.read(result_store.read(path), name))


def chart(finding: SearchFigures) -> Any:
    """A bar for the lowest load, the highest, and the one between them that differs most from both."""
    bars = [
        (f"{find_sentences.load(level.load, finding.by_rate)}, {level.outcome}", budget)
        for level, budget in find_times.choose(finding, LEVELS)
    ]
    drawn = time_chart.bars(bars, WIDTH_PX)
    if drawn is None:
        raise SystemExit(f"{finding.asked}: no level has a budget")
    titled: Any = drawn.properties(title=finding.asked, width=BARS_PX)
    # Altair refuses charts that fit themselves into a width in one that holds several.
    titled.autosize = alt.Undefined
    return titled


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".png"))
    asked = parser.parse_args()
    charts = [chart(search(name)) for name in asked.names]
    whole = alt.vconcat(*charts).resolve_scale(x="independent", color="independent")
    asked.out.write_bytes(theme.png(whole))
    print(asked.out)


if __name__ == "__main__":
    main()
