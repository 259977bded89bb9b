"""How long does it take to write the page of a run, how large is it, and how much memory does that take?

    python bench/pages.py
    python bench/pages.py --trials 25,500 --rounds 5

`crumple report RUN --format html` is called for made-up runs of seven servers in two experiments, with more
and more blocks. SVG is what its charts take of the page, whose size is without its document. The medians
over the rounds are judged, by their intervals. `--keep FOLDER` leaves the pages there. Exits 1 if a page is
above a bound.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import options
from bounds import Bounds, run
from crumple import project
from crumple.run.run_plan import plan
from crumple.run.store import RunStore
from intervals import median_interval

sys.path.insert(0, str(project.root() / "lab" / "tests" / "helpers"))

import synthetic_run  # type: ignore[import-not-found]
from synthetic_study import STUDY  # type: ignore[import-not-found]

# For runs of at most so many trials: seconds to write the page, and megabytes that it has.
BOUNDS = {25: (3.0, 0.4), 500: (5.0, 1.0), 5_000: (15.0, 5.0)}
MEMORY_MAX_MIB = 400
# Trials that differ; more of them repeat their records, as making one takes as long as reading ten. A server
# has more that differ than the lab keeps decoded.
DIFFERENT = 1_600


@dataclass(frozen=True)
class PageCost:
    """What it took to write a page."""

    seconds: float
    cpu_seconds: float
    memory_mib: float
    megabytes: float
    drawings: int
    drawn_share: float


def main() -> None:
    arguments = parse()
    bounds = Bounds(judging=not arguments.shortest)
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.keep or Path(made)
        for trials in arguments.trials:
            stored = store(Path(made), trials)
            costs = [written(stored, folder / f"{trials}.html") for _ in range(arguments.rounds)]
            print(f"{len(stored.ids())} trials: {said(costs, trials, bounds)}")
    bounds.close()


def parse() -> argparse.Namespace:
    made = options.parser(__doc__)
    options.rounds(made, 6)
    made.add_argument("--trials", type=options.numbers, default=[*BOUNDS])
    made.add_argument("--keep", type=Path)
    return options.parse(made, rounds=1, trials=[25])


def said(costs: list[PageCost], trials: int, bounds: Bounds) -> str:
    """Returns the figures in words, each with its bound if the run has one."""
    parts = []
    most = BOUNDS.get(trials)
    for name, unit, values, bound in (
        ("written in", " s", [each.seconds for each in costs], most and most[0]),
        ("size", " MB", [each.megabytes for each in costs], most and most[1]),
        ("memory", " MiB", [each.memory_mib for each in costs], MEMORY_MAX_MIB),
    ):
        interval = median_interval(values)
        judged = f" {bounds.at_most(f'{name} of {trials}', interval, bound, unit)}" if bound else ""
        parts.append(f"{name} {interval.estimate:.3g}{unit}{judged}")
    first = costs[0]
    parts.append(f"CPU {min(each.cpu_seconds for each in costs):.3g} s")
    return "; ".join([*parts, f"{first.drawings} drawings, {100 * first.drawn_share:.0f} % of it SVG"])


def written(stored: RunStore, page: Path) -> PageCost:
    """Writes the page of a run in a process of its own."""
    page.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "crumple", "report", str(stored.folder), "--format", "html"]
    began = time.monotonic()
    process = subprocess.Popen([*command, "--out", str(page)], stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    took_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    # The document that a page holds has a bound of its own.
    text = re.sub(r'<script type="application.*?</script>', "", page.read_text(encoding="utf-8"), flags=re.S)
    drawings = re.findall(r'<svg [^>]*role="img".*?</svg>(?=\s*</div>|\s*</td>)', text, re.S)
    drawn = sum(map(len, drawings)) / len(text)
    cpu_s = used.ru_utime + used.ru_stime
    return PageCost(took_s, cpu_s, used.ru_maxrss / 1024, len(text.encode()) / 1e6, len(drawings), drawn)


def store(folder: Path, trials: int) -> RunStore:
    """Stores a made-up run of whole blocks with at least so many trials."""
    stored = RunStore.create(folder, f"todo-json-quick-{trials:06}-063012")
    assert stored is not None
    run_file = synthetic_run.run_file()
    per_block = len(run_file.plan.trials) / len({each.block for each in run_file.plan.trials})
    blocks = -(-trials // round(per_block))
    meant = {
        name: experiment.model_copy(
            update={"scales": {"quick": experiment.scales["quick"].model_copy(update={"blocks": blocks})}}
        )
        for name, experiment in STUDY.experiments.items()
    }
    study = STUDY.model_copy(update={"experiments": meant})
    planned = plan(study, "quick", synthetic_run.SEED)
    of_run = run_file.model_copy(update={"id": stored.name, "study": study, "plan": planned})
    stored.write_run(of_run.model_dump_json(by_alias=True))
    stored.path_of("any").parent.mkdir()
    random, made = np.random.default_rng(synthetic_run.SEED), {}
    for identity in planned.trials:
        alike = (
            identity.experiment,
            identity.server,
            identity.twin,
            identity.block % round(DIFFERENT / per_block),
        )
        if alike not in made:
            made[alike] = synthetic_run._trial(random, meant[identity.experiment], identity, 1.0)
        trial = made[alike].model_copy(update={"trial": identity})
        stored.path_of(identity.id).write_text(trial.model_dump_json(by_alias=True), encoding="utf-8")
    return stored


if __name__ == "__main__":
    run(main)
