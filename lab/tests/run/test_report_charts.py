"""Charts: valid specifications, files beside the page, and only percentiles with enough samples."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import documents
import pytest
import synthetic_run
from crumple.drawing import page, theme
from crumple.run.report import bars, curves, run_charts
from crumple.run.report.view import RunView, view


@cache
def seen() -> RunView:
    return view(synthetic_run.run_file(), synthetic_run.trials())


OF_ALL = [kind for kind in run_charts.KINDS if kind.name not in ("ramp", "canary", "time")]


@pytest.mark.long
@pytest.mark.parametrize("kind", OF_ALL, ids=lambda kind: kind.name)
def test_specifications_are_valid(kind: run_charts.ChartKind) -> None:
    for width_px in (page.NARROW_PX, page.WIDE_PX):
        drawn = kind.draw(seen().experiments[0], width_px)
        assert drawn is not None
        drawn.to_dict(validate=True)


def test_effects_are_drawn_for_published_ratios() -> None:
    drawn = bars.effects(seen(), page.WIDE_PX)
    assert drawn is not None
    drawn.to_dict(validate=True)
    assert bars.effects(view(synthetic_run.run_file(), []), page.WIDE_PX) is None


@pytest.mark.long
def test_charts_are_written_as_svg_and_png(tmp_path: Path) -> None:
    files = run_charts.write(seen(), tmp_path / "charts")
    assert len(files) == 2 * (1 + 2 * len(OF_ALL))
    for file in files:
        if file.suffix == ".svg":
            assert file.read_text(encoding="utf-8").startswith("<svg")
        else:
            assert file.read_bytes().startswith(b"\x89PNG")


def test_a_curve_ends_where_its_samples_do() -> None:
    start = seen().experiments[0].servers[0].starts[0]
    record = start.trial.record
    assert record is not None
    points = curves.curve(start)
    assert points[-1]["x"] <= min(1_000, record.histograms.response_time.count / 10)
    assert all(one["ns"] <= other["ns"] for one, other in pairwise(points))


def test_a_curve_leaves_out_spoilt_quantiles() -> None:
    start = seen().experiments[0].servers[0].starts[0]
    record = start.trial.record
    assert record is not None
    times = record.histograms.response_time
    number = times.count * 8 // 1_000
    late = documents.histogram({20_000: times.count - number, 40_000_000: number})
    histograms = record.histograms.model_copy(update={"engine_lateness": late})
    trial = start.trial.model_copy(update={"record": record.model_copy(update={"histograms": histograms})})
    points = curves.curve(type(start)(trial, start.figures))
    assert points and max(point["x"] for point in points) < 100 < max(p["x"] for p in curves.curve(start))


def test_few_samples_give_a_short_curve() -> None:
    start = seen().experiments[0].servers[0].starts[0]
    record = start.trial.record
    assert record is not None
    few = synthetic_run.histogram(200, 1e6, 0.3)
    histograms = record.histograms.model_copy(update={"response_time": few})
    trial = start.trial.model_copy(update={"record": record.model_copy(update={"histograms": histograms})})
    points = curves.curve(type(start)(trial, start.figures))
    assert points[-1]["x"] == pytest.approx(20)  # 95 %, the deepest that 200 samples carry


def test_languages_have_colours_of_their_own() -> None:
    assert len(set(theme.FAMILIES.values())) == len(theme.FAMILIES)
    assert theme.colour_of("Node.js") == theme.colour_of("JavaScript")
    assert theme.family_of("COBOL") == "other"
