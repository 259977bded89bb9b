"""Which hosts are alike: by facts and versions, and by the CPU time of a request, block by block."""

import math
from types import SimpleNamespace
from typing import Any

import made_figures
import numpy as np
import pytest
from crumple.run.report import host_rows
from crumple.run.run_file import Host

FACTS = {"cpu_model": "A CPU", "usable_cores": [0, 1], "kernel": "6.1", "memory_bytes": 4}


def _host(name: str, **changes: Any) -> Host:
    versions = changes.pop("versions", {"x": {"node": "24.1"}})
    return Host(id=name, machine={**FACTS, **changes}, versions=versions)


def _view(hosts: list[Host], cost: dict[str, float], blocks: int = 4, noise: float = 0.01) -> Any:
    """A run of three servers in two experiments; `cost`: host → by what factor requests cost more there."""
    random, starts = np.random.default_rng(1), []
    for at, host in enumerate(hosts):
        for block in range(at * blocks + 1, (at + 1) * blocks + 1):
            # The second experiment is slower, and has fewer blocks of the second host.
            for experiment, own in (("one", 1.0), ("two", 3.0))[: 1 if at and block % 2 else 2]:
                swing = random.normal(0, noise)
                for server in ("x", "y", "z"):
                    us = 100 * own * cost[host.id] * math.exp(swing + random.normal(0, noise))
                    figures = made_figures.trial(
                        server,
                        block,
                        1_000,
                        experiment=experiment,
                        host=host.id,
                        cpu_per_request_us=float(us),
                    )
                    trial = SimpleNamespace(
                        trial=SimpleNamespace(experiment=experiment, block=block), host_id=host.id
                    )
                    starts.append(SimpleNamespace(trial=trial, counts=True, figures=figures))
    return SimpleNamespace(run=SimpleNamespace(hosts=tuple(hosts)), starts=starts)


@pytest.mark.parametrize(
    ("cost", "noise", "alike"),
    [
        (1.0, 0.01, True),
        (1.25, 0.01, False),  # 0.8 times as fast
        # The limit of 5 %: a quarter more or less of it would answer otherwise.
        (1.043, 0.0005, True),
        (1.056, 0.0005, False),
        (1.0, 0.3, None),
    ],
)
def test_hosts_are_alike_if_their_cores_are_shown_to_be_as_fast(
    cost: float, noise: float, alike: bool | None
) -> None:
    hosts = [_host("a"), _host("b")]
    first, second = host_rows.seen(_view(hosts, {"a": 1.0, "b": cost}, noise=noise))
    assert first.speed is None and (first.blocks, second.blocks) == (8, 6)
    assert second.speed is not None
    assert second.speed.low < 1 / cost < second.speed.high
    assert second.alike is alike


def test_few_blocks_do_not_tell_and_facts_decide_alone() -> None:
    hosts = [_host("a"), _host("b"), _host("c", kernel="6.8", versions={"x": {"node": "22.0"}})]
    view = _view(hosts, dict.fromkeys("abc", 1.0), blocks=1)
    assert [each.alike for each in host_rows.seen(view)[1:]] == [None, False]
    assert host_rows.seen(view)[2].apart == ("kernel 6.8", "node 22.0")
    said = host_rows.sentence(view)
    assert said.startswith("3 hosts: host 3 differs: kernel 6.8, node 22.0; too few blocks tell whether ")
    assert said.endswith(host_rows.HOW_COMPARED)


def test_the_sentence_names_the_hosts_that_are_alike_and_how_fast_others_are() -> None:
    hosts = [_host("a"), _host("b"), _host("c")]
    said = host_rows.sentence(_view(hosts, {"a": 1.0, "b": 1.0, "c": 1.25}))
    assert said.startswith("3 hosts: host 1 and host 2 are alike; host 3 differs: 0.8")
    assert "times as fast" in said


def test_one_host_is_not_mentioned() -> None:
    assert host_rows.sentence(SimpleNamespace(run=SimpleNamespace(hosts=()), starts=[])) == ""


def test_a_server_that_takes_part_in_few_blocks_does_not_blur_the_speed() -> None:
    hosts = [_host("a"), _host("b")]
    view = _view(hosts, {"a": 1.0, "b": 1.25})
    for block in (1, 5):
        host = hosts[block > 4]
        figures = made_figures.trial(
            "rare", block, 1_000, experiment="one", host=host.id, cpu_per_request_us=1e4 * block
        )
        trial = SimpleNamespace(trial=SimpleNamespace(experiment="one", block=block), host_id=host.id)
        view.starts.append(SimpleNamespace(trial=trial, counts=True, figures=figures))
    found = host_rows.seen(view)[1].speed
    assert found is not None and found.estimate == pytest.approx(0.8, rel=0.03)
