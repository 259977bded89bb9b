"""Load shapes: what a study writes, converted for the engine and the measured time."""

import pytest
from crumple import contract
from crumple.contract import RateSpec
from crumple.study.study_load import ClosedShape, OpenShape, RampShape, merged
from hypothesis import given
from hypothesis import strategies as st


def test_a_closed_shape_is_passed_on_unchanged() -> None:
    written = ClosedShape(connections=8, pause_ms=5, pause="exponential")
    assert written.drawn(3.0) == contract.ClosedShapeSpec(connections=8, pause_ms=5, pause="exponential")
    assert written.most == 8


def test_a_ramp_rises_over_the_measured_phase_unless_it_has_a_duration() -> None:
    written = RampShape.model_validate({"kind": "ramp", "from": 0, "to": 500, "pause_ms": 1000})
    told = contract.RampShapeSpec(from_connections=0, to_connections=500, over_s=40, pause_ms=1000)
    assert written.drawn(40.0) == told and written.most == 500
    assert written.model_copy(update={"over_s": 30.0}).drawn(40.0).over_s == 30


def test_a_ramp_reads_back_as_it_was_written() -> None:
    written = RampShape.model_validate({"kind": "ramp", "from": 3, "to": 9})
    assert written.model_dump()["from"] == 3
    assert RampShape.model_validate_json(written.model_dump_json()) == written


def test_an_open_shape_keeps_its_rate_or_rises() -> None:
    flat = OpenShape(kind="open", rate_per_s=100, connections=50, arrivals="even")
    rates = (RateSpec(from_per_s=100, to_per_s=100, duration_s=10),)
    assert flat.drawn(10) == contract.OpenShapeSpec(connections=50, arrivals="even", rates=rates)
    rising = OpenShape(kind="open", rate_per_s=100, to_per_s=200)
    assert rising.drawn(10).rates == (RateSpec(from_per_s=100, to_per_s=200, duration_s=10),)


@pytest.mark.long
@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=20), st.floats(0.1, 3600))
def test_steps_share_the_measured_phase(steps: list[float], measured_s: float) -> None:
    rates = OpenShape(kind="open", steps_per_s=tuple(steps)).drawn(measured_s).rates
    assert [rate.from_per_s for rate in rates] == [rate.to_per_s for rate in rates] == steps
    assert sum(rate.duration_s for rate in rates) == pytest.approx(measured_s)


@pytest.mark.parametrize(
    ("shape", "changes", "meant"),
    [
        ({"kind": "ramp", "to": 9}, {"over_s": 4}, {"kind": "ramp", "to": 9, "over_s": 4}),
        ({"kind": "ramp", "to": 9}, {"kind": "ramp", "to": 4}, {"kind": "ramp", "to": 4}),
        ({"kind": "closed", "connections": 9}, {"kind": "open"}, {"kind": "open"}),
        ({"connections": 9}, {"connections": 4}, {"connections": 4}),
        ("nonsense", {"over_s": 4}, {"over_s": 4}),
        ({"kind": "ramp"}, 3, 3),
    ],
)
def test_a_scales_values_replace_those_of_the_shape(shape: object, changes: object, meant: object) -> None:
    assert merged(shape, changes) == meant
