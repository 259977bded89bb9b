"""What a diagnosis says in words beside its findings."""

from dataclasses import replace

import made_results
import pytest
from crumple.diagnose.report import diagnose_output


@pytest.mark.parametrize("closes", [False, True])
def test_a_server_that_closes_connections_unsaid_is_told(closes: bool) -> None:
    found = made_results.diagnosis()
    said = diagnose_output.text(
        replace(found, seen=replace(found.seen, closes_unsaid=closes)), 200, styled=False
    )
    assert ("the next request on it fails" in said) == closes
