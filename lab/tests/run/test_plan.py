"""Plans: a seed fixes the order, seeds differ, and every block has every server and one twin."""

import documents
import pytest
from crumple.errors import UsageError
from crumple.run import run_plan
from hypothesis import given
from hypothesis import strategies as st

STUDY = documents.study()


@given(st.integers(0, 2**63))
def test_the_same_seed_gives_the_same_plan(seed: int) -> None:
    assert run_plan.plan(STUDY, "quick", seed) == run_plan.plan(documents.study(), "quick", seed)


@given(st.integers(0, 2**32))
def test_every_block_holds_each_server_once_and_one_twin(seed: int) -> None:
    for block in run_plan.plan(STUDY, "quick", seed).blocks:
        experiment = STUDY.experiments[block.experiment]
        firsts = [trial.server for trial in block.trials if not trial.twin]
        twins = [trial.server for trial in block.trials if trial.twin]
        assert sorted(firsts) == sorted(experiment.servers)
        assert twins == [experiment.twin]
        assert [trial.position for trial in block.trials] == [1, 2, 3, 4]


def test_a_server_with_fewer_blocks_is_in_the_first_ones_only() -> None:
    shared = STUDY.experiments["shared"]
    beside = next(server for server in shared.servers if server != shared.twin)
    quick = shared.scales["quick"].model_copy(update={"blocks_of": {beside: 2}})
    fewer = shared.model_copy(update={"scales": {"quick": quick}})
    study = STUDY.model_copy(update={"experiments": {"shared": fewer}})
    blocks = run_plan.plan(study, "quick", 7).blocks
    assert [beside in {trial.server for trial in block.trials} for block in blocks] == [True, True, False]
    assert [len(block.trials) for block in blocks] == [4, 4, 3]


def test_the_order_is_the_same_on_every_machine() -> None:
    first = run_plan.plan(STUDY, "quick", 42).blocks[0]
    assert [trial.id for trial in first.trials] == [
        "separate/b01/node-express",
        "separate/b01/go-nethttp",
        "separate/b01/node-http",
        "separate/b01/node-http~twin",
    ]


def test_seeds_and_blocks_have_different_orders() -> None:
    orders = {
        tuple((trial.server, trial.twin) for trial in block.trials)
        for seed in range(10)
        for block in run_plan.plan(STUDY, "quick", seed).blocks
    }
    assert len(orders) > 12  # of 24 possible ones


def test_blocks_of_the_experiments_take_turns() -> None:
    blocks = [(block.number, block.experiment) for block in run_plan.plan(STUDY, "quick", 3).blocks]
    assert [number for number, _ in blocks] == [1, 1, 2, 2, 3]
    assert {experiment for _, experiment in blocks[:2]} == {"shared", "separate"}
    assert blocks[4] == (3, "shared")


@pytest.mark.long
def test_each_server_is_equally_likely_at_every_place_in_a_block() -> None:
    first = [run_plan.plan(STUDY, "quick", seed).blocks[0].trials[0] for seed in range(800)]
    for server in documents.KNOWN_SERVERS:
        share = sum(trial.server == server and not trial.twin for trial in first) / len(first)
        assert 0.19 < share < 0.31


def test_every_trial_has_an_id_and_a_seed_of_its_own() -> None:
    trials = run_plan.plan(STUDY, "quick", 7).trials
    assert len({trial.id for trial in trials}) == len({trial.seed for trial in trials}) == len(trials) == 20
    assert all(0 <= trial.seed < 2**53 for trial in trials)


def test_an_unknown_scale_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(UsageError, match="no experiment has a scale full; choose among quick"):
        run_plan.plan(STUDY, "full", 1)
