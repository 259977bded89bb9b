"""When, where and with what something was measured."""

import pytest
from crumple.words import circumstances


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"cpu_model": "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "cores": 2, "kernel": "6.1.0-28-amd64"},
            ["2 cores of Intel Xeon E5-2670 0", "Linux 6.1"],
        ),
        ({"cpu_model": "AMD EPYC", "cores": 1, "kernel": None}, ["1 core of AMD EPYC"]),
        ({"cpu_model": None, "cores": 4, "kernel": "6.18.44"}, ["4 cores", "Linux 6.18"]),
        ({"cpu_model": "Neoverse-N1"}, ["Neoverse-N1"]),
        ({"cores": 4, "load_host": "loader"}, ["4 cores", "load from loader"]),
        ({}, []),
    ],
)
def test_a_machine_is_named_as_far_as_it_is_known(facts: dict[str, object], said: list[str]) -> None:
    assert circumstances.where(facts) == said


def test_it_is_said_when_and_with_which_version() -> None:
    assert circumstances.of({}, 1_795_877_100.0, "0.1.0") == ["28 November 2026, 14:45 UTC", "crumple 0.1.0"]
