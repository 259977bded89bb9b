"""The chart of a ramp: which panels are shown, how their lines are computed, and where the knees are."""

from functools import cache

import made_curves
import numpy as np
import pytest
import synthetic_ramp
import synthetic_run
from crumple.drawing import svg_graph
from crumple.drawing.plot import Graph, Guide, Label, Line, Picture
from crumple.record import histogram
from crumple.record.curve import curve as curve_of
from crumple.run.report import ramp_chart, ramp_rows, run_charts
from crumple.run.report.ramp_rows import LoadedRamp, Panel
from crumple.run.report.view import ExperimentView, RunView, view
from made_figures import curve, point, times, trial
from synthetic_ramp import PHP_150, PHP_256, POOL_1


@cache
def seen() -> RunView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials())


def kept() -> ExperimentView:
    return seen().experiments[0]


def ramp() -> LoadedRamp:
    found = ramp_rows.course(kept())
    assert found is not None
    return found


@cache
def panels() -> dict[str, Panel]:
    return {panel.name: panel for panel in ramp_rows.panels(kept(), ramp())}


@pytest.mark.long
def test_the_course_of_a_ramp_is_that_of_its_load_shape() -> None:
    assert ramp() == LoadedRamp(0, 500, 60.0, "users")
    assert (ramp().users(0), ramp().users(30), ramp().users(99)) == (0, 250, 500)
    assert ramp_rows.course(seen().experiments[1]) is None


def test_counts_that_do_not_change_with_the_users_are_left_out() -> None:
    assert list(panels()) == ["p50", "deep", "waiting", "throughput", "cores", "memory"]
    assert panels()["deep"].title == "Response time p99"


def test_counts_that_grow_with_the_users_are_shown() -> None:
    rows = [{"x": x, "value": x, "low": x, "high": x} for x in (1.0, 500.0)]
    flat = [{**row, "value": 8.0} for row in rows]
    for name in ("processes", "threads"):
        assert ramp_rows._tells(Panel(name, name, "number", {"php": rows, "go": flat}), ramp())
        assert not ramp_rows._tells(Panel(name, name, "number", {"node": flat, "go": flat}), ramp())


def test_failures_are_shown_if_more_than_one_in_a_hundred_fails() -> None:
    for share, shown in ((0.005, False), (0.02, True)):
        rows = [{"x": 1.0, "value": share, "low": share, "high": share}]
        assert ramp_rows._tells(Panel("failed", "Failed", "share", {"php": rows}), ramp()) is shown


@pytest.mark.parametrize("name", ["p50", "deep", "throughput", "cores", "memory"])
def test_the_line_lies_within_its_band(name: str) -> None:
    panel = panels()[name]
    assert set(panel.lines) == set(synthetic_ramp.NATURES)
    for rows in panel.lines.values():
        assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
        assert [row["x"] for row in rows] == sorted({row["x"] for row in rows})


def test_lines_follow_each_servers_simulated_behaviour() -> None:
    for server, nature in synthetic_ramp.NATURES.items():
        for row in panels()["memory"].lines[server]:
            assert row["value"] == pytest.approx(nature.memory_bytes(row["x"]), rel=0.12)
    flat = [row["value"] for row in panels()["p50"].lines["node-http"]]
    assert max(flat) / min(flat) < 1.1
    assert panels()["p50"].lines[PHP_256][-1]["value"] > 100 * flat[-1]


def test_a_quantile_needs_a_stretch_with_enough_answers() -> None:
    """The 150 answers of a point are enough for p90; p99 takes seven points, and is drawn level over them."""
    few = trial(
        "php", 1, 1_000, curve=tuple(point(users, ok=150, times=times(1e6, 150)) for users in range(20))
    )
    assert len(ramp_rows._quantile(few, 0.9)) == 20
    deep = ramp_rows._quantile(few, 0.99)
    assert [at_s for at_s, _ in deep] == [0, 70, 70, 200]
    for q, stretches in ((0.9, 20), (0.99, 2)):
        for stretch in ramp_rows._stretches(few, q):
            assert histogram.printable(q, sum(each.times.count for *_, each in stretch))
        assert len(ramp_rows._stretches(few, q)) == stretches


def test_points_without_a_histogram_use_the_one_before() -> None:
    """Points may be shorter than an interval of the log; its times belong to the point where it begins."""
    nothing = histogram.merge([])
    points = [point(n, times=times(1e6 * (1 + n // 4), 100) if n % 4 == 0 else nothing) for n in range(12)]
    stretches = ramp_rows._stretches(trial("php", 1, 1_000, curve=tuple(points)), 0.5)
    assert [len(stretch) for stretch in stretches] == [4, 4, 4]


def test_a_ramp_with_enough_answers_only_once_has_no_line() -> None:
    short = trial("php", 1, 1_000, curve=curve(lambda users: 1e6, users=range(1, 12)))
    assert ramp_rows._quantile(short, 0.9999) == []


def test_a_quantiles_line_has_a_gap_where_the_engine_was_late() -> None:
    # In the last fifth of 40 s every request was sent 2.2 ms late.
    late = made_curves.late_ramp(
        {50_000: 3_200, 2_200_000: 800},
        [60_000] * 32 + [2_200_000] * 8,
        [{4_900_000: 100}] * 32 + [{7_100_000: 100}] * 8,
    )
    drawn = ramp_rows._quantile(trial("php", 1, 1_000, curve=curve_of(late)), 0.9)
    assert drawn and max(at_s for at_s, _ in drawn) < 33 and {round(ns / 1e5) for _, ns in drawn} == {49}


def test_knees_are_those_of_the_claim() -> None:
    knees = ramp_rows.knees(kept())
    assert set(knees) == {PHP_150, PHP_256}
    (claimed,) = next(verdict for verdict in seen().verdicts if verdict.claim_id == "U-1").effects
    assert claimed.value is not None
    found = knees[PHP_256]
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (claimed.value.estimate, claimed.value.low, claimed.value.high)
    )


def picture() -> Picture:
    found = ramp_chart.along_the_ramp(kept(), panels())
    assert found is not None
    return found


def drawn() -> list[Graph]:
    return [panel.drawn for panel in picture().panels if isinstance(panel.drawn, Graph)]


NAMES = {"php-apache[workers=150]", "php-apache[workers=256]", "node-http", POOL_1}


def test_every_server_is_named_at_the_end_of_its_line_or_on_a_narrow_screen_above() -> None:
    assert len(drawn()) == len(panels())
    for graph, panel in zip(drawn(), panels().values(), strict=True):
        labels = {mark.text: mark for mark in graph.marks if isinstance(mark, Label)}
        assert set(labels) == NAMES
        lines = {mark.name: mark.points[-1] for mark in graph.marks if isinstance(mark, Line)}
        assert {name: label.y for name, label in labels.items()} == {
            name: end[1] for name, end in lines.items() if end
        }
        assert len(lines) == len(panel.lines)
        assert graph.right_px > max(map(len, NAMES)) * 5
    assert {key.label for key in picture().keys if key.narrow_only} == NAMES


def test_panels_share_the_axis_of_users() -> None:
    assert len({(graph.x.scale, graph.left_px, graph.right_px) for graph in drawn()}) == 1
    assert all(graph.left_px >= svg_graph.left_room(graph.y) for graph in drawn())
    assert [bool(graph.x.ticks) for graph in drawn()] == [False] * (len(drawn()) - 1) + [True]


def test_knees_are_drawn_through_all_panels_and_said() -> None:
    knees = ramp_rows.knees(kept())
    for graph in drawn():
        guides = sorted(mark.x for mark in graph.marks if isinstance(mark, Guide) and mark.x)
        assert guides == sorted(knee.estimate for knee in knees.values())
    first, *others = picture().panels
    assert any("knee 257" in remark for remark in first.remarks)
    assert not any(panel.remarks for panel in others)


def test_other_shapes_have_no_ramp_chart() -> None:
    closed = view(synthetic_run.run_file(), synthetic_run.trials()).experiments[0]
    assert ramp_chart.along_the_ramp(closed, ()) is None
    assert not run_charts.is_ramp(closed) and run_charts.is_ramp(kept())


def test_servers_of_one_language_have_different_dashes() -> None:
    strokes = ramp_chart._strokes(kept(), list(panels().values()))
    looks = [(stroke.colour, stroke.dash) for stroke in strokes.values()]
    assert len(set(looks)) == len(looks) == 4
    assert list(strokes) == list(synthetic_ramp.NATURES)  # as the study lists them, in every experiment


@pytest.mark.parametrize("wanted", [[5.0, 6.0, 7.0, 90.0], [90.0, 91.0, 92.0], [0.0], [50.0] * 9])
def test_names_are_pushed_apart_and_stay_in_order(wanted: list[float]) -> None:
    places = ramp_chart.apart(wanted, 13, 92)
    assert all(-1e-9 <= place <= 92 + 1e-9 for place in places)
    assert np.diff(sorted(places)).min(initial=13) >= min(13, 92 / max(1, len(wanted) - 1)) - 1e-9
    assert np.argsort(places, kind="stable").tolist() == np.argsort(wanted, kind="stable").tolist()
