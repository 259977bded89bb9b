"""Loads of one name of a load host are alike only if it is still the same machine, as far away."""

import made_loads
import pytest
from crumple.verdict import machines

MACHINE = {"cores": 2, "cpu_model": "c", "kernel": "6.1"}


def far(**changes: object) -> dict[str, object]:
    return machines.with_load_host(MACHINE, {**made_loads.FAR.model_dump(), **changes})


@pytest.mark.parametrize(
    ("fact", "value", "said"),
    [
        ("cores", 64, "load host cores was 4, is 64"),
        ("cpu_model", "A CPU", "load host cpu model was None, is A CPU"),
        ("kernel", "6.2.0", "load host kernel was 6.1.0, is 6.2.0"),
        ("cpu_quota_cores", 0.5, "load host cpu quota cores was None, is 0.5"),
    ],
)
def test_a_load_host_with_other_facts_is_another_machine(fact: str, value: object, said: str) -> None:
    assert [*machines.machine_differences(far(), far(**{fact: value})).values()] == [said]
    assert machines.machine_differences(far(), far()) == {}


def test_a_load_host_that_is_several_times_as_far_away_is_cautioned_about() -> None:
    assert [*machines.other_way(far(), far(round_trip_ns=7.5e5))] == []
    (said,) = machines.other_way(far(), far(round_trip_ns=8.5e5))
    assert said.replace("\u202f", " ") == (
        "the way to ssh loader is another: a line took 200 µs there and back, takes 850 µs"
    )
    assert [*machines.other_way(far(round_trip_ns=8.5e5), far())] != []
    assert [*machines.other_way(far(), far(where="other", round_trip_ns=8.5e5))] == []
    assert [*machines.other_way(MACHINE, far())] == []


def test_machines_of_one_kind_have_somewhat_more_or_less_memory() -> None:
    first = {**MACHINE, "memory_bytes": 8 << 30}
    for off, said in ((0.04, []), (0.0625, ["memory 7.50 GiB"])):
        other = {**MACHINE, "memory_bytes": round((8 << 30) * (1 - off))}
        assert [each.replace("\u202f", " ") for each in machines.apart(first, other)] == said
        assert bool(machines.machine_differences(first, other)) == bool(said)
        assert ("hosts" in machines.together([first, other])) == bool(said)


def test_hosts_of_one_kind_are_as_one_machine_and_others_are_named() -> None:
    alike = machines.together([MACHINE, {**MACHINE, "distribution": "another"}])
    assert alike == MACHINE and machines.machine_differences(MACHINE, alike) == {}
    other = {**MACHINE, "kernel": "6.8"}
    mixed = machines.together([MACHINE, other])
    assert mixed["hosts"] == ["kernel 6.1", "kernel 6.8"] and machines.apart(MACHINE, other) == ["kernel 6.8"]
    (said,) = machines.machine_differences(MACHINE, mixed).values()
    assert said == "hosts were of one kind, are kernel 6.1; kernel 6.8"
    assert machines.machine_differences(mixed, machines.together([other, MACHINE])) == {}
    assert machines.together([MACHINE, other, other])["kernel"] == "6.8"
