"""Shards: each runs its own blocks of one run, and a block stays on the host that began it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import made_runs
import one_run
import pytest
from crumple.errors import Interrupted, NotFound, UsageError
from crumple.machine import facts
from crumple.run import run_file, run_plan, runs
from crumple.run.run_file import TIME_OVER
from crumple.run.runs import Begun
from crumple.run.session import Session
from crumple.study.study import Study
from made_runs import Notes
from stand_ins import Stage


def _study(rng: random.Random) -> Study:
    """The study of two experiments with other numbers of blocks, and perhaps a claim over both."""
    study = documents.study()
    experiments = {}
    for name, experiment in study.experiments.items():
        blocks = rng.randint(1, 9)
        changes: dict[str, Any] = {
            "blocks": blocks,
            "least_blocks": rng.choice([None, rng.randint(1, blocks)]),
        }
        quick = experiment.scales["quick"].model_copy(update=changes)
        experiments[name] = experiment.model_copy(update={"scales": {"quick": quick}})
    (first, *others) = study.claims
    against = first.model_copy(update={"against": rng.choice([None, "separate"])})
    return study.model_copy(update={"experiments": experiments, "claims": (against, *others)})


def test_shards_have_every_block_once_and_keep_together_what_a_claim_compares() -> None:
    rng = random.Random(1)
    for _ in range(300):
        study = _study(rng)
        planned = run_plan.plan(study, "quick", rng.randrange(2**32))
        groups = run_plan.groups(study, planned)
        of = rng.randint(1, len(groups))
        shards = [run_plan.dealt(study, planned, index, of) for index in range(1, of + 1)]
        assert sorted(place for shard in shards for place in shard) == [*range(len(planned.blocks))]
        assert all(shard == tuple(sorted(shard)) and shard for shard in shards)
        assert all(any({*group} <= {*shard} for shard in shards) for group in groups)
        # None has more than its part of the groups, by more than one.
        sizes = [sum({*group} <= {*shard} for group in groups) for shard in shards]
        assert max(sizes) - min(sizes) <= 1
        with pytest.raises(
            UsageError, match=f"for {len(groups)} shards? at most; take --shard 1/{len(groups)}"
        ):
            run_plan.dealt(study, planned, 1, len(groups) + 1)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setattr(facts, "host_id", lambda: name)


def _run(root: Path, *, interrupt_after: int | None = None, **changes: Any) -> tuple[Begun, Notes]:
    begun, notes = made_runs.begin(root, **changes), Notes(interrupt_after)
    one_run.execute(begun, root, notes)
    return begun, notes


def test_shards_run_the_whole_runs_trials_in_its_order(acts: Stage, root: Path) -> None:
    whole, notes = _run(root)
    parts = [_run(root, shard=(index, 3)) for index in (1, 2, 3)]
    for begun, own in parts:
        mine = {each.id for place in begun.file.shard.blocks for each in whole.file.plan.blocks[place].trials}
        assert own.order == [each for each in notes.order if each in mine]
        assert run_file.read(begun.store).ended is not None
    found = {each.trial.id: each.trial for begun, _ in parts for each in begun.store.trials()}
    assert found == {each.trial.id: each.trial for each in whole.store.trials()}
    assert all(f"-{index}of3-" in begun.store.name for index, (begun, _) in enumerate(parts, 1))


def test_a_shard_runs_all_its_blocks_as_it_does_not_know_the_others_results(acts: Stage, root: Path) -> None:
    study = documents.study()
    shared = study.experiments["shared"]
    quick = shared.scales["quick"].model_copy(update={"least_blocks": 2})
    changed = {**study.experiments, "shared": shared.model_copy(update={"scales": {"quick": quick}})}
    begun = made_runs.begin(root, asked=study.model_copy(update={"experiments": changed}), shard=(1, 1))
    session = Session([begun], root)
    assert not session.adapts
    session.conduct(Notes())
    assert begun.store.ids() == {each.id for each in begun.file.plan.trials}


def test_a_shard_that_was_out_of_time_says_so_and_goes_on_with_resume(acts: Stage, root: Path) -> None:
    begun = made_runs.begin(root, shard=(2, 2))
    Session([begun], root, budget_s=0.0).conduct(Notes())
    file = run_file.read(begun.store)
    assert file.ended is None and {*file.stopped.values()} == {TIME_OVER}
    again = runs.resume(begun.store, retry_failed=False)
    one_run.execute(again, root, Notes())
    assert begun.store.ids() == {each.id for block in file.blocks for each in block.trials}
    assert run_file.read(begun.store).stopped == {}


def test_a_trial_of_another_shard_cannot_be_asked_for(acts: Stage, root: Path) -> None:
    begun = made_runs.begin(root, shard=(1, 2))
    own = {each.id for each in begun.to_do}
    other = next(each.id for each in begun.file.plan.trials if each.id not in own)
    with pytest.raises(NotFound, match="falls to another shard"):
        runs.narrow(begun, other)


def test_another_host_leaves_a_block_that_was_begun_and_is_noted_for_its_own(
    acts: Stage, root: Path, host: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    host("a")
    begun = made_runs.begin(root)
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, Notes(interrupt_after=5))
    first = begun.store.ids()
    (cut,) = [block for block in begun.file.blocks if block.labels & first and block.labels - first]
    host("b")
    again = runs.resume(begun.store, retry_failed=False)
    left = cut.labels - first
    assert runs.left_elsewhere(again) == len(left)
    with pytest.raises(NotFound, match="belongs to a block that another host began"):
        runs.narrow(again, min(left))
    one_run.execute(again, root, Notes())
    assert begun.store.ids() == {each.id for each in begun.file.plan.trials} - left
    hosts = {each.trial.block: each.host_id for each in begun.store.trials()}
    assert {*hosts.values()} == {"a", "b"}
    file = run_file.read(begun.store)
    assert [each.id for each in file.hosts] == ["a", "b"] and file.host == "a"
    # Where it was begun, the rest of the block is run.
    host("a")
    back = runs.resume(begun.store, retry_failed=False)
    assert runs.left_elsewhere(back) == 0
    one_run.execute(back, root, Notes())
    assert begun.store.ids() == {each.id for each in begun.file.plan.trials}
    assert [each.id for each in run_file.read(begun.store).hosts] == ["a", "b"]


def test_a_failed_trial_is_tried_again_on_its_own_host_only(
    acts: Stage, root: Path, host: Callable[[str], None]
) -> None:
    host("a")
    acts.fail_at = {"node-http": "start"}
    begun, _ = _run(root)
    host("b")
    assert runs.resume(begun.store, retry_failed=True).to_do == ()
    host("a")
    assert {each.server for each in runs.resume(begun.store, retry_failed=True).to_do} == {"node-http"}


def test_another_host_may_have_another_kernel(
    acts: Stage, root: Path, host: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    host("a")
    begun = made_runs.begin(root)
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, Notes(interrupt_after=4))
    monkeypatch.setattr(run_file.platform, "release", lambda: "99")
    with pytest.raises(UsageError, match=r"this changed: kernel \(.*now 99\)"):
        one_run.execute(runs.resume(begun.store, retry_failed=False), root, Notes())
    host("b")
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, Notes())
