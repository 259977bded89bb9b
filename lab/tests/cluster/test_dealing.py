"""A session on a cluster deals blocks as one on this machine runs them: each once, and groups whole."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import documents
import pytest
from crumple.cluster.blocks_there import Order
from crumple.cluster.cluster_session import ClusterSession
from crumple.errors import ClusterLost, CrumpleError
from crumple.machine import facts
from crumple.run import given_blocks, run_file, run_plan
from crumple.run.blocks import Begun
from crumple.run.run_file import Host, RunFile
from crumple.run.store import RunStore, StoredTrial
from crumple.study.study import Study
from made_runs import Notes, begin
from stand_ins import Stage

Kept = Callable[[RunFile, Sequence[StoredTrial]], None]
SHARED, SEPARATE = "shared", "separate"


class Hosts:
    """Stands in for a cluster of two: what is dealt is measured by stand-ins when it is taken.

    `lost_after`: how many orders arrive before the scheduler is lost.
    """

    def __init__(self, folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hosts = {"tls://a": "a", "tls://b": "b"}
        self.found: tuple[Host, ...] = ()
        self.orders: list[Order] = []
        self.lost_after: int | None = None
        self._dealt: list[tuple[Order, Kept]] = []
        self._folder, self._root, self._patch = folder, root, monkeypatch
        self._number = itertools.count()

    @property
    def busy(self) -> bool:
        return bool(self._dealt)

    @property
    def full(self) -> bool:
        return len(self._dealt) >= len(self.hosts)

    def deal(self, order: Order, name: str, kept: Kept) -> None:
        while self.full:
            self.take()
        self.orders.append(Order.model_validate_json(order.model_dump_json(by_alias=True)))
        self._dealt.append((self.orders[-1], kept))

    def take(self) -> None:
        number = next(self._number)
        if number == self.lost_after:
            raise ClusterLost("the scheduler is lost", "start it again")
        order, kept = self._dealt.pop(0)
        store = RunStore(self._folder / str(number) / order.run.id)
        run_file.write(store, order.run)
        with self._patch.context() as there:
            there.setattr(facts, "host_id", lambda: "ab"[number % 2] * 16)
            begun = Begun(store, order.run, order.run.plan.trials)
            given_blocks.execute(begun, range(len(order.run.plan.blocks)), self._root, Notes())
        kept(run_file.read(store), store.trials())


@pytest.fixture
def hosts(tmp_path: Path, root: Path, acts: Stage, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    return Hosts(tmp_path / "there", root, monkeypatch)


def _conduct(begun: Begun, root: Path, hosts: Any) -> Notes:
    notes = Notes()
    ClusterSession([begun], root, None, hosts, None).conduct(notes)
    return notes


def _compared() -> Study:
    """The study with a claim that compares its experiments, so that blocks of one number belong together."""
    study = documents.study()
    (order, *_) = study.claims
    return study.model_copy(update={"claims": (order.model_copy(update={"against": SEPARATE}),)})


def test_all_trials_of_the_plan_are_stored_once_with_their_seeds_and_hosts(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    notes = _conduct(begun, root, hosts)
    stored = begun.store.trials()
    assert sorted(notes.order) == sorted(each.id for each in begun.file.plan.trials)
    assert {each.trial for each in stored} == {*begun.file.plan.trials}
    assert {each.host_id for each in stored} == {"a" * 16, "b" * 16}
    file = run_file.read(begun.store)
    assert file.ended is not None
    # Not among them is this machine, on which the run was begun.
    assert [each.id for each in file.all_hosts] == ["a" * 16, "b" * 16]


def test_only_hosts_that_have_measured_some_of_it_are_hosts_of_the_run(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    facts_of = {name: {"costs": {"switch": [number]}} for number, name in enumerate("cba")}
    hosts.found = tuple(Host(id=name * 16, machine=facts_of[name], versions={}) for name in "cba")
    hosts.lost_after = 1
    with pytest.raises(ClusterLost):
        _conduct(begun, root, hosts)
    file = run_file.read(begun.store)
    assert [each.id for each in file.all_hosts] == ["a" * 16] and file.machine == facts_of["a"]
    hosts.lost_after = None
    hosts._dealt.clear()
    _conduct(Begun(begun.store, file, begun.file.plan.trials), root, hosts)
    file = run_file.read(begun.store)
    # As they were looked at, in the order in which they first measured; host c never did.
    assert {each.id: each.machine for each in file.hosts} == {name * 16: facts_of[name] for name in "ab"}
    assert file.hosts[0].id == "a" * 16 and file.machine["costs"] == {"switch": [2, 1]}


def test_a_block_has_one_host(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    _conduct(begun, root, hosts)
    by_block: dict[tuple[str, int], set[str]] = {}
    for each in begun.store.trials():
        by_block.setdefault((each.trial.experiment, each.trial.block), set()).add(each.host_id)
    assert len(by_block) == 5 and all(len(each) == 1 for each in by_block.values())


def test_blocks_that_a_claim_compares_are_dealt_together(root: Path, hosts: Hosts) -> None:
    begun = begin(root, asked=_compared())
    groups = run_plan.groups(begun.file.study, begun.file.plan)
    assert max(map(len, groups)) == 2
    _conduct(begun, root, hosts)
    dealt = [{(each.experiment, each.number) for each in order.run.plan.blocks} for order in hosts.orders]
    assert sorted(map(sorted, dealt)) == [
        [(SEPARATE, 1), (SHARED, 1)],
        [(SEPARATE, 2), (SHARED, 2)],
        [(SHARED, 3)],
    ]


def test_after_the_scheduler_is_lost_resuming_deals_what_is_left(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    hosts.lost_after = 2
    with pytest.raises(ClusterLost):
        _conduct(begun, root, hosts)
    before = begun.store.ids()
    assert 0 < len(before) < len(begun.file.plan.trials)
    hosts.lost_after = None
    hosts._dealt.clear()
    again = Begun(begun.store, run_file.read(begun.store), begun.file.plan.trials)
    assert {*_conduct(again, root, hosts).order} == {each.id for each in begun.file.plan.trials} - before


def test_a_group_of_which_a_part_is_stored_stays_as_it_is(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    _conduct(begun, root, hosts)
    first, second = sorted(begun.file.plan.blocks[0].labels)[:2]
    begun.store.path_of(first).unlink()
    for trial in begun.file.plan.blocks[1].labels:
        begun.store.path_of(trial).unlink()
    hosts.orders.clear()
    _conduct(begun, root, hosts)
    # Its block was begun by one host, which the cluster does not choose; the other block is measured again.
    assert first not in begun.store.ids() and second in begun.store.ids()
    assert begun.file.plan.blocks[1].labels <= begun.store.ids()
    assert len(hosts.orders) == 1


def test_a_host_with_other_programs_that_joins_meanwhile_ends_the_run(
    root: Path, hosts: Hosts, acts: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = begin(root)
    takes, taken = Hosts.take, itertools.count()

    def take(self: Hosts) -> None:
        if next(taken) == 2:
            acts.programs = {"node-http": "another"}
        takes(self)

    monkeypatch.setattr(Hosts, "take", take)
    with pytest.raises(CrumpleError, match="another version of server node-http"):
        _conduct(begun, root, hosts)


def test_the_order_says_what_is_to_be_measured_and_no_more(root: Path, hosts: Hosts) -> None:
    begun = begin(root)
    _conduct(begun, root, hosts)
    for order in hosts.orders:
        assert order.run.study == begun.file.study and order.run.seed == begun.file.seed
        assert len(order.run.plan.blocks) == 1


def test_time_is_shared_by_the_hosts(root: Path, hosts: Hosts) -> None:
    # Of the other experiment it is not known how long it takes.
    whole = documents.study()
    begun = begin(root, asked=whole.model_copy(update={"experiments": {SHARED: whole.experiments[SHARED]}}))
    of_two, of_one = (_first_s(begun, root, hosts, number) for number in (2, 1))
    assert of_one is not None and of_two == pytest.approx(of_one / 2)


def _first_s(begun: Begun, root: Path, hosts: Any, number: int) -> float | None:
    hosts.hosts = dict(itertools.islice(hosts.hosts.items(), number))
    return ClusterSession([begun], root, None, hosts, None).first_s
