"""Load shapes as typed: what the flags mean together, and every combination that is refused."""

import re
from pathlib import Path
from typing import Any

import pytest
from crumple import contract
from crumple.contract import (
    ClosedShapeSpec,
    DurationStopSpec,
    OpenShapeSpec,
    RampShapeSpec,
    RateSpec,
    RequestsStopSpec,
)
from crumple.errors import UsageError
from crumple.load import load_shape, typed_values
from crumple.load.load_flags import ShapeFlags
from crumple.load.load_shape import MeantShape
from hypothesis import given
from hypothesis import strategies as st


def _course(**written: Any) -> MeantShape:
    return load_shape.shape_of(ShapeFlags(**written))


def _flat(per_s: float, duration_s: float) -> RateSpec:
    return RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=duration_s)


def _open(*rates: RateSpec, connections: int = 1_000, arrivals: Any = "poisson") -> OpenShapeSpec:
    return OpenShapeSpec(connections=connections, arrivals=arrivals, rates=rates)


@pytest.mark.parametrize(
    ("written", "shape", "stop"),
    [
        ({}, ClosedShapeSpec(connections=50), DurationStopSpec(duration_s=10)),
        (
            {"connections": 8, "duration": "2m"},
            ClosedShapeSpec(connections=8),
            DurationStopSpec(duration_s=120),
        ),
        ({"requests": 200}, ClosedShapeSpec(connections=50), RequestsStopSpec(requests=200, within_s=3_600)),
        ({"requests": 3}, ClosedShapeSpec(connections=3), RequestsStopSpec(requests=3, within_s=3_600)),
        (
            {"requests": 200, "duration": "5s", "connections": 200},
            ClosedShapeSpec(connections=200),
            RequestsStopSpec(requests=200, within_s=5),
        ),
        (
            {"pause": "100ms"},
            ClosedShapeSpec(connections=50, pause_ms=100, pause="fixed"),
            DurationStopSpec(duration_s=10),
        ),
        (
            {"pause": "~1.5s"},
            ClosedShapeSpec(connections=50, pause_ms=1_500, pause="exponential"),
            DurationStopSpec(duration_s=10),
        ),
        ({"rate": "5000"}, _open(_flat(5_000, 10)), DurationStopSpec(duration_s=10)),
        ({"rate": "1.5K"}, _open(_flat(1_500, 10)), DurationStopSpec(duration_s=10)),
        ({"duration": "1m 30s"}, ClosedShapeSpec(connections=50), DurationStopSpec(duration_s=90)),
        ({"steps": "1k,2k:30s"}, _open(_flat(1_000, 30), _flat(2_000, 30)), DurationStopSpec(duration_s=60)),
        (
            {"ramp": "1k-5k/s:1m"},
            _open(RateSpec(from_per_s=1_000, to_per_s=5_000, duration_s=60)),
            DurationStopSpec(duration_s=60),
        ),
        (
            {"rate": "0.5/s", "arrivals": "even", "connections": 4, "duration": "1m"},
            _open(_flat(0.5, 60), connections=4, arrivals="even"),
            DurationStopSpec(duration_s=60),
        ),
        (
            {"rate": "100", "requests": 50},
            _open(_flat(100, 3_600)),
            RequestsStopSpec(requests=50, within_s=3_600),
        ),
        (
            {"rate": "1", "requests": 3_000},
            _open(_flat(1, 6_000)),
            RequestsStopSpec(requests=3_000, within_s=6_000),
        ),
        (
            {"rate": "1", "requests": 80_000},
            _open(_flat(1, 86_400)),
            RequestsStopSpec(requests=80_000, within_s=86_400),
        ),
        (
            {"steps": "1000,2000,3000:30s"},
            _open(_flat(1_000, 30), _flat(2_000, 30), _flat(3_000, 30)),
            DurationStopSpec(duration_s=90),
        ),
        (
            {"steps": "1000:5s,2000,3000:10s,4000"},
            _open(_flat(1_000, 5), _flat(2_000, 10), _flat(3_000, 10), _flat(4_000, 10)),
            DurationStopSpec(duration_s=35),
        ),
        (
            {"steps": "1000:10s,2000,3000", "duration": "60s"},
            _open(_flat(1_000, 10), _flat(2_000, 25), _flat(3_000, 25)),
            DurationStopSpec(duration_s=60),
        ),
        (
            {"steps": "1000:20s, 500:10s", "duration": "30s"},
            _open(_flat(1_000, 20), _flat(500, 10)),
            DurationStopSpec(duration_s=30),
        ),
        (
            {"ramp": "0-500:5m"},
            RampShapeSpec(from_connections=0, to_connections=500, over_s=300),
            DurationStopSpec(duration_s=300),
        ),
        (
            {"ramp": "10-20", "duration": "30s", "pause": "~1s"},
            RampShapeSpec(
                from_connections=10, to_connections=20, over_s=30, pause_ms=1_000, pause="exponential"
            ),
            DurationStopSpec(duration_s=30),
        ),
        (
            {"ramp": "10-20:10s", "duration": "30s"},
            RampShapeSpec(from_connections=10, to_connections=20, over_s=10),
            DurationStopSpec(duration_s=30),
        ),
        (
            {"ramp": "1000-5000/s:1m", "connections": 64},
            _open(RateSpec(from_per_s=1_000, to_per_s=5_000, duration_s=60), connections=64),
            DurationStopSpec(duration_s=60),
        ),
        (
            {"ramp": "0.5/s - 2/s"},
            _open(RateSpec(from_per_s=0.5, to_per_s=2, duration_s=10)),
            DurationStopSpec(duration_s=10),
        ),
        (
            {"ramp": "0-50/s:10s", "duration": "1m"},
            _open(RateSpec(from_per_s=0, to_per_s=50, duration_s=10)),
            DurationStopSpec(duration_s=60),
        ),
    ],
)
def test_what_the_flags_mean(
    written: dict[str, Any], shape: contract.ShapeSpec, stop: DurationStopSpec | RequestsStopSpec
) -> None:
    assert _course(**written) == MeantShape(shape, stop)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ({"requests": 0}, "-n 0: that is too few; write 1 or more"),
        ({"connections": 0}, "-c 0: that is too few; write 1 or more"),
        ({"connections": -5, "rate": "5"}, "-c -5: that is too few; write 1 or more"),
        ({"connections": -5}, "-c -5: that is too few; write 1 or more"),
        ({"requests": -5}, "-n -5: that is too few; write 1 or more"),
        ({"requests": 2**64}, f"-n {2**64}: that is too many; write 1000000000000 or less"),
        ({"connections": 2**64, "rate": "5"}, f"-c {2**64}: that is too many; write 4000000 or less"),
        (
            {"requests": 5, "connections": 6},
            "-c 6 is more than the -n 5 requests there are; write -c 5 or less, or more requests",
        ),
        ({"requests": 10**12 + 1}, "-n 1000000000001: that is too many; write 1000000000000 or less"),
        ({"requests": 10**400, "rate": "5"}, f"-n {10**400}: that is too many; write 1000000000000 or less"),
        (
            {"connections": 4_000_001, "rate": "5"},
            "-c 4000001: that is too many; write 4000000 or less",
        ),
        ({"requests": -5, "connections": 6}, "-n -5: that is too few; write 1 or more"),
        ({"duration": "0"}, "-z 0: a duration is more than 0; write 30s, for instance"),
        ({"rate": "0"}, "--rate 0: at a rate of 0 nothing is sent; write 1 or more, or 0.1"),
        (
            {"rate": "1", "requests": 100_000},
            "-n 100,000 at --rate 1 lasts 100000 s, more than a day; make it 24h or less",
        ),
        (
            {"rate": "5", "steps": "5,6"},
            "--rate and --steps each set the rate or the users; keep one of them",
        ),
        (
            {"rate": "5", "ramp": "0-5"},
            "--rate and --ramp each set the rate or the users; keep one of them",
        ),
        (
            {"requests": 5, "steps": "5,6"},
            "-n would end --steps before its course is over; leave out -n, or --steps",
        ),
        (
            {"requests": 5, "ramp": "0-6"},
            "-n would end --ramp before its course is over; leave out -n, or --ramp",
        ),
        (
            {"arrivals": "even"},
            "--arrivals is about a rate, and there is none; add one, for instance --rate 1000",
        ),
        (
            {"arrivals": "even", "ramp": "0-5"},
            "--arrivals is about a rate, and there is none; add one, for instance --rate 1000",
        ),
        (
            {"arrivals": "bursty", "rate": "5"},
            "--arrivals bursty: arrivals are even or poisson; write --arrivals poisson",
        ),
        (
            {"pause": "1s", "rate": "5"},
            "--pause is for users who wait for an answer, and a rate waits for none; leave it out",
        ),
        (
            {"pause": "1s", "ramp": "1-5/s"},
            "--pause is for users who wait for an answer, and a rate waits for none; leave it out",
        ),
        ({"pause": "~"}, "--pause : that is no duration; write 30s, 2m or 500ms, for instance"),
        (
            {"connections": 5, "ramp": "0-5"},
            "-c and a --ramp of users both set the connections; leave out -c",
        ),
        ({"steps": "5,,6"}, "--steps has an empty step; write rates, for instance 1000,2000,3000:30s"),
        ({"steps": ""}, "--steps has an empty step; write rates, for instance 1000,2000,3000:30s"),
        ({"steps": "5,0"}, "--steps 0: at a rate of 0 nothing is sent; write 1 or more, or 0.1"),
        ({"steps": "5:x"}, "--steps x: that is no duration; write 30s, 2m or 500ms, for instance"),
        (
            {"steps": "5:10s,6:10s", "duration": "30s"},
            "--steps last 20 s, but -z says 30 s; leave out -z",
        ),
        (
            {"steps": "5:20h,6:20h"},
            "--steps lasts 144000 s, more than a day; make it 24h or less",
        ),
        (
            {"ramp": "500-0:5m"},
            "--ramp 500-0:5m: it runs backwards, from 500 down to 0; write --ramp 0-500",
        ),
        (
            {"ramp": "50-10/s"},
            "--ramp 50-10/s: it runs backwards, from 50 down to 10; write --ramp 10-50/s",
        ),
        ({"ramp": "5-5"}, "--ramp 5-5: it does not rise; write -c 5"),
        ({"ramp": "5-5/s"}, "--ramp 5-5/s: it does not rise; write --rate 5"),
        ({"ramp": "0-0"}, "--ramp 0-0: it does not rise; end it higher"),
        ({"ramp": "0-4000001"}, "--ramp 0-4000001: that is too many users; end it at 4000000 or less"),
        (
            {"ramp": f"0-1{'0' * 400}"},
            f"--ramp 0-1{'0' * 400}: that is too many users; end it at 4000000 or less",
        ),
        (
            {"ramp": f"1-1{'0' * 400}/s"},
            f"--ramp 1-1{'0' * 400}/s: that is too high a rate; write 10000000 or less",
        ),
        (
            {"ramp": "-5-5"},
            "--ramp -5-5: that is no ramp; write users as 0-500:5m, or rates as 1000-5000/s:1m",
        ),
        (
            {"ramp": "0.5-2"},
            "--ramp 0.5-2: there are no parts of users; write whole numbers, or rates: 0.5-2/s",
        ),
        (
            {"ramp": "up"},
            "--ramp up: that is no ramp; write users as 0-500:5m, or rates as 1000-5000/s:1m",
        ),
        (
            {"ramp": "0-5:1m", "duration": "30s"},
            "--ramp takes 60 s, but -z ends it after 30 s; leave out -z, or raise it",
        ),
    ],
)
def test_invalid_shapes_are_refused(written: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        _course(**written)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("SECONDS", typed_values.DURATION_MAX_S),
        ("REQUESTS", typed_values.REQUESTS_MAX),
        ("CONNECTIONS", typed_values.CONNECTIONS_MAX),
        ("THREADS", typed_values.THREADS_MAX),
        ("PER_S", typed_values.RATE_MAX_PER_S),
    ],
)
def test_the_limits_are_those_of_the_engine(name: str, most: float) -> None:
    bounds = (Path(__file__).parents[3] / "engine" / "src" / "bounds.rs").read_text(encoding="utf-8")
    found = re.search(rf"const {name}: .* = (.+)\.\.=(.+);", bounds)
    assert found is not None and float(found[2]) == most
    assert name != "PER_S" or float(found[1]) == typed_values.RATE_MIN_PER_S


def test_a_step_without_time_left_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves nothing for these; give them durations"):
        _course(steps="5:30s,6", duration="30s")


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        _course(requests=-1, connections=0, duration="x", rate="0", pause="y", arrivals="z")
    lines = str(caught.value).splitlines()
    flags = ("-n -1", "-c 0", "-z x", "--rate 0", "--pause y", "--pause is for users", "--arrivals z")
    assert len(lines) == len(flags)
    for flag in flags:
        assert any(line.startswith(flag) for line in lines), flag


@pytest.mark.long
@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.none() | st.integers(1, 60)), min_size=1, max_size=6),
    st.integers(400, 4_000),
)
def test_steps_last_exactly_as_long_as_asked(steps: list[tuple[int, int | None]], total_s: int) -> None:
    text = ",".join(f"{rate}" if long_s is None else f"{rate}:{long_s}s" for rate, long_s in steps)
    if steps[-1][1] is not None:
        rates = load_shape.steps(text)
        for rate, (_, long_s), after in zip(rates, steps, (*rates[1:], None), strict=True):
            assert rate.duration_s == (long_s if long_s is not None else after and after.duration_s)
    else:
        rates = load_shape.steps(text, total_s)
        assert sum(rate.duration_s for rate in rates) == pytest.approx(total_s)
    assert [rate.from_per_s for rate in rates] == [rate for rate, _ in steps]
