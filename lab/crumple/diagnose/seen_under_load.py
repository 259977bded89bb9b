"""What a server was seen to do under one load: a trial's record → `Many`, `Light`. Pure."""

import math
from collections.abc import Collection, Mapping

from crumple.contract import TrialRecord
from crumple.experiment import throughput
from crumple.machine import capacity
from crumple.machine.process_tree import Tree
from crumple.observation import loaded
from crumple.observation.at_load import Light
from crumple.observation.observed import Many
from crumple.record import histogram, windows
from crumple.record.disturbance import disturbance
from crumple.stats import student

# A tree has grown over the last half of a load if its size rose by more than GREW_SHARE of it and by more
# than GREW_MIN.
GREW_SHARE, GREW_MIN = 0.05, 1


def beside(record: TrialRecord, limit_s: float) -> Light:
    """Return how many light requests took longer than `limit_s`, or got no answer in time.

    One that is answered otherwise, or refused, does not show that it waited.
    """
    ends, times = record.outcomes, record.histograms.response_time
    never = ends.timeout + ends.connect_timeout + ends.unfinished
    slower = histogram.decoded(times).count_above(1e9 * limit_s) if times.count else 0
    return Light(ends.ok + never, slower + never)


def many(
    record: TrialRecord,
    tree_at_rest: Tree | None,
    burning: Collection[int] = (),
    elsewhere: int = 0,
    asks_at_rest: Mapping[str, float] = loaded.NOTHING,
    quota_cores: float = math.inf,
) -> Many:
    """Return what a closed load came to.

    `burning`: threads that compute also while nobody asks. `elsewhere`: how many cores the engine may use
    that the server may not. `quota_cores`: as much CPU time as it may use.
    """
    server, window = record.probes.server, windows.server(record)
    engine_cores = windows.engine_beside(record)
    per_s, off = _rate(record)
    others = disturbance(record, quota_cores=quota_cores)
    growing = False
    if server is not None:
        seen = server.samples
        rows = [at for at, ns in enumerate(seen.at_ns) if ns >= record.warm_up_ns]
        growing = any(_grew([column[row] for row in rows]) for column in (seen.processes, seen.threads))
        # A server that adds a process now and then, while connections got no answer yet, has more to add.
        adds = _adds([seen.processes[row] for row in rows])
        growing = growing or (record.users_unanswered > 0 and adds)
    return Many(
        connections=capacity.connections_of(record.spec.shape),
        per_s=per_s,
        per_s_low=max(0.0, per_s - off),
        per_s_high=(per_s + off) * others.slowdown,
        mean_s=(record.histograms.response_time.mean_ns or 0.0) / 1e9,
        failed=record.outcomes.failed,
        unanswered=record.users_unanswered,
        cores=windows.cores(record, window),
        engine_cores=max(0.0, engine_cores - elsewhere) if engine_cores is not None else 0.0,
        at_rest=tree_at_rest,
        most=Tree(window.processes_max, window.threads_max) if window else None,
        growing=growing,
        busy=loaded.sharing(record, burning),
        disturbed=others.against,
        taken_cores=others.taken_share,
        behind=loaded.waited_for(record, asks_at_rest),
    )


def _rate(record: TrialRecord) -> tuple[float, float]:
    """Return the answers per second, and how far off the ends of the interval are, by batches."""
    series = record.series
    rows = [at for at, phase in enumerate(series.phase) if phase == "measured" and series.duration_ns[at]]
    if not rows:
        return 0.0, 0.0
    per_s, sd = throughput.by_batches(record, rows)
    # The rate of a load that is too short for the batches is not known to any accuracy.
    return per_s, per_s if sd is None else student.of_interval(throughput.BATCHES - 1) * sd


def _adds(numbers: list[int]) -> bool:
    """Whether there were more at some time than at first."""
    return bool(numbers) and max(numbers) > numbers[0]


def _grew(numbers: list[int]) -> bool:
    """Whether there were more at the end than in the middle, by some, or in either half of the time by one.

    A pool that adds one a second adds one in each half of a load of two seconds.
    """
    if len(numbers) < 4:
        return False
    first, middle, end = numbers[0], numbers[len(numbers) // 2], numbers[-1]
    return end - middle > max(GREW_MIN, GREW_SHARE * middle) or first < middle < end
