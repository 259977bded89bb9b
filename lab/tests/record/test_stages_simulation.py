"""How often the intervals of stages hold the truth: a simulated pool, and windows of few batches."""

import math

import documents
import numpy as np
import pytest
from crumple import contract
from crumple.record import stages
from crumple.record.stages import Budget, NoBudget
from made_stages import MS, WARM_UP_NS, readings, record

# A pool of four, asked by thirty users who think for 100 ms on average; it serves for 20 ms on average.
USERS, POOL, THINK_S, SERVE_S, LASTS_S = 30, 4, 0.1, 0.02, 10.0


def pool_truth_ms() -> dict[str, float]:
    """The mean times in the queue and in the pool, by the balance of births and deaths."""
    weights = [1.0]
    for there in range(USERS):
        arrive = (USERS - there) / THINK_S
        weights.append(weights[-1] * arrive / (min(there + 1, POOL) / SERVE_S))
    shares = np.array(weights) / sum(weights)
    inside = sum(share * min(there, POOL) for there, share in enumerate(shares))
    waiting = sum(share * max(0, there - POOL) for there, share in enumerate(shares))
    per_s = inside / SERVE_S
    return {"inside": inside / per_s * 1e3, "unread": waiting / per_s * 1e3}


def pool_run(seed: int) -> contract.TrialRecord:
    """A load of ten seconds on the pool, read at random times, with at most eight requests drawn."""
    rng = np.random.default_rng(seed)
    there, now_s, ended, spent_s = USERS // 2, -1.0, 0, 0.0
    next_s = 0.0
    rows: list[dict[str, int]] = []
    in_flight: list[int] = []
    at_ns: list[int] = []
    answers = [0] * round(LASTS_S * 10)
    while now_s < LASTS_S:
        arrive, leave = (USERS - there) / THINK_S, min(there, POOL) / SERVE_S
        until_s = now_s + rng.exponential(1 / (arrive + leave))
        while next_s < min(until_s, LASTS_S):
            drawn = min(there, 8)
            inside = int(rng.hypergeometric(min(there, POOL), max(0, there - POOL), drawn)) if drawn else 0
            rows.append({"inside": inside, "unread": drawn - inside})
            in_flight.append(there)
            at_ns.append(WARM_UP_NS + int(next_s * 1e9))
            next_s += 0.02 + rng.exponential(0.047)
        spent_s += there * max(0.0, min(until_s, LASTS_S) - max(0.0, now_s))
        is_arrival = rng.random() < arrive / (arrive + leave)
        if not is_arrival and 0.0 < until_s < LASTS_S:
            ended += 1
            answers[int(until_s * 10)] += 1
        there += 1 if is_arrival else -1
        now_s = until_s
    times = contract.HistogramRecord(
        count=ended, min_ns=1, mean_ns=spent_s / ended * 1e9, max_ns=10**9, encoded="HISTFAAA"
    )
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    series = documents.record().series.model_copy(
        update={
            "at_ns": tuple(WARM_UP_NS + 100 * MS * row for row in range(len(answers))),
            "duration_ns": (100 * MS,) * len(answers),
            "ok": tuple(answers),
            "failed": (0,) * len(answers),
        }
    )
    return record(
        readings(rows, at_ns, in_flight),
        series=series,
        outcomes=documents.outcomes(ok=ended),
        histograms=histograms,
        measured_ns=int(LASTS_S * 1e9),
    )


@pytest.mark.long
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    truth, runs = pool_truth_ms(), 200
    held = dict.fromkeys(truth, 0)
    means: dict[str, list[float]] = {name: [] for name in truth}
    for seed in range(runs):
        found = stages.budget(pool_run(seed))
        assert isinstance(found, Budget), found
        for name, true_ms in truth.items():
            part = next(part for part in found.parts if part.name == name)
            held[name] += part.low_ns <= true_ms * MS <= part.high_ns
            means[name].append(part.mean_ns / MS)
    # Of 200 intervals of 95 %, 181 or more hold the truth in all but one case of a thousand.
    assert min(held.values()) >= 181, held
    for name, true_ms in truth.items():
        error_ms = np.std(means[name]) / math.sqrt(runs)
        assert abs(np.mean(means[name]) - true_ms) < 4 * error_ms, (name, true_ms, np.mean(means[name]))


def test_a_window_of_few_batches_has_a_budget_only_if_its_mean_agrees() -> None:
    window = {"measured_ns": 1_000_000_000}
    # 20,000 requests of 3.2 ms in a second: 64 are in flight.
    right = record(readings([{"inside": 64}] * 20, _within_ms(1_000, 20)), **window)
    assert isinstance(stages.budget(right), NoBudget), "for want of readings"
    assert isinstance(stages.budget(right, readings_min=5, batches_min=0), Budget)
    piled = record(readings([{"inside": 8, "unread": 120}] * 20, _within_ms(1_000, 20)), **window)
    found = stages.budget(piled, readings_min=5, batches_min=0)
    assert isinstance(found, NoBudget) and found.why.startswith("requests pile up")


def _within_ms(long_ms: int, number: int) -> list[int]:
    """Instants evenly over a window of that length."""
    return [WARM_UP_NS + long_ms * MS * row // number for row in range(number)]
