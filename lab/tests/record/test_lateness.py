"""The engine's own lateness: which quantiles of the response times it spoils, on both sides of each limit."""

from collections import Counter
from collections.abc import Mapping, Sequence

import documents
import numpy as np
import pytest
import synthetic_load
from crumple import contract
from crumple.gate.condition import State
from crumple.load import load_conditions, objective
from crumple.load.report import load_sentences
from crumple.load.report.load_figures import spread_of
from crumple.record import histogram, lateness, validity
from crumple.record.disturbance import Disturbance
from crumple.record.figures import figures
from hypothesis import example, given
from hypothesis import strategies as st

MS = 1_000_000
CALM = Disturbance(others_share=0.0, steal_share=0.0)
OPEN = contract.OpenShapeSpec(
    connections=32, rates=(contract.RateSpec(from_per_s=10_000, to_per_s=10_000, duration_s=2),)
)


def record(
    late_ns: Mapping[int, int], times_ns: Mapping[int, int], shape: contract.ShapeSpec = OPEN
) -> contract.TrialRecord:
    """A record with this lateness and these response times, each in ns → how often."""
    update = {
        "engine_lateness": documents.histogram(late_ns),
        "response_time": documents.histogram(times_ns),
    }
    histograms = documents.record().histograms.model_copy(update=update)
    return documents.record(spec=documents.spec(shape=shape), histograms=histograms)


def late(number: int, late_ns: int, response_ns: int, of: int = 20_000) -> contract.TrialRecord:
    """`number` of the requests were sent `late_ns` late; all answers took `response_ns`."""
    return record({20_000: of - number, late_ns: number}, {response_ns: of})


@pytest.mark.parametrize(
    ("response_ns", "late_ns", "missed"),
    [
        (3 * MS, MS * 9 // 10, False),  # less than a millisecond leaves no trial out
        (3 * MS, MS * 11 // 10, True),
        (250 * MS, 24 * MS, False),  # a tenth
        (250 * MS, 26 * MS, True),
    ],
)
def test_lateness_above_a_tenth_of_a_quantile_is_too_much(
    response_ns: int, late_ns: int, missed: bool
) -> None:
    assert bool(lateness.problem(late(20_000, late_ns, response_ns))) is missed


@pytest.mark.parametrize(("number", "missed"), [(99, False), (101, True)])
def test_half_of_the_requests_beyond_a_quantile_may_be_late(number: int, missed: bool) -> None:
    # Of 20,000 requests 200 take longer than the p99.
    assert bool(lateness.problem(late(number, 5 * MS, 10 * MS))) is missed


def test_the_lateness_is_reported_with_its_limit() -> None:
    said = lateness.problem(record({20_000: 19_000, 5 * MS: 1_000}, {3 * MS: 15_000, 10 * MS: 5_000}))
    assert said == (
        "the engine was late: 5% of the requests were sent more than 1 ms later than they could have been "
        "(limit 0.5%), so p99 of the response times is not the server's alone"
    )


def test_every_spoilt_quantile_is_named() -> None:
    said = lateness.problem(late(12_000, 30 * MS, 50 * MS))
    assert said is not None and "so p50, p75, p90 and p99 of the response times are not" in said


def test_a_median_may_be_spoilt_while_the_tail_is_not() -> None:
    slow_tail = {2 * MS: 12_000, 500 * MS: 8_000}
    said = lateness.problem(record({20_000: 10_000, 3 * MS: 10_000}, slow_tail))
    assert said is not None and "so p50 of the response times is not" in said


def test_only_quantiles_with_enough_answers_are_judged() -> None:
    assert lateness.problem(late(6, 5 * MS, 10 * MS, of=200)) is None, "p99 is not shown, p90 may have ten"
    assert "p90 of the" in (lateness.problem(late(11, 5 * MS, 10 * MS, of=200)) or "")
    assert lateness.problem(late(19, 5 * MS, 10 * MS, of=19)) is None, "nothing is shown"


def test_with_few_answers_all_requests_that_waited_are_judged() -> None:
    silent = record({20_000: 30, 900 * MS: 30}, {10 * MS: 4})
    left = documents.histogram({1_000 * MS: 56})
    waiting = silent.histograms.model_copy(update={"unfinished_age": left})
    assert lateness.problem(silent) is None
    assert lateness.problem(silent.model_copy(update={"histograms": waiting})) is not None


def test_with_an_objective_its_quantiles_decide() -> None:
    # Lateness of 8 ms is most of the time shown, but little compared with the limit of 250 ms.
    busy = late(2_000, 8 * MS, 10 * MS)
    assert lateness.problem(busy) is not None
    assert lateness.problem(busy, {0.99: 250 * MS}) is None
    assert lateness.problem(busy, {0.99: 70 * MS}) is not None


def test_lateness_far_from_the_objectives_limit_does_not_matter() -> None:
    broken = late(2_000, 8 * MS, 900 * MS)
    assert lateness.problem(broken, {0.99: 20 * MS}) is None


def test_a_quantile_of_the_objective_is_judged_even_if_it_is_not_shown() -> None:
    assert lateness.problem(late(3, 60 * MS, 90 * MS, of=300), {0.99: 250 * MS}) is not None
    assert lateness.problem(late(1, 60 * MS, 90 * MS, of=300), {0.99: 250 * MS}) is None


def test_the_longest_time_must_not_have_been_late() -> None:
    said = lateness.problem(late(1, 60 * MS, 90 * MS), {1.0: 250 * MS})
    assert said is not None and "so the longest of the response times is not" in said


def test_a_spoilt_tail_is_a_warning() -> None:
    spoilt = late(200, MS * 9 // 10, 3 * MS)
    assert lateness.problem(spoilt) is None
    said = lateness.warning(spoilt)
    assert said is not None and said.startswith("the engine was late at times: ")
    assert "p99 and p99.9 of the response times are not" in said
    busy = late(2_000, 8 * MS, 10 * MS)
    assert lateness.warning(busy) is None, "it is said already"
    assert "p90, p99 and p99.9" in (lateness.warning(busy, {0.99: 250 * MS}) or "")


def test_the_lateness_of_a_calm_machine_is_no_warning() -> None:
    assert lateness.warning(late(20_000, 95_000, 60_000)) is None


def test_a_load_shows_a_spoilt_tail_as_an_upper_bound_and_is_valid() -> None:
    busy = late(300, 8 * MS, 30 * MS)
    assert validity.assess(busy).word == "schedule-missed"
    judged = validity.assess(busy, bounds=True)
    assert judged.word == "valid" and judged.warnings[-1].startswith("the engine was late: 1.5% of the")
    assert (
        "so p99 of the response times is not the server's alone: at most what is shown" in judged.warnings[-1]
    )
    load = synthetic_load.load(busy, judged)
    assert load.times["response_time"].at_most == (0.99, 0.999)
    times = spread_of(busy.histograms.response_time, load.times["response_time"].at_most)
    shown = load_sentences.quantiles(times, (0.9, 0.99))
    assert shown[0].startswith("30.") and shown[1].startswith("≤30.")
    # Of a load that was late throughout no time is the server's own.
    assert validity.assess(late(12_000, 8 * MS, 30 * MS), bounds=True).word == "schedule-missed"


@pytest.mark.parametrize(
    ("term", "state"),
    [
        ("p99>50ms", "does not hold"),  # the time was no longer
        ("p99>20ms", "not known"),  # it may have been shorter
        ("p99<20ms", "not known"),
        ("p99<50ms", "holds"),
        ("p50>20ms", "holds"),  # it is the server's alone
        ("throughput>1", "holds"),
    ],
)
def test_a_condition_on_an_upper_bound_is_known_below_it(term: str, state: State) -> None:
    terms = objective.fail_if([term])
    busy = late(300, 8 * MS, 30 * MS)
    (found,) = load_conditions.outcomes(terms, busy, CALM)
    assert found.state == state
    assert found.why.startswith("the engine was late") is (state == "not known")


def test_a_load_whose_mean_includes_much_lateness_is_not_valid() -> None:
    # 0.4 % of the requests were 100 ms late: too few for the p99, and a third of the mean.
    times = {MS: 18_000, 13 * MS // 10: 1_920, 110 * MS: 80}
    busy = record({20_000: 19_920, 100 * MS: 80}, times)
    judged = validity.assess(busy, bounds=True)
    assert judged.word == "schedule-missed"
    assert "later than they could have been on average (limit 10% of the mean response time" in str(
        judged.problems
    )
    # The quantiles of a condition alone decide, if there are any.
    asked = objective.asked(objective.fail_if(["p50>50ms"]))
    assert validity.assess(busy, bounds=True, asked=asked).word == "valid"


@pytest.mark.parametrize(
    ("term", "state"),
    [
        ("mean>1.3ms", "not known"),
        ("mean<1.3ms", "not known"),
        ("mean>1ms", "holds"),
        ("mean>2ms", "does not hold"),
    ],
)
def test_a_condition_on_the_mean_is_not_known_within_the_lateness(term: str, state: State) -> None:
    # The mean shown is 1.47 ms, 0.42 of which are lateness.
    busy = record({20_000: 19_920, 100 * MS: 80}, {MS: 18_000, 13 * MS // 10: 1_920, 110 * MS: 80})
    terms = objective.fail_if([term])
    (found,) = load_conditions.outcomes(terms, busy, CALM)
    assert found.state == state
    assert found.why.startswith("the engine was late") is (state == "not known")


def test_a_kind_of_request_shows_its_own_bounds() -> None:
    # Of a heavy kind the lateness is a small part, of the light one most: its p99 alone is 1 ms.
    light = {MS: 1_920, 10 * MS: 80}
    busy = record({10_000: 19_920, 9 * MS: 80}, {**light, 100 * MS: 18_000})
    assert lateness.spoiled_quantiles(busy) == ()
    plain = busy.requests[0]
    kinds = tuple(
        plain.model_copy(update={"response_time": documents.histogram(times)})
        for times in (light, {100 * MS: 18_000})
    )
    spec = busy.spec.model_copy(update={"requests": busy.spec.requests[:1] * 2})
    load = synthetic_load.load(busy.model_copy(update={"requests": kinds, "spec": spec}))
    of_light, of_heavy = (request.response_time for request in load.requests)
    assert [each[0] for each in load_sentences.quantiles(of_light, (0.9, 0.99))] == ["1", "≤"]
    assert of_heavy.at_most == ()


def test_a_step_shows_its_own_bounds() -> None:
    load = synthetic_load.stepped()
    plain = load.record
    first = [row for row, at in enumerate(plain.series.at_ns) if at < (2 + 3) * 1_000 * MS]
    p99_ns = tuple(50 * MS if row in first else 0 for row in range(len(plain.series.at_ns)))
    histograms = plain.histograms.model_copy(
        update={"engine_lateness": documents.histogram({20_000: 31_900, 50 * MS: 100})}
    )
    series = plain.series.model_copy(update={"engine_late_p99_ns": p99_ns})
    busy = plain.model_copy(update={"histograms": histograms, "series": series})
    assert lateness.spoiled_quantiles(busy) == ()
    steps = synthetic_load.load(busy).steps
    assert 0.99 in steps[0].response_time.at_most
    assert 0.99 not in steps[2].response_time.at_most


def test_in_a_closed_shape_only_some_due_times_are_known_in_advance() -> None:
    closed = contract.ClosedShapeSpec(connections=32)
    # The first request of each user was late, and all others were sent as they became due.
    assert lateness.problem(record({30 * MS: 32}, {10 * MS: 20_000}, closed)) is None
    assert lateness.problem(record({30 * MS: 32}, {10 * MS: 2_000}, closed)) is not None


def test_without_known_due_times_there_is_no_lateness() -> None:
    assert lateness.problem(record({}, {10 * MS: 20_000})) is None
    assert lateness.warning(record({}, {10 * MS: 20_000})) is None


SERVED_MS = st.sampled_from([0.1, 1.0, 3.0, 20.0, 100.0, 800.0])
LATE_MS = st.sampled_from([0.0, 0.05, 0.5, 2.0, 9.0, 40.0, 300.0])


@pytest.mark.long
@given(
    st.lists(st.tuples(SERVED_MS, LATE_MS, st.integers(1, 400)), min_size=1, max_size=8),
    st.sampled_from(lateness.JUDGED),
)
# The late requests are not the slow ones, and move the p99.8 down to the p99.
@example([(1.0, 0.0, 9_890), (1.0, 40.0, 90), (20.0, 0.0, 20)], 0.99)
def test_a_valid_quantile_is_too_long_by_a_bounded_amount(
    requests: Sequence[tuple[float, float, int]], q: float
) -> None:
    """The bound of the rule: a tenth (or 1 ms) above the true quantile halfway from rank q to the end."""
    served, lates, all_ns = Counter[int](), Counter[int](), Counter[int]()
    for served_ms, late_ms, number in requests:
        served[round(served_ms * MS)] += number
        lates[round(late_ms * MS)] += number
        all_ns[round((served_ms + late_ms) * MS)] += number
    made = record(lates, all_ns)
    if not histogram.printable(q, sum(served.values())) or lateness.problem(made):
        return
    shown_ns = histogram.decode(made.histograms.response_time.encoded).quantile_ns(q)
    allowed_ns = max(MS, 0.1 * shown_ns)
    true_ns = np.sort(np.repeat(list(served), list(served.values())))
    halfway = true_ns[int(np.ceil((q + (1 - q) / 2) * len(true_ns))) - 1]
    # Buckets are a thousandth wide.
    assert shown_ns - allowed_ns <= halfway * 1.002 + 1


def test_a_spoilt_tail_leaves_the_median_and_the_mean() -> None:
    tail = late(160, 2 * MS, 3 * MS)
    assert lateness.problem(tail) and lateness.spoiled_quantiles(tail) == (0.99,)
    assert lateness.problem_of_all_figures(tail) is None


def test_a_spoilt_median_makes_the_trial_not_valid() -> None:
    half = late(11_000, 2 * MS, 3 * MS)
    assert 0.5 in lateness.spoiled_quantiles(half)
    assert lateness.problem_of_all_figures(half) == lateness.problem(half)


def test_a_mean_spoilt_by_few_long_delays_makes_the_trial_not_valid() -> None:
    few = late(160, 60 * MS, 3 * MS)
    assert lateness.spoiled_quantiles(few) == (0.99,)
    said = lateness.problem_of_all_figures(few)
    assert said is not None and "0.5 ms later" in said and "limit 10% of the mean response time, 3 ms" in said
    assert lateness.problem_of_all_figures(late(80, 60 * MS, 3 * MS)) is None


def test_figures_leave_out_spoilt_quantiles() -> None:
    stored = documents.stored(record=late(160, 2 * MS, 3 * MS))
    found = figures(stored)
    assert found is not None and 0.5 in found.response_ns and 0.99 not in found.response_ns
    sound = figures(documents.stored(record=late(90, 2 * MS, 3 * MS)))
    assert sound is not None and 0.99 in sound.response_ns


def test_a_study_counts_the_trial_and_names_the_figures_left_out() -> None:
    tail = late(160, 2 * MS, 3 * MS)
    of_a_load, of_a_study = (
        validity.assess(tail, placement="separate", server_cores=(), by_figure=each) for each in (False, True)
    )
    assert any("so p99 of the response times" in each for each in of_a_load.problems)
    assert not any("late" in each for each in of_a_study.problems)
    assert any("not the server's alone, and left out" in each for each in of_a_study.warnings)
