"""A made-up run with a ramp and a canary, for tests of the report; `synthetic_run` has neither.

Deterministic. PHP leaves its plateau when all its workers are busy, at 150 and at 256 users. Node.js does
not, but its canary waits. The figures are invented; nothing here was measured.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import documents
import numpy as np
from crumple import contract
from crumple.run.run_file import RunFile, ServerNote
from crumple.run.run_plan import plan
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import Study

SEED = 7
SECOND = 1_000_000_000
MIB = 2**20
MEASURED_S = 60
USERS = 500
PHP_150, PHP_256 = (f"php-apache[start_workers={n},workers={n}]" for n in (150, 256))
POOL_1 = "node-http[pool=1]"


@dataclass(frozen=True)
class Nature:
    """The figures of a made-up server along the ramp, as functions of the number of users."""

    title: str
    language: str
    io_model: str
    p50_ns: Callable[[float], float]
    processes: int
    memory_bytes: Callable[[float], float]
    cores: Callable[[float], float]
    canary_ns: float


def _roof(at: float) -> Callable[[float], float]:
    return lambda users: 4.2e6 + max(0.0, users - at) * 1.4e7


NATURES = {
    PHP_150: Nature("PHP, Apache", "PHP", "process-pool", _roof(150), 151, lambda u: 60 * MIB + u * MIB / 3,
                    lambda u: 0.2 * min(u, 150) / 150, 3e6),
    PHP_256: Nature("PHP, Apache", "PHP", "process-pool", _roof(256), 257, lambda u: 95 * MIB + u * MIB / 3,
                    lambda u: 0.34 * min(u, 256) / 256, 3e6),
    "node-http": Nature("Node.js http", "JavaScript", "event-loop", lambda u: 3.1e6, 1,
                        lambda u: 62 * MIB + u * MIB / 40, lambda u: 0.5 * u / USERS, 1.9e8),
    POOL_1: Nature("Node.js http", "JavaScript", "event-loop", lambda u: 3.3e6 + u * 2e3, 1,
                   lambda u: 61 * MIB + u * MIB / 40, lambda u: 0.48 * u / USERS, 1.9e8),
}  # fmt: skip

STUDY = Study.model_validate(
    {
        "name": "users",
        "title": "Users that come one by one",
        "question": "How many users can come before the response time leaves its plateau?",
        "experiments": {
            "kept": {
                "title": "Kept connections",
                "servers": list(NATURES),
                "twin": "node-http",
                "workload": "hello",
                "connection": "keep-alive",
                "shape": {"kind": "ramp", "from": 0, "to": USERS, "pause_ms": 1000, "pause": "exponential"},
                "scales": {"quick": {"blocks": 3, "stop": {"duration_s": MEASURED_S}}},
            },
            "stall": {
                "title": "A light request among heavy ones",
                "servers": [PHP_150, "node-http"],
                "twin": "node-http",
                "workload": "hello",
                "shape": {"kind": "closed", "connections": 8},
                "canary": {"workload": "hello", "rate_per_s": 10},
                "scales": {"quick": {"blocks": 3, "stop": {"duration_s": 10}}},
            },
        },
        "claims": [
            {"id": "U-1", "kind": "knee", "text": "PHP is stable up to about 340 users.",
             "experiment": "kept", "servers": [PHP_256], "published": 340},
            {"id": "U-2b", "kind": "growth", "text": "Node.js needs no process for each user, and PHP does.",
             "experiment": "kept", "metric": "processes", "servers": ["node-http"], "grows": False},
            {"id": "U-3", "kind": "stall", "text": "In Node.js one handler that computes stalls all.",
             "experiment": "stall", "servers": ["node-http", PHP_150]},
            {"id": "U-4", "kind": "order", "text": "More workers move the knee to more users.",
             "experiment": "kept", "metric": "knee", "tiers": [[PHP_256], [PHP_150]]},
            {"id": "U-5", "kind": "share", "text": "Both fail some.", "experiment": "kept",
             "metric": "failed_share", "servers": [PHP_256, "node-http"], "above": "1 %"},
        ],
    }
)  # fmt: skip


def run_file() -> RunFile:
    """The run to which the trials belong."""
    return RunFile(
        id="users-quick-20261121-063012",
        study=STUDY,
        scale="quick",
        seed=SEED,
        only=None,
        plan=plan(STUDY, "quick", SEED),
        machine={"cores": 2, "costs": {"system_call": [120.0, 124.0, 122.0], "process": [155_000.0]}},
        servers={
            name: ServerNote(
                title=of.title, language=of.language, io_model=of.io_model, about="", libraries={}
            )
            for name, of in NATURES.items()
        },
        versions={name: {} for name in NATURES},
        lab_version="0.1.0",
        engine_version="0.1.0",
        began="2026-11-21T06:30:12+00:00",
        ended="2026-11-21T06:36:47+00:00",
    )


def trials() -> list[StoredTrial]:
    """All trials, in the order of the plan."""
    return list(_trials())


@cache
def _trials() -> tuple[StoredTrial, ...]:
    rng = np.random.default_rng(SEED)
    return tuple(
        _trial(rng, block.experiment, identity)
        for block in run_file().plan.blocks
        for identity in block.trials
    )


def _trial(rng: np.random.Generator, experiment: str, identity: TrialIdentity) -> StoredTrial:
    luck = math.exp(rng.normal(0, 0.03))
    nature = NATURES[identity.server]
    made = _ramp(rng, nature, luck) if experiment == "kept" else _closed(luck)
    canary = _canary(rng, nature) if experiment == "stall" else None
    return documents.stored().model_copy(update={"trial": identity, "record": made, "canary": canary})


def _ramp(rng: np.random.Generator, nature: Nature, luck: float) -> contract.TrialRecord:
    """A minute in steps of half a second; each user sends about one request a second."""
    steps = 2 * MEASURED_S
    at_ns = tuple(step * SECOND // 2 for step in range(steps))
    users = [max(1, round(USERS * (step + 0.5) / steps)) for step in range(steps)]
    p50_ns = [nature.p50_ns(each) * luck * math.exp(rng.normal(0, 0.02)) for each in users]
    ok = [round(0.5 * each / (1 + ns / 1e9)) for each, ns in zip(users, p50_ns, strict=True)]
    waiting = np.array([round(2 * each * ns / 1e9) for each, ns in zip(ok, p50_ns, strict=True)])
    scheduled = tuple(map(int, np.array(ok) + np.diff(waiting, prepend=0)))
    flat = (0,) * steps
    series = contract.Series(
        interval_ms=500, at_ns=at_ns, duration_ns=(SECOND // 2,) * steps, phase=("measured",) * steps, ok=ok,
        failed=flat, p50_ns=flat, p99_ns=flat, max_ns=flat, scheduled=scheduled, engine_late_p99_ns=flat,
        connections=users,
    )  # fmt: skip
    busy = np.cumsum([nature.cores(each) * luck * SECOND / 2 for each in users])
    memory = tuple(round(nature.memory_bytes(each) * luck) for each in users)
    counts = {"processes": (nature.processes,) * steps, "threads": (nature.processes,) * steps}
    samples = contract.SampleColumns(
        at_ns=at_ns, late_ns=flat, cpu_user_ns=tuple(round(each / 2) for each in busy),
        cpu_kernel_ns=tuple(round(each / 2) for each in busy), rss_bytes=memory, pss_bytes=memory,
        voluntary_switches=flat, involuntary_switches=flat, **counts,
    )  # fmt: skip
    log = contract.Log(
        interval_ms=500,
        at_ns=at_ns,
        duration_ns=(SECOND // 2,) * steps,
        response_time=tuple(
            documents.histogram({round(ns): count - count // 20, round(2.6 * ns): count // 20}).encoded
            for ns, count in zip(p50_ns, ok, strict=True)
        ),
    )
    shape = contract.RampShapeSpec(
        from_connections=0, to_connections=USERS, over_s=float(MEASURED_S), pause_ms=1000, pause="exponential"
    )
    changes: dict[str, Any] = {"series": series, "log": log, "warm_up_ns": 0}
    changes["outcomes"] = documents.outcomes(ok=sum(ok))
    changes["spec"] = documents.spec(shape=shape, warm_up=None)
    return _with(samples, nature, **changes)


def _with(samples: contract.SampleColumns, nature: Nature, **changes: Any) -> contract.TrialRecord:
    record = documents.record(measured_ns=MEASURED_S * SECOND)
    assert record.probes.server is not None and record.probes.server.window is not None
    window = record.probes.server.window.model_copy(
        update={
            "cpu_user_ns": samples.cpu_user_ns[-1], "cpu_kernel_ns": samples.cpu_kernel_ns[-1],
            "pss_max_bytes": max(each or 0 for each in samples.pss_bytes),
            "processes_max": nature.processes, "threads_max": nature.processes,
        }
    )  # fmt: skip
    server = record.probes.server.model_copy(update={"samples": samples, "window": window, "unread": ()})
    times = documents.histogram({4_000_000: 900, 9_000_000: 100})
    return record.model_copy(
        update={
            "probes": record.probes.model_copy(update={"server": server}),
            "histograms": record.histograms.model_copy(
                update={"response_time": times, "time_to_first_byte": times}
            ),
        }
        | changes
    )


def _closed(luck: float) -> contract.TrialRecord:
    """A record of heavy requests of about 170 ms."""
    times = documents.histogram({round(1.7e8 * luck): 300, round(2.1e8 * luck): 60})
    record = documents.record(measured_ns=10 * SECOND)
    server = documents.probe(0.18, record.measured_ns)
    return record.model_copy(
        update={
            "histograms": record.histograms.model_copy(update={"response_time": times}),
            "outcomes": documents.outcomes(ok=360, unfinished=8),
            "scheduled": 368,
            "probes": record.probes.model_copy(update={"server": server}),
        }
    )


def _canary(rng: np.random.Generator, nature: Nature) -> contract.TrialRecord:
    """A hundred light requests; an event loop answers only some of them, and late."""
    answered = 14 if nature.io_model == "event-loop" else 100
    ns = [round(nature.canary_ns * math.exp(rng.normal(0, 0.35))) for _ in range(answered)]
    record = documents.record()
    times = documents.histogram({each: ns.count(each) for each in ns})
    return record.model_copy(
        update={
            "histograms": record.histograms.model_copy(update={"response_time": times}),
            "outcomes": documents.outcomes(ok=answered, not_sent=100 - answered),
            "scheduled": 100,
        }
    )
