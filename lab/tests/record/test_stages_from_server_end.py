"""The mean response time by stages where only the server's ends of the connections were read."""

import pytest
from crumple import contract
from crumple.observation import loaded
from crumple.record import stages
from crumple.record.budget_of_starts import budget_of_starts
from crumple.record.stages import Budget, NoBudget
from crumple.words import time_sentences
from made_stages import MS, RESPONSE_MS, from_server_end, record

# In the plain record 32 requests are in flight. Of them these are at the server.
AT_SERVER = {"not_accepted": 8, "unread": 4, "inside": 10}


def told(read: contract.StageRecord) -> Budget:
    """The budget of a record that has one."""
    found = stages.budget(record(read))
    assert isinstance(found, Budget), found
    return found


def test_what_the_server_does_not_have_is_on_the_network_or_with_the_client() -> None:
    found = told(from_server_end([AT_SERVER] * 60))
    times_ms = {part.name: part.mean_ns / MS for part in found.parts if part.mean_ns}
    assert times_ms == pytest.approx({"not_accepted": 0.8, "unread": 0.4, "inside": 1.0, "network": 1.0})
    assert found.sum_ns == pytest.approx(found.measured_ns) == pytest.approx(RESPONSE_MS * MS)
    assert found.from_server_end


def test_what_is_not_told_apart_widens_the_interval_from_none_of_it_to_all() -> None:
    known, found = told(from_server_end([AT_SERVER] * 60)), told(from_server_end([AT_SERVER] * 60, untold=4))
    inside, without = found.part("inside"), known.part("inside")
    assert inside.mean_ns == pytest.approx(without.mean_ns + 0.2 * MS)
    assert inside.low_ns <= without.low_ns
    assert inside.high_ns >= without.high_ns + 0.4 * MS
    network = found.part("network")
    assert network.mean_ns == pytest.approx(0.8 * MS)
    assert network.low_ns <= 0.6 * MS and network.high_ns >= 1.0 * MS


def test_more_at_the_server_than_the_times_allow_is_no_budget() -> None:
    found = stages.budget(record(from_server_end([{"inside": 40}] * 60)))
    assert isinstance(found, NoBudget) and found.why.startswith("requests pile up"), found


def test_it_is_said_in_one_clause() -> None:
    said = time_sentences.by_stages(told(from_server_end([AT_SERVER] * 60)))
    assert "network and client" in said
    assert said.endswith(", read from the server's end of its connections")


def test_several_starts_are_one_budget_of_the_same_kind() -> None:
    both = budget_of_starts([told(from_server_end([AT_SERVER] * 60))] * 2)
    assert both is not None and both.from_server_end
    assert both.part("network").mean_ns == pytest.approx(1.0 * MS)


def test_a_diagnosis_counts_half_of_what_is_not_told_apart_as_inside() -> None:
    at_load = loaded.from_record(record(from_server_end([AT_SERVER] * 60, untold=4)), all_cores=2)
    assert at_load.stage is not None
    assert at_load.stage.inside == pytest.approx(12.0)
    assert at_load.in_flight == pytest.approx(24.0)
