"""The law of scalability of a ramp: made by a law, its figures come back; a pool that ends is refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import synthetic_ramp
from crumple.drawing.numerals import NARROW
from crumple.report.scalability import laws, rows
from crumple.report.view import ExperimentView, ServerView, Start, view
from crumple.stats.usl import Law, Refused
from crumple.verdict.evidence import Floor

BIN_S = 2.0


def ramp() -> ExperimentView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials()).experiments[0]


def answering(shown: ExperimentView, per_s: Callable[[float], float]) -> ExperimentView:
    """The same ramp, in which every server answers so many requests per second to so many users."""

    def start(each: Start) -> Start:
        assert each.figures is not None
        curve = tuple(
            replace(
                point,
                seconds=BIN_S,
                waiting=point.connections,
                pause_s=0.0,
                failed=0,
                ok=round(BIN_S * per_s(point.connections)),
            )
            for point in each.figures.curve
        )
        return replace(each, figures=replace(each.figures, curve=curve))

    def server(row: ServerView) -> ServerView:
        return replace(row, starts=tuple(map(start, row.starts)))

    floors = {**shown.noise, "throughput": Floor(1.02, "node-http", (), "")}
    return replace(shown, servers=tuple(map(server, shown.servers)), noise=floors)


def by_law(contention: float, coherency: float) -> Callable[[float], float]:
    return lambda n: 1_000 * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def test_a_ramp_made_by_a_law_tells_it() -> None:
    found = laws(answering(ramp(), by_law(0.05, 2e-5)))
    assert len(found) == len(synthetic_ramp.NATURES)
    for law in found.values():
        assert isinstance(law, Law)
        # Along one of the thirty levels the law is no straight line.
        assert law.contention.estimate == pytest.approx(0.05, rel=0.1)
        assert law.peak_at == pytest.approx((0.95 / 2e-5) ** 0.5, rel=0.1)


def test_a_peak_beyond_the_ramp_is_not_guessed_at() -> None:
    peaks = {row.peak for row in rows(answering(ramp(), by_law(0.01, 1e-7)))}
    assert peaks == {"500 users or more"}


def test_throughput_that_grows_in_step_has_no_peak() -> None:
    shown = rows(answering(ramp(), lambda n: 10 * n))
    assert {(row.contention.estimate, row.peak) for row in shown} == {(f"below 0.01{NARROW}%", "none")}


def test_a_pool_that_ends_is_no_such_law() -> None:
    for law in laws(answering(ramp(), lambda n: 10 * min(n, 150))).values():
        assert isinstance(law, Refused)
        assert "off the law" in law.why


def test_another_shape_has_no_law() -> None:
    closed = view(synthetic_ramp.run_file(), synthetic_ramp.trials()).experiments[1]
    assert laws(closed) == {}
    assert rows(closed) == []
