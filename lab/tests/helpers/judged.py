"""Records and their validity: helpers for the tests of both; not a test itself."""

from collections.abc import Mapping
from typing import Any

import documents
from crumple import contract
from crumple.record import validity
from crumple.record.validity import Validity

FINE = Validity("valid", (), ())
OPEN = contract.OpenShapeSpec(
    connections=32, rates=(contract.RateSpec(from_per_s=10_000, to_per_s=10_000, duration_s=2),)
)


def the_problem(record: contract.TrialRecord, word: str) -> str:
    """Return the only problem of a trial that had cores of its own; assert its word."""
    judged = validity.assess(record, placement="separate", server_cores=(0,))
    assert judged.word == word
    (problem,) = judged.problems
    return problem


def the_warning(record: contract.TrialRecord, **known: Any) -> str:
    """Return the only warning of a trial; assert that it is valid."""
    judged = validity.assess(record, **{"placement": "separate", "server_cores": (0,)} | known)
    assert (judged.word, judged.problems) == ("valid", ())
    (warning,) = judged.warnings
    return warning


def probed(**changes: Any) -> contract.TrialRecord:
    return documents.record(probes=documents.record().probes.model_copy(update=changes))


def open_load(late_ns: Mapping[int, int], response_ns: int = 3_200_000) -> contract.TrialRecord:
    """Return the record of an open trial; `late_ns`: the engine's own lateness in ns → how many requests."""
    late, times = documents.histogram(late_ns), documents.histogram({response_ns: 20_000})
    update = {"engine_lateness": late, "lateness": late, "response_time": times, "service_time": times}
    histograms = documents.record().histograms.model_copy(update=update)
    return documents.record(spec=documents.spec(shape=OPEN), histograms=histograms)
