"""Which programs a trial was measured with: server, workload, engine, lab, kernel; and what of it changed.

Each by a hash of its content. What shows and judges a run is no part of it: it does not measure.
"""

import hashlib
import platform
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from crumple.engine import Engine
from crumple.project import PACKAGE
from crumple.run.store import Programs, StoredTrial, TrialIdentity
from crumple.workload.workload import Workload

# What of the lab decides how a trial is measured, and whether it is valid.
MEASURES = (
    "contract.py", "engine.py", "processes", "machine", "workload", "server", "database", "verify", "record",
    "load", "run",
)  # fmt: skip
DIGITS = 16


def programs(server: str, workloads: Sequence[Workload], load: Engine) -> Programs:
    """Those of one trial. `server`: the hash of its program; empty: it runs already."""
    asked = hashlib.sha256(b"".join(each.model_dump_json().encode() for each in workloads)).hexdigest()
    stat = load.path.stat()
    return Programs(
        server=server,
        workload=asked[:DIGITS],
        engine=_engine(load.path, stat.st_mtime_ns, stat.st_size),
        lab=lab(),
        kernel=platform.release(),
    )


def changed(stored: Iterable[StoredTrial], trial: TrialIdentity, now: Programs) -> list[str]:
    """What is another than in earlier trials of the run, in words."""
    found: dict[str, None] = {}
    for each in stored:
        before = each.programs
        if before is None:
            continue
        same = {
            f"server {trial.server}": each.trial.server != trial.server or before.server == now.server,
            f"workload of {trial.experiment}": (
                each.trial.experiment != trial.experiment or before.workload == now.workload
            ),
            "engine": before.engine == now.engine,
            "lab": before.lab == now.lab,
            f"kernel ({before.kernel}, now {now.kernel})": before.kernel == now.kernel,
        }
        found |= {what: None for what, alike in same.items() if not alike}
    return list(found)


@lru_cache
def lab() -> str:
    """Of the part of the lab that measures."""
    digest = hashlib.sha256()
    for name in MEASURES:
        place = PACKAGE / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{file.relative_to(PACKAGE)} {file.stat().st_size}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:DIGITS]


@lru_cache
def _engine(path: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
