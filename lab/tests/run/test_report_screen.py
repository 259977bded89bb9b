"""Several runs on one screen, and the sentence that answers each study: the order, and what fits."""

import json
import re
from dataclasses import replace

import made_maps
import made_verdicts as made
import pytest
import synthetic_run
from crumple.drawing.report_parts import plain
from crumple.run.report import (
    claim_lines,
    findings,
    run_sentences,
    runs_report,
    server_names,
    study_answer,
)
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import view
from crumple.stats.interval import Interval
from made_screens import five, said
from made_verdicts import EXPRESS, GO, NODE, PHP, SERVERS, effect, told


def sentence(claim: made.Told, **update: object) -> str:
    return study_answer.answer(made.run([claim], **update)).said


# The order of answers and claims


def test_surprises_are_sorted_by_direction_then_size_then_order_then_machine() -> None:
    claims = [
        made.cost("COST", 2_000.0),
        made.order("ORDER", 0.01),
        made.share("SIZE", 0.0011),
        made.ratio("LESS-REVERSED", 0.9),
        made.ratio("OWN", 0.01, expected=13.7),
        made.ratio("REVERSED", 0.4),
        made.ratio("SMALLER-SIZE", 8.0),
    ]
    ranked = sorted(findings.findings(made.run(claims)), key=lambda each: each.rank)
    assert [each.verdict.claim_id for each in ranked] == [
        "REVERSED", "LESS-REVERSED", "OWN", "SIZE", "SMALLER-SIZE", "ORDER", "COST",
    ]  # fmt: skip
    shown = re.findall(r"^[✗↗] ([A-Z-]+) .*\]", said(made.run(claims)), re.M)
    assert shown == ["REVERSED", "LESS-REVERSED", "OWN", "SIZE", "ORDER", "COST", "SMALLER-SIZE"]


def test_a_size_missed_by_a_factor_up_or_down_is_equally_far() -> None:
    (low,), (high,) = (findings.findings(made.run([made.ratio("R", at)])) for at in (13.7 / 2, 13.7 * 2))
    assert low.distance == pytest.approx(high.distance) == pytest.approx(0.693, rel=1e-3)


@pytest.mark.long
def test_studies_are_sorted_by_contradicted_then_supported_then_undecided_claims() -> None:
    open_one = made.ratio("R", 9.0, answer=made.UNDECIDED)
    views = [
        made.run([made.untestable("R", "node-http was not measured")], "Nothing"),
        made.run([open_one], "Open"),
        made.run([made.ratio("R", 13.0, answer=made.SUPPORTED)], "Holds"),
        made.run([made.order("R", 0.5)], "Order"),
        made.run([made.ratio("R", 0.8)], "Reversed"),
    ]
    found = [each.view.run.study.title for each in study_answer.answers(views)]
    assert found == ["Reversed", "Order", "Holds", "Open", "Nothing"]
    page = runs_report.html(views[:1] + views[4:], {view.run.id: "" for view in views})
    assert page.index("<b>Reversed</b></a>.") < page.index("<b>Nothing</b></a>.") < page.index("<nav")


def test_an_answer_before_the_others_is_the_line_that_the_screen_has_later() -> None:
    view = made.run([made.ratio("R", 0.8)], "Reversed")
    alone = claim_lines.answer_line(view).plain
    assert alone.startswith("✗ Reversed. PHP is 1.25 times ")
    assert alone in " ".join(said(view, made.run([], "Other")).split())


def named(*claims: made.Told, answers: tuple[str, ...] = ()) -> study_answer.StudyAnswer:
    """Return the answer of a study that says which claims answer its question."""
    seen = made.run(claims)
    study = seen.run.study.model_copy(update={"answers": answers})
    return study_answer.answer(replace(seen, run=seen.run.model_copy(update={"study": study})))


SIZE = made.ratio("SIZE", 13.0, answer=made.SUPPORTED)
OPEN = made.ratio("OPEN", 9.0, answer=made.UNDECIDED, blocks_needed=5)


def test_the_claims_that_answer_the_question_come_first_and_the_greatest_surprise_after_them() -> None:
    given = named(made.order("R-2", 0.5), SIZE, OPEN, made.order("R-3", 0.6), answers=("OPEN", "SIZE"))
    told = [plain(words) for words in given.found]
    assert [re.findall(r"\((\S+) ", each)[-1] for each in told] == ["SIZE", "OPEN", "R-2"]
    assert told[-1].startswith("A surprise: ")
    assert plain(given.sure).startswith("Partly sure OPEN is open; ")


def test_a_contradicted_claim_that_answers_the_question_is_told_before_supported_ones() -> None:
    held = [made.ratio(name, 13.0, answer=made.SUPPORTED) for name in ("A", "B")]
    sized = made.ratio("SIZED", 8.0)
    contradicted = [made.order("C", 0.9), made.order("D", 0.8)]
    given = named(*held, contradicted[0], made.ratio("OTHER", 0.4), answers=("A", "B", "C"))
    assert given.badge == "contradicted"
    assert re.findall(r"\(([A-Z]+) ", given.said) == ["C", "A", "OTHER"]
    given = named(*held, sized, *contradicted, made.ratio("OTHER", 0.4), answers=("A", "SIZED", "C", "D"))
    assert re.findall(r"\(([A-Z]+) ", given.said) == ["C", "D", "OTHER"]
    assert plain(given.sure).startswith("Sure SIZED is also contradicted in size only; ")


def test_a_claim_that_could_not_be_judged_is_not_called_open() -> None:
    untested = made.untestable("U", "node-http was not measured")
    given = plain(named(SIZE, untested, answers=("SIZE", "U")).sure)
    assert given.startswith("Partly sure U could not be judged; ") and "open" not in given
    both = plain(named(SIZE, OPEN, untested, answers=("SIZE", "OPEN", "U")).sure)
    assert both.startswith("Partly sure OPEN is open; U could not be judged; ")


def test_a_surprise_that_answers_the_question_is_told_once() -> None:
    given = named(made.order("R-2", 0.5), SIZE, answers=("R-2", "SIZE"))
    assert len(given.found) == 2 and "surprise" not in given.said
    assert plain(given.sure).startswith("Sure ")


def test_of_a_study_that_names_no_claims_the_greatest_surprise_answers() -> None:
    given = named(SIZE, made.order("R-2", 0.5))
    assert given.badge == "contradicted" and "(R-2 ✗ contradicted)" in plain(given.found[0])


def test_nothing_is_sure_if_no_claim_that_answers_is_decided() -> None:
    assert plain(named(OPEN, answers=("OPEN",)).sure).startswith("Not decided ")
    untested = made.untestable("U", "node-http was not measured")
    given = named(untested, SIZE, answers=("U",))
    assert given.said == "Not answered yet: “What U says” (U) could not be judged."
    assert plain(given.sure).startswith("Not judged ")


def test_a_run_that_was_cut_counts_the_planned_trials() -> None:
    trials = synthetic_run.trials()
    assert f"46 of {len(trials)} trials count" in plain(
        study_answer.answer(view(synthetic_run.run_file(), trials)).sure
    )
    cut = view(synthetic_run.run_file(), trials[:11])
    assert f"11 of {len(trials)} trials count" in plain(study_answer.answer(cut).sure)
    # The other run has the same plan, and no trial.
    assert f"11 of {2 * len(trials)} trials count" in said(cut, made.run([]))


# The sentences


def test_for_a_reversed_direction_the_faster_server_is_named_first() -> None:
    assert sentence(made.ratio("RF-1", 0.5)) == (
        "PHP is 2.00 times (1.82 to 2.20) as fast as Node.js; "
        "the article has Node.js ahead, 13.7 times (RF-1 ✗ contradicted)."
    )


def test_of_a_figure_of_which_less_is_better_the_larger_one_is_not_ahead() -> None:
    memory = made.ratio("M", 0.3, 2.0, metric="memory")
    assert sentence(memory) == (
        "PHP takes 3.33 times (3.03 to 3.67) the memory of Node.js; "
        "the article has Node.js at 2 times PHP (M ✗ contradicted)."
    )
    # Two servers of one runtime are named by their titles.
    long = SERVERS | {name: (f"The server called {name}", {"node": "20.20.2"}) for name in (PHP, NODE)}
    assert "; the article has the other at 2 times (M " in sentence(memory, servers=long)


def test_a_ratio_is_told_from_its_larger_side() -> None:
    small = made.ratio("TJ-3", 0.168, 0.51)
    faster = "PHP is 5.95 times (5.41 to 6.55) as fast as Node.js"
    assert sentence(small) == f"{faster}; the article has 2.0 (TJ-3 ↗ contradicted in size only)."
    assert re.search(r"TJ-3 .* PHP ÷ Node\.js 5\.95 \[5\.41–6\.55\]  2\.0$", said(made.run([small])), re.M)
    least = made.ratio("L", 0.5, 2.0, bound="at least 2 times", bounds=(2.0,))
    assert "as fast as Node.js; claimed: Node.js at least 2 times (L " in sentence(least)
    more = made.ratio("L", 1.5, 2.0, bound="at least 2 times", bounds=(2.0,))
    assert "as fast as PHP; claimed: at least 2 times (L " in sentence(more)


def test_an_order_names_the_server_that_was_claimed_to_be_ahead() -> None:
    faster = "PHP is 2.00 times (1.82 to 2.20) as fast as Node.js"
    assert sentence(made.order("O", 0.5)) == f"{faster}; the article has Node.js ahead (O ✗ contradicted)."


def test_published_claimed_and_expected_ratios_are_distinguished() -> None:
    assert "; the article has 20 ns (C ✗ contradicted)." in sentence(made.cost("C", 135.0))
    assert (
        "on this machine the cost of a non-blocking read is 135 ns" in sentence(made.cost("C", 135.0)).lower()
    )
    assert "; claimed: above 1 % (S ✗ contradicted)." in sentence(made.share("S", 0.001))
    assert "; the study expects 13.7 (R ↗ contradicted in size only)." in sentence(
        made.ratio("R", 8.0, expected=13.7)
    )
    assert "; the article has them alike (1.02) (R ↗ contradicted in size only)." in sentence(
        made.ratio("R", 2.0, 1.02)
    )


def test_a_study_without_an_article_names_none() -> None:
    own = made.run([made.ratio("R", 8.0)])
    study = own.run.study.model_copy(update={"article": None})
    (found,) = findings.findings(replace(own, run=own.run.model_copy(update={"study": study})))
    assert "the study has 13.7" in found.sentence and "article" not in found.sentence


def test_if_the_engine_was_the_limit_only_the_known_end_is_shown() -> None:
    limited = made.ratio("R", 20.0, answer=made.CONTRADICTED, limit="at least")
    assert "Node.js is at least 18.2 times as fast as PHP" in sentence(limited)


def test_two_blocks_far_apart_are_shown_without_an_interval_if_undecided() -> None:
    far = Interval(2.0, 0.01, 400.0, 0.95, 2)
    open_one = made.ratio("R", 2.0, answer=made.UNDECIDED, blocks_needed=5)
    claim, verdict = open_one
    vague = replace(verdict, effects=(replace(verdict.effects[0], ratio=far),))
    assert "Node.js is 2.0 times (two blocks) as fast as PHP" in sentence((claim, vague))
    assert re.search(r"R .* 2\.0 \[two blocks\]  13\.7$", said(made.run([(claim, vague)])), re.M)
    shown = markdown(made.run([(claim, vague)]))
    assert "| 2.0 \\[two blocks]" in shown and "0.010" not in shown
    _, decided = made.order("O", 2.0, made.SUPPORTED)
    held = replace(decided, effects=(replace(decided.effects[0], ratio=replace(far, low=1.01, high=15.0)),))
    assert "2.0 times (1.01 to 15) as fast" in sentence((made.order("O", 2.0)[0], held))


def test_an_effect_without_a_number_is_shown_by_its_reason() -> None:
    knee = effect(PHP, reason="in none of 3 blocks it leaves its plateau", bound="340 users", what="knee")
    claim = told({"id": "K", "kind": "knee", "servers": [PHP], "published": 340}, knee)
    assert sentence(claim) == (
        "PHP: in none of 3 blocks it leaves its plateau; the article has 340 users (K ✗ contradicted)."
    )


def test_an_undecided_claim_says_how_many_blocks_it_needs() -> None:
    few = made.ratio("R", 9.0, answer=made.UNDECIDED, blocks_needed=5)
    assert "; about 5 blocks would decide it, 2 more (R ~ undecided in size only)." in sentence(few)
    unknown = made.ratio("R", 9.0, answer=made.UNDECIDED)
    assert "; how many blocks would decide it is not known (R ~ undecided in size only)." in sentence(unknown)
    many = made.ratio("MANY", 9.0, answer=made.UNDECIDED, blocks_needed=50)
    assert "(R " in plain(study_answer.answer(made.run([many, few])).found[0])


def test_a_study_without_claims_says_so() -> None:
    silent = made.run([])
    assert study_answer.answer(silent).said == "This study makes no claims."
    assert "– PHP and Node.js. This study makes no claims.\n" in said(silent)


def test_the_answer_of_a_map_says_where_it_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_answer.map_of_view, "drawn", lambda _: made_maps.begun())
    said_of_it = plain(study_answer.answer(made.run([])).sure)
    assert said_of_it.startswith("Measured at 5 points, else predicted ")


# Names


def test_a_server_is_named_by_its_runtime_if_that_is_unique() -> None:
    both = SERVERS | {EXPRESS: ("Express, on Node", {"node": "20.20.2"})}
    alone, several = made.run([]), made.run([], servers=both)
    assert server_names.plain(alone, [NODE, PHP]) == {NODE: "Node.js", PHP: "PHP"}
    assert server_names.plain(several, [NODE, EXPRESS, GO]) == {
        NODE: "Node http", EXPRESS: "Express (on Node)", GO: "Go",
    }  # fmt: skip


def test_variants_of_one_server_are_distinguished_only_if_both_are_named() -> None:
    few, many = f"{PHP}[start_workers=8,workers=8]", f"{PHP}[start_workers=500,workers=500]"
    servers = SERVERS | {few: SERVERS[PHP], many: SERVERS[PHP]}
    seen = made.run([], servers=servers)
    assert server_names.plain(seen, [few, NODE]) == {few: "PHP", NODE: "Node.js"}
    assert server_names.plain(seen, [few, many, PHP]) == {
        few: "PHP with workers=8", many: "PHP with workers=500", PHP: "PHP as it is",
    }  # fmt: skip
    one, two = f"one-core:{PHP}", f"two-cores:{PHP}"
    assert server_names.plain(seen, [one, two]) == {one: "PHP in one-core", two: "PHP in two-cores"}


def test_the_users_own_server_is_named_by_its_title() -> None:
    own = made.run([], brought={NODE: "http://localhost:8080"})
    assert server_names.plain(own, [NODE]) == {NODE: "Node http"}


def test_no_answer_contains_the_label_of_a_known_server() -> None:
    labels = (PHP, NODE)
    for claim in (
        made.ratio("R", 0.5),
        made.order("R", 2.0, made.SUPPORTED),
        made.share("R", 0.2, answer=made.SUPPORTED),
    ):
        assert not any(label in sentence(claim) for label in labels)


# The screen


@pytest.mark.long
@pytest.mark.parametrize(("width", "most"), [(80, 50), (100, 45), (110, 45)])
def test_five_studies_fit_one_screen_with_a_line_for_each_claim(width: int, most: int) -> None:
    lines = said(*five(), width=width).splitlines()
    assert len(lines) <= most
    assert max(map(len, lines)) <= width
    judged = [each for view in five() for each in view.verdicts if each.answer is not made.NOT_TESTABLE]
    assert len(judged) == 21
    for name in [each.claim_id for each in judged]:
        (line,) = [line for line in lines if re.match(rf". {name} ", line)]
        # Neither the figure nor the claimed one beside it is cut.
        assert "…" not in line.rpartition("  ")[2]


@pytest.mark.long
def test_every_mark_is_explained_and_columns_have_headings() -> None:
    shown = said(*five())
    marks = set(re.findall(r"^(.) S\d-\d", shown, re.M))
    legend = next(line for line in shown.splitlines() if line.startswith("26 claims of 5 studies: "))
    assert all(f"{mark} " in legend for mark in marks)
    assert "contradicted" in legend and "supported" in legend and "not judged" in legend
    assert "here [95 % interval]  claimed" in shown


def test_a_size_that_is_open_is_counted_apart_from_a_claim_that_is_open() -> None:
    sized = made.ratio("SIZE", 9.0, answer=made.UNDECIDED)
    shown = said(made.run([sized, made.ratio("OPEN", 1.0, answer=made.UNDECIDED, direction=made.UNDECIDED)]))
    assert "2 claims of 1 study: ~ 1 undecided in size only, ? 1 undecided" in shown
    assert re.search(r"^~ SIZE ", shown, re.M) and re.search(r"^\? OPEN ", shown, re.M)


def test_figures_are_shown_beside_the_claimed_ones() -> None:
    shown = said(made.run([made.ratio("RF-1", 0.7), made.ratio("RF-4", 0.4, expected=13.7)]))
    assert re.search(r"RF-1 .* 0\.700 \[0\.636–0\.770\]  13\.7$", shown, re.M)
    assert re.search(r"RF-4 .* 0\.400 \[0\.364–0\.440\]  13\.7\*$", shown, re.M)
    assert "* is what the study expects; no article has it." in shown
    assert "*" not in said(made.run([made.ratio("RF-1", 0.7)]))


def test_claims_that_could_not_be_judged_stand_together_with_their_cause() -> None:
    shown = said(made.run([made.untestable("A", "node-http was not measured"), made.ratio("R", 0.4)]))
    assert not re.search(r"^. A ", shown, re.M)
    assert re.search(r"^! .*\. 1 claim waits for that \(A\)\.$", shown, re.M)


def test_claims_with_one_id_in_two_studies_are_distinguished() -> None:
    first, second = (made.run([made.ratio("R", 0.4)], name=name) for name in ("one", "two"))
    shown = said(first, second)
    assert "✗ one R  " in shown and "✗ two R  " in shown


def test_a_text_is_cut_at_a_clause_or_word_to_fit_its_width() -> None:
    assert claim_lines.shorten("as it is", 8) == "as it is"
    assert claim_lines.shorten("Go spreads its handlers: they do not grow", 30) == "Go spreads its handlers…"
    assert (
        claim_lines.shorten("Sixteen gunicorn workers are no faster", 30) == "Sixteen gunicorn workers are…"
    )
    for room in range(1, 40):
        assert len(claim_lines.shorten("Pneumonoultramicroscopic and others, too", room)) <= room


def test_the_proposed_report_is_that_of_the_greatest_surprise() -> None:
    calm = made.run([made.ratio("A", 13.0, answer=made.SUPPORTED)], name="calm")
    shown = said(calm, made.run([made.ratio("B", 0.4)]))
    assert "Why, with charts: crumple report files-quick-20261121-063012 --open\n" in shown


# Text from studies and servers


# The circumstances of a verdict


def test_a_verdict_names_its_servers_runtimes_the_cores_kernel_and_month() -> None:
    seen = made.run([made.ratio("R", 0.4)])
    (verdict,) = seen.verdicts
    assert server_names.circumstances(seen, verdict) == (
        "Found with Node.js 20.20 and PHP 8.2, on 2 cores under Linux 6.1, November 2026."
    )
    assert server_names.of_all([seen]) == (
        "Found with Go 1.26, Node.js 20.20 and PHP 8.2, on 2 cores under Linux 6.1, November 2026."
    )


def test_servers_of_other_experiments_and_variants_have_versions() -> None:
    label = f"{PHP}[workers=8]"
    claim, verdict = made.ratio("R", 0.4)
    elsewhere = replace(verdict, effects=(effect(f"one-core:{label}", f"two-cores:{label}", ratio=0.5),))
    seen = made.run([(claim, elsewhere)], servers={label: SERVERS[PHP]})
    assert "Found with PHP 8.2, on" in server_names.circumstances(seen, elsewhere)


def test_a_claim_on_the_machine_names_no_runtime_and_an_unfound_one_nothing() -> None:
    seen = made.run([made.cost("C", 135.0), made.untestable("U", "x")])
    cost, untested = seen.verdicts
    assert server_names.circumstances(seen, cost) == "Found on 2 cores under Linux 6.1, November 2026."
    assert server_names.circumstances(seen, untested) == ""


def test_facts_missing_in_a_run_are_left_out_or_called_unknown() -> None:
    bare = made.run([made.ratio("R", 0.4)], versions={}, machine={}, began="long ago")
    said_of_all = server_names.of_all([bare])
    assert said_of_all == (
        "Found with Go net/http of unknown version, Node http of unknown version and "
        "PHP under Apache of unknown version."
    )
    assert server_names.of_all([]) == ""


def test_runs_of_two_machines_name_both() -> None:
    one = made.run([])
    other = made.run([], machine={"cores": 8, "kernel": "6.18.44"}, began="2026-12-01T00:00:00+00:00")
    assert server_names.of_all([one, other]).endswith(
        "on 2 or 8 cores under Linux 6.1 or 6.18, November 2026 and December 2026."
    )


def test_every_format_ends_the_sentence_with_circumstances_and_conditions() -> None:
    claim, verdict = made.ratio("R", 0.4)
    named = ("PHP of today",)
    seen = made.run([(claim.model_copy(update={"conditions": named}), replace(verdict, conditions=named))])
    found = "Found with Node.js 20.20 and PHP 8.2, on 2 cores under Linux 6.1, November 2026."
    assert f"{found} It rests on: PHP of today." in markdown(seen)
    assert f"{found}</p>" in html(seen) and "It rests on: PHP of today." in html(seen)
    document = json.loads(as_json(seen))
    assert document["claims"][0]["circumstances"] == found
    assert document["claims"][0]["conditions"] == ["PHP of today"]
    assert document["answer"] == study_answer.answer(seen).said
    untested = replace(verdict, answer=made.NOT_TESTABLE, conditions=named)
    assert run_sentences.conditions(untested) == ["It would rest on: PHP of today."]


@pytest.mark.long
def test_circumstances_of_several_runs_are_named_once() -> None:
    views = five()
    page = runs_report.html(views, {view.run.id: "" for view in views})
    assert page.count("PHP 8.2") == said(*views).count("PHP 8.2") == 1
    assert runs_report.markdown(views).count("PHP 8.2") == 1


def test_files_begin_with_the_answer_and_a_terminal_ends_with_it() -> None:
    seen = made.run([made.ratio("R", 0.4), made.share("S", 0.001)])
    given = plain(study_answer.answer(seen).found[0]).partition(" (R")[0]
    assert html(seen).index(given) < html(seen).index('id="R"')
    assert markdown(seen).index(given) < markdown(seen).index("What R says")
    shown = " ".join(text(seen, width=100, styled=False).split())
    assert shown.index("What R says") < shown.index(given)


def test_claims_outside_the_scale_are_folded_apart_from_untestable_ones() -> None:
    asked, larger = made.ratio("R", 0.4), made.untestable("L", "too short")
    later = (larger[0].model_copy(update={"scales": ("full",)}), larger[1])
    page = runs_report.html([made.run([asked, later])], {"files-quick-20261121-063012": ""})
    assert "1 more claim is not asked at scale quick" in page and "waits" not in page
