"""Parts of a load that several hosts put on at once, put together, are the record of the whole load."""

import documents
import made_parts
import pytest
from crumple import contract
from crumple.contract import PartSpec, TrialRecord
from crumple.record import rows_together, together
from crumple.record.together import Part

# `bench/several_hosts.py --only merge` tries 10,000.
CASES = 500
MS = 1_000_000


@pytest.mark.long
def test_parts_together_are_the_record_of_all_requests() -> None:
    for seed in range(CASES):
        whole, parts = made_parts.case(seed)
        made_parts.check(whole, together.together(parts))


def test_a_few_parts_together_are_the_record_of_all_requests() -> None:
    for seed in range(CASES, CASES + 25):
        whole, parts = made_parts.case(seed)
        made_parts.check(whole, together.together(parts))


def test_parts_that_are_not_all_of_one_load_are_refused() -> None:
    _, parts = made_parts.case(next(seed for seed in range(99) if len(made_parts.case(seed)[1]) == 3))
    for wrong in (parts[:2], [*parts, parts[0]], [parts[0], parts[0], parts[2]]):
        with pytest.raises(ValueError, match="not all parts of a load"):
            together.together(wrong)
    other = parts[1].record.spec.model_copy(update={"seed": 7})
    changed = Part(parts[1].record.model_copy(update={"spec": other}), "b")
    with pytest.raises(ValueError, match="different loads"):
        together.together([parts[0], changed, parts[2]])
    bare = [Part(each.record.model_copy(update={"spec": made_parts.spec(0.0, 1.0)}), "a") for each in parts]
    with pytest.raises(ValueError, match="not all parts"):
        together.together(bare)


def test_an_early_end_counts_by_the_mean_of_what_was_measured() -> None:
    asked = made_parts.spec(0.0, 2.0)
    seen = made_parts.events(3, 2, 40, 900 * MS)
    ended_ns = (900 * MS, 910 * MS)
    records = [
        made_parts.record(
            asked.model_copy(update={"part": PartSpec(index=host, of=2)}),
            [each for each in seen if each.host == host],
            0,
            ended_ns[host],
        )
        for host in (0, 1)
    ]
    found = together.together([Part(each, f"host-{at}") for at, each in enumerate(records)])
    assert found.measured_ns == 905 * MS
    assert found.series.at_ns == tuple(at * 100 * MS for at in range(10))
    assert found.series.duration_ns[-1] == 10 * MS and sum(found.series.ok) == found.outcomes.ok


def test_each_host_is_in_it_for_itself() -> None:
    whole, parts = made_parts.case(
        next(
            seed
            for seed in range(99)
            if len(made_parts.case(seed)[1]) == 2 and made_parts.case(seed)[0].outcomes.ok
        )
    )
    there = [Part(each.record, each.name, 200_000 + at, 30_000 * at, 9_000) for at, each in enumerate(parts)]
    found = together.together(there)
    assert found.load_host == "host-0 and host-1" and found.spec == whole.spec
    for part, host in zip(there, found.load_hosts, strict=True):
        assert (host.name, host.outcomes) == (part.name, part.record.outcomes)
        assert (host.round_trip_ns, host.late_ns, host.late_off_ns) == part_times(part)
        assert host.response_time == part.record.histograms.response_time
        assert host.measured_ns == whole.measured_ns
    assert TrialRecord.model_validate_json(found.model_dump_json()) == found


def part_times(part: Part) -> tuple[int, int, int]:
    return part.round_trip_ns, part.late_ns, part.late_off_ns


def test_a_hosts_own_record_is_judged_as_that_of_its_share() -> None:
    # 32 connections at 3.2 ms are 10,000 answers a second: half of both is a valid load of 16.
    half = documents.record(spec=documents.spec(part=PartSpec(index=0, of=2), cores=()))
    times = half.histograms.response_time.model_copy(update={"count": 10_000})
    half = half.model_copy(
        update={
            "scheduled": 10_016,
            "outcomes": documents.outcomes(ok=10_000, unfinished=16),
            "histograms": half.histograms.model_copy(update={"response_time": times}),
            "users": 16,
        }
    )
    other = half.model_copy(update={"spec": documents.spec(part=PartSpec(index=1, of=2), cores=())})
    found = together.together([Part(half, "a"), Part(other, "b")])
    assert [host.validity for host in found.load_hosts] == ["valid", "valid"], found.load_hosts[0].problems
    # Fewer answers than times contradict themselves, and the record of the whole load says whose do.
    whole = half.model_copy(
        update={"outcomes": documents.outcomes(ok=5_000, unfinished=16), "scheduled": 5_016}
    )
    found = together.together([Part(half, "a"), Part(whole.model_copy(update={"spec": other.spec}), "b")])
    assert found.load_hosts[1].validity == "not-valid"


@pytest.mark.parametrize(
    ("shape", "shares"),
    [
        (contract.ClosedShapeSpec(connections=7), [3, 2, 2]),
        (contract.ClosedShapeSpec(connections=3), [1, 1, 1]),
    ],
)
def test_connections_are_shared_by_their_numbers(shape: contract.ShapeSpec, shares: list[int]) -> None:
    own = [
        together.share(documents.spec(shape=shape, part=PartSpec(index=index, of=3))).shape
        for index in range(3)
    ]
    assert [each.connections for each in own if each.kind == "closed"] == shares


def test_rates_and_ramps_are_shared() -> None:
    rates = (contract.RateSpec(from_per_s=100, to_per_s=400, duration_s=1),)
    shape = contract.OpenShapeSpec(connections=10, rates=rates)
    own = together.share(documents.spec(shape=shape, part=PartSpec(index=1, of=4)))
    assert own.part is None and own.shape.kind == "open" and own.shape.connections == 3
    assert (own.shape.rates[0].from_per_s, own.shape.rates[0].to_per_s) == (25, 100)
    ramp = contract.RampShapeSpec(from_connections=0, to_connections=9, over_s=1)
    its = together.share(documents.spec(shape=ramp, part=PartSpec(index=1, of=2))).shape
    assert its.kind == "ramp" and (its.from_connections, its.to_connections) == (0, 4)


def test_a_sentence_names_three_hosts_at_most() -> None:
    named = [together.named([f"h{at}" for at in range(number)]) for number in (1, 2, 3, 4, 50)]
    assert named == ["h0", "h0 and h1", "h0, h1 and h2", "h0, h1 and 2 more", "h0, h1 and 48 more"]


def test_the_log_of_a_long_load_has_longer_entries_later() -> None:
    asked = made_parts.spec(0.0, 5_000.0)
    # One answer each 100 s in the log of either host, at 100 ms.
    at_ns = tuple(at * 100_000 * MS for at in range(50))
    entry = made_parts.encoded([5 * MS])
    log = contract.Log(
        interval_ms=100, at_ns=at_ns, duration_ns=(100 * MS,) * 50, response_time=(entry,) * 50
    )
    read = rows_together.entries(made_parts.record(asked, [], 0, 0).model_copy(update={"log": log}))
    found = rows_together.log(asked, 100, rows_together.joined([read, read]), 5_000_000 * MS)
    assert found.interval_ms == 1_000 and len(found.at_ns) == 50
    # 2,048 entries of a second, then as many seconds in entries of two, then in entries of four.
    lengths = {
        round(at / 1e9): round(long / 1e9) for at, long in zip(found.at_ns, found.duration_ns, strict=True)
    }
    assert lengths[2_000] == 1 and lengths[2_100] == 2 and lengths[4_000] == 2 and lengths[4_200] == 4
    assert set(found.response_time) == {made_parts.encoded([5 * MS, 5 * MS])}
