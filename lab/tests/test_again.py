"""Disturbed trials are repeated at the end of their block, and the repeat replaces them."""

from pathlib import Path

import documents
import one_run
import pytest
from crumple.commands.run import code_of
from crumple.errors import Interrupted
from crumple.record.disturbance import Disturbance
from crumple.run import again, run_file, runs, store
from crumple.run.again import Attempts, Streak
from crumple.run.report import run_tables
from crumple.run.report.view import view
from crumple.run.run_live import LiveView
from crumple.run.session import Outlook
from crumple.run.store import StoredTrial
from rich.console import Console
from stand_ins import Stage
from test_run import Notes, _begin

BUSY = Disturbance(others_share=0.4, steal_share=0.0, others_limit=0.1, steal_limit=0.025)
CALM = Disturbance(others_share=0.01, steal_share=0.0, others_limit=0.1, steal_limit=0.025)
# According to the golden record, engine and server used 2.8 of 4 s of CPU time.
DISTURB = """
if {when}:
    window = {{"busy_ns": 3_900_000_000, "steal_ns": 0, "cores": 2, "kernel_threads_ns": 0}}
    record["probes"]["machine"]["window"] = window
times = record['histograms']['response_time']
times['mean_ns'], times['encoded'] = record['spec']['shape']['connections'] * 100_000, {encoded!r}
"""


@pytest.fixture(autouse=True)
def others_may_work() -> None:
    """Keep the real limits of disturbance, which other tests raise."""


def _disturbing(tmp_path: Path, when: str) -> None:
    encoded = documents.histogram({3_200_000: 20_000}).encoded
    documents.fake_engine(tmp_path, DISTURB.format(when=when, encoded=encoded))


@pytest.mark.long
def test_a_disturbed_trial_is_repeated_at_the_end_of_its_block(
    acts: Stage, root: Path, tmp_path: Path
) -> None:
    _disturbing(tmp_path, "spec['label'] == 'shared/b02/node-http'")
    begun, notes = _begin(root), Notes()
    one_run.execute(begun, root, notes)
    block = next(each for each in begun.file.plan.blocks if (each.experiment, each.number) == ("shared", 2))
    at = notes.order.index("shared/b02/node-http+2")
    assert notes.order[at - len(block.trials) : at] == [each.id for each in block.trials]
    assert notes.repeats == ["shared/b02/node-http+2"] and notes.said_busy == []
    trials = {each.trial.id: each for each in begun.store.trials()}
    assert len(trials) == len(begun.file.plan.trials) + 1
    first, second = trials["shared/b02/node-http"], trials["shared/b02/node-http+2"]
    assert first.disturbed and not first.valid and first.problems[0].startswith("disturbed: other programs")
    assert not second.disturbed and second.valid
    assert (second.trial.attempt, second.trial.label, second.trial.seed) == (
        2, first.trial.id, first.trial.seed,
    )  # fmt: skip


def test_the_repeat_replaces_the_first_attempt(acts: Stage, root: Path, tmp_path: Path) -> None:
    _disturbing(tmp_path, "spec['label'] == 'shared/b02/node-http'")
    begun = _begin(root)
    one_run.execute(begun, root, Notes())
    trials = begun.store.trials()
    seen = view(run_file.read(begun.store), trials)
    assert [start.trial.trial.id for start in seen.replaced] == ["shared/b02/node-http"]
    assert seen.left_out == 0 and not seen.not_valid
    (row,) = [row for shown in seen.experiments if shown.name == "shared" for row in shown.servers
              if row.name == "node-http"]  # fmt: skip
    assert len(row.counting) == len(row.starts) == 3
    used = {key for verdict in seen.verdicts for key in verdict.trials}
    assert "shared/b02/node-http+2" in used and "shared/b02/node-http" not in used
    lines = {each.id: each for each in run_tables.trials(seen)}
    assert lines["shared/b02/node-http"].status == "not valid"
    assert lines["shared/b02/node-http"].others.startswith("28")
    assert lines["shared/b02/node-http+2"].command.endswith("--only shared/b02/node-http")
    assert code_of(trials) == 0, "a trial that was repeated does not fail the run"


def test_repeats_of_a_block_are_limited_and_trials_left_disturbed_do_not_count(
    acts: Stage, root: Path, tmp_path: Path
) -> None:
    _disturbing(tmp_path, "'separate/b01' in spec['label']")
    begun, notes = _begin(root), Notes()
    one_run.execute(begun, root, notes)
    assert len(notes.repeats) == 2 == again.at_most(begun.file.plan.blocks[0])
    assert {each.rpartition("+")[2] for each in notes.repeats} == {"2"}, (
        "none is repeated twice before all once"
    )
    (said,) = notes.said_busy
    assert said.startswith("the last 3 trials were disturbed, and do not count: other programs used 27")
    assert code_of(begun.store.trials()) == 3


def test_no_repeat_begins_while_others_use_the_machine(acts: Stage, root: Path, tmp_path: Path) -> None:
    _disturbing(tmp_path, "spec['label'] in ('shared/b01/node-http', 'shared/b02/node-http')")
    acts.busy = "other programs use 50% of the CPU"
    begun, notes = _begin(root), Notes()
    one_run.execute(begun, root, notes)
    assert set(notes.order) == {each.id for each in begun.file.plan.trials}
    assert len(notes.said_busy) == 2 and all(each.startswith(acts.busy) for each in notes.said_busy)
    acts.busy = ""
    later = Notes()
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, later)
    assert later.order == ["shared/b01/node-http+2", "shared/b02/node-http+2"], "the resumed run repeats them"
    last = Notes()
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, last)
    assert last.order == []


@pytest.mark.long
def test_a_run_interrupted_before_a_repeat_makes_it_when_resumed(
    acts: Stage, root: Path, tmp_path: Path
) -> None:
    _disturbing(tmp_path, "spec['label'] == 'shared/b01/node-http'")
    begun = _begin(root)
    order = Notes()
    one_run.execute(begun, root, order)
    at = order.order.index("shared/b01/node-http+2")
    other, first = _begin(root), Notes(interrupt_after=at)
    with pytest.raises(Interrupted):
        one_run.execute(other, root, first)
    second = Notes()
    one_run.execute(runs.resume(other.store, retry_failed=False), root, second)
    assert first.order + second.order == order.order


def test_a_single_trial_named_by_its_id_is_repeated_alone(acts: Stage, root: Path, tmp_path: Path) -> None:
    _disturbing(tmp_path, "spec['label'] == 'shared/b02/node-http'")
    begun, notes = _begin(root), Notes()
    one_run.execute(runs.narrowed(begun, "shared/b02/node-http"), root, notes)
    assert notes.order == ["shared/b02/node-http", "shared/b02/node-http+2"]


def test_a_repeat_that_failed_is_tried_again_with_retry_failed(
    acts: Stage, root: Path, tmp_path: Path
) -> None:
    _disturbing(tmp_path, "spec['label'] == 'shared/b02/node-http'")
    begun = _begin(root)
    one_run.execute(runs.narrowed(begun, "shared/b02/node-http"), root, Notes())
    stored = {each.trial.id: each for each in begun.store.trials()}["shared/b02/node-http+2"]
    begun.store.set_aside(stored.trial.id)
    failure = store.Failure(step="start", message="no")
    begun.store.add(stored.model_copy(update={"status": "failed", "failure": failure, "record": None}))
    seen = Notes()
    one_run.execute(runs.resume(begun.store, retry_failed=True), root, seen)
    assert "shared/b02/node-http+2" in seen.order and "shared/b02/node-http" not in seen.order
    trials = {each.trial.id: each for each in begun.store.trials()}
    assert trials["shared/b02/node-http+2"].valid


def _stored(disturbance: Disturbance | None, attempt: int = 1, server: str = "node-http") -> StoredTrial:
    plain = documents.stored(f"shared/b01/{server}", disturbance=disturbance)
    identity = plain.trial
    for _ in range(attempt - 1):
        identity = identity.again()
    return plain.model_copy(update={"trial": identity})


def test_only_the_last_attempt_decides_what_to_repeat() -> None:
    attempts = [_stored(BUSY), _stored(CALM, 2), _stored(BUSY, server="go-nethttp")]
    assert store.replaced(attempts) == {"shared/b01/node-http"}
    twice = [_stored(BUSY, 3), _stored(BUSY), _stored(BUSY, 2)]
    assert store.replaced(twice) == {"shared/b01/node-http", "shared/b01/node-http+2"}


def test_no_repeat_is_due_before_the_block_is_done(acts: Stage, root: Path) -> None:
    block = next(each for each in _begin(root).file.plan.blocks if each.experiment == "shared")
    attempts = Attempts([_stored(BUSY)])
    assert attempts.due(block) == [] and attempts.due(block, together=True) == []
    (due,) = attempts.due(block, ["shared/b01/node-http"])
    assert due.id == "shared/b01/node-http+2"


def test_trials_in_slices_are_repeated_together_and_only_once(acts: Stage, root: Path) -> None:
    block = next(each for each in _begin(root).file.plan.blocks if each.experiment == "shared")
    first = [_renamed(documents.stored(each.id, disturbance=BUSY), each) for each in block.trials]
    calm = _renamed(documents.stored(block.trials[0].id, disturbance=CALM), block.trials[0])
    attempts = Attempts([calm, *first[1:]])
    again = attempts.due(block, together=True)
    assert [each.id for each in again] == [f"{each.id}+2" for each in block.trials[1:]]
    for each in again:
        attempts.note(_renamed(documents.stored(each.id, disturbance=BUSY), each))
    assert attempts.due(block, together=True) == []


def test_a_busy_machine_is_reported_once_until_it_was_calm() -> None:
    streak, unknown = Streak(), _stored(None)
    said = [bool(streak.busy(_stored(BUSY))) for _ in range(5)]
    assert said == [False, False, True, False, False]
    assert streak.busy(unknown) == "" and streak.busy(_stored(CALM)) == ""
    assert [bool(streak.busy(_stored(BUSY))) for _ in range(3)] == [False, False, True]


def test_the_view_counts_a_repeat_in_addition_to_the_plan(acts: Stage, root: Path) -> None:
    planned = _begin(root).to_do[0]
    console = Console(force_terminal=False, width=200, record=True)
    with LiveView("documents", lambda: Outlook(0.0, 9.0, 21, 21, 0, 0), console) as shown:
        shown.began(planned)
        shown.ended(documents.stored(planned.id, disturbance=BUSY))
        repeat = planned.again()
        shown.again(repeat)
        shown.began(repeat)
        shown.ended(_renamed(documents.stored(planned.id, disturbance=CALM), repeat))
        shown.busy("other programs use 50% of the CPU")
    text = console.export_text()
    assert "disturbed: other programs used 40.0% of the CPU time while measured (limit 10.0%)" in text
    assert f"21/21 {repeat.id}" in text
    assert "the machine is busy: other programs use 50% of the CPU" in text


def _renamed(stored: StoredTrial, identity: store.TrialIdentity) -> StoredTrial:
    return stored.model_copy(update={"trial": identity})


@pytest.mark.long
def test_a_problem_of_the_machine_is_reported_once(acts: Stage, root: Path) -> None:
    notes = Notes()
    one_run.execute(_begin(root), root, notes)
    assert notes.said_unfit == ["busy"]
