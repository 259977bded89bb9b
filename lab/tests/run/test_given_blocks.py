"""Given blocks of a run: a host that has a copy of run.json stores the trials of these, and no others."""

from pathlib import Path
from typing import Any

import documents
import made_runs
import pytest
from crumple.run import given_blocks, run_file, run_plan, runs
from crumple.run.runs import Begun
from crumple.run.store import RunStore
from crumple.study.claim import OrderClaim
from crumple.study.study import Study
from stand_ins import Stage


def _copy(begun: Begun, folder: Path) -> Begun:
    folder.mkdir()
    run_file.write(RunStore(folder), begun.file)
    return runs.resume(RunStore(folder), retry_failed=False)


def test_given_blocks_are_run_in_the_order_and_with_the_seeds_of_the_plan(acts: Stage, root: Path) -> None:
    begun, notes = made_runs.begin(root), made_runs.Notes()
    places = (4, 1)
    there = _copy(begun, root / "there")
    given_blocks.execute(there, places, root, notes)
    planned = [trial for place in sorted(places) for trial in begun.file.plan.blocks[place].trials]
    assert notes.order == [each.id for each in planned]
    assert {each.trial.id: each.trial for each in there.store.trials()} == {each.id: each for each in planned}
    # Once they are stored, nothing of them is left.
    again = made_runs.Notes()
    given_blocks.execute(there, places, root, again)
    assert again.order == []


def test_results_do_not_decide_about_given_blocks(acts: Stage, root: Path) -> None:
    study = documents.study()
    shared = study.experiments["shared"]
    quick = shared.scales["quick"].model_copy(update={"least_blocks": 2})
    adaptive = {**study.experiments, "shared": shared.model_copy(update={"scales": {"quick": quick}})}
    begun = made_runs.begin(root, asked=study.model_copy(update={"experiments": adaptive}))
    last = max(range(len(begun.file.plan.blocks)), key=lambda place: begun.file.plan.blocks[place].number)
    assert not begun.file.must(begun.file.plan.blocks[last])
    notes = made_runs.Notes()
    given_blocks.execute(begun, [last], root, notes)
    assert set(notes.order) == begun.file.plan.blocks[last].labels
    assert run_file.read(begun.store).chosen == ()


def _claiming(study: Study, **changes: Any) -> Study:
    (order, *_) = (claim for claim in study.claims if isinstance(claim, OrderClaim))
    return study.model_copy(update={"claims": (order.model_copy(update=changes),)})


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, [["shared 1"], ["separate 1"], ["shared 2"], ["separate 2"], ["shared 3"]]),
        ({"against": "separate"}, [["separate 1", "shared 1"], ["separate 2", "shared 2"], ["shared 3"]]),
        # At another scale nobody asks the claim.
        ({"against": "separate", "scales": ("full",)}, None),
    ],
)
def test_blocks_that_a_claim_compares_belong_together(
    changes: dict[str, Any], numbers: list[list[str]] | None
) -> None:
    study = _claiming(documents.study(), **changes)
    planned = run_plan.plan(study, "quick", 42)
    groups = run_plan.groups(study, planned)
    named = [
        sorted(f"{planned.blocks[place].experiment} {planned.blocks[place].number}" for place in group)
        for group in groups
    ]
    assert sorted(place for group in groups for place in group) == [*range(len(planned.blocks))]
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    if numbers is None:
        assert all(len(group) == 1 for group in groups)
    else:
        assert sorted(named) == sorted(numbers)
