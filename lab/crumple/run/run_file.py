"""run.json: what a run is, so that it can be continued and reported without the files it began from.

Written when a run begins and again when it ends; the trials lie beside it (`store`). With each trial goes
what measured it, each as a hash of its content: server, workload, engine and lab; and the kernel. The parts
of the lab that show and judge are left out, since they do not measure.
"""

import hashlib
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from crumple import parsing
from crumple.contract import Frozen
from crumple.engine import Engine
from crumple.errors import NotStored
from crumple.project import PACKAGE
from crumple.run import run_plan
from crumple.run.run_plan import Block, Plan
from crumple.run.store import Programs, RunStore, StoredTrial, TrialIdentity
from crumple.study.study import ScaleName, Study
from crumple.subject.workload import Workload
from crumple.verdict.case import Facts

# What of the lab decides how a trial is measured, and whether it is valid.
MEASURES = ("contract.py", "engine.py", "machine", "subject", "record", "load", "run")
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
            if "report" in file.relative_to(PACKAGE).parts or file.stem.endswith("_live"):
                continue
            digest.update(f"{file.relative_to(PACKAGE)} {file.stat().st_size}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:DIGITS]


@lru_cache
def _engine(path: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]


class ServerNote(Frozen):
    """A server as its folder described it when the run began.

    `model_is_checked`: whether `verify` can check `io_model` by what the server does.
    """

    title: str
    language: str
    io_model: str
    model_is_checked: bool = True
    about: str
    libraries: dict[str, str]


UNTIMED: Mapping[str, float] = {}
# Why an experiment has no more blocks, where nothing that came out is the reason.
TIME_OVER = "the time was over"


class Chosen(Frozen):
    """A block that was run because of what those before it came to."""

    experiment: str
    block: int
    why: str


class RunFile(Frozen):
    """One execution of a study on one machine.

    `study`: as it is at the scale. `only`: the servers the run was restricted to, None for all.
    `brought`: one's own servers, label → folder or URL. `versions`: server → runtime → version.
    `began`, `ended`: ISO 8601, UTC; `ended` None while it runs and after an interruption. `chosen`: in the
    order in which they were run. `stopped`: experiment → why it had no more of the planned blocks.
    """

    version: Literal[1] = 1
    id: str
    study: Study
    scale: ScaleName
    seed: int
    only: tuple[str, ...] | None
    brought: dict[str, str] = Field(default_factory=dict)
    plan: Plan
    machine: dict[str, Any]
    servers: dict[str, ServerNote]
    versions: dict[str, dict[str, str]]
    lab_version: str
    engine_version: str
    began: str
    ended: str | None = None
    chosen: tuple[Chosen, ...] = ()
    stopped: dict[str, str] = Field(default_factory=dict)

    def facts(self, skipped: Collection[str], block_s: Mapping[str, float] = UNTIMED) -> Facts:
        """What its claims are judged by beside trials. `block_s`: experiment → what one more block takes.

        `skipped`: ids of the trials that could not be tried.
        """
        models = {name: note.io_model for name, note in self.servers.items()}
        costs = self.machine.get("costs", {})
        return Facts(models=models, costs=costs, block_s=block_s, skipped=skipped)

    def must(self, block: Block) -> bool:
        """Whether it is run whatever the blocks before it came to."""
        return run_plan.must(self.study, self.scale, block)


def write(store: RunStore, run: RunFile) -> None:
    """Replace run.json, whole. Raises StorageFull, NotWritable."""
    store.write_run(run.model_dump_json(indent=1, by_alias=True))


def read(store: RunStore) -> RunFile:
    """The run of a folder. Raises NotStored."""
    try:
        return RunFile.model_validate_json(store.read_run())
    except ValidationError as error:
        message = f"{store.run_file} is not a run of this version of crumple ({parsing.first_fault(error)})"
        raise NotStored(message, "run the study again") from None


def now() -> str:
    """The present, to the second, as runs note it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_id(study: str, scale: str, at: datetime) -> str:
    """Study, scale and UTC time, as in `todo-json-quick-20261121-063012`; the end sorts by time."""
    return f"{study}-{scale}-{at.astimezone(UTC):%Y%m%d-%H%M%S}"
