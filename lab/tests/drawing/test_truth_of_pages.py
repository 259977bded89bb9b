"""Generated loads and runs: no chart and no word of their reports says what is not so."""

from typing import Any

import drawn_truth
import pytest
import synthetic_load
import synthetic_run
from crumple import contract
from crumple.drawing import report_text
from crumple.drawing.report_parts import Report
from crumple.load.report import load_report
from crumple.record import validity
from crumple.run.report import run_report
from crumple.run.report.view import view
from crumple.run.store import StoredTrial
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.long
# A thousand of each took four minutes and found nothing that these do not find.
EXAMPLES = 150
# So long are the samples of the processes in a made-up load.
SECONDS = 10


def untrue(report: Report) -> list[str]:
    """What is not so in the charts and in the words of a report."""
    pictures = ((chart.title, chart.draw()) for chart in drawn_truth.charts(report))
    found = [f"{title}: {said}" for title, drawn in pictures if drawn for said in drawn_truth.faults(drawn)]
    words = report_text.text(report, 100, styled=False)
    return found + ([words] if drawn_truth.is_large_in_bytes(words) else [])


@st.composite
def loads(draw: st.DrawFn) -> contract.TrialRecord:
    """A load in steps or of connections, of a server that may fail, stand still, or never answer."""
    answered = draw(
        st.lists(st.sampled_from([0, 1, 3, 7, 60, 1_000, 20_000]), min_size=SECONDS, max_size=SECONDS)
    )
    median_ns = draw(st.floats(2e4, 3e9))
    if draw(st.booleans()):
        each_s = [max(each, 1) for each in answered]
        rates = tuple(contract.RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=1) for per_s in each_s)
        shape: Any = contract.OpenShapeSpec(connections=32, arrivals="even", rates=rates)
    else:
        shape = contract.ClosedShapeSpec(connections=draw(st.sampled_from([1, 32, 5_000])))
    changes: dict[str, Any] = {
        "spread": draw(st.floats(0.01, 1.5)),
        "timeouts": draw(st.sampled_from([0, 3])),
    }
    return synthetic_load.record(synthetic_load.spec(shape), answered, median_ns, **changes)


@settings(max_examples=EXAMPLES)
@given(loads())
def test_loads(record: contract.TrialRecord) -> None:
    load = synthetic_load.load(record, validity.assess(record))
    assert untrue(load_report.report(load)) == []


FAILURE = next(trial.failure for trial in synthetic_run.trials() if trial.failure)


@st.composite
def runs(draw: st.DrawFn) -> list[StoredTrial]:
    """A run that ended early, of which trials failed, do not count, or have no CPU time in parts."""
    trials = synthetic_run.trials()
    kept = trials[: draw(st.integers(1, len(trials)))]
    return [_changed(draw, trial) for trial in kept]


def _changed(draw: st.DrawFn, trial: StoredTrial) -> StoredTrial:
    change = draw(st.sampled_from(["", "", "", "not valid", "failed", "no process"]))
    if change == "failed":
        failed = {"status": "failed", "failure": FAILURE, "record": None, "disturbance": None}
        return trial.model_copy(update=failed)
    if change == "not valid":
        return trial.model_copy(update={"problems": ("the engine used 91 % of its core, more than 85 %",)})
    if change == "no process" and trial.record is not None:
        probes = trial.record.probes.model_copy(update={"server": None})
        return trial.model_copy(update={"record": trial.record.model_copy(update={"probes": probes})})
    return trial


@settings(max_examples=EXAMPLES)
@given(runs())
def test_runs(trials: list[StoredTrial]) -> None:
    assert untrue(run_report.report(view(synthetic_run.run_file(), trials))) == []
