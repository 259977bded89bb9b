"""A made-up run for tests of the report: seven servers and a twin × three blocks × two experiments.

Deterministic: the same seed gives the same trials. One trial failed to start, one was limited by the engine
and is not valid, one lost 2.3 % of its requests, one came near the engine's ceiling. The figures are
invented; nothing here was measured.
"""

import math
from collections.abc import Iterator
from functools import cache

import documents
import numpy as np
from crumple import contract
from crumple.record.disturbance import Disturbance
from crumple.run.run_file import RunFile, ServerNote
from crumple.run.run_plan import plan
from crumple.run.store import Failure, StoredServer, StoredTrial, TrialIdentity
from crumple.study.study import Experiment
from hdrh.histogram import HdrHistogram
from synthetic_study import SERVERS, STUDY, Nature

SEED = 20261121
BEGAN_UNIX_NS = 1_795_242_612_000_000_000
INTERVAL_NS = 100_000_000
MIB = 2**20
NO_OUTCOMES = dict.fromkeys(contract.OUTCOMES, 0)


MACHINE = {
    "cpu": "AMD EPYC 7R13",
    "cores": 2,
    "memory_bytes": 8_220_000_000,
    "kernel": "Linux 6.1.0-28-amd64",
    "governor": None,
    "limits": {"open_files": 1_048_576},
    "sysctls": {"net.core.somaxconn": 4096, "net.ipv4.ip_local_port_range": "32768 60999"},
    "commit": "0f3c2d1",
}

CALM = Disturbance(others_share=0.012, steal_share=0.0025)
FAILED = ("shared", 2, "java-grizzly-worker")
NOT_VALID = ("separate", 3, "node-cluster")
WARNED = ("separate", 1, "go-nethttp")
LOSSY = ("separate", 2, "node-express-cluster")


def run_file() -> RunFile:
    """Return the run to which the trials belong."""
    return RunFile(
        id="todo-json-quick-20261121-063012",
        study=STUDY,
        scale="quick",
        seed=SEED,
        only=None,
        plan=plan(STUDY, "quick", SEED),
        machine=MACHINE,
        servers={
            name: ServerNote(
                title=nature.title,
                language=nature.language,
                io_model=nature.io_model,
                about=f"Written as the documentation of *{nature.language}* advises for production.",
                libraries={"express": "5.1.0"} if "express" in name else {},
            )
            for name, nature in SERVERS.items()
        },
        versions={name: dict([nature.version]) for name, nature in SERVERS.items()},
        lab_version="0.1.0",
        engine_version="0.1.0",
        began="2026-11-21T06:30:12+00:00",
        ended="2026-11-21T06:36:47+00:00",
    )


def trials(seed: int = SEED) -> list[StoredTrial]:
    """Return all 48 trials, in the order of the plan."""
    return list(_of_seed(seed))


@cache
def _of_seed(seed: int) -> tuple[StoredTrial, ...]:
    return tuple(_trials(np.random.default_rng(seed)))


def _trials(rng: np.random.Generator) -> Iterator[StoredTrial]:
    for block in run_file().plan.blocks:
        block_factor = math.exp(rng.normal(0, 0.03))
        for identity in block.trials:
            yield _trial(rng, STUDY.experiments[block.experiment], identity, block_factor)


def _trial(
    rng: np.random.Generator, experiment: Experiment, identity: TrialIdentity, block_factor: float
) -> StoredTrial:
    server, nature = identity.server, SERVERS[identity.server]
    own_core = experiment.placement == "separate"
    factor = block_factor * math.exp(rng.normal(0, 0.012)) * (0.71 if own_core else 1.0)
    here = None if identity.twin else (identity.experiment, identity.block, server)
    facts = StoredServer(
        versions=dict([nature.version]),
        start_s=0.8 if nature.language == "Java" else 0.12,
        settings={"workers": 4} if "cluster" in server else {},
    )
    failed = here == FAILED
    lost = 0.023 if here == LOSSY else 0.0
    problems = ("the engine used 91 % of its core, more than 85 %",) if here == NOT_VALID else ()
    warnings = ("the throughput is 74 % of what the engine reaches",) if here == WARNED else ()
    record = _record(rng, identity.id, experiment, nature, factor, lost)
    return StoredTrial(
        trial=identity,
        status="failed" if failed else "measured",
        failure=_failure() if failed else None,
        server=facts if not failed else StoredServer(versions=facts.versions, settings=facts.settings),
        host={"load_1m": 0.4, "problems": []},
        record=None if failed else record,
        problems=problems,
        warnings=warnings,
        overhead_s=0.31,
        disturbance=None if failed else CALM,
    )


def _failure() -> Failure:
    return Failure(
        step="start",
        message="the server ended with exit code 1 before it answered",
        output_tail=(
            "INFO: Initiating Jersey application, version Jersey: 3.1.10",
            'Exception in thread "main" java.net.BindException: Address already in use <port 40013>',
            "\tat java.base/sun.nio.ch.Net.bind(Net.java:555)",
        ),
    )


def _record(
    rng: np.random.Generator, label: str, experiment: Experiment, nature: Nature, factor: float, lost: float
) -> contract.TrialRecord:
    throughput = nature.throughput_per_s * factor
    measured_ns, warm_up_ns = 2_000_000_000, 1_500_000_000
    ok = round(throughput * 2)
    timed_out, reset = round(ok * lost * 0.6), round(ok * lost * 0.4)
    unfinished = int(rng.integers(20, 32))
    outcomes = NO_OUTCOMES | {"ok": ok, "timeout": timed_out, "reset": reset, "unfinished": unfinished}
    mean_ns = experiment.shape.connections / throughput * 1e9
    warm_ok = round(throughput * 1.5 * 0.8)
    cpu_factor = 1 / factor if factor < 0.9 else 1.0
    return contract.TrialRecord(
        version=5,
        engine_version="0.1.0",
        spec=_spec(label, experiment),
        began_unix_ns=BEGAN_UNIX_NS,
        warm_up_ns=warm_up_ns,
        measured_ns=measured_ns,
        scheduled=sum(outcomes.values()),
        outcomes=contract.Outcomes.model_validate(outcomes),
        not_sent=documents.not_sent(),
        retried=0,
        warm_up=contract.WarmUpRecord(
            scheduled=warm_ok, outcomes=contract.Outcomes.model_validate(NO_OUTCOMES | {"ok": warm_ok})
        ),
        bodies_hashed=ok // 64,
        received_bytes=ok * 700,
        sent_bytes=ok * 90,
        connections_opened=32,
        connections_closed_by_server=0,
        users=32,
        users_unanswered=0,
        users_waited_ns=0,
        requests_waited_ns=0,
        requests=(),
        arrivals=contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=ok * 4_000),
        histograms=contract.Histograms(
            response_time=histogram(ok, mean_ns, nature.tail),
            service_time=None,
            time_to_first_byte=histogram(ok, mean_ns, nature.tail),
            lateness=None,
            engine_lateness=documents.histogram({}),
            connect_time=histogram(32, 90_000, 0.3),
            failed=histogram(reset, 40_000_000, 0.3),
            timed_out=histogram(timed_out, 20_000_000_000, 0.001),
            unfinished_age=histogram(unfinished, mean_ns / 2, 0.5),
            carried_over=histogram(0, mean_ns / 2, 0.5),
            taken_over=histogram(unfinished, mean_ns / 2, 0.5),
        ),
        series=_series(rng, throughput, nature, mean_ns, lost),
        log=contract.Log(interval_ms=1_000, at_ns=(), duration_ns=(), response_time=()),
        probes=contract.Probes(
            engine=_probe(ok, 9.0, 6.0, 9 * MIB, 1, 2),
            server=_probe(
                ok,
                nature.user_us * cpu_factor,
                nature.kernel_us * cpu_factor,
                round(nature.memory_mib * MIB * math.exp(rng.normal(0, 0.03))),
                nature.processes,
                nature.threads,
            ),
            threads=(documents.thread(cpu_share=ok * 14e-6 / 2),),
            sockets=documents.sockets((3, 3, 3, 3, 3, 3, 3, 3)),
            machine=contract.MachineRecord(window=None, unread=()),
        ),
    )


def _spec(label: str, experiment: Experiment) -> contract.TrialSpec:
    return contract.TrialSpec(
        label=label,
        target=contract.Target(address="127.0.0.1:40001", host="127.0.0.1:40001"),
        requests=(documents.request(body_bytes=523, path="/todos", headers=()),),
        shape=contract.ClosedShapeSpec(connections=experiment.shape.connections),
        connection=experiment.connection,
        warm_up=contract.WarmUpSpec(
            connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=1.5)
        ),
        stop=contract.DurationStopSpec(duration_s=2.0),
        timeouts=contract.TimeoutSpec(connect_s=5.0, request_s=20.0),
        threads=1,
        cores=() if experiment.placement == "shared" else (1,),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=4711),
        seed=7,
    )


def histogram(count: int, mean_ns: float, sigma: float) -> contract.HistogramRecord:
    """Return `count` values, log-normal around `mean_ns`, placed by quantile, in small steps in the tail."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    if count == 0:
        return contract.HistogramRecord(
            count=0, min_ns=None, mean_ns=None, max_ns=None, encoded=histogram.encode().decode()
        )
    edges = np.unique(np.round(count * (1 - np.geomspace(1, 1 / count, 160))).astype(int))
    edges = np.append(edges, count)
    middle = (edges[:-1] + edges[1:]) / 2 / count
    # The median is that of a log-normal distribution with that mean; the upper tail is stretched, as real
    # tails are.
    median = mean_ns * math.exp(-(sigma**2) / 2)
    normal = np.array([_probit(q) for q in middle])
    values = median * np.exp(sigma * np.where(normal > 1.5, 1.5 + 2.0 * (normal - 1.5), normal))
    for value, times in zip(values, np.diff(edges), strict=True):
        histogram.record_value(int(value), int(times))
    return contract.HistogramRecord(
        count=count,
        min_ns=int(histogram.get_min_value()),
        mean_ns=mean_ns,
        max_ns=int(histogram.get_max_value()),
        encoded=histogram.encode().decode(),
    )


def _probit(q: float) -> float:
    # Approximate by the logistic function, which is smooth and monotone; that is enough for tests.
    return math.log(q / (1 - q)) / 1.702


def _series(
    rng: np.random.Generator, throughput: float, nature: Nature, mean_ns: float, lost: float
) -> contract.Series:
    at_ns = [step * INTERVAL_NS for step in range(35)]
    climbs = [1 - 0.85 * math.exp(-(t / 1e9) / max(nature.warms_s / 2.5, 0.02)) for t in at_ns]
    ok = [max(0, round(throughput * 0.1 * climb * (1 + rng.normal(0, 0.035)))) for climb in climbs]
    return contract.Series(
        interval_ms=100,
        at_ns=at_ns,
        duration_ns=[INTERVAL_NS] * 35,
        phase=["warm-up"] * 15 + ["measured"] * 20,
        ok=ok,
        failed=[round(o * lost) if step >= 15 else 0 for step, o in enumerate(ok)],
        p50_ns=[round(mean_ns * 0.9)] * 35,
        p99_ns=[round(mean_ns * 3)] * 35,
        max_ns=[round(mean_ns * 8)] * 35,
        scheduled=ok,
        engine_late_p99_ns=[None] * 35,
        connections=[32] * 35,
    )


def _probe(
    ok: int, user_us: float, kernel_us: float, rss: int, processes: int, threads: int
) -> contract.ProcessRecord:
    at_ns = tuple(step * INTERVAL_NS for step in range(36))
    grown = [step / 35 for step in range(36)]
    user, kernel = round(ok * user_us * 1e3), round(ok * kernel_us * 1e3)
    return contract.ProcessRecord(
        samples=contract.SampleColumns(
            at_ns=at_ns,
            late_ns=(80_000,) * 36,
            cpu_user_ns=tuple(round(user * g) for g in grown),
            cpu_kernel_ns=tuple(round(kernel * g) for g in grown),
            rss_bytes=(rss,) * 36,
            pss_bytes=(None,) * 36,
            processes=(processes,) * 36,
            threads=(threads,) * 36,
            voluntary_switches=tuple(round(ok * 0.2 * g) for g in grown),
            involuntary_switches=tuple(round(ok * 0.05 * g) for g in grown),
        ),
        window=contract.ProcessWindow(
            span_ns=20 * INTERVAL_NS,
            threads_span_ns=20 * INTERVAL_NS,
            cpu_user_ns=user,
            cpu_kernel_ns=kernel,
            voluntary_switches=round(ok * 0.2),
            involuntary_switches=round(ok * 0.05),
            rss_max_bytes=rss,
            pss_max_bytes=None,
            processes_max=processes,
            threads_max=threads,
        ),
        unread=(contract.Unread(field="pss_bytes", why="needs the same user or privileges"),),
    )
