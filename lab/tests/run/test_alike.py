"""Trials that are read share what is alike in them, and lose nothing that a report reads."""

import synthetic_run
from crumple.run import alike


def test_trials_stay_as_they_are_but_for_the_engines_samples() -> None:
    for before, after in zip(synthetic_run.trials(), alike.share(synthetic_run.trials()), strict=True):
        told, kept = before.model_dump(mode="json"), after.model_dump(mode="json")
        if before.record is not None:
            assert after.record is not None and after.record.probes.engine.samples.at_ns == ()
            told["record"]["probes"]["engine"]["samples"] = kept["record"]["probes"]["engine"]["samples"]
        assert told == kept


def test_equal_requests_and_the_names_of_fields_are_one_object() -> None:
    copies = [each.model_copy(deep=True) for each in synthetic_run.trials()[:4]]
    first, second = [each.record for each in alike.share(copies) if each.record is not None][:2]
    assert first.spec.requests is second.spec.requests
    assert first.probes.server is not None and second.probes.server is not None
    assert first.probes.server.__pydantic_fields_set__ is second.probes.server.__pydantic_fields_set__
