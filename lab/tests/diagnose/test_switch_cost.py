"""A context switch costs about a microsecond: what the rules multiply by the number of switches."""

import pytest
import real_engine
import tried
from crumple.diagnose import diagnosis


@pytest.mark.starts
def test_a_switch_is_measured_on_one_core() -> None:
    """Between two cores, one of which sleeps, it takes tens of microseconds, which are no CPU time."""
    loader = real_engine.loaded()

    def measured() -> float:
        if (seconds := diagnosis._switch_s(loader)) is None:
            raise tried.SpoiledError("others used the core for so long that the costs were not measured")
        return seconds

    assert 1e-7 < tried.until_shown(measured) < 1e-5
