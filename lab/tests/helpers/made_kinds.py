"""A run with a claim of every kind, as its report shows it."""

from functools import cache

import synthetic_run
from crumple.run.report.view import RunView, view
from crumple.study.claim import Claim
from pydantic import TypeAdapter

TWO = ["go-nethttp", "node-http"]


CLAIMS = [
    {
        "id": "K-1",
        "kind": "share",
        "experiment": "separate",
        "servers": ["node-express-cluster"],
        "above": "1 %",
    },
    {"id": "K-2", "kind": "share", "experiment": "shared", "servers": TWO, "below": "1 %"},
    {
        "id": "K-3",
        "kind": "figure",
        "experiment": "shared",
        "metric": "response_p50",
        "servers": TWO,
        "published": "1..2 ms",
    },
    {"id": "K-4", "kind": "figure", "cost": "system_call", "published": "20 ns"},
    {"id": "K-5", "kind": "flatness", "experiment": "shared", "servers": TWO},
    {"id": "K-6", "kind": "knee", "experiment": "shared", "servers": TWO, "published": 340},
    {
        "id": "K-7",
        "kind": "growth",
        "experiments": ["shared", "separate"],
        "metric": "processes",
        "servers": TWO,
    },
    {"id": "K-8", "kind": "stall", "experiment": "shared", "servers": TWO},
    {"id": "K-9", "kind": "model", "experiment": "shared", "servers": TWO},
    {
        "id": "K-10",
        "kind": "order",
        "experiment": "separate",
        "against": "shared",
        "metric": "throughput",
        "tiers": [["go-nethttp"], ["node-http"]],
    },
    {
        "id": "K-11",
        "kind": "figure",
        "experiment": "shared",
        "metric": "memory",
        "servers": TWO,
        "published": "14..71 MiB",
    },
    {
        "id": "K-12",
        "kind": "ratio",
        "experiment": "shared",
        "metric": "throughput",
        "pairs": [{"of": "separate:node-http", "to": "node-http", "published": 0.71}],
    },
]


@cache
def seen() -> RunView:
    run = synthetic_run.run_file()
    claims = tuple(TypeAdapter(Claim).validate_python({"text": "A claim.", **claim}) for claim in CLAIMS)
    study = run.study.model_copy(update={"claims": claims})
    machine = {**run.machine, "costs": {"system_call": [19.8, 20.0, 20.3]}}
    return view(run.model_copy(update={"study": study, "machine": machine}), synthetic_run.trials())
