"""The report of a comparison: in a terminal, as a page, as data, and while it runs."""

import itertools
import json
import re
import statistics
import sys
from dataclasses import replace

import pytest
from crumple.commands import versus as command
from crumple.drawing import report_page, report_text, terminal
from crumple.drawing.plot import ChartRow, RowChart, RowPoint, Whisker
from crumple.load.load_options import Options
from crumple.load.target import resolve
from crumple.versus import standing
from crumple.versus.calibrating import SampleAnswer
from crumple.versus.report import versus_answer, versus_charts, versus_notes
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.report.versus_report import report
from crumple.versus.standing import Ratio
from crumple.versus.turn import PutOn, Turn, VersusBlock
from crumple.versus.version_sites import CommonRequest
from crumple.versus.versions import UrlVersion, Version
from crumple.versus.versus_course import VersionComparison
from crumple.versus.versus_live import VersusView
from crumple.versus.versus_plan import VersusPlan
from made_versus import COMMAND, changed, compared, plain, ratio, result
from rich.console import Console
from synthetic_versions import LOADS, machine


def with_ratios(*ratios: Ratio) -> VersusFigures:
    """The result of a comparison that came to these."""
    plain = result()
    seen = (standing.LookResult(ratios, 8),)
    return changed(plain, compared=replace(plain.compared, seen=seen))


def screen(found: VersusFigures, columns: int) -> str:
    """What a terminal shows of it, without styles."""
    return report_text.text(report(found.document), columns, styled=False)


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        (
            (ratio("p50", 0.82, 0.877), ratio("p99", 0.7, 1.3, "undecided")),
            "B answers 1.18 times as fast as A at the median (1.14 – 1.22); p99 undecided",
        ),
        (
            (ratio("p50", 1.04, 1.16), ratio("p99", 1.1, 1.3), ratio("cpu", 1.05, 1.15)),
            "B takes 1.20 times as long as A at p99 (1.10 – 1.30); worse, too: CPU per request 1.10 times, "
            "median 1.10 times",
        ),
        (
            (ratio("p50", 0.98, 1.02, "alike"), ratio("throughput", 1.1, 1.2)),
            "B answers 1.15 times as many requests per second as A (1.10 – 1.20)",
        ),
        (
            (ratio("p50", 0.9, 1.1, "undecided"), ratio("cpu", 1.05, 1.15)),
            "B uses 1.10 times as much CPU time per request as A (1.05 – 1.15); median undecided",
        ),
        (
            (ratio("p50", 0.98, 1.02, "alike"), ratio("cpu", 0.99, 1.02, "alike")),
            "B and A are alike: no figure differs by 5.0 % or more",
        ),
        (
            (ratio("p50", 0.98, 1.02, "alike"), ratio("p99", 0.8, 1.2, "undecided")),
            "B and A are alike in median; p99 undecided",
        ),
        ((ratio("p50", 0.8, 1.2, "undecided"),), "whether B is better or worse than A is not decided"),
        ((), "whether B is better or worse than A is not decided"),
    ],
)
def test_the_headline_says_which_is_faster_by_how_much_and_what_is_open(
    ratios: tuple[Ratio, ...], said: str
) -> None:
    assert plain(say.headline(with_ratios(*ratios), "B")) == said


def test_swapping_two_versions_inverts_the_figure_of_the_headline() -> None:
    assert "1.25 times as fast as A at p99 (1.20 – 1.30)" in plain(
        say.difference(ratio("p99", 1 / 1.3, 1 / 1.2))
    )
    assert "1.25 times as long as A at p99 (1.20 – 1.30)" in plain(say.difference(ratio("p99", 1.2, 1.3)))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            ratio("throughput", 0.5, 0.5),
            "A answers 2.00 times as many requests per second as B (2.00 – 2.00)",
        ),
        (ratio("cpu", 0.4, 0.5), "A uses 2.24 times as much CPU time per request as B (2.00 – 2.50)"),
        (ratio("cpu", 2.0, 2.5), "B uses 2.24 times as much CPU time per request as A (2.00 – 2.50)"),
    ],
)
def test_a_difference_is_told_from_its_larger_side(found: Ratio, said: str) -> None:
    assert plain(say.difference(found)) == said


def test_the_answer_tells_each_difference_with_its_interval_the_strongest_first() -> None:
    one = with_ratios(
        ratio("p50", 1.1, 1.2),
        ratio("p90", 0.99, 1.01, "alike"),
        ratio("p99", 0.5, 2.5, "undecided"),
        ratio("throughput", 0.2, 0.25),
    )
    different, alike, undecided = map(plain, versus_answer.found(one))
    assert different == (
        "A answers 4.47 times as many requests per second as B (4.00 – 5.00); "
        "B takes 1.15 times as long as A at the median (1.10 – 1.20)"
    )
    assert alike == "they are alike in p90: less than 5.0 % apart"
    assert undecided == "not decided: p99 1.1 [0.50 – 2.5]"
    assert versus_answer.title(one).startswith("A answers 4.47 times as many")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["python shop.py --n 200", "python shop.py --n 1500"], ["200", "1500"]),
        (["http://127.0.0.1:1/x?n=200", "http://127.0.0.1:1/x?n=1500"], ["n=200", "n=1500"]),
        (["http://h/a/b", "http://h/c/b", "http://h/d/b"], ["a", "c", "d"]),
        (["./serve a a", "./serve a"], ["./serve a a", "./serve a"]),
        (["go-nethttp", "node-http"], ["go-nethttp", "node-http"]),
        (["same", "same"], ["same", "same"]),
    ],
)
def test_versions_are_named_by_what_differs_between_them(labels: list[str], names: list[str]) -> None:
    assert [*versus_answer.apart(dict(zip("ABC", labels, strict=False))).values()] == names


def drawn(found: VersusFigures) -> tuple[RowChart, dict[str, ChartRow]]:
    """The chart of ratios, and its rows by name."""
    shown = versus_charts.ratios(found)
    assert shown is not None
    (panel,) = shown.panels
    assert isinstance(panel.drawn, RowChart)
    return panel.drawn, {row.name: row for row in panel.drawn.rows}


def test_on_the_axis_worse_lies_right_for_every_figure() -> None:
    found = with_ratios(ratio("p50", 1.1, 1.3), ratio("throughput", 0.4, 0.6), ratio("cpu", 0.7, 0.8))
    chart, rows = drawn(found)
    marks = {
        name: next(each for each in row.marks if isinstance(each, Whisker)) for name, row in rows.items()
    }
    assert (marks["median"].low, marks["median"].high) == pytest.approx((1.1, 1.3))
    assert (marks["throughput"].low, marks["throughput"].high) == pytest.approx((1 / 0.6, 1 / 0.4))
    assert marks["CPU per request"].high < 1
    assert chart.x.title == "← B better · B worse →"
    assert plain(rows["throughput"].figure) == "2.04 times worse [1.67 – 2.50]"
    assert plain(marks["throughput"].title) == "throughput: B answers fewer, 2.04 times worse [1.67 – 2.50]"


def test_every_block_has_a_ring_on_the_side_of_its_ratio() -> None:
    one = result()
    _, rows = drawn(one)
    for name, figure in (("median", "p50"), ("throughput", "throughput")):
        rings = [each.at for each in rows[name].marks if isinstance(each, RowPoint) and each.below]
        values = one.by_block("B", figure).values()  # type: ignore[arg-type]
        assert rings == pytest.approx([1 / each if figure == "throughput" else each for each in values])
        assert len(rings) == len(one.compared.blocks)


@pytest.mark.parametrize(
    ("low", "high"), [(1.01, 1.02), (1.1, 1.3), (0.2, 3.0), (80.0, 92.0), (0.001, 900.0)]
)
def test_labels_of_the_axis_lie_apart_and_name_more_than_alike(low: float, high: float) -> None:
    chart, _ = drawn(with_ratios(ratio("p50", low, high)))
    places = sorted(chart.x.scale.share(each.at) for each in chart.x.ticks)
    assert len(places) > 1 and all(b - a >= versus_charts.APART for a, b in itertools.pairwise(places))
    for tick in chart.x.ticks:
        assert tick.label == ("alike" if tick.at == 1 else f"{max(tick.at, 1 / tick.at):g} times")


def test_the_chart_says_what_its_rings_and_its_band_are() -> None:
    shown = versus_charts.ratios(result())
    assert shown is not None
    signs = {each.form: plain(each.label) for each in shown.keys}
    assert signs["ring"] == "one block" and signs["bar"] == "alike: less than 5.0 % apart"


def test_of_one_block_the_answer_shows_the_values_as_far_as_they_go() -> None:
    whole = result().document
    few = tuple(
        each.model_copy(
            update={"ratio": None, "answer": "undecided", "why": "it takes two blocks that count"}
        )
        for each in whole.ratios
    )
    one = VersusFigures(whole.model_copy(update={"ratios": few, "blocks": whole.blocks[:1]}))
    (said,) = map(plain, versus_answer.found(one))
    assert said.startswith(
        "whether B is better or worse than A is not decided: it takes two blocks that count, and one does; "
        "so far median "
    )
    assert re.search(r"so far median [\d.]+ ms → [\d.]+ µs, p90 [\d.]+ ms → ", said), said


def test_warnings_that_differ_in_numbers_and_programs_are_one() -> None:
    one = result()
    numbers = iter(range(1_000))

    def warned(load: PutOn) -> PutOn:
        at = next(numbers)
        said = (
            f"other programs (bash (pid {at}) and python (pid {at})) took up to {at}% of the time: run later"
        )
        return replace(load, warnings=(said,), slowdown=1.0 + at)

    blocks = tuple(
        VersusBlock(
            tuple(
                replace(each, closed=warned(each.closed), at_rate=warned(each.at_rate))
                for each in block.turns
            )
        )
        for block in one.compared.blocks
    )
    busy = changed(one, compared=replace(one.compared, blocks=blocks))
    most = next(numbers) - 1
    ((said, number),) = busy.warnings
    # The one that is shown is that of the load which others slowed most.
    assert f"took up to {most}% of" in said and number == most + 1
    assert notes(busy).count("other programs") == 1 and f"(in {number} of {number} loads)" in notes(busy)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (ratio("p50", 1.1, 1.2), "B slower"),
        (ratio("p50", 0.8, 0.9), "B faster"),
        (ratio("throughput", 1.1, 1.2), "B answers more"),
        (ratio("throughput", 0.8, 0.9), "B answers fewer"),
        (ratio("cpu", 1.1, 1.2), "B uses more"),
        (ratio("cpu", 0.98, 1.02, "alike"), "alike"),
        (ratio("cpu", 0.9, 1.1, "undecided"), "undecided"),
    ],
)
def test_a_row_says_in_words_which_way_it_is(found: Ratio, said: str) -> None:
    assert say.verdict(found) == said


def test_the_screen_begins_with_the_versions_ends_with_the_answer_and_fits_80_columns() -> None:
    lines = screen(result(), 80).splitlines()
    assert lines[:3] == [
        "How does B (127.0.0.1:2) compare with A (127.0.0.1:1)?",
        "A: http://127.0.0.1:1/",
        "B: http://127.0.0.1:2/",
    ]
    last = " ".join(lines[-lines[::-1].index("") :])
    assert last.startswith("B answers ") and " as fast as A at the median" in last
    assert last.endswith("A beside itself (A′) differs in no figure, as it should")
    assert max(map(len, lines)) <= 80
    shown = "\n".join(lines)
    for name in ("median", "p99", "throughput", "CPU per request"):
        assert f"\n{name}" in shown
    assert "fresh start" in shown and "decided: 21 of 21 turns count, in 7 blocks; A beside itself" in last


@pytest.mark.long
def test_with_three_versions_each_has_a_headline_and_a_table() -> None:
    shown = screen(result("three"), 100)
    assert "B ÷ A" in shown and "C ÷ A" in shown
    assert "\nB answers " in shown and "\nC takes " in shown
    assert list(result("three").document.headlines) == ["B", "C"]


def test_an_interruption_and_a_lost_version_are_said() -> None:
    assert say.reason_of_end(result("interrupted")) == "interrupted: this is what was measured until then"
    lost = "B was lost in block 3 before 06:30:12 UTC: its process 7 ended with code 1"
    assert f"{lost}; this is what was measured" in say.reason_of_end(result("gone"))
    assert result("gone").document.gone == lost
    assert say.headlines(result("gone")).startswith(lost)
    assert say.headline(result("gone"), "B").endswith(", by the 2 blocks before that")


@pytest.mark.parametrize(("kind", "code"), [("faster", 0), ("interrupted", 130), ("gone", 3), ("limited", 3)])
def test_exit_codes(kind: str, code: int) -> None:
    assert command.code_of(compared(kind)) == code


def notes(found: VersusFigures) -> str:
    return plain("\n".join(versus_notes.notes(found)))


def test_it_notes_why_turns_do_not_count() -> None:
    said = notes(result("limited"))
    turns = 3 * len(compared("limited").blocks)
    assert f"{turns} of {turns} turns do not count in full: disturbed: others used 90%" in said
    assert "it takes two blocks that count" in screen(result("limited"), 100)


def test_it_notes_who_cannot_keep_up() -> None:
    assert result("behind").behind == ("B",)
    assert "B cannot keep up with 400 /s: its times grow as long as the load lasts; lower --rate" in notes(
        result("behind")
    )
    assert result().behind == ()


def test_it_notes_that_versions_are_the_same() -> None:
    one = result()
    urls = [UrlVersion(resolve(f"http://127.0.0.1:{port}/")) for port in (1, 1, 2)]
    asked = CommonRequest(lambda _: (), None, None, {}, Options(seed=5))
    plan = VersusPlan(tuple(map(Version, "ABC", urls)), asked, LOADS)
    assert plan.same == ("B",)
    assert "A and B are the same, so whatever differs is chance" in notes(changed(one, same=plan.same))
    assert "are the same" not in notes(one)


def test_it_notes_answers_that_differ() -> None:
    one = result()
    known = {
        letter: replace(each, answers=(SampleAnswer("GET /", 200, "text/plain", size),))
        for (letter, each), size in zip(one.compared.known.items(), (13, 1_400), strict=True)
    }
    differ = changed(one, compared=replace(one.compared, known=known))
    said = "A and B answer GET / differently: 200 with 13 bytes of text/plain, and 200 with 1,400 bytes of"
    assert said in notes(differ)
    assert "differently" not in notes(one)


def test_it_notes_processes_that_ran_already_and_what_is_not_compared() -> None:
    assert "A and B ran already: the intervals do not hold what differs from start" in notes(
        result(afresh={"A": False, "B": False})
    )
    one = result()
    assert one.compared.rule is not None
    fewer = replace(one.compared, rule=replace(one.compared.rule, figures=("p50", "throughput")))
    said = notes(changed(one, compared=fewer))
    assert "CPU per request is not compared" in said and "too few answers for p90, p99" in said


def test_a_control_that_differs_is_said() -> None:
    apart = ratio("p99", 1.2, 1.4)
    found = with_ratios(replace(apart, answer="undecided"))
    said = "A differs from itself (A′): p99 1.30 [1.20 – 1.40]; so nothing is said of that"
    assert plain(say.control(found)) == said
    assert plain(versus_answer.how_sure(found).plain).startswith("doubtful ")
    assert plain(versus_answer.how_sure(found).plain).endswith(said)


def test_it_says_which_budget_would_decide_the_rest() -> None:
    one = with_ratios(replace(ratio("p99", 0.9, 1.2, "undecided"), needed=30))
    assert one.compared.lengths is not None
    minutes = int(30 * one.compared.lengths.block_s // 60) + 2
    said = f"p99 takes about 30 blocks: --budget {minutes}m"
    assert say.to_decide(one) == said
    assert versus_answer.found(one) == [
        f"whether B is better or worse than A is not decided: p99 1.04 [0.90\u202f–\u202f1.20]; {said}"
    ]


def test_the_json_has_every_figure_of_every_turn() -> None:
    said = json.loads(result().document.model_dump_json())
    assert said["versions"][1]["letter"] == "B" and said["seed"] == 5 and said["command"] == COMMAND
    assert len(said["blocks"]) == len(compared("faster").blocks)
    turn = said["blocks"][0][0]
    assert set(turn["closed"]["figures"]) == {"throughput", "cpu"} and turn["at_rate"]["figures"]["p50"] > 0
    median = next(each for each in said["ratios"] if each["figure"] == "p50")
    assert median["of"] == "B" and median["answer"] == "different"
    assert median["ratio"]["low"] < median["ratio"]["estimate"] < median["ratio"]["high"] < 1
    assert said["confidence"] == standing.CONFIDENCE


@pytest.mark.long
def test_the_page_has_the_same_words_and_two_charts() -> None:
    page = report_page.html(report(result("three").document))
    assert page.startswith("<!doctype html>") and page.count("<svg") >= 2
    for letter in ("B", "C"):
        assert say.headline(result("three"), letter)[1:40] in page
    assert "C beside A" in page and COMMAND in page


def test_the_page_of_an_interrupted_comparison_is_drawn_too() -> None:
    assert "interrupted: this is what was measured until then" in report_page.html(
        report(result("interrupted").document)
    )


def seen(console: Console, quiet: bool = False) -> VersionComparison:
    """Run a comparison with its live view on a console."""
    there = machine(1_000.0, 1_500.0)
    with VersusView(LOADS.budget_s, quiet=quiet, console=console) as view:
        there.watcher = view  # type: ignore[assignment]
        return there.compare()


def test_each_block_is_printed_as_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = seen(Console(width=100, file=sys.stdout))
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("up to ") and "response times at " in first
    assert len(lines) == len(found.blocks) and all("B ÷ A  median 0." in line for line in lines[1:])


def test_on_a_terminal_the_status_line_shows_the_time_left_and_is_removed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen(Console(width=100, file=sys.stdout, force_terminal=True, force_interactive=True))
    out = capsys.readouterr().out
    assert "block  1" in out and out.rstrip().endswith(("\x1b[?25h", "\x1b[1A\x1b[2K"))


def test_the_status_line_names_the_turn_and_the_time_left() -> None:
    view = VersusView(120.0, quiet=True)
    view.turn(3, "B", 65.0)
    assert view._now.plain == "block 3 of 0: B  (1:05 left)"


def test_a_block_of_which_turns_do_not_count_says_so() -> None:
    (block, *_) = compared("limited").blocks
    assert say.left_out_turns(block) == "  (3 of 3 turns do not count in full)"
    assert say.left_out_turns(compared("faster").blocks[0]) == ""
    assert say.left_out_turns(VersusBlock(())) == ""


def test_nothing_in_it_acts_on_a_terminal() -> None:
    assert terminal.shown_text(screen(result(), 80)) == screen(result(), 80)


def test_why_figures_have_no_ratio_is_said_once_in_the_answer() -> None:
    said = " ".join(screen(result("limited"), 80).split())
    assert said.count("it takes two blocks that count") == 1
    assert (
        "Whether B is better or worse than A is not decided: it takes two blocks that count, and none does."
        in said
    )


def test_each_note_begins_with_its_name() -> None:
    found = changed(result("limited"), same=("B",))
    notes = versus_notes.notes(found)
    lines = screen(found, 80).splitlines()
    assert len(notes) > 1 and sum(line.startswith("note ") for line in lines) == len(notes)


def at_speeds(
    found: VersusFigures, speeds: list[float], slope: float, busy_share: float = 1.0
) -> VersusFigures:
    """The comparison with a throughput that follows these speeds; B keeps the cores busy for `busy_share`."""
    left = iter(speeds)

    def turned(turn: Turn) -> Turn:
        speed = next(left)
        figures = {**turn.closed.figures, "throughput": 1_000.0 * speed**slope}
        busy = busy_share if turn.letter == "B" else 1.0
        closed = replace(turn.closed, figures=figures, speed_per_s=speed, busy_share=busy)
        return replace(turn, closed=closed)

    blocks = tuple(
        VersusBlock(tuple(turned(each) for each in block.turns)) for block in found.compared.blocks
    )
    return changed(found, compared=replace(found.compared, blocks=blocks))


def test_ratios_at_equal_speed_are_noted_with_the_factor() -> None:
    found = result()
    turns = sum(len(block.turns) for block in found.compared.blocks)
    speeds = [1.0 + 0.5 * (at * 7 % 11) / 10 for at in range(turns)]
    (note,) = (each for each in versus_notes.notes(at_speeds(found, speeds, 1.0)) if "equal speed" in each)
    assert "up to 1.5 times as fast" in note
    uneven = at_speeds(found, speeds, 1.0)
    ratios = uneven.by_block("B", "throughput"), uneven.by_block("B", "throughput", as_measured=True)
    corrected, as_measured = (max(each.values()) / min(each.values()) for each in ratios)
    assert corrected < 1.15 < as_measured
    said = uneven.document.model_dump(mode="json")
    assert said["blocks"][0][0]["closed"]["speed_per_s"] in speeds
    row = next(each for each in said["ratios"] if (each["of"], each["figure"]) == ("B", "throughput"))
    assert row["as_measured"] == pytest.approx(statistics.geometric_mean([*ratios[1].values()]))
    assert row["as_measured"] != pytest.approx(row["ratio"]["estimate"], rel=1e-3)
    for even in (found, at_speeds(found, speeds, 0.0), at_speeds(found, [1.0] * turns, 1.0)):
        assert not any("equal speed" in each for each in versus_notes.notes(even))


def test_nothing_is_said_of_speeds_that_no_turn_has() -> None:
    found = result()
    # As where only turns of a version count that kept the cores busy for another share than the first did.
    vars(found)["speeds"] = {"throughput": {}}
    assert found.speeds_by_load == [] and "equal speed" not in notes(found)


def test_a_version_that_keeps_the_cores_busy_for_another_share_is_not_corrected() -> None:
    found = result()
    turns = sum(len(block.turns) for block in found.compared.blocks)
    speeds = [1.0 + 0.5 * (at * 7 % 11) / 10 for at in range(turns)]
    for busy_share, is_corrected in ((0.95, True), (0.8, False)):
        uneven = at_speeds(found, speeds, 1.0, busy_share)
        as_measured = uneven.by_block("B", "throughput", as_measured=True)
        assert (uneven.by_block("B", "throughput") != as_measured) == is_corrected
