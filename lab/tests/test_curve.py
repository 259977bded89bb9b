"""A ramp's record as a curve: known readings in each bin, quantiles from merged histograms."""

from dataclasses import replace

import documents
import made_figures
import pytest
from crumple import contract
from crumple.contract import Samples, TrialRecord
from crumple.record.curve import Point, between, curve, sound, timed, users_knee
from crumple.record.figures import figures

SECOND = 1_000_000_000
STEPS = 40
WARM_UP = 4


def ramp(**changes: object) -> TrialRecord:
    """40 s in steps of one: 4 s of warm-up, then ten more connections with each second."""
    at_ns = tuple(step * SECOND for step in range(STEPS + WARM_UP))
    connections = tuple(10 * max(1, step - WARM_UP + 1) for step in range(STEPS + WARM_UP))
    slow = [1_000_000 * (1 + step // 10) for step in range(STEPS)]
    flat = (0,) * len(at_ns)
    series = documents.record().series.model_copy(
        update={
            "interval_ms": 1_000, "at_ns": at_ns, "duration_ns": (SECOND,) * len(at_ns),
            "phase": ("warm-up",) * WARM_UP + ("measured",) * STEPS, "ok": (100,) * len(at_ns),
            "failed": (0,) * (WARM_UP + 30) + (100,) * 10, "connections": connections, "scheduled": flat,
            "p50_ns": flat, "p99_ns": flat, "max_ns": flat, "engine_late_p99_ns": flat,
        }
    )  # fmt: skip
    samples = Samples(
        at_ns=at_ns, late_ns=flat, cpu_user_ns=tuple(each // 4 for each in at_ns),
        cpu_kernel_ns=tuple(each // 4 for each in at_ns),
        rss_bytes=tuple(1_000 * each for each in connections),
        pss_bytes=(None,) * len(at_ns), processes=tuple(connections), threads=flat,
        voluntary_switches=flat, involuntary_switches=flat,
    )  # fmt: skip
    plain = documents.record()
    assert plain.probes.server is not None
    server = plain.probes.server.model_copy(update={"samples": samples})
    log = contract.Log(
        interval_ms=1_000,
        at_ns=tuple(step * SECOND for step in range(STEPS)),
        duration_ns=(SECOND,) * STEPS,
        response_time=tuple(documents.histogram({ns: 60, 4 * ns: 40}).encoded for ns in slow),
    )
    shape = contract.RampShape(from_connections=10, to_connections=400, over_s=40.0)
    return plain.model_copy(
        update={
            "spec": documents.spec(shape=shape), "warm_up_ns": WARM_UP * SECOND,
            "measured_ns": STEPS * SECOND, "series": series, "log": log,
            "probes": plain.probes.model_copy(update={"server": server}),
        } | changes
    )  # fmt: skip


def test_bins_hold_what_was_read_in_them() -> None:
    points = curve(ramp(), bins=4)
    assert [point.connections for point in points] == [58.75, 156.25, 253.75, 351.25]
    assert [point.ok for point in points] == [1_000] * 4
    assert [point.throughput_per_s for point in points] == [100] * 4
    assert [point.quantile_ns(0.5) for point in points] == pytest.approx([1e6, 2e6, 3e6, 4e6], rel=1e-3)
    assert [point.quantile_ns(0.9) for point in points] == pytest.approx([4e6, 8e6, 12e6, 16e6], rel=1e-3)
    assert [point.cores_busy for point in points] == pytest.approx([0.5] * 4)
    assert [point.processes for point in points] == [110, 210, 310, 400]
    assert [point.memory_bytes for point in points] == [110_000, 210_000, 310_000, 400_000]


def test_users_who_are_not_connected_count_all_the_same() -> None:
    few = ramp()
    series = few.series.model_copy(update={"connections": (1,) * (STEPS + WARM_UP)})
    points = curve(few.model_copy(update={"series": series}), bins=4)
    assert [point.connections for point in points] == [58.75, 156.25, 253.75, 351.25]


def test_there_are_no_more_bins_than_histograms() -> None:
    assert len(curve(ramp(), bins=100)) == STEPS
    assert all(point.times.count for point in curve(ramp(), bins=100))


def test_memory_is_proportional_throughout_or_not_at_all() -> None:
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


def test_a_part_of_it_is_one_point_with_merged_quantiles() -> None:
    points = curve(ramp(), bins=4)
    part = between(points, 100, 300)
    assert part is not None
    assert (part.ok, part.connections, part.seconds) == (2_000, 205, 20)
    # Of 2 and 3 ms half each and 8 and 12 ms behind them, six in ten lie at 3 ms or below.
    assert part.quantile_ns(0.5) == pytest.approx(3e6, rel=1e-3)
    assert between(points, 600, 700) is None


def test_a_part_it_did_not_go_through_is_none() -> None:
    points = curve(ramp(), bins=30)
    assert between(points, 10, 400) is not None
    assert between(points, 100, 440) is None


def made(failed: dict[int, int]) -> tuple[Point, ...]:
    """60 answers a bin, rounds of a second, and so many failures in the bins at these numbers of users."""
    known = made_figures.curve(lambda users: 1e6, users=range(20, 601, 20))
    return tuple(
        replace(p, ok=60, seconds=1.0, waiting=1.0, pause_s=1.0, failed=failed.get(round(p.connections), 0))
        for p in known
    )


def test_one_failed_request_is_no_end_and_failures_that_last_are() -> None:
    assert users_knee(made({120: 1})) is None
    assert len(sound(made({120: 30}))) == 30, "they do not go on"
    lasting = made(dict.fromkeys(range(320, 601, 20), 20))
    found = users_knee(lasting)
    assert found is not None and found.between == (300, 320)
    last = made({600: 30})
    assert len(sound(last)) == len(last) - 1


def test_a_rise_that_nobody_notices_does_not_hide_failures() -> None:
    rising = [
        replace(p, waiting=1.0 + max(0.0, p.connections - 100) / 220 * 4.2)
        for p in made(dict.fromkeys(range(340, 601, 20), 60))
    ]
    found = users_knee(tuple(rising))
    assert found is not None and found.between == (320, 340)


def test_rounds_are_timed_as_far_as_the_curve_is_sound() -> None:
    assert timed(made({}))[-1][0] == 600
    assert timed(made(dict.fromkeys(range(320, 601, 20), 20)))[-1][0] == 300
    assert timed(made({120: 30}))[-1][0] == 600
    assert 120 not in dict(timed(made({120: 30})))


def test_other_shapes_have_no_curve() -> None:
    assert curve(documents.record()) == ()
    assert curve(ramp(measured_ns=0)) == ()


def test_too_few_samples_have_no_quantile() -> None:
    assert curve(ramp(), bins=4)[0].quantile_ns(0.999) is None


def test_without_the_servers_probe_its_part_is_unknown() -> None:
    record = ramp()
    blind = record.model_copy(update={"probes": record.probes.model_copy(update={"server": None})})
    point = curve(blind, bins=4)[0]
    assert point.cores_busy is point.memory_bytes is point.processes is point.threads is None
    assert point.quantile_ns(0.5) is not None


def test_figures_bring_the_curve() -> None:
    none = documents.histogram({})
    record = ramp(histograms=documents.record().histograms.model_copy(update={"response_time": none}))
    seen = figures(documents.stored(record=record))
    assert seen is not None
    assert len(seen.curve) == 30
    assert seen.connections == pytest.approx(205)
