"""Unknown names in claims are reported when a study is read, each with its key and the nearest names."""

from pathlib import Path
from typing import Any

import pytest
from crumple.record.metrics import METRICS
from crumple.study import names

EXPERIMENTS: dict[str, Any] = {
    "flat": {"servers": ["go", "node", "php[workers=256]"], "shape": {"kind": "closed"}},
    "ramp": {"servers": ["go", "php"], "shape": {"kind": "ramp"}, "canary": {"workload": "hello"}},
}
FLAT: dict[str, Any] = {"kind": "order", "experiment": "flat", "metric": "throughput"}


def problems(**claim: Any) -> list[str]:
    found = names.unknown("claims.X", claim, EXPERIMENTS, METRICS, Path("s.toml"))
    return [f"{problem.key}: {problem.message}; {problem.remedy}" for problem in found]


@pytest.mark.parametrize(
    "claim",
    [
        FLAT | {"tiers": [["go"], ["node", "php[workers=256]"]]},
        FLAT | {"tiers": [["ramp:php"], ["flat:go"]]},
        FLAT | {"against": "ramp", "servers": ["go"]},
        FLAT | {"pairs": [{"of": "ramp:go", "to": "go"}]},
        {"kind": "knee", "experiment": "ramp", "servers": ["php"]},
        {"kind": "growth", "experiments": ["flat", "ramp"], "metric": "threads", "servers": ["go"]},
        {"kind": "stall", "experiment": "ramp", "metric": "canary_p99", "servers": ["go"]},
        {"kind": "order", "experiment": "ramp", "metric": "canary_p50", "tiers": [["go"], ["php"]]},
        {"kind": "figure", "cost": "system_call"},
        {"kind": 3, "experiment": [], "tiers": 3, "pairs": [3], "servers": {}},
    ],
)
def test_existing_names_are_no_problem(claim: dict[str, Any]) -> None:
    assert problems(**claim) == []


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        (
            FLAT | {"metric": "throghput"},
            'claims.X.metric: no metric is called "throghput"; did you mean throu',
        ),
        (
            FLAT | {"experiment": "flt"},
            'claims.X.experiment: no experiment is called "flt"; did you mean flat',
        ),
        (FLAT | {"against": "rampe"}, "claims.X.against: no experiment is called"),
        (FLAT | {"tiers": [["g"], ["go"]]}, 'claims.X.tiers: no server of experiment flat is called "g"'),
        (
            FLAT | {"servers": ["nod"]},
            'claims.X.servers: no server of experiment flat is called "nod"; did you',
        ),
        (FLAT | {"servers": ["php[workers=25]"]}, "did you mean php[workers=256]"),
        (
            FLAT | {"pairs": [{"of": "ramp:node", "to": "go"}]},
            "claims.X.pairs.entry 1.of: no server of experiment ramp",
        ),
        (
            FLAT | {"pairs": [{"of": "x:go", "to": "go"}]},
            'claims.X.pairs.entry 1.of: no experiment is called "x"',
        ),
        (FLAT | {"against": "ramp", "servers": ["node"]}, 'no server of experiment ramp is called "node"'),
        (
            FLAT | {"users": [1, 9]},
            "claims.X.experiment: experiment flat is no ramp; name an experiment whose",
        ),
        ({"kind": "knee", "experiment": "flat"}, "experiment flat is no ramp"),
        (
            {"kind": "flatness", "experiment": "ramp", "metric": "wall_time"},
            "wall_time is not known along a ramp",
        ),
        ({"kind": "stall", "experiment": "flat"}, "has no canary; add [experiments.flat.canary]"),
        (FLAT | {"metric": "canary_p50"}, "has no canary; add [experiments.flat.canary]"),
        (
            {"kind": "figure", "cost": "threadswitch"},
            'claims.X.cost: no cost is called "threadswitch"; did you mean thread_switch',
        ),
        ({"kind": "growth", "experiments": ["flat", "rmp"]}, "claims.X.experiments: no experiment"),
    ],
)
def test_unknown_names_are_reported(claim: dict[str, Any], wanted: str) -> None:
    assert any(wanted in said for said in problems(**claim)), problems(**claim)


@pytest.mark.parametrize(
    ("written", "right"), [("77 ms", False), ("77..90 ms", False), (77_000, True), ("77000", True)]
)
def test_a_metric_in_microseconds_takes_no_unit(written: float | str, right: bool) -> None:
    of_node = {"kind": "figure", "experiment": "flat", "servers": ["node"], "metric": "cpu_per_request"}
    found = problems(**of_node, published=written)
    said = "claims.X.published: cpu_per_request is in µs, and takes no unit; write the number of µs"
    assert [problem.partition(", without")[0] for problem in found] == ([] if right else [said])


SLICED: dict[str, Any] = EXPERIMENTS | {
    "sliced": {
        "servers": ["go", "node"],
        "shape": {"kind": "closed"},
        "scales": {"quick": {"slices": 3}, "full": {"slices": 1}, "published": {}},
    }
}


@pytest.mark.parametrize(
    ("claim", "at"),
    [
        ({"experiment": "sliced", "metric": "memory"}, "quick"),
        ({"experiment": "sliced", "metric": "memory_per_connection", "scales": ["quick", "full"]}, "quick"),
        ({"experiment": "flat", "metric": "memory", "pairs": [{"of": "sliced:go", "to": "go"}]}, "quick"),
        ({"experiment": "flat", "against": "sliced", "metric": "memory"}, "quick"),
        ({"experiments": ["flat", "sliced"], "kind": "growth", "metric": "memory"}, "quick"),
        ({"experiment": "sliced", "metric": "memory", "scales": ["full", "published"]}, ""),
        ({"experiment": "sliced", "metric": "throughput"}, ""),
        ({"experiment": "flat", "metric": "memory"}, ""),
    ],
)
def test_a_claim_on_memory_is_refused_if_servers_are_measured_in_slices(
    claim: dict[str, Any], at: str
) -> None:
    claim = {"kind": "order", **claim}
    found = [*names.unknown("claims.X", claim, SLICED, METRICS, Path("s.toml"))]
    assert [(each.key, each.message) for each in found] == (
        [("claims.X.metric", f"{claim['metric']} is not known where experiment sliced is sliced, at {at}")]
        if at
        else []
    )
