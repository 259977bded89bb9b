"""The map of a run whose study has one."""

from crumple.model_map.model_map import ModelMap
from crumple.run import map_of_run
from crumple.run.report.view import RunView


def drawn(view: RunView) -> ModelMap | None:
    """Return the map; None: the study has none, or no trial counts yet."""
    if view.run.study.map is None:
        return None
    seen, stored = [start.figures for start in view.starts], [start.trial for start in view.starts]
    data = map_of_run.data_of(view.run, seen, stored)
    return ModelMap(data) if data.trials else None
