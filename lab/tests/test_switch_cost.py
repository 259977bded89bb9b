"""A context switch costs about a microsecond: what the rules multiply by the number of switches."""

from pathlib import Path

import pytest
from crumple import engine
from crumple.diagnose import diagnosis
from crumple.errors import CrumpleError


@pytest.mark.starts
def test_a_switch_is_measured_on_one_core() -> None:
    """Between two cores, one of which sleeps, it takes tens of microseconds, which are no CPU time."""
    try:
        loader = engine.load(Path(__file__).parents[2])
    except CrumpleError as error:
        pytest.skip(f"needs the engine: {error}")
    assert 1e-7 < diagnosis._switch_s(loader) < 1e-5
