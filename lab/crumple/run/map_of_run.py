"""What the map of a run is made of, read from its stored trials; and which stored run has the latest map."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crumple.errors import NotStored
from crumple.model_map import map_data
from crumple.model_map.map_data import MapData
from crumple.record.figures import Figures, figures
from crumple.run import run_file, store
from crumple.run.run_file import RunFile
from crumple.run.store import RunStore, StoredTrial

# What run.json has only if its study has a map: looked for in the text, as to read every run takes long.
_HAS_MAP = b'"measured_as": {'


def data_of(file: RunFile, seen: Iterable[Figures | None], stored: Sequence[StoredTrial]) -> MapData:
    """Return what the map of a run is made of. `seen`: the figures of its trials, where they have some."""
    drawn = file.study.map
    assert drawn is not None and drawn.measured_as is not None
    took_s = {each.trial.id: (each.server.start_s or 0.0) + each.overhead_s for each in stored}
    settings = {each.trial.server: each.server.settings for each in stored}
    keeps = drawn.measured_as.connection == "keep-alive"
    online = int(file.machine.get("cores") or 1)
    known = [each for each in seen if each is not None]
    kept = map_data.counting(known, file.study)
    return MapData(
        run=file.id,
        began=file.began,
        machine={name: file.machine.get(name) for name in map_data.FACTS},
        cores=_cores(file.machine, online),
        wait_ms=drawn.wait_ms,
        compute_us=drawn.compute_us,
        users=drawn.users,
        servers=tuple(
            map_data.server(label, note.title, note.io_model, settings.get(label, {}), keeps=keeps)
            for label in drawn.measured_as.servers
            if (note := file.servers.get(label)) is not None
        ),
        trials=tuple(
            map_data.trial(each, file.study, online, took_s.get(each.trial_id, 0.0)) for each in kept
        ),
        left_out=len(known) - len(kept),
    )


def _cores(machine: Mapping[str, Any], online: int) -> int:
    """Return how many cores server and load may use: those of a quota are rounded up."""
    usable, quota = len(machine.get("usable_cores") or ()) or online, machine.get("cpu_quota_cores")
    return min(usable, math.ceil(quota)) if isinstance(quota, int | float) else usable


def of_store(run: RunStore) -> MapData:
    """Return what the map of a stored run is made of. Raises NotStored, also if its study has no map."""
    file = run_file.read(run)
    if file.study.map is None:
        raise NotStored(f"study {file.study.name} of {run.name} has no map", "name a run of wait-or-compute")
    stored = run.trials()
    found = data_of(file, map(figures, stored), stored)
    if not found.trials:
        raise NotStored(f"no trial of {run.name} counts", "measure it again: crumple run wait-or-compute")
    return found


def latest(runs: Path) -> RunStore | None:
    """Return the stored run that began last of those that have a map; None: there is none."""
    having = [file.parent for file in runs.glob("*/run.json") if _HAS_MAP in file.read_bytes()]
    return RunStore(max(having, key=store.began)) if having else None
