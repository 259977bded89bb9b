"""Requests with pauses and without, on real servers."""

import pytest
from crumple.experiment import spaced
from experimenting import served
from tried import until_shown

pytestmark = pytest.mark.starts


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("paced", 0.15, 0.6), ("free", 0.9, 1.3), ("gate", 0.9, 1.3)]
)
def test_only_a_limiter_of_the_rate_lets_a_request_pass_sooner_after_a_pause(
    kind: str, least: float, most: float
) -> None:
    """Of 10 ms between two requests that a limiter spaces, 2 ms and what a thread takes to wake are work."""

    def is_so() -> bool:
        with served(kind) as bench:
            found = spaced.space_out(bench)
        assert found is not None
        return least <= found.ratio <= most

    assert until_shown(is_so)
