"""Runs on a cluster: the session chooses blocks as it does on one machine, and deals them to free hosts.

What one host must measure together (`run_plan.groups`) is one task of Dask's. If its host is lost, Dask gives
it to another, and whatever the first still measures counts for nothing: only what arrives here is stored, and
it arrives whole. A trial says which host measured it, so verdicts compare within a host.
"""

import queue
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from distributed import Client, Future, KilledWorker

from crumple import project
from crumple.cluster import block_task, cluster_file, cluster_hosts, dask_settings
from crumple.cluster.blocks_there import Order
from crumple.cluster.cluster_hosts import FoundHost
from crumple.cluster.dask_settings import RESOURCE
from crumple.errors import ClusterLost, CrumpleError
from crumple.run import run_file, run_plan
from crumple.run.blocks import Begun, Blocks, Means
from crumple.run.run_file import Host, RunFile
from crumple.run.run_plan import Block
from crumple.run.session import Choice, Session, SessionOutlook
from crumple.run.store import StoredTrial

# Seconds to reach the scheduler.
CONNECT_S = 15.0
# Seconds between two looks at which hosts there are: Dask asks as often.
LOOK_EVERY_S = 2.0
# Seconds without any host after which a run ends: a host that was lost joins again after some 20 s.
NO_HOST_S = 60.0
# Seconds after which it is said that a host is waited for: to measure what its kernel costs takes some ten.
LOOK_S = 30.0
# How often blocks may fail, such as for want of space on a host, before the run ends. A lost host is another
# matter: there Dask gives up after the fourth.
TRIES = 3
# What becomes of blocks that have arrived: their run.json, and their trials.
Kept = Callable[[RunFile, Sequence[StoredTrial]], None]


class HostsWatcher(Protocol):
    """Receives what hosts say, and which are lost."""

    def told(self, event: tuple[float, Mapping[str, str]]) -> None:
        """A host said something of the block that it measures."""

    def changed(self, host: str, *, is_there: bool) -> None:
        """A host was lost, or has joined."""


class Cluster:
    """The hosts behind a scheduler, and the blocks that they measure. Its methods raise ClusterLost."""

    def __init__(self, client: Client, address: str, topic: str) -> None:
        self._client, self._address, self._topic = client, address, topic
        self._arrived: queue.SimpleQueue[tuple[str, list[str] | Exception]] = queue.SimpleQueue()
        self._dealt: dict[str, tuple[str, Kept]] = {}
        self._number = 0
        self._watcher: HostsWatcher | None = None
        self.hosts: dict[str, str] = {}
        """Address → name of each worker that takes blocks, when it was last looked."""
        self.found: tuple[Host, ...] = ()
        """What `seen` has found, also of hosts that then measure nothing."""

    @property
    def busy(self) -> bool:
        """Whether something has been dealt that has not arrived."""
        return bool(self._dealt)

    @property
    def full(self) -> bool:
        """Whether no host is free."""
        return len(self._dealt) >= max(1, len(self.hosts))

    def seen(
        self, labels: Collection[str], *, costs: bool, waiting: Callable[[str], None]
    ) -> list[FoundHost]:
        """Look at all hosts. `labels`: the servers of the studies; `costs`: measure what the kernel costs.

        `waiting` is told the name of a host that takes longer, as while it measures for another run. Raises
        CrumpleError, also if no host is there, or one has other programs.
        """
        self.look()
        if not self.hosts:
            message = f"no host has joined the cluster at {self._address}"
            raise CrumpleError(message, f"start a worker on each: crumple cluster worker {self._address}")
        asked = [
            (address, name, self._client.submit(
                cluster_hosts.look, name, sorted(labels), costs=costs, pure=False,
                workers=[address], allow_other_workers=False, resources={RESOURCE: 1},
            ))
            for address, name in self.hosts.items()
        ]  # fmt: skip
        found = [self._looked_at(*each, waiting) for each in asked]
        own = cluster_hosts.programs_here(project.root(), labels)
        for each in found:
            if error := cluster_hosts.other_programs(each.name, each.programs, own):
                raise error
        self.found = tuple(each.host for each in found)
        return sorted(found, key=lambda each: each.name)

    def _looked_at(
        self, address: str, name: str, future: Future, waiting: Callable[[str], None]
    ) -> FoundHost:
        told = False
        while True:
            try:
                found: FoundHost = future.result(timeout=LOOK_S)
                return found
            except ModuleNotFoundError:
                message = f"{name} has no crumple"
                raise CrumpleError(message, "put the same checkout or wheel of crumple there") from None
            except (CancelledError, CrumpleError) as error:
                message = f"{name} cannot be looked at: {error}"
                raise CrumpleError(message, "see there: crumple --version") from None
            except TimeoutError:
                if future.status == "error":
                    raise
            self.look()
            if address not in self.hosts:
                raise CrumpleError(f"{name} is lost", "begin again once it has joined")
            if not told:
                waiting(name)
            told = True

    def show(self, watcher: HostsWatcher) -> None:
        """From now on, tell what hosts say and which are lost."""
        self._watcher = watcher
        self._client.subscribe_topic(self._topic, watcher.told)

    def deal(self, order: Order, name: str, kept: Kept) -> None:
        """Give blocks to the next host that is free. Until one is, take what arrives."""
        while self.full:
            self.take()
        self._number += 1
        future = self._client.submit(
            block_task.measured,
            order.model_dump_json(by_alias=True),
            self._topic,
            key=f"{self._topic} {name} {self._number}",
            resources={RESOURCE: 1},
            pure=False,
            retries=TRIES - 1,
        )
        self._dealt[future.key] = (name, kept)
        threading.Thread(target=self._fetch, args=(future,), daemon=True).start()

    def take(self) -> None:
        """Wait for the next blocks that arrive, and have their trials stored."""
        arrived, without_s = None, 0.0
        while arrived is None:
            self.look()
            try:
                arrived = self._arrived.get(timeout=LOOK_EVERY_S)
            except queue.Empty:
                without_s = 0.0 if self.hosts else without_s + LOOK_EVERY_S
                if without_s >= NO_HOST_S:
                    raise ClusterLost("all hosts of the cluster are lost", "see why, start them") from None
        key, said = arrived
        name, kept = self._dealt.pop(key)
        kept(*self._result(said, name))

    def look(self) -> None:
        """Look which hosts there are."""
        if self._client.status not in ("running", "connecting"):
            raise self._lost()
        workers: dict[str, Any] = self._client.scheduler_info().get("workers", {})
        before = {*self.hosts.values()}
        self.hosts = {
            where: str(each["name"]) for where, each in workers.items() if RESOURCE in each["resources"]
        }
        if self._watcher:
            for name in before ^ {*self.hosts.values()}:
                self._watcher.changed(name, is_there=name not in before)

    def _fetch(self, future: Future) -> None:
        """Wait for blocks that were dealt, and fetch them, in a thread of its own.

        If their host is lost after it has measured them, Dask first has them measured again, once it can.
        """
        said: list[str] | Exception
        try:
            said = future.result()
        except Exception as error:
            said = error
        self._arrived.put((future.key, said))

    def _result(self, said: list[str] | Exception, name: str) -> tuple[RunFile, list[StoredTrial]]:
        if isinstance(said, CancelledError):
            raise self._lost()
        if isinstance(said, KilledWorker):
            message = f"several hosts, one after the other, were lost while they measured {name}"
            raise CrumpleError(message, "see what it does to them, or leave it out")
        if isinstance(said, Exception):
            raise said
        run, *trials = said
        read = [StoredTrial.model_validate_json(each) for each in trials]
        return RunFile.model_validate_json(run), read

    def _lost(self) -> ClusterLost:
        return ClusterLost(f"the scheduler at {self._address} is lost", "start a cluster again")


class DealtBlocks(Blocks):
    """The blocks of one run, measured by hosts. `database`: the URL of the user's."""

    def __init__(
        self, begun: Begun, root: Path, means: Means, cluster: Cluster, database: str | None
    ) -> None:
        super().__init__(begun, root, means)
        self._cluster, self._database = cluster, database
        places = self.file.plan.blocks
        self._groups = [
            [(places[place].experiment, places[place].number) for place in group]
            for group in run_plan.groups(self.file.study, self.file.plan)
        ]
        # What another host has begun of a group is not continued, as a group stays on one host.
        stored = begun.store.ids()
        for group in self._groups:
            labels = frozenset[str]().union(*(each.labels for each in places if _place(each) in group))
            if labels & stored:
                self._to_do -= labels

    def make_ready(self) -> None:
        """Check that nothing has changed. Each host builds what it measures."""
        self._cleared()

    def together(self, block: Block, blocks: Sequence[Block]) -> list[Block]:
        """Return those of the blocks that one host measures together with `block`, as far as left."""
        group = next(each for each in self._groups if _place(block) in each)
        return [each for each in blocks if _place(each) in group and self.left_in(each)]

    def do(self, blocks: Sequence[Block], why: str = "") -> None:
        """Deal what is left of these blocks to one host. Until they arrive, their trials count as tried."""
        for block in blocks:
            self._means.watcher.block(self.file.study, block, why)
        left = tuple(block.model_copy(update={"trials": tuple(self.left_in(block))}) for block in blocks)
        plan = self.file.plan.model_copy(update={"blocks": left})
        run = self.file.model_copy(update={"plan": plan, "chosen": ()})
        self._to_do -= {trial.id for block in left for trial in block.trials}
        name = ", ".join(f"{each.experiment} {each.number}" for each in left)
        self._cluster.deal(Order(run=run, database=self._database), name, self._keep)

    def _keep(self, run: RunFile, trials: Sequence[StoredTrial]) -> None:
        """Store the trials, and note which hosts have measured some of the run by now."""
        known: dict[str, Host] = {}
        for host in (*self.file.all_hosts, *self._cluster.found, *run.all_hosts):
            known.setdefault(host.id, host)
        measured = {each.host_id for each in (*self.stored, *trials)}
        hosts = tuple(each for each in known.values() if each.id in measured)
        if hosts and hosts != self.file.all_hosts:
            self.file = self.file.with_hosts(hosts)
            self.note()
        for each in trials:
            self._refuse_others(each)
            self._store(each)

    def _refuse_others(self, trial: StoredTrial) -> None:
        """Raise CrumpleError if a host that has joined meanwhile has other programs."""
        changed = trial.programs and run_file.changes(self.stored, trial.trial, trial.programs)
        if changed and not self.begun.mixed:
            message = f"a host that has joined has another version of {', '.join(changed)}"
            raise CrumpleError(message, "put the same checkout or wheel of crumple there")


class ClusterSession(Session):
    """Executes runs that exist on disk on the hosts of a cluster. `database`: the URL of the user's."""

    def __init__(
        self,
        runs: Sequence[Begun],
        root: Path,
        budget_s: float | None,
        cluster: Cluster,
        database: str | None,
    ) -> None:
        super().__init__(runs, root, budget_s)
        self._cluster, self._database = cluster, database

    @property
    def first_s(self) -> float | None:
        """Return how long the blocks that must be run take on all hosts together."""
        return self._shared(super().first_s)

    @property
    def outlook(self) -> SessionOutlook:
        """Return what is left, on all hosts together."""
        seen = super().outlook
        return replace(seen, blocks_s=self._shared(seen.blocks_s))

    def _shared(self, seconds: float | None) -> float | None:
        return seconds and seconds / max(1, len(self._cluster.hosts))

    def _blocks(self, begun: Begun, means: Means) -> DealtBlocks:
        return DealtBlocks(begun, self._root, means, self._cluster, self._database)

    def _must(self, blocks: Sequence[tuple[Blocks, Block]]) -> None:
        """Deal what is left of these blocks, each with its group, as far as the time allows; wait for all."""
        for run, block in sorted(blocks, key=lambda each: each[1].number):
            group = _dealt(run).together(block, run.file.blocks) if run.left_in(block) else []
            if group and sum(self._takes_s(run, each) or 0.0 for each in group) <= self._left_s:
                self._do(run, group)
        while self._cluster.busy:
            self._cluster.take()

    def _choice(self, left_s: float) -> Choice | None:
        """Choose the next block once a host is free: what is measured until then may make it needless."""
        while True:
            choice = None if self._cluster.full else super()._choice(self._left_s)
            if choice or not self._cluster.busy:
                return choice
            self._cluster.take()
            for run in self._runs:
                self._judge(run)

    def _of_choice(self, run: Blocks, choice: Choice) -> list[Block]:
        """Return the blocks to be dealt next: with the one that was chosen, its group."""
        (block,) = super()._of_choice(run, choice)
        return _dealt(run).together(block, [*self._next(run).values()])


def _place(block: Block) -> tuple[str, int]:
    return block.experiment, block.number


def _dealt(run: Blocks) -> DealtBlocks:
    assert isinstance(run, DealtBlocks)
    return run


@contextmanager
def reached(address: str, topic: str) -> Iterator[Cluster]:
    """Reach the cluster at an address, until the `with` ends; what hosts still measure then is ended.

    Raises CrumpleError.
    """
    dask_settings.settle()
    try:
        client = Client(
            address,
            security=cluster_file.security(address),
            timeout=CONNECT_S,
            set_as_default=False,
            direct_to_workers=False,
        )
    except (OSError, TypeError, ValueError) as error:
        remedy = (
            "start one: crumple cluster up HOST…; the certificates of another are named in Dask's settings"
        )
        raise CrumpleError(f"no cluster is reached at {address}: {error}", remedy) from None
    try:
        yield Cluster(client, address, topic)
    finally:
        client.close(timeout=CONNECT_S)
