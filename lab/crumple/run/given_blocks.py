"""Run given blocks of a planned run, so that several hosts can share it.

Each host has a folder with the same run.json, and stores there the trials of its blocks.
`run_plan.groups` says which blocks one host must measure together, and `joined_run` makes one run of them.
"""

import math
from collections.abc import Collection
from pathlib import Path

from crumple.run import runs
from crumple.run.blocks import Begun, RunWatcher
from crumple.run.session import Session


def execute(
    begun: Begun, places: Collection[int], root: Path, watcher: RunWatcher, database_url: str | None = None
) -> None:
    """Execute what is left of these blocks, in the order of the plan, and store each trial when it ends.

    `places`: of the blocks in the run's plan, from 0. Results decide about none of them, and there is no
    budget of time. Raises what a session raises.
    """
    Session([runs.given(begun, places)], root, budget_s=math.inf).conduct(watcher, database_url)
