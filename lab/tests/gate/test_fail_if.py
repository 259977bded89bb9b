"""--fail-if of every command: its figures, what comes of them, and what a CI platform gets."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import made_results
import pytest
import synthetic_run
from command_line import in_project, with_store
from crumple.commands import ci_platform, run_gate, versus
from crumple.commands import load_result as loads
from crumple.diagnose import diagnose_conditions
from crumple.errors import EXIT_NOT_VALID
from crumple.find import find_conditions
from crumple.gate import condition
from crumple.gate.condition import Outcome, State
from crumple.gate.job_report import JobReport
from crumple.limit.finding import Finding, Unclear
from crumple.run import run_conditions, run_file
from crumple.run.report import run_report
from crumple.run.report.view import view
from crumple.run.store import RunStore
from crumple.versus import versus_conditions
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.standing import LookResult, Ratio
from made_searches import finding
from made_versus import changed, ratio, result
from synthetic_load import closed
from synthetic_versions import machine

HOLDS = Outcome("p50>+10%", "holds", "B 1.2")


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        (
            ("load", "http://127.0.0.1:1/"),
            "failed, max, mean, p50, p75, p90, p95, p99, p99.9, p99.99, throughput",
        ),
        (
            ("versus", "http://127.0.0.1:1/", "http://127.0.0.1:2/"),
            "alike, cpu, failed, faster, p50, p90, p99",
        ),
        (("find", "http://127.0.0.1:1/"), "breaking-point, highest-held"),
        (("diagnose", "http://127.0.0.1:1/"), "accept-queue, background, breaking-point"),
        (("run", "demo"), "contradicted, failed, in-size-only, not-testable, not-valid, skipped"),
    ],
)
def test_an_unknown_figure_is_refused_in_a_line_that_names_those_that_are_known(
    words: tuple[str, ...],
    figures: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    call = in_project(monkeypatch, capsys, tmp_path, words[0])
    code, out, err = call(*words[1:], "--fail-if", "bytes>1")
    assert (code, out) == (2, "")
    assert f'--fail-if "bytes>1": there is no figure bytes here; known: {figures}' in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("verb", ["versus", "find", "diagnose", "load"])
def test_a_junit_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = in_project(monkeypatch, capsys, tmp_path, verb)
    urls = ["http://127.0.0.1:1/", "http://127.0.0.1:2/"][: 2 if verb == "versus" else 1]
    code, _, err = call(*urls, "--junit", "nowhere/a.xml")
    assert code == 2 and "--junit nowhere/a.xml" in err


@pytest.mark.parametrize("verb", ["versus", "find", "diagnose", "load"])
def test_two_outputs_that_name_the_same_file_are_refused(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = in_project(monkeypatch, capsys, tmp_path, verb)
    urls = ["http://127.0.0.1:1/", "http://127.0.0.1:2/"][: 2 if verb == "versus" else 1]
    code, _, err = call(*urls, "--junit", "a.xml", "--html", f"../{Path.cwd().name}/a.xml")
    assert code == 2 and "--html and --junit name the same file" in err
    assert not Path("a.xml").exists()


@pytest.mark.long
def test_what_came_of_a_runs_conditions_is_kept_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = RunStore(tmp_path / "runs" / "r")
    run_file.write(store, synthetic_run.run_file())
    for each in synthetic_run.trials():
        store.add(each)
    asked = condition.read(["undecided>99, skipped>=0"], run_conditions.KINDS)
    (one, other) = run_gate.judge([store], asked)
    assert (one.state, other.state) == ("does not hold", "holds")
    call = with_store(monkeypatch, capsys, tmp_path)
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    for verb in ("show", "report"):
        assert call(verb, "r")[1].endswith(f"{one.marked}\n{other.marked}\n")
    assert one.marked.replace(">", "&gt;") in run_report.html(view(run_file.read(store), store.trials()))
    run_gate.judge([store], ())
    assert "fail if" not in call("show", "r")[1]


def of_versus(text: str, kind: str = "faster") -> Outcome:
    """What comes of a condition on a comparison of versions of which B answers 1.5 times as many."""
    fail_if = condition.read([text], versus_conditions.KINDS)
    machines = {"faster": (1_000.0, 1_500.0), "three": (1_000.0, 1_500.0, 700.0)}
    compared = machine(*machines[kind]).compare_with(versus_conditions.bounds(fail_if))
    (found,) = versus_conditions.outcomes(fail_if, result(kind, compared=compared))
    return found


@pytest.mark.parametrize(
    ("text", "kind", "state"),
    [
        ("throughput>+30%", "faster", "holds"),
        ("throughput>+70%", "faster", "does not hold"),
        ("throughput<-10%", "faster", "does not hold"),
        ("throughput<-10%", "three", "holds"),
        ("slower>0", "faster", "does not hold"),
        ("faster>0", "faster", "holds"),
        ("slower>0", "three", "holds"),
        ("failed>1%", "faster", "does not hold"),
    ],
)
def test_a_comparison_of_versions(text: str, kind: str, state: State) -> None:
    assert of_versus(text, kind).state == state


def test_a_difference_below_the_tolerance_counts_as_none() -> None:
    small, large = ratio("p50", 1.02, 1.06), ratio("p50", 1.02, 1.12)
    assert [versus_conditions.way(each, 0.05) for each in (small, large)] == ["different", "slower"]
    assert versus_conditions.way(small, 0.03) == "slower"
    assert versus_conditions.way(ratio("throughput", 1.05, 1.2), 0.05) == "faster"
    assert versus_conditions.way(ratio("throughput", 0.8, 0.9), 0.05) == "slower"
    assert versus_conditions.way(ratio("cpu", 0.9, 1.2, "undecided"), 0.05) == "undecided"


def test_a_figure_that_is_undecided_may_be_slower() -> None:
    plain = result("limited")
    found = [ratio("p50", 0.97, 1.2, "undecided"), ratio("p90", 1.1, 1.2)]

    def states(*ratios: Ratio) -> list[str]:
        seen = (LookResult(tuple(ratios), 5),)
        asked = condition.read(["slower>0", "slower>1", "undecided>0"], versus_conditions.KINDS)
        figures = changed(plain, compared=replace(plain.compared, seen=seen))
        return [each.state for each in versus_conditions.outcomes(asked, figures)]

    assert states(found[0]) == ["not shown", "does not hold", "holds"]
    assert states(*found) == ["holds", "not shown", "holds"]
    assert states(found[1]) == ["holds", "does not hold", "does not hold"]


def test_it_says_of_which_version_it_holds() -> None:
    assert of_versus("throughput<-10%", "three").why.startswith("C 0.6")


def test_without_a_block_that_counts_it_is_not_known() -> None:
    fail_if = condition.read(["p50>+10%, slower>0"], versus_conditions.KINDS)
    found = versus_conditions.outcomes(fail_if, result("limited"))
    assert [each.state for each in found] == ["not known", "not known"]


def test_a_figure_without_an_interval_is_not_known_though_others_are() -> None:
    fail_if = condition.read(["p50>+10%, throughput>+30%"], versus_conditions.KINDS)
    compared = machine(1_000.0, 1_500.0).compare_with(versus_conditions.bounds(fail_if))
    seen = tuple(replace(look, ratios=tuple(map(_without_times, look.ratios))) for look in compared.seen)
    found = versus_conditions.outcomes(fail_if, result(compared=replace(compared, seen=seen)))
    assert [each.state for each in found] == ["not known", "holds"]
    assert found[0].why == "B: the engine was late"
    assert condition.code_of(found[:1], 0) == EXIT_NOT_VALID


def _without_times(seen: Ratio) -> Ratio:
    is_time = seen.figure == "p50"
    late = replace(seen, interval=None, answer="undecided", why="the engine was late", bounds=())
    return late if is_time else seen


def test_a_comparison_tells_each_figure_as_a_finding() -> None:
    made = versus.job_report(with_conditions(of_text("slower>0")))
    assert [each.name for each in made.remarks][:2] == ["median of B", "p90 of B"]
    assert made.word == "passes" and "B" in made.screen and not made.problem
    assert versus.job_report(result("gone").document).problem


def test_the_json_of_a_comparison_has_the_conditions() -> None:
    (found,) = with_conditions(of_text("slower>0")).model_dump(mode="json")["fail_if"]
    assert found == {"written": "slower>0", "state": "does not hold", "why": ""}


def with_conditions(outcomes: tuple[Outcome, ...]) -> VersusDocument:
    """The document of a comparison of which these came of its conditions."""
    return result().document.model_copy(update={"fail_if": outcomes})


def of_text(text: str) -> tuple[Outcome, ...]:
    """What comes of conditions on a comparison that stands."""
    return versus_conditions.outcomes(condition.read([text], versus_conditions.KINDS), result())


@pytest.mark.weighs
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "text", "state"),
    [
        ("found", "breaking-point<1000", "does not hold"),
        ("found", "breaking-point<4000/s", "holds"),
        ("found", "highest-held<100", "does not hold"),
        ("highest", "breaking-point<50", "does not hold"),
        ("highest", "breaking-point<60", "not shown"),
        ("never", "breaking-point<1", "not known"),
        ("budget", "highest-held<1", "not known"),
    ],
)
def test_a_search(kind: str, text: str, state: State) -> None:
    asked = condition.read([text], find_conditions.KINDS)
    (found,) = find_conditions.outcomes(asked, finding(kind))
    assert found.state == state


def of_diagnosis(text: str) -> Outcome:
    (found,) = diagnose_conditions.outcomes(
        condition.read([text], diagnose_conditions.KINDS), made_results.diagnosis(found=None)
    )
    return found


def test_a_diagnosis_by_its_causes() -> None:
    (first,) = (each for each in made_results.diagnosis().said if isinstance(each, Finding))
    assert first.cause == "workers"
    state: State = "holds" if first.probability >= 0.95 else "not shown"
    assert of_diagnosis("workers>10%").state == state
    assert of_diagnosis("workers>99.9%").state == "does not hold"
    assert of_diagnosis("one-loop>10%").state == "does not hold"
    assert of_diagnosis("breaking-point<100").sentence == (
        "fail if breaking-point<100: is not known: nothing was searched"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"said": (Unclear("none", "others used the machine"),)}, "others used the machine"),
        ({"said": ()}, "nothing that was measured shows it or rules it out"),
        ({"said": (), "facts": None}, "no load beyond the limit was measured"),
        (
            {"said": (Finding("disk", "tested", 0.97, None, "3 threads wait", ""),)},
            "what was found explains it, or nothing shows it: disk, 3 threads wait",
        ),
    ],
)
def test_why_a_cause_was_not_judged_is_said(changes: dict[str, Any], why: str) -> None:
    asked = condition.read(["gate>30%"], diagnose_conditions.KINDS)
    (found,) = diagnose_conditions.outcomes(asked, made_results.diagnosis(**changes))
    assert found.sentence == f"fail if gate>30%: is not known: {why}"


def test_a_run_by_its_verdicts_and_trials() -> None:
    seen = view(synthetic_run.run_file(), synthetic_run.trials())
    contradicted = [each.claim_id for each in seen.asked if each.answer == "contradicted"]
    assert contradicted
    texts = [
        f"contradicted>={len(contradicted)}",
        f"contradicted>{len(contradicted)}",
        "failed>0",
        "skipped>0",
    ]
    found = run_conditions.outcomes(condition.read(texts, run_conditions.KINDS), [seen])
    assert [each.state for each in found] == ["holds", "does not hold", "holds", "does not hold"]
    assert found[0].why == ", ".join(contradicted)
    twice = run_conditions.outcomes(condition.read(["failed>=2"], run_conditions.KINDS), [seen, seen])
    assert twice[0].state == "holds"


def test_a_run_tells_each_claim_as_a_finding() -> None:
    seen = view(synthetic_run.run_file(), synthetic_run.trials())
    made = run_gate.job_report([seen], (), 3)
    assert len(made.remarks) == len(seen.asked)
    assert "failed" in made.problem


def test_the_job_report_of_a_load_has_its_conditions() -> None:
    unknown = Outcome("p99.9>1s", "not known", "it takes 10,000 answers to know, and 500 came")
    holds = Outcome("p99>1ms", "holds", "")
    made = loads.job_report(closed(fail_if=(unknown, holds)))
    assert [each.sentence for each in made.outcomes] == [
        "fail if p99.9>1s: is not known: it takes 10,000 answers to know, and 500 came",
        "fail if p99>1ms: holds, so it fails",
    ]


REPORT = JobReport("versus", "A, B", "B is slower", "a screen\n", (HOLDS,))


def test_in_a_job_of_github_the_summary_is_appended_and_each_failure_annotated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("of an earlier command")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ci_platform.report(None, lambda: REPORT)
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(
        "::error title=crumple versus::fail if p50>+10%25: holds, so it fails"
    )
    assert summary.read_text().startswith("of an earlier command\n### crumple versus: fails\n")


def test_what_earlier_commands_wrote_counts_towards_the_size_of_the_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("x" * (1024 * 1024 - 300))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ci_platform.report(None, lambda: replace(REPORT, screen="line\n" * 1_000))
    assert 1024 * 1024 - 300 < summary.stat().st_size <= 1024 * 1024


def test_a_summary_that_cannot_be_written_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))
    ci_platform.report(None, lambda: REPORT)
    assert "the job's summary cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("platform", ["GITLAB_CI", "JENKINS_URL"])
def test_elsewhere_there_is_the_junit_file_alone(
    platform: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(platform, "true")
    ci_platform.report(tmp_path / "a.xml", lambda: REPORT)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")
    assert len([*ElementTree.parse(tmp_path / "a.xml").iter("failure")]) == 1


def test_without_anybody_to_tell_nothing_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def made() -> JobReport:
        raise AssertionError("nobody asked")

    ci_platform.report(None, made)


def test_at_60_columns_no_line_of_an_outcome_is_longer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    ci_platform.show(
        [condition.Outcome("p99>+10%", "not shown", "B 1.12 [1.03 – 1.22], and C 1.10 [0.98 – 1.24]")]
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 60


@pytest.mark.parametrize(
    ("verb", "typed", "meant"), [("load", "failes>1%", "failed"), ("find", "higest-held<1", "highest-held")]
)
def test_a_mistyped_figure_is_named(
    verb: str,
    typed: str,
    meant: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    call = in_project(monkeypatch, capsys, tmp_path, verb)
    code, _, err = call("http://127.0.0.1:1/", "--fail-if", typed)
    assert code == 2 and f"did you mean {meant}?" in err
