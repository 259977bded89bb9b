"""The row of a run in a list of results: how many of its planned trials are stored."""

from pathlib import Path

import pytest
import synthetic_run
from crumple.results import listing
from crumple.results.selection import StoredEntry


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Write the first three trials of a run that has no end; return its folder."""
    (tmp_path / "trials").mkdir()
    run = synthetic_run.run_file().model_copy(update={"ended": None})
    (tmp_path / "run.json").write_text(run.model_dump_json(by_alias=True))
    for trial in run.plan.trials[:3]:
        _store(tmp_path, trial.id)
    return tmp_path


def _store(folder: Path, trial_id: str) -> None:
    (folder / "trials" / f"{trial_id.replace('/', '__')}.json").write_text("{}")


def _row(folder: Path) -> listing.ResultRow:
    (row,) = listing.rows([StoredEntry(folder.name, folder, 0, is_run=True)], listing.Wanted())
    return row


def test_a_run_that_was_interrupted_counts_its_trials(run: Path) -> None:
    row = _row(run)
    assert (row.headline, row.ended_early) == ("3 of 48 trials stored", True)


def test_trials_that_the_plan_does_not_have_are_counted_apart(run: Path) -> None:
    for trial in synthetic_run.run_file().plan.trials:
        _store(run, trial.id)
    _store(run, "shared/b09/go-nethttp")
    row = _row(run)
    assert (row.headline, row.ended_early) == ("48 of 48 trials stored, 1 of no plan", False)
