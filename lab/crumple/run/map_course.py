"""Execute the map of a run: measure what `model_map` chooses, until all is decided or the time is over."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from crumple.model_map import next_points
from crumple.model_map.model_map import ModelMap
from crumple.record.figures import Figures
from crumple.run import map_of_run, run_plan
from crumple.run.blocks import Blocks
from crumple.run.run_file import RunFile
from crumple.run.run_plan import Block
from crumple.run.store import StoredTrial
from crumple.study import map_points
from crumple.study.map_points import MapPoint
from crumple.study.study import Study

# A server is measured no more if three of its trials do not count, and a quarter of them: what fails there
# will fail again.
LOST_MIN, LOST_SHARE = 3, 0.25


@dataclass(frozen=True)
class MapStanding:
    """How many cells of a map are decided, and what is measured next."""

    decided: int
    cells: int
    further: "FurtherBlock | None" = None
    """None: nothing more would help, or fits into the time."""


@dataclass(frozen=True)
class FurtherBlock:
    """A block that results called for, and the study that has its experiment."""

    study: Study
    block: Block
    why: str


def conduct(run: Blocks, left_s: Callable[[], float], note: Callable[[MapStanding], None]) -> None:
    """Measure what is chosen. `note` gets how far the map has come. Raises StorageFull and NotWritable."""
    while True:
        now = standing(run.file, run.figures.values(), run.stored, left_s())
        note(now)
        if (chosen := now.further) is None:
            return
        run.plan_further(chosen.study, chosen.block, chosen.why)
        run.do([chosen.block], chosen.why)


def standing(
    file: RunFile, seen: Iterable[Figures | None], stored: Sequence[StoredTrial], left_s: float
) -> MapStanding:
    """Return how far a map has come. `seen`: the figures of its trials, where they have some."""
    drawn = ModelMap(map_of_run.data_of(file, seen, stored))
    lost = [each.trial for each in stored if not each.valid and not each.skipped]
    without = {map_points.point_of(file.study.experiments[each.experiment]) for each in lost}
    chosen = next_points.choose(drawn, _loads(file), left_s, without=without, spared=_spared(stored))
    further = None
    if chosen is not None:
        further = _planned(file, chosen.point, chosen.servers, str(chosen))
    return MapStanding(drawn.decided, len(drawn.cells), further)


def _loads(file: RunFile) -> next_points.LoadS:
    assert file.study.map is not None and file.study.map.measured_as is not None
    experiment = file.study.map.measured_as
    return lambda point, server: map_points.load_s(experiment, point, file.scale, server)


def _planned(file: RunFile, point: MapPoint, servers: Collection[str], why: str) -> FurtherBlock:
    number = 1 + sum(each.experiment == point.name for each in file.plan.blocks)
    study = map_points.with_point(file.study, point, file.scale, number)
    block = run_plan.block_of(study, file.scale, point.name, number, file.seed)
    return FurtherBlock(study, block.of(servers), why)


def _spared(stored: Sequence[StoredTrial]) -> set[str]:
    """Return the servers of which too many trials do not count: more of them would cost time for nothing."""
    every = Counter(each.trial.server for each in stored)
    lost = Counter(each.trial.server for each in stored if not each.valid)
    return {server for server, number in lost.items() if number >= max(LOST_MIN, LOST_SHARE * every[server])}
