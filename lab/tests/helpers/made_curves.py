"""The record of a ramp whose engine was late."""

import documents
from crumple import contract
from crumple.contract import SampleColumns, TrialRecord

SECOND = 1_000_000_000


STEPS = 40


WARM_UP = 4


def ramp(**changes: object) -> TrialRecord:
    """40 s in steps of one: 4 s of warm-up, then ten more connections with each second."""
    at_ns = tuple(step * SECOND for step in range(STEPS + WARM_UP))
    connections = tuple(10 * max(1, step - WARM_UP + 1) for step in range(STEPS + WARM_UP))
    slow = [1_000_000 * (1 + step // 10) for step in range(STEPS)]
    flat = (0,) * len(at_ns)
    series = documents.record().series.model_copy(
        update={
            "interval_ms": 1_000, "at_ns": at_ns, "duration_ns": (SECOND,) * len(at_ns),
            "phase": ("warm-up",) * WARM_UP + ("measured",) * STEPS, "ok": (100,) * len(at_ns),
            "failed": (0,) * (WARM_UP + 30) + (100,) * 10, "connections": connections, "scheduled": flat,
            "p50_ns": flat, "p99_ns": flat, "max_ns": flat, "engine_late_p99_ns": flat,
        }
    )  # fmt: skip
    samples = SampleColumns(
        at_ns=at_ns, late_ns=flat, cpu_user_ns=tuple(each // 4 for each in at_ns),
        cpu_kernel_ns=tuple(each // 4 for each in at_ns),
        rss_bytes=tuple(1_000 * each for each in connections),
        pss_bytes=(None,) * len(at_ns), processes=tuple(connections), threads=flat,
        voluntary_switches=flat, involuntary_switches=flat,
    )  # fmt: skip
    plain = documents.record()
    assert plain.probes.server is not None
    server = plain.probes.server.model_copy(update={"samples": samples})
    log = contract.Log(
        interval_ms=1_000,
        at_ns=tuple(step * SECOND for step in range(STEPS)),
        duration_ns=(SECOND,) * STEPS,
        response_time=tuple(documents.histogram({ns: 60, 4 * ns: 40}).encoded for ns in slow),
    )
    shape = contract.RampShapeSpec(from_connections=10, to_connections=400, over_s=40.0)
    return plain.model_copy(
        update={
            "spec": documents.spec(shape=shape), "warm_up_ns": WARM_UP * SECOND,
            "measured_ns": STEPS * SECOND, "series": series, "log": log,
            "probes": plain.probes.model_copy(update={"server": server}),
        } | changes
    )  # fmt: skip


def late_ramp(
    late_ns: dict[int, int], interval_p99_ns: list[int], times: list[dict[int, int]]
) -> TrialRecord:
    """A ramp of 100 answers a second: its lateness, the p99 of it in each second, and its response times."""
    plain = ramp()
    series = plain.series.model_copy(
        update={
            "engine_late_p99_ns": (0,) * WARM_UP + tuple(interval_p99_ns),
            "scheduled": (100,) * (WARM_UP + STEPS), "failed": (0,) * (WARM_UP + STEPS),
        }
    )  # fmt: skip
    log = plain.log.model_copy(update={"response_time": tuple(documents.histogram(e).encoded for e in times)})
    whole: dict[int, int] = {}
    for each in times:
        for ns, number in each.items():
            whole[ns] = whole.get(ns, 0) + number
    histograms = plain.histograms.model_copy(
        update={
            "engine_lateness": documents.histogram(late_ns),
            "response_time": documents.histogram(whole),
        }
    )
    return plain.model_copy(update={"series": series, "log": log, "histograms": histograms})
