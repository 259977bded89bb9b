"""The load under which a server is looked at."""

import documents
import pytest
from crumple import contract
from crumple.diagnose import looking
from crumple.experiment.subject import Subject
from crumple.load.engine_spec import Options

SHAPE = contract.ClosedShapeSpec(connections=2)


def warm_up_of(spec: contract.TrialSpec) -> contract.StopSpec:
    assert spec.warm_up is not None
    return spec.warm_up.stop


def test_the_warm_up_is_as_long_as_it_is_set_unless_another_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    light = documents.request()
    target = contract.Target(address="127.0.0.1:9", host="localhost")
    subject = Subject(target, (light,), light, None, None, Options(), cores=1)
    # As tests do that have no time.
    monkeypatch.setattr(looking, "WARM_S", 0.25)
    set_one, asked_for = looking.spec(subject, SHAPE, 1.0), looking.spec(subject, SHAPE, 1.0, 0.5)
    assert [warm_up_of(each) for each in (set_one, asked_for)] == [
        contract.DurationStopSpec(duration_s=0.25),
        contract.DurationStopSpec(duration_s=0.5),
    ]
