"""A window in which the server still grew is distinguished from one that is only noisy."""

from collections.abc import Sequence
from itertools import pairwise

import documents
import numpy as np
import pytest
import synthetic_run
from crumple import contract
from crumple.record import growth, validity
from crumple.record.growth import Growth
from crumple.run.report import curves
from crumple.run.report.view import view
from crumple.run.store import StoredTrial

STEP_NS = 100_000_000


def record(
    rates: Sequence[float] = (),
    warming: int = 10,
    *,
    processes: Sequence[int] = (),
    threads: Sequence[int] = (),
    **changes: object,
) -> contract.TrialRecord:
    """A record with a second of warm-up, in steps of a tenth of a second; `rates`: answers per step."""
    steps = max(len(rates), len(processes), len(threads))
    series = documents.record().series.model_copy(
        update={
            "at_ns": tuple(STEP_NS * step for step in range(len(rates))),
            "duration_ns": (STEP_NS,) * len(rates),
            "phase": (("warm-up",) * warming + ("measured",) * steps)[: len(rates)],
            "ok": tuple(round(rate) for rate in rates),
        }
    )
    plain = documents.probe(cpu_share=0.9)
    samples = plain.samples.model_copy(
        update={
            "at_ns": tuple(STEP_NS * step for step in range(steps)),
            "processes": tuple(processes) or (1,) * steps,
            "threads": tuple(threads) or (5,) * steps,
        }
    )
    probes = documents.record().probes.model_copy(
        update={"server": plain.model_copy(update={"samples": samples})}
    )
    update = {
        "series": series, "probes": probes, "warm_up_ns": warming * STEP_NS,
        "measured_ns": (steps - warming) * STEP_NS,
    }  # fmt: skip
    return documents.record(**{**update, **changes})


FORKING = [6] * 10 + [14, 14, 15, 16, 18, 18, 18, 19, 22, 22, 22, 22, 24, 26, 26, 26, 29, 29, 29, 29]


def test_processes_forked_during_the_measurement_are_named() -> None:
    forking = record(processes=FORKING)
    assert growth.growth(forking) == Growth("processes", 15, 29)
    said = "processes grew from 15 to 29 while measured: longer warm-up, or start_workers"
    assert growth.growth_sentence(forking, {"workers": 32, "start_workers": 5}) == said
    assert growth.growth_sentence(forking) == said.removesuffix(", or start_workers")
    judged = validity.assess(forking, unsteady=said)
    assert judged.word == "unsteady" or said in judged.problems


def test_threads_started_during_the_measurement_are_named() -> None:
    pool = [20] * 10 + [20 + step * 2 for step in range(20)]
    assert growth.growth(record(threads=pool)) == Growth("threads", 24, 54)


@pytest.mark.parametrize(
    ("processes", "threads"),
    [
        ([6] * 10 + [29] * 20, ()),  # it had grown before measuring began
        ([29] * 10 + [29] * 10 + [14] * 10, ()),
        ([1] * 30, [11] * 20 + [13] * 10),  # threads that a runtime starts for itself
        ([100] * 15 + [101] * 15, ()),
        ([1] * 30, [5 + 30 * (step % 2) for step in range(30)]),  # a thread for each connection
        ([6] * 10 + [14, 29], ()),  # too few readings
    ],
)
def test_a_count_that_is_constant_or_fluctuates_is_no_growth(
    processes: list[int], threads: list[int]
) -> None:
    assert growth.growth(record(processes=processes, threads=threads)) is None


def rising(noise: float = 0.03, seed: int = 1) -> list[float]:
    random = np.random.default_rng(seed)
    return list(np.linspace(400, 2_000, 30) * np.exp(random.normal(0, noise, 30)))


def test_rows_of_several_intervals_count_for_as_many() -> None:
    plain = record(rising())
    # Two thirds of the rows are of one interval, the others of two.
    rows = list(pairwise([*range(20), *range(20, 31, 2)]))
    merged = plain.series.model_copy(
        update={
            "at_ns": tuple(STEP_NS * begin for begin, _ in rows),
            "duration_ns": tuple(STEP_NS * (end - begin) for begin, end in rows),
            "phase": tuple(plain.series.phase[begin] for begin, _ in rows),
            "ok": tuple(sum(plain.series.ok[begin:end]) for begin, end in rows),
        }
    )
    fine = growth.growth(plain)
    coarse = growth.growth(plain.model_copy(update={"series": merged}))
    assert fine is not None and coarse is not None
    assert (coarse.before, coarse.after) == pytest.approx((fine.before, fine.after), rel=0.02)


def test_throughput_that_keeps_rising_is_named() -> None:
    grown = growth.growth(record(rising()))
    assert grown is not None and grown.what == "throughput"
    assert grown.before == pytest.approx(9_500, rel=0.1) and grown.after == pytest.approx(20_000, rel=0.1)
    said = growth.growth_sentence(record(rising()))
    assert said.startswith("throughput rose from ") and said.endswith("end of the warm-up: longer warm-up")


@pytest.mark.long
def test_rising_throughput_is_found_in_most_series() -> None:
    found = [growth.growth(record(rising(seed=seed))) is not None for seed in range(200)]
    assert sum(found) >= 190


def test_what_rises_only_while_measuring_does_not_continue_the_warm_up() -> None:
    rates = [3_000.0] * 10 + rising()[10:]
    assert growth.growth(record(rates)) is None


@pytest.mark.parametrize(
    "shape",
    [
        contract.RampShapeSpec(from_connections=1, to_connections=50, over_s=2.0),
        contract.OpenShapeSpec(
            connections=8, rates=(contract.RateSpec(from_per_s=10.0, to_per_s=90.0, duration_s=2.0),)
        ),
    ],
)
def test_under_a_rising_load_the_server_may_grow(shape: contract.ShapeSpec) -> None:
    assert growth.growth(record(rising(), processes=FORKING, spec=documents.spec(shape=shape))) is None


def test_an_even_rate_asks_for_no_more_processes() -> None:
    rate = contract.RateSpec(from_per_s=50.0, to_per_s=50.0, duration_s=2.0)
    even = documents.spec(shape=contract.OpenShapeSpec(connections=8, rates=(rate,)))
    assert growth.growth(record(processes=FORKING, spec=even)) is not None
    assert growth.growth(record(rising(), spec=even)) is None, "its throughput is the schedule's"


@pytest.mark.parametrize("warming", range(1, 6))
@pytest.mark.parametrize("steps", range(9, 24))
def test_a_short_warm_up_or_window_may_be_too_short_to_judge(warming: int, steps: int) -> None:
    rates = [1_000.0 * 1.2**step for step in range(steps)]
    grown = growth.growth(record(rates, warming))
    assert grown is None or grown.what == "throughput"


def test_without_a_warm_up_growth_is_not_checked() -> None:
    cold = documents.spec(warm_up=None)
    assert growth.growth(record(rising(), processes=FORKING, spec=cold)) is None


def like_neighbours(random: np.random.Generator, number: int, alike: float, spread: float) -> np.ndarray:
    noise = random.normal(0, 1, number)
    for step in range(1, number):
        noise[step] = alike * noise[step - 1] + np.sqrt(1 - alike**2) * noise[step]
    return 1_000 * np.exp(spread * noise)


@pytest.mark.long
@pytest.mark.parametrize("measured", [10, 20, 100])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("spread", [0.05, 0.2, 0.5])
def test_less_than_two_in_a_hundred_steady_series_are_taken_for_growth(
    measured: int, alike: float, spread: float
) -> None:
    random = np.random.default_rng(measured + round(10 * alike + 100 * spread))
    alarms = sum(
        growth.growth(record(list(like_neighbours(random, 10 + measured, alike, spread)))) is not None
        for _ in range(500)
    )
    assert alarms < 10


@pytest.mark.long
@pytest.mark.parametrize("each", [1, 5, 50])
def test_less_than_two_in_a_hundred_steady_counts_are_taken_for_growth(each: int) -> None:
    random = np.random.default_rng(each)
    alarms = sum(growth.growth(record(list(random.poisson(each, 30)))) is not None for _ in range(500))
    assert alarms < 10


def test_charts_name_the_starts_that_still_grew() -> None:
    made = synthetic_run.trials()
    shown = view(synthetic_run.run_file(), [_forking(each) for each in made]).experiments[0]
    said = {row.name: curves.steady(row) for row in shown.servers}
    assert said["node-http"] == "still grew in 3 of 3"
    assert said["go-nethttp"] == "steady while measured"


@pytest.mark.parametrize(
    ("last", "said"),
    [(1.0, "steady while measured"), (0.5, "not steady in 3 of 3"), (0.0, "not steady in 3 of 3")],
)
def test_a_chart_calls_steady_only_what_is_drawn_level(last: float, said: str) -> None:
    made = [_falling(each, last) for each in synthetic_run.trials()]
    shown = view(synthetic_run.run_file(), made).experiments[0]
    assert {row.name: curves.steady(row) for row in shown.servers}["go-nethttp"] == said


def _falling(trial: StoredTrial, last: float) -> StoredTrial:
    """Return a trial whose throughput falls from the beginning to the end of the measured time."""
    if trial.record is None:
        return trial
    series = trial.record.series
    falls = np.interp(range(len(series.ok)), [15, len(series.ok) - 1], [1.0, last])
    ok = tuple(round(each * by) for each, by in zip(series.ok, falls, strict=True))
    changed = {"series": series.model_copy(update={"ok": ok})}
    return trial.model_copy(update={"record": trial.record.model_copy(update=changed)})


def _forking(trial: StoredTrial) -> StoredTrial:
    if trial.trial.server != "node-http" or trial.record is None:
        return trial
    probe = trial.record.probes.server
    assert probe is not None
    steps = len(probe.samples.at_ns)
    samples = probe.samples.model_copy(update={"processes": tuple(range(1, steps + 1))})
    probes = trial.record.probes.model_copy(update={"server": probe.model_copy(update={"samples": samples})})
    return trial.model_copy(update={"record": trial.record.model_copy(update={"probes": probes})})
