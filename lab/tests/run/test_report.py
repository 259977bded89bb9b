"""The report's formats against golden files, and what every format must say for any run.

After an intended change: CRUMPLE_WRITE_GOLDEN=1 pytest lab/tests/run/test_report.py, then read the
difference.
"""

import json
import re
from functools import cache

import documents
import own_scripts
import pytest
import synthetic_run
import usual_page
from crumple.drawing import numerals
from crumple.drawing.page import NO_BREAK
from crumple.run.report import run_sentences
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, view
from crumple.run.run_file import TIME_OVER, RunFile
from crumple.run.run_plan import plan
from crumple.run.store import Failure
from crumple.study.study_load import Shape
from golden_file import alike, as_golden
from pydantic import TypeAdapter
from usual_page import seen

BADGES = (
    "supported",
    "contradicted",
    "contradicted in size only",
    "undecided",
    "undecided in size only",
    "not testable here",
)


@cache
def page() -> str:
    return breakable(usual_page.page())


def breakable(text: str) -> str:
    """Return the text with ordinary spaces in place of no-break spaces."""
    return text.replace(NO_BREAK, " ")


def test_markdown_equals_the_golden_file() -> None:
    said = markdown(seen())
    assert said == as_golden("report.md", said)


@pytest.mark.parametrize("width", [80, 110])
def test_text_equals_the_golden_file(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    assert said == as_golden(f"report-{width}.txt", said)
    assert max(len(line) for line in said.splitlines()) <= width


def test_json_equals_the_golden_file() -> None:
    said = as_json(seen())
    alike(json.loads(said), json.loads(as_golden("report.json", said)))


def test_an_io_model_that_nothing_checks_is_called_declared() -> None:
    run = synthetic_run.run_file()
    note = run.servers["node-http"].model_copy(update={"model_is_checked": False})
    run = run.model_copy(update={"servers": {**run.servers, "node-http": note}})
    shown = view(run, synthetic_run.trials())
    for said in (markdown(shown), html(shown)):
        assert said.count(f"{note.io_model} (declared)") == len(shown.experiments) == said.count("(declared)")
    assert "(declared)" not in html(seen())


def test_a_scale_with_several_looks_is_judged_so_and_says_so() -> None:
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
    assert "all these looks" not in html(seen())


def looking(stopped: dict[str, str]) -> RunView:
    """Return the run with a scale that looks after two blocks and each further one up to nine."""
    run = synthetic_run.run_file()
    shared = run.study.experiments["shared"]
    scale = shared.scales[run.scale].model_copy(update={"least_blocks": 2, "blocks": 9})
    meant = {**run.study.experiments, "shared": shared.model_copy(update={"scales": {run.scale: scale}})}
    study = run.study.model_copy(update={"experiments": meant})
    return view(run.model_copy(update={"study": study, "stopped": stopped}), synthetic_run.trials())


def test_at_the_end_of_the_time_the_last_look_has_the_error_left() -> None:
    widths, twins = [], []
    for why in (TIME_OVER, "the claims that rest on it are decided"):
        shown = looking({"shared": why})
        ratio = next(each for each in shown.verdicts if each.claim_id == "TJ-3").effects[0].ratio
        assert ratio is not None
        widths.append(ratio.high / ratio.low)
        twins.append(next(each for each in shown.twins if each.experiment == "shared").ratio.confidence)
    assert widths[0] < widths[1]
    assert twins[0] < twins[1]


def test_the_expected_share_of_differing_twins_follows_from_the_looks() -> None:
    shown = looking({})
    expected = sum(1 - each.ratio.confidence for each in shown.twins)
    assert expected < 0.05 * len(shown.twins)
    assert f"by chance {numerals.significant(expected, 2)} would on average" in run_sentences.twins(shown)


def test_tables_of_a_scale_with_several_looks_say_that_each_interval_is_95_per_cent() -> None:
    assert "Those of tables and charts are not: each is for itself" in markdown(looking({}))
    assert "each is for itself" not in markdown(seen())


def test_text_is_styled_only_if_asked_for() -> None:
    assert "\x1b[" in text(seen(), width=110, styled=True)
    assert "\x1b[" not in text(seen(), width=110, styled=False)


def test_a_summary_of_two_experiments_fits_one_screen() -> None:
    assert len(text(seen(), width=110, styled=False).splitlines()) <= 50


@pytest.mark.long
def test_the_page_needs_no_network() -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page()))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert "<script" not in own_scripts.without(page())
    assert "@import" not in page()


@pytest.mark.long
def test_an_experiment_has_one_chart_that_shows_every_server() -> None:
    charts = re.findall(r'<figure class="chart.*?</figure>', page(), re.S)
    assert len(charts) == len(seen().experiments)
    for chart in charts:
        assert all(server in chart for server in synthetic_run.SERVERS)
        assert "go-nethttp, twin" in chart


@pytest.mark.long
def test_each_kind_of_chart_is_explained_once() -> None:
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page())
    kinds = set(re.findall(r"<figure [^>]*>\s*<h3>(?:<a [^>]*></a>)?(.*?)</h3>", page()))
    assert len(captions) == len(set(captions)) == len(kinds) < page().count("<figure ")


@pytest.mark.long
def test_ids_in_the_page_are_unique() -> None:
    ids = re.findall(r'\bid="([^"]+)"', page())
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)]+)\)", page()):
        assert reference in ids


@pytest.mark.long
def test_experiments_and_claims_with_similar_names_have_different_ids() -> None:
    run = synthetic_run.run_file()
    shared, separate = run.study.experiments.values()
    claims = tuple(
        claim.model_copy(update={"id": name, "experiment": "a_b"})
        for claim, name in zip(run.study.claims, ("A b", "A-b", "a-b", "A.b", "a_b"), strict=False)
    )
    study = run.study.model_copy(
        update={"experiments": {"a_b": shared, "a-b": separate, "A-b": shared}, "claims": claims}
    )
    planned = plan(study, run.scale, run.seed)
    said = html(view(run.model_copy(update={"study": study, "plan": planned}), []))
    ids = re.findall(r'\bid="([^"]+)"', said)
    assert len(ids) == len(set(ids))
    assert {f"experiment-{name}" for name in ("a_b", "a-b", "A-b")} <= set(ids)
    assert {"A.20.b", "A-b", "a-b", "A.2e.b", "a_b"} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', said)) <= set(ids)


@pytest.mark.long
def test_no_line_breaks_between_a_number_and_per_cent() -> None:
    parts = usual_page.page().split("</style>")[1]
    prose = re.sub(r'<(text|title|code|pre)\b.*?</\1>|aria-label="[^"]*"', "", parts, flags=re.S)
    assert f"95{NO_BREAK}% interval" in prose
    assert re.findall(r"\d %", prose) == []
    assert f"95{NO_BREAK}% interval, 3 blocks" in markdown(seen())


@pytest.mark.long
def test_chart_colours_follow_the_page() -> None:
    style = page().split("</style>")[0]
    for colour in set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,6})"', page())):
        assert f'"{colour}"]' in style, f"{colour} stays as it is in the dark"


@pytest.mark.long
def test_failed_and_not_valid_trials_are_explained() -> None:
    for said in (page(), breakable(markdown(seen()))):
        assert "the server ended with exit code 1 before it answered" in said
        assert "java.net.BindException" in said
        assert "the engine used 91 % of its core" in said
    assert "b02 did not run" in page()
    assert "b03 engine-limited" in page()


@pytest.mark.long
def test_a_page_begins_with_claims_and_contents_and_ends_with_what_is_looked_up() -> None:
    sections = re.findall(r'<section id="([^"]+)"', page())
    contents = page().partition('class="contents">')[2].partition("</ol>")[0]
    listed = re.findall(r'<li><a href="#([^"]+)">', contents)
    assert listed == sections == ["experiment-shared", "experiment-separate", "details"]
    assert page().index('id="TJ-1"') < page().index('class="contents"') < page().index("<section ")
    assert page().index("<summary>What the article did</summary>") > page().index('<section id="details"')


@pytest.mark.long
def test_warnings_link_to_their_trials() -> None:
    (warned,) = seen().warned
    name = warned.trial.trial.id
    said = page().partition("1 trial counts with a warning</summary>")[2].partition("</details>")[0]
    assert re.findall(r'href="#([^"]+)"', said) == [f"trial-{name}"]
    row = page().partition(f'id="trial-{name}"')[2].partition("</tr>")[0]
    assert f"warning: {warned.trial.warnings[0]}" in row
    for start in (*seen().failed, *seen().not_valid):
        assert page().count(f'<a href="#trial-{start.trial.trial.id}"') == 1


@pytest.mark.long
def test_figures_are_explained_once_and_closed_shapes_only_if_there_are_any() -> None:
    for said in (page(), breakable(markdown(seen()))):
        assert said.count(run_sentences.FIGURES) == said.count(run_sentences.CLOSED) == 1
        assert "the engine was the limit, the throughput enters both as a lower bound" in said
    run = synthetic_run.run_file()
    steady = TypeAdapter(Shape).validate_python({"kind": "open", "connections": 32, "rate_per_s": 100})
    experiments = {
        name: each.model_copy(update={"shape": steady}) for name, each in run.study.experiments.items()
    }
    study = run.study.model_copy(update={"experiments": experiments})
    assert "closed shape" not in run_sentences.reading(view(run.model_copy(update={"study": study}), []))


def test_trials_are_counted_in_one_line() -> None:
    without = {synthetic_run.FAILED[:2], synthetic_run.NOT_VALID[:2]}
    every = synthetic_run.trials()
    sound = [each for each in every if (each.trial.experiment, each.trial.block) not in without]
    said = run_sentences.trials(view(synthetic_run.run_file(), sound))
    assert said == "32 trials, all count (1 with a warning). 16 trials of the plan did not run."
    one = run_sentences.trials(view(synthetic_run.run_file(), sound[:1]))
    assert one.startswith("1 trial, and it counts")


@pytest.mark.long
def test_a_warning_is_shown_in_every_format_and_the_trial_counts() -> None:
    (warned,) = seen().warned
    assert warned.counts and warned.trial.warnings
    for said in (page(), breakable(markdown(seen())), text(seen(), width=110, styled=False)):
        assert f"warning: {warned.trial.warnings[0]}" in said
    assert "1 trial counts with a warning" in page()
    assert "46 count (1 with a warning)" in text(seen(), width=110, styled=False)
    told = {
        trial["id"]: trial["warnings"] for trial in json.loads(as_json(seen()))["trials"] if trial["warnings"]
    }
    assert told == {warned.trial.trial.id: list(warned.trial.warnings)}


@pytest.mark.long
def test_a_servers_output_is_shown_as_text() -> None:
    assert "&lt;port 40013&gt;" in page()
    assert "<port 40013>" not in page()


@pytest.mark.long
def test_a_start_that_lost_requests_is_marked_everywhere() -> None:
    mark = f"2.3{run_sentences.NARROW}% failed in b02"
    assert mark in page()
    assert "Failed: 2.3" in page() and "not ranked by speed" in page()
    assert mark.replace(run_sentences.NARROW, " ") in text(seen(), width=110, styled=False)
    assert f"2.3{run_sentences.NARROW}% in b02" in markdown(seen())


@pytest.mark.long
def test_every_format_repeats_the_caution_and_the_identity() -> None:
    for said in (page(), markdown(seen()), text(seen()), as_json(seen())):
        assert run_sentences.LOOPBACK in " ".join(said.split())
    for shown in seen().experiments:
        scheduled, outcomes = shown.outcomes
        assert scheduled == sum(outcomes.values())
        for said in (page(), markdown(seen())):
            assert run_sentences.identity(shown) in said


@pytest.mark.long
def test_every_trial_has_the_command_that_repeats_it() -> None:
    for trial in synthetic_run.trials():
        command = f"crumple run todo-json --scale quick --seed {synthetic_run.SEED} --only {trial.trial.id}"
        for said in (page(), markdown(seen()), as_json(seen())):
            assert command in said


def test_a_restricted_run_is_repeated_with_its_servers() -> None:
    run = synthetic_run.run_file().model_copy(update={"only": ("go-nethttp", "node-http")})
    command = run_sentences.command(view(run, []), "shared/b01/node-http")
    assert "--servers go-nethttp,node-http --only shared/b01/node-http" in command


@pytest.mark.long
def test_badges_have_a_style() -> None:
    style = page().split("</style>")[0]
    for answer in BADGES:
        if not answer.startswith("undecided"):  # undecided has the style of all badges
            assert f".badge.{re.sub('[^a-z]', '-', answer)} " in style


def formats(shown: RunView) -> list[str]:
    return [html(shown), markdown(shown), text(shown), as_json(shown)]


def unfinished(run: RunFile) -> RunFile:
    return run.model_copy(update={"ended": None, "machine": {}, "versions": {}})


@pytest.mark.long
def test_a_run_without_trials_is_reported() -> None:
    for said in formats(view(unfinished(synthetic_run.run_file()), [])):
        assert "not testable here" in said or "not judged" in said


@pytest.mark.long
def test_a_run_whose_trials_all_failed_is_reported() -> None:
    failure = Failure(step="build", message="go is not installed")
    trials = [
        trial.model_copy(update={"status": "failed", "record": None, "failure": failure, "problems": ()})
        for trial in synthetic_run.trials()
    ]
    for said in formats(view(synthetic_run.run_file(), trials)):
        assert "go is not installed" in said


@pytest.mark.long
def test_one_block_has_no_intervals() -> None:
    trials = [trial for trial in synthetic_run.trials() if trial.trial.block == 1]
    shown = view(synthetic_run.run_file(), trials)
    assert "one start" not in markdown(shown) and "| 1 of 1 |" in markdown(shown)
    assert "NaN" not in as_json(shown)
    assert "Infinity" not in as_json(shown)
    html(shown)


@pytest.mark.long
def test_markup_in_a_study_stays_text() -> None:
    run = synthetic_run.run_file()
    prose = run.study.prose.model_copy(update={"did": "<script>alert(1)</script>"})
    study = run.study.model_copy(update={"prose": prose, "title": "A <b>title</b>"})
    said = html(view(run.model_copy(update={"study": study}), []))
    assert "<script" not in own_scripts.without(said)
    assert "A &lt;b&gt;title&lt;/b&gt;" in said


def starved() -> RunView:
    """Return a run in which one start of a server left six of its eight users without an answer."""
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


def test_users_without_an_answer_are_shown_beside_the_quantiles() -> None:
    said = "6 of 8 connections got no answer in b01; quantiles are of the others"
    run = starved()
    assert f"node-http: {said}" in " ".join(text(run, width=110, styled=False).split())
    assert f"<p>{said}.</p>" in html(run)
    assert f"- **Node http** {said}." in markdown(run)
    (trial,) = (each for each in json.loads(as_json(run))["trials"] if each["id"] == "shared/b01/node-http")
    assert (trial["users"], trial["users_unanswered"]) == (8, 6)
    assert "got no answer" not in text(seen(), width=110, styled=False)
