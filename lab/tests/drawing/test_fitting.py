"""How a shape is reduced to what the machine can carry: open files, ports, and the sentence that says so."""

import pytest
from crumple import contract
from crumple.contract import ClosedShapeSpec, OpenShapeSpec, RampShapeSpec, RateSpec
from crumple.machine import capacity
from crumple.machine.capacity import Limits
from hypothesis import given
from hypothesis import strategies as st

ROOMY = Limits(open_files=1_048_576, ports=28_232)


def test_a_shape_that_fits_is_not_changed() -> None:
    for shape in (
        ClosedShapeSpec(connections=32),
        RampShapeSpec(from_connections=0, to_connections=500, over_s=40),
        OpenShapeSpec(connections=1_000, rates=(RateSpec(from_per_s=1, to_per_s=1, duration_s=1),)),
    ):
        assert capacity.fitted(shape, ROOMY) == capacity.FittedShape(shape)


def test_too_few_open_files_are_reported_with_the_reduced_load() -> None:
    found = capacity.fitted(ClosedShapeSpec(connections=20_000), Limits(open_files=10_128, ports=28_232))
    assert found.shape == ClosedShapeSpec(connections=10_000)
    assert found.less == (
        "10,000 of the 20,000 connections asked for: no more than 10,128 files may be open here; "
        "raise the hard limit: ulimit -Hn 20128, as root"
    )


def test_the_limit_of_an_open_shape_is_lowered_silently() -> None:
    rates = (RateSpec(from_per_s=1, to_per_s=1, duration_s=1),)
    found = capacity.fitted(OpenShapeSpec(connections=1_000, rates=rates), Limits(open_files=628, ports=None))
    assert found == capacity.FittedShape(OpenShapeSpec(connections=500, rates=rates))


def test_a_ramp_keeps_its_steepness() -> None:
    ramp = RampShapeSpec(from_connections=0, to_connections=20_000, over_s=100)
    found = capacity.fitted(ramp, Limits(open_files=10_128, ports=28_232))
    assert found.shape == RampShapeSpec(from_connections=0, to_connections=10_000, over_s=50)
    assert found.less.startswith("10,000 of the 20,000")


@pytest.mark.parametrize(
    ("connections", "sources"),
    [(5_000, 0), (8_469, 0), (8_470, 2), (20_000, 3), (50_000, 6), (100_000, 12)],
)
def test_many_connections_come_from_several_addresses(connections: int, sources: int) -> None:
    found = capacity.fitted(ClosedShapeSpec(connections=connections), ROOMY)
    assert len(found.sources) == sources and found.less == ""
    assert all(source.startswith("127.0.0.") and source != "127.0.0.1" for source in found.sources)


@given(st.integers(1, 100_000), st.integers(1, 1_100_000), st.one_of(st.none(), st.integers(500, 64_000)))
def test_the_reduced_load_always_fits(connections: int, files: int, ports: int | None) -> None:
    found = capacity.fitted(ClosedShapeSpec(connections=connections), Limits(files, ports))
    assert isinstance(found.shape, contract.ClosedShapeSpec)
    held = found.shape.connections
    assert 1 <= held <= connections and (held == connections) == (not found.less)
    if ports is not None and held <= ports * 100:
        assert held <= max(1, len(found.sources)) * ports
