"""The report's formats against golden files, and what every format must say whatever the run.

After an intended change: CRUMPLE_WRITE_GOLDEN=1 pytest lab/tests/test_report.py, then read the difference.
"""

import json
import re
from functools import cache

import documents
import pytest
import synthetic_run
from crumple.drawing import numerals
from crumple.run.report import run_sentences
from crumple.run.report.markdown import markdown
from crumple.run.report.run_json import data
from crumple.run.report.run_page import html
from crumple.run.report.run_text import text
from crumple.run.report.view import RunView, view
from crumple.run.run_file import TIME_OVER, RunFile
from crumple.run.store import Failure
from golden_file import alike, as_golden

BADGES = (
    "supported",
    "contradicted",
    "contradicted in size only",
    "undecided",
    "undecided in size only",
    "not testable here",
)


@cache
def seen() -> RunView:
    return view(synthetic_run.run_file(), synthetic_run.trials())


@cache
def page() -> str:
    return html(seen())


def test_markdown_is_as_the_golden_file() -> None:
    said = markdown(seen())
    assert said == as_golden("report.md", said)


@pytest.mark.parametrize("width", [80, 110])
def test_text_is_as_the_golden_file(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    assert said == as_golden(f"report-{width}.txt", said)
    assert max(len(line) for line in said.splitlines()) <= width


def test_data_is_as_the_golden_file() -> None:
    said = data(seen())
    alike(json.loads(said), json.loads(as_golden("report.json", said)))


def test_an_io_model_that_nothing_checks_is_said_to_be_declared() -> None:
    run = synthetic_run.run_file()
    note = run.servers["node-http"].model_copy(update={"model_is_checked": False})
    run = run.model_copy(update={"servers": {**run.servers, "node-http": note}})
    shown = view(run, synthetic_run.trials())
    for said in (markdown(shown), html(shown)):
        assert said.count(f"{note.io_model} (declared)") == len(shown.experiments) == said.count("(declared)")
    assert "(declared)" not in page()


def test_a_scale_that_judges_several_times_is_judged_so_and_says_so() -> None:
    run = synthetic_run.run_file()
    shared = run.study.experiments["shared"]
    scale = shared.scales[run.scale].model_copy(update={"least_blocks": 2, "blocks": 6})
    experiments = {**run.study.experiments}
    experiments["shared"] = shared.model_copy(update={"scales": {run.scale: scale}})
    study = run.study.model_copy(update={"experiments": experiments})
    looked = view(run.model_copy(update={"study": study}), synthetic_run.trials())
    once, often = (
        next(each for each in shown.verdicts if each.claim_id == "TJ-3").effects[0].ratio
        for shown in (seen(), looked)
    )
    assert once is not None and often is not None
    assert (often.confidence, often.n) == (once.confidence, once.n)
    assert often.high / often.low > once.high / once.low
    for said in (html(looked), markdown(looked)):
        assert "hold at all these looks together" in said
        assert "2 to 6 blocks" in said
    assert "all these looks" not in page()


def looking(stopped: dict[str, str]) -> RunView:
    """The run with a scale that looks after two blocks and each further one up to nine."""
    run = synthetic_run.run_file()
    shared = run.study.experiments["shared"]
    scale = shared.scales[run.scale].model_copy(update={"least_blocks": 2, "blocks": 9})
    meant = {**run.study.experiments, "shared": shared.model_copy(update={"scales": {run.scale: scale}})}
    study = run.study.model_copy(update={"experiments": meant})
    return view(run.model_copy(update={"study": study, "stopped": stopped}), synthetic_run.trials())


def test_where_the_time_was_over_the_last_look_has_the_error_that_was_left() -> None:
    widths, twins = [], []
    for why in (TIME_OVER, "the claims that rest on it are decided"):
        shown = looking({"shared": why})
        ratio = next(each for each in shown.verdicts if each.claim_id == "TJ-3").effects[0].ratio
        assert ratio is not None
        widths.append(ratio.high / ratio.low)
        twins.append(next(each for each in shown.twins if each.experiment == "shared").ratio.confidence)
    assert widths[0] < widths[1]
    assert twins[0] < twins[1]


def test_twins_are_expected_to_differ_as_often_as_the_looks_err_at_which_they_are_compared() -> None:
    shown = looking({})
    expected = sum(1 - each.ratio.confidence for each in shown.twins)
    assert expected < 0.05 * len(shown.twins)
    assert f"by chance {numerals.significant(expected, 2)} would on average" in run_sentences.twins(shown)


def test_tables_of_a_scale_that_looks_often_say_that_theirs_are_95_per_cent_each() -> None:
    assert "Those of tables and charts are not: each is for itself" in markdown(looking({}))
    assert "each is for itself" not in markdown(seen())


def test_text_is_styled_only_where_asked() -> None:
    assert "\x1b[" in text(seen(), width=110, styled=True)
    assert "\x1b[" not in text(seen(), width=110, styled=False)


def test_a_summary_of_two_experiments_fits_one_screen() -> None:
    assert len(text(seen(), width=110, styled=False).splitlines()) <= 50


def test_page_needs_no_network() -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page()))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert "<script" not in page()
    assert "@import" not in page()


def test_page_shows_every_server_in_every_chart() -> None:
    charts = re.findall(r'<figure class="chart.*?</figure>', page(), re.S)
    assert len(charts) == 1 + 2 * 5
    for chart in charts[1:]:
        for server in synthetic_run.SERVERS:
            assert f">{server}</text>" in chart
    assert page().count(">go-nethttp, twin</text>") == 4  # two experiments, wide and narrow


def test_ids_in_the_page_are_unique() -> None:
    ids = re.findall(r'\bid="([^"]+)"', page())
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)]+)\)", page()):
        assert reference in ids


def test_chart_colours_follow_the_page() -> None:
    style = page().split("</style>")[0]
    for colour in set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,6})"', page())):
        assert f'"{colour}"]' in style, f"{colour} stays as it is in the dark"


def test_failed_and_not_valid_trials_are_explained() -> None:
    for said in (page(), markdown(seen())):
        assert "the server ended with exit code 1 before it answered" in said
        assert "java.net.BindException" in said
        assert "the engine used 91 % of its core" in said
    assert "b02 did not run" in page()
    assert "b03 not valid" in page()


def test_a_warning_is_shown_in_every_format_and_the_trial_counts() -> None:
    (warned,) = seen().warned
    assert warned.counts and warned.trial.warnings
    for said in (page(), markdown(seen()), text(seen(), width=110, styled=False)):
        assert f"warning: {warned.trial.warnings[0]}" in said
        assert "46 count (1 with a warning)" in said
    told = {
        trial["id"]: trial["warnings"] for trial in json.loads(data(seen()))["trials"] if trial["warnings"]
    }
    assert told == {warned.trial.trial.id: list(warned.trial.warnings)}


def test_output_of_a_server_is_shown_as_text() -> None:
    assert "&lt;port 40013&gt;" in page()
    assert "<port 40013>" not in page()


def test_a_lossy_start_is_marked_wherever_it_appears() -> None:
    mark = f"2.3{run_sentences.NARROW}% failed in b02"
    # Three bar charts and two of panels; some of them drawn twice, wide and narrow.
    assert page().count(f">{mark}</text>") >= 5
    assert mark.replace(run_sentences.NARROW, " ") in text(seen(), width=110, styled=False)
    assert f"2.3{run_sentences.NARROW}% in b02" in markdown(seen())


def test_every_format_repeats_the_caution_and_the_identity() -> None:
    for said in (page(), markdown(seen()), text(seen()), data(seen())):
        assert run_sentences.LOOPBACK in said
    for shown in seen().experiments:
        scheduled, outcomes = shown.outcomes
        assert scheduled == sum(outcomes.values())
        for said in (page(), markdown(seen())):
            assert run_sentences.identity(shown) in said


def test_every_trial_has_the_command_that_repeats_it() -> None:
    for trial in synthetic_run.trials():
        command = f"crumple run todo-json --scale quick --seed {synthetic_run.SEED} --only {trial.trial.id}"
        for said in (page(), markdown(seen()), data(seen())):
            assert command in said


def test_a_restricted_run_is_repeated_with_its_servers() -> None:
    run = synthetic_run.run_file().model_copy(update={"only": ("go-nethttp", "node-http")})
    command = run_sentences.command(view(run, []), "shared/b01/node-http")
    assert "--servers go-nethttp,node-http --only shared/b01/node-http" in command


def test_badges_have_a_style() -> None:
    style = page().split("</style>")[0]
    for answer in BADGES:
        if not answer.startswith("undecided"):  # it has the plain one
            assert f".badge.{re.sub('[^a-z]', '-', answer)} " in style


def formats(shown: RunView) -> list[str]:
    return [html(shown), markdown(shown), text(shown), data(shown)]


def unfinished(run: RunFile) -> RunFile:
    return run.model_copy(update={"ended": None, "machine": {}, "versions": {}})


def test_a_run_without_trials_is_reported() -> None:
    for said in formats(view(unfinished(synthetic_run.run_file()), [])):
        assert "not testable here" in said


def test_a_run_whose_trials_all_failed_is_reported() -> None:
    failure = Failure(step="build", message="go is not installed")
    trials = [
        trial.model_copy(update={"status": "failed", "record": None, "failure": failure, "problems": ()})
        for trial in synthetic_run.trials()
    ]
    for said in formats(view(synthetic_run.run_file(), trials)):
        assert "go is not installed" in said


def test_one_block_has_no_intervals_and_says_so() -> None:
    trials = [trial for trial in synthetic_run.trials() if trial.trial.block == 1]
    shown = view(synthetic_run.run_file(), trials)
    assert "no interval: one start" in markdown(shown)
    assert "NaN" not in data(shown)
    assert "Infinity" not in data(shown)
    html(shown)


def test_markup_in_a_study_stays_text() -> None:
    run = synthetic_run.run_file()
    prose = run.study.prose.model_copy(update={"did": "<script>alert(1)</script>"})
    study = run.study.model_copy(update={"prose": prose, "title": "A <b>title</b>"})
    said = html(view(run.model_copy(update={"study": study}), []))
    assert "<script" not in said
    assert "A &lt;b&gt;title&lt;/b&gt;" in said


def starved() -> RunView:
    """One start of a server left six of its eight users without an answer."""
    trials = []
    for trial in synthetic_run.trials():
        record = trial.record
        if trial.trial.id == "shared/b01/node-http" and record is not None:
            ages = documents.histogram({2_000_000_000: 6, 1_000: 2})
            times = record.histograms.model_copy(update={"unfinished_age": ages})
            changed = {"users": 8, "users_unanswered": 6, "histograms": times}
            trial = trial.model_copy(update={"record": record.model_copy(update=changed)})
        trials.append(trial)
    return view(synthetic_run.run_file(), trials)


def test_users_without_an_answer_are_said_beside_the_quantiles_that_lack_them() -> None:
    said = "6 of 8 connections got no answer in b01; quantiles are of the others"
    run = starved()
    assert f"node-http: {said}" in " ".join(text(run, width=110, styled=False).split())
    assert f"node-http: {said}." in html(run)
    assert f"**`node-http`: {said}.**" in markdown(run)
    (trial,) = (each for each in json.loads(data(run))["trials"] if each["id"] == "shared/b01/node-http")
    assert (trial["users"], trial["users_unanswered"]) == (8, 6)
    assert "got no answer" not in text(seen(), width=110, styled=False)
