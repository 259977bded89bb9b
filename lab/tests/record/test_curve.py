"""A ramp's record as a curve: known readings in each bin, quantiles from merged histograms."""

from dataclasses import replace

import documents
import made_figures
import pytest
from crumple.record import engine_limits, lateness
from crumple.record.curve import Point, between, curve, sound, timed, users_knee
from crumple.record.figures import figures
from crumple.record.metrics import LATE, METRICS
from made_curves import STEPS, WARM_UP, late_ramp, ramp


def test_bins_hold_the_readings_taken_in_them() -> None:
    points = curve(ramp(), bins=4)
    assert [point.connections for point in points] == [58.75, 156.25, 253.75, 351.25]
    assert [point.ok for point in points] == [1_000] * 4
    assert [point.throughput_per_s for point in points] == [100] * 4
    assert [point.quantile_ns(0.5) for point in points] == pytest.approx([1e6, 2e6, 3e6, 4e6], rel=1e-3)
    assert [point.quantile_ns(0.9) for point in points] == pytest.approx([4e6, 8e6, 12e6, 16e6], rel=1e-3)
    assert [point.cores_busy for point in points] == pytest.approx([0.5] * 4)
    assert [point.processes for point in points] == [110, 210, 310, 400]
    assert [point.memory_bytes for point in points] == [110_000, 210_000, 310_000, 400_000]


def test_users_who_are_not_connected_count_too() -> None:
    few = ramp()
    series = few.series.model_copy(update={"connections": (1,) * (STEPS + WARM_UP)})
    points = curve(few.model_copy(update={"series": series}), bins=4)
    assert [point.connections for point in points] == [58.75, 156.25, 253.75, 351.25]


def test_there_are_no_more_bins_than_histograms() -> None:
    assert len(curve(ramp(), bins=100)) == STEPS
    assert all(point.times.count for point in curve(ramp(), bins=100))


def test_memory_is_proportional_at_every_point_or_at_none() -> None:
    record = ramp()
    server = record.probes.server
    assert server is not None
    seldom = tuple(5_000 if step == WARM_UP + 5 else None for step in range(STEPS + WARM_UP))
    samples = server.samples.model_copy(update={"pss_bytes": seldom})
    probes = record.probes.model_copy(update={"server": server.model_copy(update={"samples": samples})})
    points = curve(record.model_copy(update={"probes": probes}), bins=4)
    assert [point.memory_bytes for point in points] == [5_000, None, None, None]


def test_a_curve_ends_where_requests_begin_to_fail() -> None:
    points = curve(ramp(), bins=4)
    assert [point.failed_share for point in points] == [0, 0, 0, 0.5]
    assert sound(points) == points[:3]


def test_a_part_of_a_curve_is_one_point_with_merged_quantiles() -> None:
    points = curve(ramp(), bins=4)
    part = between(points, 100, 300)
    assert part is not None
    assert (part.ok, part.connections, part.seconds) == (2_000, 205, 20)
    # Six in ten answers took 2 or 3 ms, half of them each, and the others 8 or 12 ms: the median is 3 ms.
    assert part.quantile_ns(0.5) == pytest.approx(3e6, rel=1e-3)
    assert between(points, 600, 700) is None


def test_a_part_outside_the_curve_is_none() -> None:
    points = curve(ramp(), bins=30)
    assert between(points, 10, 400) is not None
    assert between(points, 100, 440) is None


def made(failed: dict[int, int]) -> tuple[Point, ...]:
    """60 answers per bin and rounds of a second; `failed`: number of users → failures in the bin."""
    known = made_figures.curve(lambda users: 1e6, users=range(20, 601, 20))
    return tuple(
        replace(p, ok=60, seconds=1.0, waiting=1.0, pause_s=1.0, failed=failed.get(round(p.connections), 0))
        for p in known
    )


def test_one_failed_request_does_not_end_a_curve_and_lasting_failures_do() -> None:
    assert users_knee(made({120: 1})) is None
    assert len(sound(made({120: 30}))) == 30, "they do not go on"
    lasting = made(dict.fromkeys(range(320, 601, 20), 20))
    found = users_knee(lasting)
    assert found is not None and found.between == (300, 320)
    last = made({600: 30})
    assert len(sound(last)) == len(last) - 1


def test_a_small_rise_does_not_hide_failures() -> None:
    rising = [
        replace(p, waiting=1.0 + max(0.0, p.connections - 100) / 220 * 4.2)
        for p in made(dict.fromkeys(range(340, 601, 20), 60))
    ]
    found = users_knee(tuple(rising))
    assert found is not None and found.between == (320, 340)


def test_rounds_are_timed_up_to_the_first_failures() -> None:
    assert timed(made({}))[-1][0] == 600
    assert timed(made(dict.fromkeys(range(320, 601, 20), 20)))[-1][0] == 300
    assert timed(made({120: 30}))[-1][0] == 600
    assert 120 not in dict(timed(made({120: 30})))


def test_other_shapes_have_no_curve() -> None:
    assert curve(documents.record()) == ()
    assert curve(ramp(measured_ns=0)) == ()


def test_too_few_samples_have_no_quantile() -> None:
    assert curve(ramp(), bins=4)[0].quantile_ns(0.999) is None


def test_without_a_probe_the_servers_figures_are_unknown() -> None:
    record = ramp()
    blind = record.model_copy(update={"probes": record.probes.model_copy(update={"server": None})})
    point = curve(blind, bins=4)[0]
    assert point.cores_busy is point.memory_bytes is point.processes is point.threads is None
    assert point.quantile_ns(0.5) is not None


def test_the_figures_of_a_trial_include_the_curve() -> None:
    none = documents.histogram({})
    record = ramp(histograms=documents.record().histograms.model_copy(update={"response_time": none}))
    seen = figures(documents.stored(record=record))
    assert seen is not None
    assert len(seen.curve) == 30
    assert seen.connections == pytest.approx(205)


def test_an_engine_late_in_one_part_of_a_ramp_has_limited_it() -> None:
    # Flat at 4.9 ms; in the last fifth each request was sent 2.2 ms late.
    last = STEPS // 5
    flat, longer = {4_900_000: 100}, {7_100_000: 100}
    record = late_ramp(
        {50_000: 100 * (STEPS - last), 2_200_000: 100 * last},
        [60_000] * (STEPS - last) + [2_200_000] * last,
        [flat] * (STEPS - last) + [longer] * last,
    )
    assert lateness.problem_of_all_figures(record) is None
    said = engine_limits.late_throughout(record)
    assert said is not None and "users were connected" in said and "more than 1 ms later" in said
    assert [point.quantile_ns(0.5) is None for point in curve(record, bins=5)] == [False] * 4 + [True]
    assert [point.mean_ns is None for point in curve(record, bins=5)] == [False] * 4 + [True]


def test_an_engine_late_in_each_of_five_seconds_has_limited_the_ramp() -> None:
    record = late_ramp(
        {50_000: 3_200, 2_200_000: 800},
        [2_200_000 if step % 5 < 1 else 60_000 for step in range(STEPS)],
        [{4_900_000: 100}] * STEPS,
    )
    assert engine_limits.late_throughout(record) is not None


def test_an_engine_late_throughout_a_tenth_and_sometimes_elsewhere_is_late() -> None:
    tenth = STEPS // 10
    record = late_ramp(
        {50_000: 3_560, 2_200_000: 440}, [2_200_000] * STEPS,
        [{4_900_000: 100}] * (STEPS - tenth) + [{7_100_000: 100}] * tenth,
    )  # fmt: skip
    assert lateness.problem_of_all_figures(record) is None
    assert engine_limits.late_throughout(record) is not None


def test_late_wake_ups_on_a_calm_machine_leave_the_medians_of_a_ramp() -> None:
    # 0.8 % of the requests were sent 5 ms late, in two intervals of five.
    record = late_ramp(
        {50_000: 4_000 - 32, 5_000_000: 32},
        [5_000_000 if step % 5 < 2 else 60_000 for step in range(STEPS)],
        [{4_900_000: 98, 9_900_000: 2}] * STEPS,
    )
    assert lateness.problem(record) is not None and lateness.spoiled_quantiles(record) == (0.99,)
    assert engine_limits.late_throughout(record) is None
    assert "and left out" in (engine_limits.left_out_warning(record) or "")
    points = curve(record, bins=4)
    assert all(point.quantile_ns(0.5) for point in points) and all(point.mean_ns for point in points)
    assert [point.quantile_ns(0.99) for point in points] == [None] * 4


def test_a_claim_on_a_quantile_over_users_says_that_the_engine_was_late() -> None:
    record = late_ramp(
        {50_000: 4_000 - 32, 5_000_000: 32},
        [5_000_000 if step % 5 < 2 else 60_000 for step in range(STEPS)],
        [{4_900_000: 98, 9_900_000: 2}] * STEPS,
    )
    seen = figures(documents.stored(record=record))
    assert seen is not None
    for name, late in (("response_p50", False), ("response_p99", True)):
        metric = METRICS[name].while_connected(50, 350)
        assert (metric.of(seen) is None) is late and (metric.reason(seen) == LATE) is late, name


def test_a_bin_spoilt_by_engine_lateness_is_left_out_of_the_ramp() -> None:
    # The engine was late for one second, which is a bin and a small part of a fifth.
    record = late_ramp(
        {50_000: 3_900, 4_000_000: 100},
        [4_000_000 if step == 30 else 60_000 for step in range(STEPS)],
        [{8_900_000: 100} if step == 30 else {4_900_000: 100} for step in range(STEPS)],
    )
    assert engine_limits.late_throughout(record) is None
    medians = [point.quantile_ns(0.5) for point in curve(record)]
    assert medians.count(None) == 1 and max(filter(None, medians)) < 5_000_000


@pytest.mark.long
def test_a_few_late_requests_in_a_bin_do_not_matter() -> None:
    record = late_ramp({50_000: 3_980, 5_000_000: 20}, [5_000_000] * STEPS, [{4_900_000: 100}] * STEPS)
    assert engine_limits.late_throughout(record) is None
