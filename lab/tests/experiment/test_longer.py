"""The same load for longer: a pool that grows answers more at the end, and others do not."""

import pytest
from crumple.experiment import longer
from crumple.observation.outcome import Longer, MeasuredRate
from experimenting import served
from tried import SpoiledError, until_shown

pytestmark = pytest.mark.starts
# Within this a server that adds a worker each second adds six.
LASTS_S = 6.0
SD_SHARE_MAX = 0.15


def loaded(kind: str) -> Longer:
    with served(kind) as bench:
        found = longer.load_longer(bench, LASTS_S)
    if max(found.last.sd / found.last.per_s, found.first.sd / found.first.per_s) > SD_SHARE_MAX:
        raise SpoiledError(f"a busy machine: {found}")
    return found


def differ(last: MeasuredRate, first: MeasuredRate, factor: float) -> float:
    """By how many standard errors the last throughput is higher than a multiple of the first."""
    sd: float = (last.sd**2 + (factor * first.sd) ** 2) ** 0.5
    return (last.per_s - factor * first.per_s) / sd


def test_a_pool_that_grows_answers_more_at_the_end() -> None:
    """It has two to four workers in the first third, and six to eight in the last."""
    found = until_shown(lambda: loaded("grows"))
    assert differ(found.last, found.first, 1.3) > 3
    assert found.at_begin is not None and found.at_end is not None
    assert found.at_end.threads >= found.at_begin.threads + 4


def test_a_gate_answers_as_many_at_the_end() -> None:
    found = until_shown(lambda: loaded("gate"))
    assert abs(differ(found.last, found.first, 1.0)) < 5
    assert found.at_begin is not None and found.at_end is not None
    assert found.at_end.threads - found.at_begin.threads <= 32
