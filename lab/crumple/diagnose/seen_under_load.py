"""What a server was seen to do under one load: a trial's record → `Many`, `Beside`. Pure."""

from collections.abc import Collection, Mapping, Sequence

from crumple.cause import loaded
from crumple.cause.observed import LONG_SHARE, WAITED_SHARE, Alone, Beside, Many
from crumple.contract import TrialRecord
from crumple.experiment import throughput
from crumple.load import engine_spec
from crumple.machine.process_tree import Tree
from crumple.record import histogram, windows
from crumple.record.disturbance import disturbance
from crumple.stats import averages, student

# Of a client's own times without heavy requests, most are within this quantile.
USUAL = 0.9
# A tree has grown over the last half of a load if it has more than this share and this number more.
GREW_SHARE, GREW_MIN = 0.05, 1


def waited_ns(light: Alone, heavy: Alone, share: float = WAITED_SHARE) -> float:
    """Return what a light request takes, on its own connection, if it waits for that share of a heavy one.

    As its connection ends with the answer, none of the answer waits to be acknowledged.
    """
    return 1e9 * (light.served_s + share * heavy.served_s)


def beside(
    record: TrialRecord, heavy: int, limit_ns: float, long_ns: float | None = None, disturbed: str = ""
) -> Beside:
    """Return how many light requests waited longer than `limit_ns` (and `long_ns`), or got no answer in time.

    One that is answered otherwise, or refused, does not show that it waited.
    """
    ends = record.outcomes
    never = ends.timeout + ends.connect_timeout + ends.unfinished
    waited = _slower(record, limit_ns) + never
    long = None if long_ns is None else _slower(record, long_ns) + never
    return Beside(heavy, ends.ok + never, waited, disturbed, long)


def beside_held(
    without_s: Sequence[float], took_s: Sequence[float], heavy: int, alone: Alone, disturbed: str = ""
) -> Beside:
    """The same of requests that took so long, one by one; `without_s`: without a heavy one, `alone`."""
    usual_s = averages.quantile(without_s, USUAL)
    waited, long = (
        sum(each_s > usual_s + share * alone.served_s for each_s in took_s)
        for share in (WAITED_SHARE, LONG_SHARE)
    )
    return Beside(heavy, len(took_s), waited, disturbed, long)


def _slower(record: TrialRecord, limit_ns: float) -> int:
    times = record.histograms.response_time
    return histogram.decoded(times).count_above(limit_ns) if times.count else 0


def many(
    record: TrialRecord,
    tree_at_rest: Tree | None,
    burning: Collection[int] = (),
    elsewhere: int = 0,
    asks_at_rest: Mapping[str, float] = loaded.NOTHING,
) -> Many:
    """Return what a closed load came to.

    `burning`: threads that compute also while nobody asks. `elsewhere`: how many cores the engine may use
    that the server may not.
    """
    server, window = record.probes.server, windows.server(record)
    engine_cores = windows.cores(record, record.probes.engine.window)
    per_s, off = _rate(record)
    others = disturbance(record)
    growing = False
    if server is not None:
        seen = server.samples
        rows = [at for at, ns in enumerate(seen.at_ns) if ns >= record.warm_up_ns]
        growing = any(_grew([column[row] for row in rows]) for column in (seen.processes, seen.threads))
        # A server that adds a process now and then, while connections got no answer yet, has more to add.
        adds = _adds([seen.processes[row] for row in rows])
        growing = growing or (record.users_unanswered > 0 and adds)
    return Many(
        connections=engine_spec.connections_of(record.spec.shape),
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
    # Of a load that is too short for the batches, the rate is not known to any accuracy.
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
