"""Results that asked the same: their order, machine changes, and shifts of each figure."""

import made_sites
import numpy as np
import pytest
from crumple.site import series
from crumple.site.series import Series
from crumple.site.site_entry import SiteEntry
from crumple.stats.shifts import ERROR

ELSEWHERE = {**made_sites.HERE, "kernel": "6.9.0"}


def one(entries: list[SiteEntry]) -> Series:
    (found,) = series.series_of(entries)
    return found


def noisy(level: float, number: int, seed: int = 1) -> list[float]:
    return list(level * np.random.default_rng(seed).lognormal(0, 0.02, size=number))


def test_results_are_grouped_by_what_they_asked_and_sorted_by_time() -> None:
    entries = [
        made_sites.entry(3),
        made_sites.entry(1),
        made_sites.entry(2, question="q2"),
        made_sites.entry(4, question=""),
    ]
    found = series.series_of(entries)
    assert [[each.row.name for each in every.entries] for every in found] == [
        ["load-001", "load-003"],
        ["load-002"],
    ]
    assert {every.file for every in found} == {"series/load-q1.html", "series/load-q2.html"}


def test_a_figure_that_shifts_has_two_levels_and_the_ratio_between_them() -> None:
    found = one(made_sites.entries([*noisy(1_000, 12), *noisy(700, 12, 2)]))
    (course,) = found.courses
    (shift,) = course.shifts
    assert shift.place == 12 and not shift.is_better
    assert 0.65 < shift.ratio < 0.75
    assert shift.factor == 1 / shift.ratio
    assert [each.places[0] for each in course.stretches] == [0, 12]
    assert [round(each.level.estimate, -2) for each in course.stretches] == [1_000, 700]


def test_a_figure_of_which_less_is_better_shifts_for_the_better_if_it_falls() -> None:
    values = [*noisy(1_000, 12), *noisy(700, 12, 2)]
    entries = [
        made_sites.entry(at, made_sites.figure(value, unit="ns", better="lower"))
        for at, value in enumerate(values)
    ]
    assert [each.is_better for each in one(entries).courses[0].shifts] == [True]


def test_another_machine_is_marked_and_explains_a_change() -> None:
    entries = [
        *made_sites.entries(noisy(1_000, 12)),
        *(
            made_sites.entry(12 + at, made_sites.figure(value), machine=ELSEWHERE)
            for at, value in enumerate(noisy(500, 12, 2))
        ),
    ]
    found = one(entries)
    assert found.machine_changes == {12: "kernel was 6.1.2, is 6.9.0"}
    assert found.courses[0].shifts == ()
    assert [each.places for each in found.courses[0].stretches] == [tuple(range(12)), tuple(range(12, 24))]


def test_a_shift_of_one_of_two_machines_that_take_turns_is_found() -> None:
    here, elsewhere = [*noisy(1_000, 24)], [*noisy(300, 12, 2), *noisy(200, 12, 3)]
    entries = []
    for at in range(24):
        entries.append(made_sites.entry(2 * at, made_sites.figure(here[at])))
        entries.append(made_sites.entry(2 * at + 1, made_sites.figure(elsewhere[at]), machine=ELSEWHERE))
    found = one(entries)
    assert len(found.machine_changes) == 47
    assert [each.place for each in found.courses[0].shifts] == [25]


def test_what_does_not_count_is_in_no_level_and_makes_no_shift() -> None:
    entries = made_sites.entries(noisy(1_000, 12))
    entries += [
        made_sites.entry(12 + at, made_sites.figure(value, against="disturbed"))
        for at, value in enumerate(noisy(300, 12, 2))
    ]
    (course,) = one(entries).courses
    assert course.shifts == () and course.stretches[0].places == tuple(range(12))
    assert len(course.figures) == 24


def test_few_results_show_no_shift_and_say_how_many_it_takes() -> None:
    found = one(made_sites.entries([*noisy(1_000, 3), *noisy(300, 3, 2)]))
    assert found.courses[0].shifts == ()
    enough = found.results_needed
    assert enough is not None and found.results_most == 6 < enough
    half = enough // 2
    assert one(made_sites.entries([*noisy(1_000, half), *noisy(300, enough - half, 2)])).courses[0].shifts


def test_the_questions_of_a_site_share_the_error() -> None:
    every = [
        made_sites.entry(at, made_sites.figure(1.0), question=f"q{of}") for of in range(20) for at in range(8)
    ]
    few = [made_sites.entry(0, made_sites.figure(1.0), question="few")]
    assert {each.error for each in series.series_of([*every, *few])} == {ERROR / 20}


@pytest.mark.long
def test_a_series_of_four_figures_that_do_not_change_seldom_shifts() -> None:
    random, shifted, number = np.random.default_rng(7), 0, 300
    for _ in range(number):
        entries = [
            made_sites.entry(
                at, *(made_sites.figure(value, f"Figure {place}") for place, value in enumerate(row))
            )
            for at, row in enumerate(random.lognormal(0, 0.3, size=(25, 4)))
        ]
        shifted += any(course.shifts for course in one(entries).courses)
    # Allows for three standard deviations over the series.
    assert shifted / number <= ERROR + 3 * (ERROR * (1 - ERROR) / number) ** 0.5
