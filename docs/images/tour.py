"""The picture of the tour's screen in the README, of runs that are stored.

    .venv/bin/python docs/images/tour.py RUN RUN … [--out FILE]

RUN is a run's name or folder. Without any: the latest run of each study, as `crumple try` leaves them.
"""

import argparse
from pathlib import Path

from crumple import project
from crumple.run import run_file, store
from crumple.run.report import runs_report
from crumple.run.report.view import view

COLUMNS = 100


def latest(runs: Path) -> list[str]:
    """Of each study with an article the run that began last."""
    stores = [store.find(runs, file.parent.name) for file in runs.glob("*/run.json")]
    found = sorted((run_file.read(each) for each in stores), key=lambda run: run.began)
    return [run.id for run in {run.study.name: run for run in found if run.study.article}.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description="the tour's screen as an SVG")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".svg"))
    asked = parser.parse_args()
    folder = project.runs(project.root())
    stores = [store.find(folder, name) for name in asked.runs or latest(folder)]
    views = [view(run_file.read(each), each.trials()) for each in stores]
    asked.out.write_text(runs_report.picture(views, COLUMNS, "crumple try"), encoding="utf-8")
    print(asked.out)


main()
