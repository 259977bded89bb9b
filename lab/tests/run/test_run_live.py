"""The lines that a run prints as trials end: each figure is named, each kind of warning is in full once."""

import documents
from crumple.run import run_live
from crumple.run.run_live import LiveView
from crumple.run.run_plan import Block
from crumple.run.session import SessionOutlook
from crumple.study.study import StudyMap
from rich.console import Console

NEAR = (
    "the throughput is {}% (limit 70%) of the 10,500 /s that the engine reaches against its null server: "
    "it may have limited it; lower the load"
)
LOST = "{}% of the requests failed (312 × 503 Service Unavailable): all times are of the others"
CANARY = "canary: only {} of 40 requests were answered, so its median is at least what is given"


def _lines(*warnings: str, problems: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of trials with one warning each; the first trial also has `problems`."""
    console = Console(force_terminal=False, width=300, record=True)
    with LiveView("documents", lambda: SessionOutlook(0.0, 9.0, 1, 9, 0, 0), console) as shown:
        for number, warning in enumerate(warnings, start=1):
            trial_id, wrong = f"shared/b{number:02}/go-nethttp", problems if number == 1 else ()
            shown.ended(documents.stored(trial_id, warnings=(warning,), problems=wrong))
    return console.export_text().splitlines()


def test_a_line_names_its_time() -> None:
    line, _ = run_live.result(documents.stored())
    assert line == "   10,000 /s  mean 3.20 ms"
    none = documents.record(histograms=documents.record().histograms.model_copy(
        update={"response_time": documents.histogram({})}
    ))  # fmt: skip
    assert run_live.result(documents.stored(record=none))[0] == "   10,000 /s  mean       –"


def test_each_kind_of_warning_is_shown_in_full_once() -> None:
    lines = _lines(NEAR.format(74), NEAR.format("95.2"), LOST.format(2.5), NEAR.format(81), LOST.format(3))
    assert f"warning: {NEAR.format(74)}  (" in lines[0] and f"warning: {LOST.format(2.5)}  (" in lines[2]
    for line, short in ((lines[1], "95.2%"), (lines[3], "81%")):
        assert f"warning: the throughput is {short}…  (" in line
    assert "warning: 3% of the requests failed (312 × 503 Service Unavailable)…  (" in lines[4]


def test_a_warning_that_was_not_shown_is_shown_in_full_later() -> None:
    lines = _lines(NEAR.format(74), NEAR.format(75), problems=("the engine measured itself",))
    assert "null server" not in lines[0] and NEAR.format(75) in lines[1]


def test_a_warning_of_one_clause_is_not_shortened() -> None:
    assert [run_live.in_short(each) for each in ("mixed", CANARY.format(3))] == ["mixed", CANARY.format(3)]
    assert (
        run_live.kind(CANARY.format(3)) == run_live.kind(CANARY.format("12")) != run_live.kind("canary: no")
    )


def test_a_total_that_grows_says_why() -> None:
    console = Console(force_terminal=False, width=300, record=True)
    now = {"trials": 39, "of": 40}
    with LiveView("documents", lambda: SessionOutlook(0.0, 9.0, **now, decided=0, asked=0), console) as shown:
        trial = documents.stored()
        shown.ended(trial)
        now["trials"] = 40
        shown.ended(trial)
        block = Block(experiment="shared", number=3, trials=(trial.trial,))
        now["of"] = 44
        shown.block(documents.study(), block, "for A, which takes about 4 blocks")
        now["trials"] = 44
        shown.ended(trial)
    first, second, chosen, last = console.export_text().splitlines()
    assert first.startswith(" 39/40 ") and second.startswith(" 40/40 ") and "more" not in first + second
    assert chosen.endswith("block 3 for A, which takes about 4 blocks; 4 more trials, 44 in all")
    assert last.startswith(" 44/44 ")


def test_blocks_of_a_map_are_named_in_words_once_for_each_reason() -> None:
    plain, trial = documents.study(), documents.stored().trial
    cells = {"wait_ms": (0, 80), "compute_us": (0, 10_000), "users": (8, 500), "first": ((0, 0, 8),)}
    drawn = StudyMap.model_validate({"experiment": "shared", **cells})
    titles = {"shared": "0 ms of waiting, 0 ms of computing, 8 users", "separate": "80 ms of waiting, …"}
    experiments = {
        name: each.model_copy(update={"title": titles[name]}) for name, each in plain.experiments.items()
    }
    study = plain.model_copy(update={"map": drawn, "experiments": experiments})
    console = Console(force_terminal=False, width=300, record=True)
    now = {"trials": 16, "of": 16}
    with LiveView("map", lambda: SessionOutlook(0.0, 9.0, **now, decided=0, asked=0), console) as shown:
        shown.ended(documents.stored())
        for number, (name, undecided) in enumerate(
            [("shared", 7), ("separate", 7), ("separate", 6)], start=3
        ):
            now["of"] += 2
            block = Block(experiment=name, number=number, trials=(trial,))
            shown.block(study, block, f"as {undecided} cells of the map are undecided")
    _, first, second = console.export_text().splitlines()
    assert first == (
        f"{study.name}: 0 ms of waiting, 0 ms of computing, 8 users, as 7 cells of the map are undecided; "
        "2 more trials, 18 in all"
    )
    assert second == (
        f"{study.name}: 80 ms of waiting, …, as 6 cells of the map are undecided; 4 more trials, 22 in all"
    )
