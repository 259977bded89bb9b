"""A trial's load is split into turns: parts of its warm-up, then slices."""

import documents
import pytest
from crumple import contract
from crumple.contract import DurationStopSpec, RequestsStopSpec, TrialSpec
from crumple.run import slices
from crumple.run.slices import Turns


def _whole(warm_up_s: float | None = 1.2, connections: int | None = None) -> TrialSpec:
    warm_up = warm_up_s and contract.WarmUpSpec(
        connections=connections, pauses=True, stop=DurationStopSpec(duration_s=warm_up_s)
    )
    return documents.record().spec.model_copy(
        update={
            "stop": DurationStopSpec(duration_s=1.2),
            "warm_up": warm_up or None,
            "shape": contract.ClosedShapeSpec(connections=8),
        }
    )


def test_each_slice_is_rewarmed_for_a_time_of_its_own() -> None:
    spec = slices.in_turns(_whole(), Turns(0, 4))
    assert [turn.measured_s for turn in spec.turns] == [pytest.approx(0.3)] * 4
    rewarm = [turn.warm_up_s for turn in spec.turns]
    low, high = slices.REWARM_S
    assert len(set(rewarm)) == 4 and all(low <= each <= high for each in rewarm)
    assert slices.in_turns(_whole(), Turns(0, 4)) == spec, "the seed's"


def test_the_longest_warm_up_says_how_many_parts_all_have() -> None:
    assert slices.turns([3.0, 20.0, 1.0], 5) == Turns(20, 5)
    assert slices.turns([0.3], 5) == Turns(1, 5)
    assert slices.turns([], 5) == Turns(0, 5)


def test_the_parts_of_a_warm_up_last_as_long_as_it() -> None:
    spec = slices.in_turns(_whole(1.2, connections=3), Turns(6, 4))
    assert [turn.warm_up_s for turn in spec.turns[:6]] == [pytest.approx(0.2)] * 6
    assert [turn.measured_s > 0 for turn in spec.turns] == [False] * 6 + [True] * 4
    assert spec.warm_up is not None and spec.warm_up.connections == 3
    # It goes on until the first slice is measured.
    assert spec.warm_up.stop == DurationStopSpec(duration_s=round(1.2 + spec.turns[6].warm_up_s, 4))
    assert spec.stop == DurationStopSpec(duration_s=1.2)


def test_a_short_warm_up_is_not_split_into_parts_that_only_connect() -> None:
    parts = slices.in_turns(_whole(0.8), Turns(20, 4)).turns[:20]
    assert [turn.warm_up_s for turn in parts] == [slices.WARM_UP_PART_MIN_S] * 20
    assert len(slices.in_turns(_whole(None), Turns(20, 4)).turns) == 4


def test_a_load_that_its_requests_end_cannot_be_split() -> None:
    stop = RequestsStopSpec(requests=9, within_s=1)
    with pytest.raises(ValueError, match="number of requests"):
        slices.in_turns(_whole().model_copy(update={"stop": stop}), Turns(0, 2))
    warm_up = contract.WarmUpSpec(connections=None, pauses=True, stop=stop)
    with pytest.raises(ValueError, match="number of requests"):
        slices.in_turns(_whole().model_copy(update={"warm_up": warm_up}), Turns(1, 2))
