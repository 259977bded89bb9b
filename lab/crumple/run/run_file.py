"""run.json: all that is needed to continue or report a run, even after its study or servers have changed.

It is written when a run begins, when a block is chosen, and when the run ends. `store` keeps the trials
beside it. Each trial records what measured it: a hash of the server, the workload, the engine and the lab,
and the kernel's release. The hash of the lab leaves out the parts that only show or judge results.
"""

import hashlib
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from crumple import parsing
from crumple.contract_base import Frozen
from crumple.engine import Engine
from crumple.errors import NotStored
from crumple.gate.condition import Outcome
from crumple.machine import facts
from crumple.project import PACKAGE
from crumple.run import run_plan
from crumple.run.run_plan import Block, RunPlan
from crumple.run.store import ProgramHashes, RunStore, StoredTrial, TrialIdentity
from crumple.study.claim import ScaleName
from crumple.study.study import Study
from crumple.subject.workload import Workload
from crumple.verdict import machines
from crumple.verdict.case import RunFacts

# The parts of the lab that decide how a trial is measured, and whether it is valid.
MEASURES = ("contract.py", "engine.py", "machine", "subject", "record", "load", "run")
# A hash of a program is kept with 16 hexadecimal digits, 64 bits: enough to tell versions of it apart.
DIGITS = 16


def programs(server: str, workloads: Sequence[Workload], load: Engine) -> ProgramHashes:
    """Return the programs of one trial. `server`: the hash of its program; empty if it runs already."""
    asked = hashlib.sha256(b"".join(each.model_dump_json().encode() for each in workloads)).hexdigest()
    stat = load.path.stat()
    return ProgramHashes(
        server=server,
        workload=asked[:DIGITS],
        engine=_engine(load.path, stat.st_mtime_ns, stat.st_size),
        lab=lab(),
        kernel=platform.release(),
        host=facts.host_id(),
    )


def changes(stored: Iterable[StoredTrial], trial: TrialIdentity, now: ProgramHashes) -> list[str]:
    """Return what changed since earlier trials of the run: "engine", "server node-http".

    Another host may have another kernel.
    """
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
            f"kernel ({before.kernel}, now {now.kernel})": (
                before.host != now.host or before.kernel == now.kernel
            ),
        }
        found |= {what: None for what, alike in same.items() if not alike}
    return list(found)


@lru_cache
def lab() -> str:
    """Return the hash of the part of the lab that measures."""
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
    """A server as its folder described it when the run began."""

    title: str
    language: str
    io_model: str
    model_is_checked: bool = True
    """Whether `verify` can check `io_model` against the server's behaviour."""
    about: str
    libraries: dict[str, str]


UNTIMED: Mapping[tuple[str, str], float] = {}
# Why an experiment has no more blocks although more would help.
TIME_OVER = "the time was over"
# Why a claim got no more. Servers are not added to a block later on: its trials must share their time.
NO_BLOCK = "all blocks of this scale were run, some of them without its servers"


class ChosenBlock(Frozen):
    """A block that was run because of the results of the blocks before it, with these `servers`."""

    experiment: str
    block: int
    servers: tuple[str, ...]
    why: str


class Shard(Frozen):
    """A part of a run that one host runs on its own."""

    index: int
    """Which of the parts, from 1."""
    of: int
    """How many parts there are."""
    blocks: tuple[int, ...]
    """The places of its blocks in the run's plan, from 0."""

    def __str__(self) -> str:
        """Return it as it is typed: "2/5"."""
        return f"{self.index}/{self.of}"


class Host(Frozen):
    """A machine that measured blocks of a run."""

    id: str
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]
    """Server → runtime → version."""

    def apart_from(self, first: "Host") -> tuple[str, ...]:
        """Return the facts and versions in which it differs from the first host: "kernel 6.8", "go 1.22"."""
        versions = {
            f"{runtime} {ours.get(runtime, 'missing')}": None
            for server, theirs in first.versions.items()
            if (ours := self.versions.get(server)) is not None
            for runtime in sorted(theirs.keys() | ours.keys())
            if theirs.get(runtime) != ours.get(runtime)
        }
        return (*machines.apart(first.machine, self.machine), *versions)


class RunFile(Frozen):
    """One execution of a study, on one machine or on several."""

    version: Literal[1] = 1
    id: str
    study: Study
    """The study, reduced to the run's scale."""
    scale: ScaleName
    seed: int
    only: tuple[str, ...] | None
    """The servers the run was restricted to, None for all."""
    brought: dict[str, str] = Field(default_factory=dict)
    """The user's own servers, label → folder or URL."""
    plan: RunPlan
    """The whole run, also in a shard of it."""
    shard: Shard | None = None
    """The part of the plan that this run has; None: all of it."""
    host: str = ""
    """The id of the host on which it was begun; empty: that is not known."""
    hosts: tuple[Host, ...] = ()
    """All hosts, if there were several; `machine` and `versions` are then those of all together."""
    machine: dict[str, Any]
    servers: dict[str, ServerNote]
    versions: dict[str, dict[str, str]]
    """Server → runtime → version."""
    lab_version: str
    engine_version: str
    began: str
    """ISO 8601, UTC."""
    ended: str | None = None
    """ISO 8601, UTC; None while the run goes on, and after an interruption."""
    chosen: tuple[ChosenBlock, ...] = ()
    """The blocks that results called for, in the order in which they were run."""
    stopped: dict[str, str] = Field(default_factory=dict)
    """Experiment → why it got no more of the planned blocks."""
    undecided: dict[str, str] = Field(default_factory=dict)
    """Claim → why it was left without a decision, where the claims decide about the blocks."""
    fail_if: tuple[Outcome, ...] = ()
    """What came of each condition of --fail-if, in all runs of the command together."""

    def facts(self, skipped: Collection[str], trial_s: Mapping[tuple[str, str], float] = UNTIMED) -> RunFacts:
        """Return the facts beside the trials by which its claims are judged.

        `skipped`: ids of the trials that could not be tried. `trial_s`: experiment and server → the seconds
        that a trial takes.
        """
        models = {name: note.io_model for name, note in self.servers.items()}
        costs = self.machine.get("costs", {})
        readings = {host.id: host.machine.get("costs", {}) for host in self.hosts}
        kept = {trial.id for block in self.blocks for trial in block.trials}
        unused = {trial.id for trial in self.plan.trials} - kept
        return RunFacts(
            models=models,
            costs=costs,
            cost_hosts={
                name: tuple(host for host, costs in readings.items() for _ in costs.get(name, ()))
                for name in costs
            },
            trial_s=trial_s,
            skipped=skipped,
            unused=unused,
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the planned blocks in running order; a chosen one has only the servers it was chosen for.

        A block that must be run keeps all its servers, also if it was chosen after the time had been short.
        """
        if self.shard is not None:
            return tuple(self.plan.blocks[place] for place in self.shard.blocks)
        servers = {(each.experiment, each.block): each.servers for each in self.chosen}
        places = [(block.experiment, block.number) for block in self.plan.blocks]
        return tuple(
            block.of(servers[place]) if place in servers and not self.must(block) else block
            for place, block in zip(places, self.plan.blocks, strict=True)
        )

    def must(self, block: Block) -> bool:
        """Return whether the block is run whatever the results of the blocks before it are.

        All blocks of a shard are, since it does not know the results of the others.
        """
        return self.shard is not None or run_plan.must(self.study, self.scale, block)

    @property
    def all_hosts(self) -> tuple[Host, ...]:
        """Return the hosts that measured it, the one first on which it was begun."""
        return self.hosts or (Host(id=self.host, machine=self.machine, versions=self.versions),)

    def with_hosts(self, hosts: Sequence[Host]) -> Self:
        """Return the run of these hosts, the one first on which it was begun."""
        if len(hosts) == 1:
            return self.model_copy(
                update={"host": hosts[0].id, "machine": hosts[0].machine, "versions": hosts[0].versions}
            )
        machine = machines.together([each.machine for each in hosts])
        if costs := [each.machine["costs"] for each in hosts if "costs" in each.machine]:
            machine["costs"] = {
                name: [ns for each in costs for ns in each.get(name, ())] for name in costs[0]
            }
        versions = _versions(hosts)
        return self.model_copy(
            update={
                "host": hosts[0].id, "hosts": tuple(hosts), "machine": machine, "versions": versions
            }
        )  # fmt: skip


def write(store: RunStore, run: RunFile) -> None:
    """Replace run.json atomically. Raises StorageFull, NotWritable."""
    store.write_run(run.model_dump_json(indent=1, by_alias=True))


def read(store: RunStore) -> RunFile:
    """Read the run.json of a folder. Raises NotStored."""
    try:
        return RunFile.model_validate_json(store.read_run())
    except ValidationError as error:
        message = f"{store.run_file} is not a run of this version of crumple ({parsing.first_fault(error)})"
        raise NotStored(message, "run the study again") from None


def now() -> str:
    """Return the present time in ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_id(study: str, scale: str, at: datetime, shard: Shard | None = None) -> str:
    """Return study, scale and UTC time: `todo-json-quick-20261121-063012`, whose end sorts by time.

    Shards that begin in the same second on several hosts have different ids: `…-quick-2of5-20261121-063012`.
    """
    part = f"{shard.index}of{shard.of}-" if shard else ""
    return f"{study}-{scale}-{part}{at.astimezone(UTC):%Y%m%d-%H%M%S}"


def _versions(hosts: Sequence[Host]) -> dict[str, dict[str, str]]:
    """Return the versions on all hosts; where they differ, each once."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for host in hosts:
        for server, runtimes in host.versions.items():
            for runtime, version in runtimes.items():
                found.setdefault(server, {}).setdefault(runtime, {})[version] = None
    return {
        server: {runtime: " · ".join(seen) for runtime, seen in runtimes.items()}
        for server, runtimes in found.items()
    }
