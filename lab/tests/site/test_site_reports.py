"""The pages of series and index as reports: the answer, its words, comparisons made in advance, charts."""

import made_sites
import numpy as np
import pytest
from crumple.drawing import numerals
from crumple.drawing.plot import Dot, Graph, Guide, Step, Steps
from crumple.drawing.report_parts import Report, Table, plain
from crumple.site import index_report, pairs, series, series_charts, series_report, site_words
from crumple.site.pairs import EARLIER, LATEST
from crumple.site.series import Series


def shifting() -> Series:
    return series.series_of(made_sites.history())[0]


def steady(number: int, **changes: object) -> Series:
    values = [1_000.0 + 7 * (at * 37 % 11) for at in range(number)]
    return series.series_of(made_sites.entries(values, **changes))[0]


def said(report: Report) -> list[str]:
    """What the answer found, and how sure that is."""
    assert report.answer is not None
    return [numerals.joined(plain(each)) for each in (*report.answer.found, report.answer.sure)]


def test_a_shift_is_told_from_its_larger_side_with_interval_instant_and_both_values() -> None:
    found = shifting()
    fell, rose = (course.shifts[0] for course in found.courses)
    assert site_words.shift(found, found.courses[0], fell).startswith(
        "Throughput fell by a factor of about 1.5"
    )
    assert site_words.shift(found, found.courses[1], rose).startswith(
        "Median response time rose by a factor of about 1.5"
    )
    words = site_words.shift(found, found.courses[0], fell)
    assert " on 6 March 2026, 00:00 UTC: from 1,0" in words and words.endswith("/s")
    # The place was chosen where values differ most, so an interval over values alone would be too narrow.
    assert "–" not in words


@pytest.mark.parametrize(
    ("unit", "amount", "words"),
    [("ns", 44_100_000.0, "44.1 ms"), ("µs", 13.3, "13.3 µs"), ("requests/s", 712.0, "712 /s"),
     ("connections", 120.0, "120 connections"), ("", 1.12, "1.12")],
)  # fmt: skip
def test_an_amount_has_its_unit(unit: str, amount: float, words: str) -> None:
    assert site_words.value(amount, unit).replace(numerals.NARROW, " ") == words


def test_a_figure_has_its_interval() -> None:
    point = made_sites.figure(676, low=657, high=703)
    assert site_words.figure(point).replace(numerals.NARROW, " ") == "676 /s (657 /s – 703 /s)"


def test_the_answer_of_a_series_names_shifts_and_how_often_one_is_a_false_alarm() -> None:
    report = series_report.report(shifting(), [])
    found = said(report)
    assert len(found) == 3 and all(" by a factor of about 1.5" in each for each in found[:2])
    assert "at most 5 % of sites show a shift at one look" in found[2].replace(numerals.NARROW, " ")


def test_a_series_without_a_shift_says_what_is_so_and_what_it_takes() -> None:
    few, many = (said(series_report.report(steady(number), [])) for number in (3, 30))
    assert few[0].startswith("Throughput is 1,0") and "takes 8 results of one machine" in few[-1]
    assert "there are 3" in few[-1] and many[-1].startswith("no shift found")


@pytest.mark.parametrize(("number", "why"), [(501, "takes "), (6_000, "too many figures are followed")])
def test_a_series_of_many_figures_says_whether_a_shift_could_be_found(number: int, why: str) -> None:
    figures = [made_sites.figure(1_000.0, f"Figure {place}") for place in range(number)]
    found = series.series_of([made_sites.entry(at, *figures) for at in range(2)])
    assert why in said(series_report.report(found[0], []))[-1]


def test_a_single_result_says_what_it_is() -> None:
    assert said(series_report.report(steady(1), []))[0].replace(numerals.NARROW, " ") == (
        "Throughput is 1,000 /s in one result."
    )


def taking_turns() -> Series:
    """Two machines of which one is twice as fast, and has the latest result."""
    elsewhere = {**made_sites.HERE, "kernel": "6.9.0"}
    entries = [
        made_sites.entry(at, made_sites.figure(1_000.0)) if at % 2 == 0
        else made_sites.entry(at, made_sites.figure(500.0), machine=elsewhere)
        for at in range(9)
    ]  # fmt: skip
    return series.series_of(entries)[0]


def test_of_several_machines_the_answer_is_that_of_the_latest_result() -> None:
    found = said(series_report.report(taking_turns(), []))[0].replace(numerals.NARROW, " ")
    assert found.startswith("Throughput is 1,000 /s") and found.endswith(", on the machine of load-008.")


def test_the_line_of_a_machine_is_interrupted_by_results_of_another() -> None:
    found = taking_turns()
    (panel,) = series_charts.drawn(found, found.courses[0]).panels
    assert isinstance(panel.drawn, Graph)
    levels = [step for mark in panel.drawn.marks if isinstance(mark, Steps) for step in mark.steps]
    assert {(step.begin, step.end, round(step.y)) for step in levels} == {
        (at - 0.5, at + 0.5, 1_000 if at % 2 == 0 else 500) for at in range(9)
    }


def dependent(seed: int) -> Series:
    """Results each of which is like the one before; no level changes."""
    random, value, values = np.random.default_rng(seed), 0.0, []
    for _ in range(60):
        value = 0.8 * value + float(random.normal())
        values.append(1_000 * 1.02**value)
    return series.series_of(made_sites.entries(values))[0]


def test_a_shift_of_results_that_depend_on_those_before_is_not_called_probable() -> None:
    shifted = [found for found in map(dependent, range(10)) if found.courses[0].shifts]
    told = [found for found in shifted if found.depends]
    # Within the levels that were found, little of the dependence may be left.
    assert len(shifted) > 4 and len(told) >= 0.8 * len(shifted)
    for report in (series_report.report(told[0], []), index_report.report(told[0].entries, told[:1], "")):
        assert said(report)[-1].startswith("open") and series_report.DEPENDS in said(report)[-1]
    assert not shifting().depends and said(series_report.report(shifting(), []))[-1].startswith("probable")


def test_series_and_index_without_a_figure_say_so() -> None:
    empty = series.series_of([made_sites.entry(0), made_sites.entry(1)])
    assert said(series_report.report(empty[0], []))[0] == "No result has a figure that can be followed."
    assert "No shift was found." in said(index_report.report([*empty[0].entries], empty, "crumple 0.1.0"))


def test_a_result_is_compared_with_the_one_before_the_five_before_and_the_first() -> None:
    found = steady(20)
    made = pairs.pairs(found)
    of_one = {pair.label: pair.before for pair in made if pair.after == 10}
    assert of_one == {"the one before": (9,), f"the {EARLIER} before": (5, 6, 7, 8, 9), "the first": (0,)}
    latest = {(pair.before[0], pair.after) for pair in made if len(pair.before) == 1}
    last = range(20 - LATEST, 20)
    assert {(before, after) for after in last for before in last if before < after} <= latest
    assert len({pair.file for pair in made}) == len(made)
    # A few pages for each result, and not one for each two of them.
    assert len(made) < 4 * 20 + LATEST**2


def test_a_load_is_compared_with_several_of_its_own_machine_only() -> None:
    elsewhere = {**made_sites.HERE, "kernel": "6.9.0"}
    entries = made_sites.entries([1_000.0] * 6)
    entries[4] = entries[4].model_copy(update={"machine": elsewhere})
    (found,) = series.series_of(entries)
    several = {pair.after: pair.before for pair in pairs.pairs(found) if len(pair.before) > 1}
    assert several[5] == (0, 1, 2, 3) and 4 not in several


def test_what_compare_does_not_take_is_not_compared() -> None:
    row = {"verb": "diagnose"}
    entries = [made_sites.entry(at, row_changes=row) for at in range(3)]
    assert pairs.pairs(series.series_of(entries)[0]) == []


def test_a_chart_has_a_mark_for_each_figure_at_its_place_and_value() -> None:
    found = shifting()
    for course in found.courses:
        picture = series_charts.drawn(found, course)
        (panel,) = picture.panels
        graph = panel.drawn
        assert isinstance(graph, Graph)
        dots = [mark for mark in graph.marks if isinstance(mark, Dot)]
        assert {(dot.x, dot.y) for dot in dots} == {(at, each.value) for at, each in course.figures.items()}
        rings = {dot.x for dot in dots if dot.shape == "ring"}
        assert rings == {at for at, each in course.figures.items() if not each.counts} != set()
        assert all(graph.y.scale.has(dot.y) and graph.x.scale.has(dot.x) and dot.title for dot in dots)
        places = [mark.x for mark in graph.marks if isinstance(mark, Guide) and mark.label]
        assert places == [shift.place - series_charts.HALF for shift in course.shifts]
        unnamed = [mark.x for mark in graph.marks if isinstance(mark, Guide) and not mark.label]
        assert unnamed == [place - series_charts.HALF for place in found.machine_changes] != []
        levels = [step for mark in graph.marks if isinstance(mark, Steps) for step in mark.steps]
        assert all(isinstance(step, Step) for step in levels) and len(levels) == len(course.stretches)


def test_results_of_one_day_have_times_below_and_others_days() -> None:
    def labels(found: Series) -> list[str]:
        (panel,) = series_charts.drawn(found, found.courses[0]).panels
        assert isinstance(panel.drawn, Graph)
        return [tick.label for tick in panel.drawn.x.ticks]

    assert labels(steady(3)) == ["08:00", "09:00", "10:00"]
    assert labels(steady(40)) == ["01 Mar", "02 Mar"]
    assert len(labels(shifting())) <= series_charts.LABELS


def test_the_index_says_of_what_there_is_too_little_and_lists_what_cannot_be_read() -> None:
    entries = made_sites.history()
    report = index_report.report(entries, series.series_of(entries), "crumple 0.1.0")
    found = said(report)
    assert found[0] == "37 results of 2 questions, from 1 March 2026 to 13 March 2026."
    assert "1 question of 2 has too few results." in found[-1]
    (table,) = [part for part in report.sections[-1].parts if isinstance(part, Table)]
    assert [choice.label for choice in table.choices] == ["Verb", "Server", "Tag", "Day"]
    rows = [{*styles.split()} for styles in table.row_styles]
    for choice in table.choices:
        for value, name in choice.options.items():
            assert any(name in styles for styles in rows), value


def test_an_index_of_nothing_says_so() -> None:
    damaged = made_sites.entry(0, question="", file="", row_changes={"damaged": "cut off", "began": ""})
    for entries in ([], [damaged]):
        assert (
            said(index_report.report(entries, [], "crumple"))[0] == "Nothing is stored yet that can be read."
        )
