"""A stored load in the form of a trial, so that `record.figures` computes its metrics."""

from crumple.contract import TrialRecord
from crumple.record.disturbance import disturbance
from crumple.record.validity import Validity
from crumple.run.store import StoredServer, StoredTrial, TrialIdentity


def stored_trial(record: TrialRecord, validity: Validity, name: str) -> StoredTrial:
    """Return the load as a measured trial. `name`: its id."""
    return StoredTrial(
        trial=TrialIdentity(
            id=name,
            experiment="load",
            block=1,
            position=1,
            server=record.spec.target.host,
            twin=False,
            seed=record.spec.seed,
        ),
        status="measured",
        failure=None,
        server=StoredServer(),
        host={},
        record=record,
        problems=validity.problems,
        warnings=validity.warnings,
        overhead_s=0.0,
        disturbance=disturbance(record),
    )
