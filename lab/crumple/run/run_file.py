"""run.json: what a run is, so that it can be continued and reported without the files it began from.

Written when a run begins and again when it ends. The trials lie beside it (store.py).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from crumple.contract import Frozen
from crumple.errors import NotStored
from crumple.run import plan
from crumple.run.plan import Block, Plan
from crumple.run.store import RunStore
from crumple.study.study import ScaleName, Study
from crumple.verdict.case import Facts


class ServerNote(Frozen):
    """A server as its folder described it when the run began."""

    title: str
    language: str
    io_model: str
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

    def facts(self, block_s: Mapping[str, float] = UNTIMED) -> Facts:
        """What its claims are judged by beside trials. `block_s`: experiment → what one more block takes."""
        models = {name: note.io_model for name, note in self.servers.items()}
        return Facts(models=models, costs=self.machine.get("costs", {}), block_s=block_s)

    def must(self, block: Block) -> bool:
        """Whether it is run whatever the blocks before it came to."""
        return plan.must(self.study, self.scale, block)


def write(store: RunStore, run: RunFile) -> None:
    """Replace run.json, whole. Raises StorageFull, NotWritable."""
    store.write_run(run.model_dump_json(indent=1, by_alias=True))


def read(store: RunStore) -> RunFile:
    """The run of a folder. Raises NotStored."""
    try:
        return RunFile.model_validate_json(store.read_run())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        what = f"{where}: {first['msg']}" if where else first["msg"]
        message = f"{store.run_file} is not a run of this version of crumple: {what}"
        raise NotStored(message, "run the study again") from None


def now() -> str:
    """The present, to the second, as runs note it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_id(study: str, scale: str, at: datetime) -> str:
    """Study, scale and UTC time, as in `todo-json-quick-20261121-063012`; the end sorts by time."""
    return f"{study}-{scale}-{at.astimezone(UTC):%Y%m%d-%H%M%S}"
