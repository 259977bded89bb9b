"""What a diagnosis says in words beside its findings."""

from dataclasses import replace

import made_results
import pytest
from crumple.cause import rules
from crumple.cause.observed import Observed
from crumple.diagnose.report import diagnose_output, diagnose_sentences
from made_at_load import LOCK, WORKERS


def test_the_headline_says_what_limits_it_and_not_what_is_unknown() -> None:
    found = replace(made_results.diagnosis(), found=None, said=tuple(rules.judged(LOCK)))
    assert "its first limit is a lock, or what looks the same" in diagnose_sentences.headline(found)
    unknown = replace(found, seen=Observed(cores=2), said=tuple(rules.judged(WORKERS)))
    assert diagnose_sentences.headline(unknown).endswith("its first limit is workers")
    assert "cannot tell" not in diagnose_sentences.headline(unknown)
    assert "cannot tell" in diagnose_sentences.headline(replace(unknown, said=()))


@pytest.mark.parametrize("closes", [False, True])
def test_a_server_that_closes_connections_unsaid_is_told(closes: bool) -> None:
    found = made_results.diagnosis()
    said = diagnose_output.text(
        replace(found, seen=replace(found.seen, closes_unsaid=closes)), 200, styled=False
    )
    assert ("the next request on it fails" in said) == closes
