"""Sessions, with stand-ins for servers, engine and judging: required blocks, then the blocks that decide."""

import itertools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import documents
import one_run
import pytest
from crumple.errors import Interrupted, NotFound
from crumple.run import blocks, run_file, runs, session
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView
from crumple.run.run_file import RunFile
from crumple.run.run_plan import Block
from crumple.run.runs import Begun
from crumple.run.session import Session
from crumple.study.study import Study
from crumple.verdict.verdict import Standing
from made_runs import Notes
from stand_ins import Stage

LEAST, MOST = 2, 5


def _adaptive(*servers: str) -> Study:
    experiments = {}
    for name, experiment in documents.study().experiments.items():
        quick = experiment.scales["quick"].model_copy(
            update={"blocks": MOST, "least_blocks": LEAST, "servers": None}
        )
        update = {"servers": servers or ("go-nethttp",), "scales": {"quick": quick}, "twin": "go-nethttp"}
        experiments[name] = experiment.model_copy(update=update)
    return documents.study().model_copy(update={"experiments": experiments})


class Said:
    """Stands in for the judging. `decided_after`: experiment → after how many blocks its claim is decided.

    All claims use trials of the same `servers`.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        decided_after: Mapping[str, int | None],
        servers: Collection[str] = ("go-nethttp",),
    ) -> None:
        self.decided_after, self.servers = decided_after, frozenset(servers)
        monkeypatch.setattr(session.verdict, "standing", self)
        # The golden record's histograms cannot be decoded.
        monkeypatch.setattr(blocks, "figures", lambda stored: stored.trial)

    def __call__(
        self, study: Study, scale: str, figures: list[Any], failed: object, facts: object
    ) -> list[Standing]:
        found = []
        for name, enough in self.decided_after.items():
            done = max((each.block for each in figures if each.experiment == name), default=0)
            decided = enough is not None and done >= enough
            needed = None if decided or enough is None else enough
            over = decided or enough is None
            servers = {name: self.servers}
            found.append(Standing(f"on {name}", servers, over, needed, "because", decided))
        return found


class Blocks(Notes):
    """Notes which block began, and why."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        super().__init__(interrupt_after)
        self.blocks: list[tuple[str, int, str]] = []

    def block(self, study: Study, block: Block, why: str) -> None:
        self.blocks.append((block.experiment, block.number, why))


@pytest.fixture
def begin(root: Path) -> Callable[..., Begun]:
    def begun(seed: int = 1, *servers: str) -> Begun:
        return runs.begin(
            _adaptive(*servers),
            "quick",
            root=root,
            runs=root / "runs",
            seed=seed,
            only=(),
            waiting=lambda: None,
        )

    return begun


def test_open_claims_get_more_blocks_and_run_json_says_why(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 4, "separate": LEAST})
    begun, notes = begin(), Blocks()
    one_run.execute(begun, root, notes)
    first, then = notes.blocks[: 2 * LEAST], notes.blocks[2 * LEAST :]
    assert sorted(first) == [(name, number, "") for name in ("separate", "shared") for number in (1, 2)]
    why = "for on shared, which takes about 4 blocks"
    assert then == [("shared", 3, why), ("shared", 4, why)]
    file = run_file.read(begun.store)
    assert [(each.experiment, each.block, each.why) for each in file.chosen] == then
    assert file.stopped == dict.fromkeys(("shared", "separate"), "the claims that rest on it are decided")
    assert file.ended is not None


THREE = ("go-nethttp", "node-http", "node-express")


def _tried(begun: Begun, number: int) -> set[str]:
    return {
        each.partition(f"shared/b{number:02}/")[2]
        for each in begun.store.ids()
        if f"shared/b{number:02}" in each
    }


def _left_out(file: RunFile, begun: Begun) -> int:
    """Return how many trials a report says are missing."""
    starts = tuple(StartView(each, None) for each in begun.store.trials())
    shared = file.study.experiments["shared"]
    every = ServerView("any", file.servers["go-nethttp"], starts)
    shown = ExperimentView("shared", shared, shared.scales["quick"], (every,), None, {})
    return RunView(file, (shown,), ()).left_out


def test_a_further_block_has_only_the_servers_that_undecided_claims_use(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 4}, THREE[:2])
    begun = begin(1, *THREE)
    one_run.execute(begun, root, Blocks())
    file = run_file.read(begun.store)
    assert _tried(begun, LEAST) == {*THREE, "go-nethttp~twin"}
    assert [_tried(begun, number) for number in (3, 4, 5)] == [{*THREE[:2]}, {*THREE[:2]}, set()]
    assert [sorted(each.servers) for each in file.chosen] == [sorted(THREE[:2])] * 2
    assert file.ended is not None and _left_out(file, begun) == 0


def test_a_block_that_was_interrupted_keeps_the_servers_that_it_was_chosen_for(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Said(monkeypatch, {"shared": 3}, THREE[:2])
    begun = begin(1, *THREE)
    first = 2 * LEAST * (len(THREE) + 1)
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, Blocks(interrupt_after=first + 1))
    assert len(_tried(begun, 3)) == 1
    said.decided_after = {}
    again = runs.resume(begun.store, retry_failed=False)
    assert _left_out(again.file, begun) == 1
    one_run.execute(again, root, Blocks())
    assert _tried(begun, 3) == {*THREE[:2]}


def test_a_first_block_that_the_time_left_out_keeps_all_its_servers(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 3}, THREE[:2])
    begun, first = begin(1, *THREE), Session._first_blocks
    monkeypatch.setattr(Session, "_first_blocks", lambda *_: None)
    one_run.execute(begun, root, Blocks())
    assert _tried(begun, 1) == _tried(begun, LEAST) == {*THREE, "go-nethttp~twin"}
    assert _tried(begun, 3) == {*THREE[:2]}
    monkeypatch.setattr(Session, "_first_blocks", first)
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, Blocks())
    assert len([each for each in begun.store.ids() if each.startswith("separate")]) == 8


def test_a_block_that_lacks_only_other_servers_is_passed_over(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 4}, THREE[:1])
    begun = begin(1, *THREE)
    one_run.execute(runs.narrow(begun, f"shared/b03/{THREE[0]}"), root, Blocks())
    # As if the time were too short for the rest of a block that was begun.
    monkeypatch.setattr(blocks.Blocks, "has_begun", lambda *_: False)
    notes = Blocks()
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, notes)
    assert [each for each in notes.blocks if each[2]] == [
        ("shared", 4, "for on shared, which takes about 4 blocks")
    ]
    assert _tried(begun, 3) == _tried(begun, 4) == {THREE[0]}


def test_a_claim_that_more_blocks_would_not_help_gets_none(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": None})
    begun, notes = begin(), Blocks()
    one_run.execute(begun, root, notes)
    assert len(notes.blocks) == 2 * LEAST
    stopped = run_file.read(begun.store).stopped
    assert stopped["shared"] == "more blocks would not help: because"
    assert stopped["separate"] == "no claim of this scale rests on it"


class Reopens(Said):
    """Judges A, on Go, and B, on Node.js. B is decided after `b_after` blocks.

    A is given up until B has had `after` blocks, and is decided by one more.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int, b_after: int) -> None:
        super().__init__(monkeypatch, {})
        self.after, self.b_after = after, b_after

    def __call__(
        self, study: Study, scale: str, figures: list[Any], failed: object, facts: object
    ) -> list[Standing]:
        shared = [each for each in figures if each.experiment == "shared"]
        mine, other = (
            max((each.block for each in shared if each.server == name), default=0) for name in THREE[:2]
        )
        decided, is_open = mine > LEAST, other >= self.after
        needed = None if decided or not is_open else self.after + 1
        given_up = "" if decided or is_open else "too many"
        a = Standing("A", {"shared": frozenset(THREE[:1])}, decided, needed, "because", decided, given_up)
        over = other >= self.b_after
        b_needed = None if over else self.b_after
        return [a, Standing("B", {"shared": frozenset(THREE[1:2])}, over, b_needed, "because", over)]


def test_a_claim_that_was_given_up_is_looked_at_after_every_block(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Reopens(monkeypatch, after=4, b_after=4)
    begun = begin(1, *THREE)
    one_run.execute(begun, root, Blocks())
    # Block 5 is the first that began after A was open again.
    assert [_tried(begun, number) for number in (3, 4, 5)] == [{THREE[1]}, {THREE[1]}, {THREE[0]}]
    assert run_file.read(begun.store).undecided == {}


def test_a_claim_for_which_no_block_is_left_says_so(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Reopens(monkeypatch, after=MOST, b_after=MOST)
    begun = begin(1, *THREE)
    one_run.execute(begun, root, Blocks())
    file = run_file.read(begun.store)
    assert "shared" not in file.stopped, "all of its blocks were run"
    assert file.undecided == {"A": run_file.NO_BLOCK}


def test_run_json_says_why_each_claim_was_left_undecided(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Reopens(monkeypatch, after=MOST + 1, b_after=MOST)
    begun = begin(1, *THREE)
    Session([begun], root, budget_s=0.0).conduct(Blocks())
    assert run_file.read(begun.store).undecided == {"A": "too many", "B": run_file.TIME_OVER}
    again = runs.resume(begun.store, retry_failed=False)
    one_run.execute(again, root, Blocks())
    assert run_file.read(begun.store).undecided == {"A": "too many"}


def test_a_trial_that_a_chosen_block_leaves_out_cannot_be_asked_for_by_its_id(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 3}, THREE[:2])
    begun = begin(1, *THREE)
    one_run.execute(begun, root, Blocks())
    again = runs.resume(begun.store, retry_failed=False)
    with pytest.raises(NotFound, match=r"has no part in block 3, which has only .*go-nethttp.* a new run"):
        runs.narrow(again, f"shared/b03/{THREE[2]}")
    assert runs.narrow(again, f"shared/b04/{THREE[2]}").asked == {f"shared/b04/{THREE[2]}"}


def test_no_block_begins_that_does_not_fit_into_the_time_left(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": MOST, "separate": MOST})
    now_s = itertools.count(0.0, 1.0)
    monkeypatch.setattr(session.time, "monotonic", lambda: next(now_s))
    begun, notes = begin(), Blocks()
    Session([begun], root, budget_s=40.0).conduct(notes)
    numbers = [number for _, number, _ in notes.blocks]
    assert 2 <= len(numbers) < 2 * MOST
    file = run_file.read(begun.store)
    assert set(file.stopped.values()) == {"the time was over"}


def test_a_run_without_time_for_its_first_blocks_has_not_ended(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": LEAST, "separate": LEAST})
    begun = begin()
    Session([begun], root, budget_s=0.0).conduct(Blocks())
    assert begun.store.ids() == set() and run_file.read(begun.store).ended is None
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, Blocks())
    assert run_file.read(begun.store).ended is not None


def test_a_resumed_session_continues_where_it_stopped(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Said(monkeypatch, {"shared": 3})
    begun = begin()
    one_run.execute(begun, root, Blocks())
    before = begun.store.ids()
    again = Blocks()
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, again)
    assert again.blocks == [] and begun.store.ids() == before
    said.decided_after = {"shared": 5}
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, again)
    assert [(name, number) for name, number, _ in again.blocks] == [("shared", 4), ("shared", 5)]
    assert [each.block for each in run_file.read(begun.store).chosen] == [3, 4, 5]


def test_the_first_blocks_of_all_runs_take_turns(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {})
    runs, notes = [begin(1), begin(2)], Blocks()
    Session(runs, root).conduct(notes)
    assert [number for _, number, _ in notes.blocks] == [1] * 4 + [2] * 4
    assert all(run_file.read(each.store).ended for each in runs)


def test_runs_that_are_judged_once_are_executed_one_after_the_other_the_shortest_first(
    acts: Stage, root: Path
) -> None:
    def once(seed: int, *only: str) -> Begun:
        folder = {"root": root, "runs": root / "runs"}
        return runs.begin(documents.study(), "quick", **folder, seed=seed, only=only, waiting=lambda: None)

    long, short, notes = once(1), once(2, "go-nethttp"), Blocks()
    Session([long, short], root).conduct(notes)
    number, of_all = len(short.store.ids()), len(notes.order)
    assert notes.overs == [(short.file.id, number), (long.file.id, of_all)] and number < of_all


def test_a_run_that_the_time_left_unfinished_is_not_said_to_be_over(acts: Stage, root: Path) -> None:
    notes = Blocks()
    begun = runs.begin(
        documents.study(), "quick", root=root, runs=root / "runs", seed=1, only=(), waiting=lambda: None
    )
    Session([begun], root, budget_s=0.0).conduct(notes)
    assert notes.overs == []


def test_the_same_seed_and_decisions_give_the_same_trials(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": 4})
    orders = []
    for _ in range(2):
        notes = Blocks()
        one_run.execute(begin(7), root, notes)
        orders.append(notes.order)
    assert orders[0] == orders[1] and len(orders[0]) == 2 * (2 * LEAST) + 2


def test_one_trial_of_an_optional_block_can_be_run_by_its_id(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    Said(monkeypatch, {"shared": LEAST})
    begun, one = begin(), f"shared/b{MOST:02}/go-nethttp"
    one_run.execute(runs.narrow(begun, one), root, Blocks())
    assert begun.store.ids() == {one} and run_file.read(begun.store).ended is None


def test_the_claims_of_a_study_that_looks_once_are_not_judged_during_the_run(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unasked(*_: object) -> list[Standing]:
        raise AssertionError

    monkeypatch.setattr(session.verdict, "standing", unasked)
    begun = runs.begin(
        documents.study(), "quick", root=root, runs=root / "runs", seed=1, only=(), waiting=lambda: None
    )
    one_run.execute(begun, root, Blocks())
    assert len(begun.store.ids()) == 20


def test_a_study_that_looks_once_names_the_blocks_that_the_time_left_out(acts: Stage, root: Path) -> None:
    begun = runs.begin(
        documents.study(), "quick", root=root, runs=root / "runs", seed=1, only=(), waiting=lambda: None
    )
    Session([begun], root, budget_s=0.0).conduct(Blocks())
    stopped = run_file.read(begun.store).stopped
    assert stopped == dict.fromkeys(documents.study().experiments, "the time was over")


def test_a_resumed_run_forgets_why_it_stopped(
    acts: Stage, root: Path, begin: Callable[..., Begun], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Said(monkeypatch, {"shared": LEAST})
    begun = begin()
    one_run.execute(begun, root, Blocks())
    assert run_file.read(begun.store).stopped
    said.decided_after = {"shared": 5}
    with pytest.raises(Interrupted):
        one_run.execute(runs.resume(begun.store, retry_failed=False), root, Blocks(interrupt_after=1))
    assert run_file.read(begun.store).stopped == {}
