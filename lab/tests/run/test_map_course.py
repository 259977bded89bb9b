"""Runs of a study with a map: first points, then those that are chosen; stand-ins for servers and engine."""

import random
from dataclasses import replace
from pathlib import Path

import documents
import made_maps
import pytest
from crumple.commands import run
from crumple.commands.run import RunArguments
from crumple.errors import Interrupted, NotStored, UsageError
from crumple.model_map import map_data
from crumple.record.figures import Figures
from crumple.record.validity import Validity
from crumple.run import blocks, map_course, map_of_run, run_file, runs, trial
from crumple.run.runs import Begun
from crumple.run.session import Session
from crumple.run.store import StoredTrial
from crumple.study.map_points import point_of
from made_runs import Notes, begin
from stand_ins import Stage

pytestmark = pytest.mark.long

NATURES = dict(zip(documents.KNOWN_SERVERS, (made_maps.NATURES[each] for each in (7, 4, 1)), strict=True))
# Seconds. A block is chosen if it would fit into what is left of them; with stand-ins it takes none.
BUDGET_S = 12.0
MIX = """\
title = "Mix"
about = "Waits and computes."
[request]
path = "/mix?wait_ms={wait_ms}&spin_us={spin_us}"
[parameters.wait_ms]
default = 0
meaning = "milliseconds to wait"
[parameters.spin_us]
default = 0
meaning = "microseconds of CPU work"
[answer]
content_type = "text/plain"
body = "Hello, World!"
"""


def execute(begun: Begun, root: Path, watcher: Notes) -> None:
    """Execute what is left of it, for as long as a few further blocks would take."""
    Session([begun], root, BUDGET_S).conduct(watcher)


@pytest.fixture
def begun(acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    (root / "contract" / "workloads" / "mix.toml").write_text(MIX)
    made = begin(root, asked=made_maps.study())
    rng = random.Random(1)

    def figures(stored: StoredTrial) -> Figures | None:
        """What a server of that nature would show."""
        file = run_file.read(made.store)
        point = point_of(file.study.experiments[stored.trial.experiment])
        seen = made_maps.trial(NATURES[stored.trial.server], point, rng)
        return Figures(
            trial_id=stored.trial.id,
            experiment=stored.trial.experiment,
            block=stored.trial.block,
            server=stored.trial.server,
            twin=False,
            valid=stored.valid,
            problems=(),
            throughput_per_s=seen.per_s,
            failed_share=0.0,
            response_mean_ns=None,
            response_ns={0.99: seen.p99_ms * 1e6} if seen.p99_ms else {},
            cpu_per_request_us=seen.cpu_us,
            cpu_user_us=None,
            cpu_kernel_us=None,
            switches_per_request=None,
            memory_peak_bytes=None,
            processes_max=None,
            threads_max=None,
        )

    monkeypatch.setattr(blocks, "figures", figures)
    # The golden record is of another number of users.
    monkeypatch.setattr(trial.validity, "assess", lambda *_, **__: Validity("valid", (), ()))
    return made


def test_all_servers_are_measured_at_the_first_points_and_then_those_that_decide(
    begun: Begun, root: Path
) -> None:
    execute(begun, root, Notes())
    file = run_file.read(begun.store)
    first, further = file.plan.blocks[:2], file.plan.blocks[2:]
    assert {each.experiment for each in first} == {"wait0-compute0-users60", "wait0-compute10000-users60"}
    assert all(len(each.trials) == 3 for each in first)
    assert further
    assert [(each.experiment, each.block) for each in file.chosen] == [
        (each.experiment, each.number) for each in further
    ]
    assert all("cells of the map are undecided" in each.why for each in file.chosen)
    assert begun.store.ids() == {trial.id for trial in file.plan.trials}
    assert file.ended is not None and not file.stopped


def test_an_interrupted_map_goes_on_where_it_was(begun: Begun, root: Path) -> None:
    with pytest.raises(Interrupted):
        execute(begun, root, Notes(interrupt_after=8))
    before = run_file.read(begun.store)
    assert len(begun.store.ids()) == 8
    execute(runs.resume(begun.store, retry_failed=False), root, Notes())
    after = run_file.read(begun.store)
    assert after.plan.blocks[: len(before.plan.blocks)] == before.plan.blocks
    assert begun.store.ids() == {trial.id for trial in after.plan.trials}


def test_a_map_is_not_resumed_on_a_cluster(begun: Begun, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUMPLE_ROOT", str(root))
    monkeypatch.setenv("CRUMPLE_RUNS", str(root / "runs"))
    asked = RunArguments(studies=[], cluster="tls://10.0.0.1:8786")
    with pytest.raises(UsageError, match="map has a map, whose points results choose; run it on one host"):
        run.resume(begun.store.name, asked, as_json=False)


def test_a_server_whose_trials_do_not_count_is_measured_no_more(
    begun: Begun, root: Path, acts: Stage
) -> None:
    acts.fail_at = {"node-http": "answers"}
    execute(begun, root, Notes())
    tried = [each for each in run_file.read(begun.store).plan.trials if each.server == "node-http"]
    assert len(tried) <= 3


def test_a_stored_map_is_found_again(begun: Begun, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun.store.name.startswith("map-quick-")
    execute(begun, root, Notes())
    monkeypatch.setattr(map_of_run, "figures", blocks.figures)
    found = map_of_run.latest(root / "runs")
    assert found is not None and found.name == begun.store.name
    data = map_of_run.of_store(found)
    assert {each.server for each in data.trials} == {*documents.KNOWN_SERVERS}
    assert data.left_out == 0
    kept = root / "kept.json"
    kept.write_text(data.model_dump_json())
    assert map_data.read(kept) == data


@pytest.mark.parametrize(
    ("machine", "cores"),
    [
        ({"cores": 64, "usable_cores": [*range(64)], "cpu_quota_cores": "none"}, 64),
        ({"cores": 64, "usable_cores": [*range(64)], "cpu_quota_cores": 2.0}, 2),
        ({"cores": 64, "usable_cores": [*range(64)], "cpu_quota_cores": 1.5}, 2),
        ({"cores": 64, "usable_cores": [4, 5, 6], "cpu_quota_cores": 8.0}, 3),
        ({"cores": 4}, 4),
    ],
)
def test_a_map_is_of_the_cores_that_server_and_load_may_use(
    begun: Begun, machine: dict[str, object], cores: int
) -> None:
    file = run_file.read(begun.store).model_copy(update={"machine": machine})
    stored = documents.stored().model_copy(update={"trial": file.plan.trials[0]})
    seen = blocks.figures(stored)
    assert seen is not None
    # The load took a tenth of all cores of the machine.
    data = map_of_run.data_of(file, [replace(seen, engine_took=0.1, throughput_per_s=1_000.0)], [stored])
    assert data.cores == cores
    assert data.trials[0].engine_cpu_us == pytest.approx(0.1 * machine["cores"] * 1_000)  # type: ignore[operator]


def test_a_run_without_a_map_has_none(acts: Stage, root: Path) -> None:
    plain = begin(root)
    assert map_of_run.latest(root / "runs") is None
    with pytest.raises(NotStored, match="has no map"):
        map_of_run.of_store(plain.store)


def test_a_point_that_is_chosen_again_is_measured_again(begun: Begun, root: Path) -> None:
    execute(begun, root, Notes())
    file, stored = run_file.read(begun.store), begun.store.trials()
    point = point_of(file.study.experiments["wait0-compute0-users60"])
    again = map_course._planned(file, point, documents.KNOWN_SERVERS[:1], "as it is open")
    assert [each.id for each in again.block.trials] == [
        f"wait0-compute0-users60/b02/{documents.KNOWN_SERVERS[0]}"
    ]
    assert stored and again.block.labels.isdisjoint(each.trial.id for each in stored)
