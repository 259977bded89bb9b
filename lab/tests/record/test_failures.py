"""Reports state how requests failed where more than one in a hundred did."""

import documents
import pytest
from crumple import contract
from crumple.record import failures


def failing(statuses: dict[int, int], expected: int | None = 200, **failed: int) -> contract.TrialRecord:
    outcomes = documents.outcomes(ok=500, **failed)
    request = documents.request()
    expect = request.expect.model_copy(update={"status": expected})
    spec = documents.spec(requests=(request.model_copy(update={"expect": expect}),))
    seen = documents.request_record(statuses=statuses, outcomes=outcomes)
    return documents.record(spec=spec, scheduled=outcomes.total, outcomes=outcomes, requests=(seen,))


def test_failures_are_named_by_kind_and_status() -> None:
    said = failures.sentence(failing({200: 500, 500: 30, 502: 10}, wrong_status=40, timeout=60))
    assert said == (
        "17% of the requests failed (timeout 60, wrong-status 40 (500 × 30, 502 × 10)): "
        "all times are of the others"
    )


def test_only_the_most_frequent_of_many_statuses_are_named() -> None:
    assert failures.statuses(failing({200: 500, 500: 4, 501: 3, 502: 2, 503: 1})) == (
        "500 × 4, 501 × 3, 502 × 2, …"
    )


def test_if_any_2xx_is_expected_no_2xx_is_named() -> None:
    assert failures.statuses(failing({200: 400, 204: 100, 302: 7}, expected=None)) == "302 × 7"
    assert failures.statuses(failing({200: 400, 204: 100}, expected=204)) == "200 × 400"


@pytest.mark.parametrize(("failed", "said"), [(5, False), (6, True)])
def test_one_failure_in_a_hundred_is_not_reported(failed: int, said: bool) -> None:
    # 5 of 505 are under 1 %, 6 of 506 above.
    assert bool(failures.sentence(failing({200: 500}, reset=failed))) is said


@pytest.mark.parametrize(("failed", "said"), [(99_500, "99.5"), (99_500_000, "above 99.99")])
def test_only_if_all_requests_fail_all_of_them_are_said_to(failed: int, said: str) -> None:
    assert failures.describe_failed(failing({200: 500}, reset=failed)).startswith(f"{said}% of the requests")
