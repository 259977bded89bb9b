"""Whether a trial measured the server: a record → what speaks against it, in words.

Pure, and no more than that: an invalid trial is stored, shown and left out of verdicts by others.
"""

from collections.abc import Collection

from crumple.contract import OUTCOMES, AfterRequests, TrialRecord
from crumple.study import Placement

ENGINE_SHARE_MAX = 0.85
LITTLE_TOLERANCE = 0.02
LITTLE_FAILED_MAX = 0.01
LITTLE_REQUESTS_MIN = 1_000


def problems(
    record: TrialRecord, placement: Placement, server_cores: Collection[int] = ()
) -> tuple[str, ...]:
    """One sentence per reason not to trust the record; none: valid. `server_cores`: where the server ran."""
    checks = (
        _identity(record),
        _some_answers(record),
        _bytes(record),
        _warmed_up(record),
        _kept_apart(record, placement, server_cores),
        _engine_share(record, placement),
        _littles_law(record),
    )
    return tuple(problem for problem in checks if problem)


def notes(placement: Placement) -> tuple[str, ...]:
    """What is not judged under this placement, and why."""
    if placement == "shared":
        return ("engine and server share their cores, so the engine's share of them is not judged",)
    return ()


def engine_share(record: TrialRecord) -> float | None:
    """CPU time of the engine over that of its cores while measuring (0..1); None if it was not read."""
    window = record.probes.engine.window
    if window is None or record.measured_ns <= 0:
        return None
    # It can use no more cores than it has threads.
    cores = min(len(record.spec.cores) or record.spec.threads, record.spec.threads)
    return (window.cpu_user_ns + window.cpu_kernel_ns) / (record.measured_ns * cores)


def _identity(record: TrialRecord) -> str | None:
    for phase, scheduled, outcomes in (
        ("measured", record.scheduled, record.outcomes),
        ("warm-up", record.warm_up.scheduled, record.warm_up.outcomes),
    ):
        if scheduled != outcomes.total:
            ends = " + ".join(f"{outcomes.as_dict()[name]} {name}" for name in OUTCOMES)
            return (
                f"the {phase} requests do not add up: {scheduled} scheduled, {outcomes.total} ended ({ends})"
            )
    timed = record.histograms.response_time.count
    if timed != record.outcomes.ok:
        return f"{record.outcomes.ok} answers were ok, but {timed} response times were recorded"
    return None


def _some_answers(record: TrialRecord) -> str | None:
    if record.outcomes.ok:
        return None
    worst = max(record.outcomes.as_dict().items(), key=lambda outcome: outcome[1])
    return f"no answer was ok; {worst[1]} of {record.scheduled} ended as {worst[0]}"


def _bytes(record: TrialRecord) -> str | None:
    body_bytes = record.spec.expect.body_bytes
    least = record.outcomes.ok * (body_bytes or 0)
    if record.received_bytes < least:
        return f"{record.received_bytes} bytes received, fewer than the {least} of the bodies alone"
    if record.outcomes.ok and not record.sent_bytes:
        return f"{record.outcomes.ok} answers to no byte sent"
    return None


def _warmed_up(record: TrialRecord) -> str | None:
    warm_up = record.spec.warm_up
    if warm_up is None or not isinstance(warm_up.stop, AfterRequests):
        return None
    left = record.warm_up.outcomes.not_sent
    if not left:
        return None
    asked, within_s = warm_up.stop.requests, warm_up.stop.within_s
    return f"the warm-up was cut short: {asked - left:,} of its {asked:,} requests within {within_s:g} s"


def _kept_apart(record: TrialRecord, placement: Placement, server_cores: Collection[int]) -> str | None:
    both = sorted(set(record.spec.cores) & set(server_cores))
    if placement == "shared" or not both:
        return None
    return f"engine and server shared core {', '.join(map(str, both))}: too few cores to keep them apart"


def _engine_share(record: TrialRecord, placement: Placement) -> str | None:
    if placement == "shared":
        return None
    share = engine_share(record)
    if share is None:
        return "the engine's own CPU time could not be read, so it may have measured itself"
    if share > ENGINE_SHARE_MAX:
        return f"the engine used {share:.0%} of its cores (limit {ENGINE_SHARE_MAX:.0%}): it measured itself"
    return None


def _littles_law(record: TrialRecord) -> str | None:
    """Connections = throughput × (mean response time + pause), in a closed shape with hardly a failure.

    In its exact form: the time that requests, whole or cut off by either end of the window, spent in it, over
    its length. Pauses are known by their number only, so those that an end cut off widen the tolerance.
    """
    outcomes, times = record.outcomes, record.histograms
    if outcomes.ok < LITTLE_REQUESTS_MIN or record.measured_ns <= 0:
        return None
    if outcomes.failed > LITTLE_FAILED_MAX * record.scheduled:
        return None
    spent_ns = sum(
        part.count * (part.mean_ns or 0)
        for part in (
            times.response_time,
            times.failed,
            times.timed_out,
            times.unfinished_age,
            times.carried_over,
        )
    )
    shape = record.spec.shape
    pause_ns = shape.pause_ms * 1e6
    busy = (spent_ns + outcomes.ok * pause_ns) / record.measured_ns
    tolerance = LITTLE_TOLERANCE + min(1.0, pause_ns / record.measured_ns)
    if abs(busy - shape.connections) <= tolerance * shape.connections:
        return None
    return (
        f"Little's law does not hold: throughput × response time accounts for {busy:.1f} "
        f"of {shape.connections} connections"
    )
