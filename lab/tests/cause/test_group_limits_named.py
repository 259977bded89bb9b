"""Limits of control groups as causes: named with their owner, and what raising them gives."""

from dataclasses import replace

import made_at_load
import pytest
from crumple.cause import judged
from crumple.cause.hypotheses import memory, workers
from crumple.limit import finding, what_if
from crumple.limit.finding import Finding
from crumple.machine.group_limits import GroupLimits, Limit
from crumple.observation.at_load import Stage
from crumple.observation.server_facts import STALLED_MIN, ServerFacts

CORES = GroupLimits(cores=Limit(1, made_at_load.CONTAINER, "cpuset.cpus", "0"))


def limited(facts: ServerFacts, limits: GroupLimits, **changed: object) -> ServerFacts:
    """The facts of a server whose control groups have these limits."""
    return replace(made_at_load.facts(facts, **changed), seen=replace(facts.seen, limits=limits))


def first(facts: ServerFacts) -> Finding:
    found = finding.first(judged.judged(facts))
    assert found is not None, judged.judged(facts)
    return replace(found, evidence=found.evidence.replace("\u202f", " "))


# It uses all of its quota, and would be one loop otherwise.
THROTTLED = limited(made_at_load.THROTTLED, made_at_load.QUOTA, cores=0.5, per_s=100.0, mean_s=0.64)


def test_a_quota_is_named_with_its_owner_and_how_it_is_raised() -> None:
    found = first(THROTTLED)
    assert found.cause == "throttled"
    assert found.evidence.startswith(
        "its container 3f2a9c1b0d2e may use 0.50 CPU, and it was stopped for 70 %"
    )
    assert "docker update --cpus 1 3f2a9c1b0d2e" in found.remedy


def test_under_a_quota_no_core_is_idle_once_it_is_used_up() -> None:
    assert THROTTLED.cores == 0.5 and THROTTLED.idle_cores == 0.0
    assert THROTTLED.unused_cores == pytest.approx(1.48)
    assert THROTTLED.idle_said == "no CPU time of its quota is left"
    half = limited(made_at_load.THROTTLED, made_at_load.QUOTA, cores=0.25)
    assert half.idle_cores == pytest.approx(0.25)
    assert judged.scene_of(half).readings["idle"].value == pytest.approx(0.5)


def test_a_larger_quota_gives_as_much_more_until_the_one_thread_is_busy() -> None:
    assert what_if.remedy(THROTTLED, "throttled") == {"cores": 1.0}
    twice = what_if.of_cause(THROTTLED, "throttled", {"cores": 1.0})
    assert (twice.low, twice.high) == pytest.approx((200.0, 200.0))
    most = what_if.of_cause(THROTTLED, "throttled", {"cores": 2.0})
    assert most.high == pytest.approx(200.0) and most.then == "one-loop"


def test_a_larger_quota_gives_no_more_than_the_cores_have() -> None:
    many = replace(
        THROTTLED, beyond=replace(THROTTLED.beyond, idle_most=0.3, threads=made_at_load.threads(sharing=8))
    )
    found = what_if.of_cause(many, "throttled", {"cores": 1.0})
    assert found.high == pytest.approx(100.0 * 0.8 / 0.5) and found.then == "cpu"


def test_the_usual_change_of_a_quota_is_no_more_than_all_cores() -> None:
    most = GroupLimits(quota=Limit(1.5, made_at_load.CONTAINER, "cpu.max", "150000 100000"))
    assert what_if.remedy(limited(made_at_load.THROTTLED, most), "throttled") == {"cores": 2.0}
    assert what_if.remedy(made_at_load.THROTTLED, "throttled") == {}, "its quota was not read"


def test_a_server_that_may_use_one_core_only_is_limited_by_it_though_others_are_idle() -> None:
    facts = limited(made_at_load.CPU, CORES, all_cores=1, cores=0.97, idle_most=1.0)
    found = first(facts)
    assert found.cause == "cpu" and "(its container 3f2a9c1b0d2e may use core 0 only)" in found.evidence
    assert "docker update --cpuset-cpus 0-1 3f2a9c1b0d2e" in found.remedy
    bound = limited(made_at_load.CPU, replace(CORES, cores=replace(CORES.cores, amount=2)), all_cores=1)  # type: ignore[type-var]
    assert "its container" not in first(bound).evidence, "it was bound to fewer cores than its group allows"


MEMORY = limited(made_at_load.DISK, made_at_load.LITTLE_MEMORY, stalled_share=0.6)


def test_a_limit_of_memory_is_named_where_threads_wait_for_it() -> None:
    found = first(MEMORY)
    assert found.cause == "memory" and "docker update --memory 128m" in found.remedy
    assert found.evidence == (
        "its container 3f2a9c1b0d2e may use 64.0 MiB of memory, and threads waited for some to be freed for "
        "60 % of the time"
    )
    assert what_if.remedy(MEMORY, "memory") == {}, "more cores are no remedy"
    assert first(limited(made_at_load.DISK, made_at_load.LITTLE_MEMORY, stalled_share=0.0)).cause == "disk"


@pytest.mark.parametrize(("share", "is_it"), [(0.75 * STALLED_MIN, False), (1.25 * STALLED_MIN, True)])
def test_threads_that_seldom_wait_for_memory_are_no_limit(share: float, is_it: bool) -> None:
    facts = limited(made_at_load.DISK, made_at_load.LITTLE_MEMORY, stalled_share=share)
    assert facts.waits_for_memory == is_it
    believed = next(each.probability for each in judged.held_by(facts) if each.cause == "memory")
    assert (believed > 0.2) == is_it


def test_garbage_is_named_with_the_limit_of_memory() -> None:
    found = first(limited(made_at_load.MEMORY, made_at_load.LITTLE_MEMORY, stalled_share=0.0))
    assert found.cause == "memory" and "its container 3f2a9c1b0d2e may use 64.0 MiB" in found.evidence


TASKS = limited(
    made_at_load.WORKERS,
    made_at_load.FEW_TASKS,
    failed=9_000,
    tasks=(20, 20),
    stage=Stage(not_accepted=4.0, unread=1.0, inside=19.0, other=4.0),
)


def test_a_limit_of_processes_is_named_where_no_more_can_be_started() -> None:
    found = first(TASKS)
    assert found.cause == "workers" and "docker update --pids-limit 40" in found.remedy
    assert found.evidence.startswith(
        "its container 3f2a9c1b0d2e may have 20 processes and threads, and there are 20; "
    )
    free = first(limited(made_at_load.WORKERS, made_at_load.FEW_TASKS, tasks=(10, 20)))
    assert free.cause == "workers" and "its container" not in free.evidence


def test_the_limit_of_processes_counts_from_where_the_last_few_are_started() -> None:
    expected = workers.REFUSED["tasks"]
    few = limited(made_at_load.WORKERS, made_at_load.FEW_TASKS, tasks=(19, 20))
    assert expected.low == 0.98 and "no more may be started" not in (first(few).evidence)
    assert "its container" not in first(few).evidence


def test_without_limits_nothing_is_read_of_them() -> None:
    readings = judged.scene_of(made_at_load.MEMORY).readings
    assert not {"stalled", "tasks"} & {*readings}
    ways = [each.name for each in memory.HYPOTHESIS.ways(judged.scene_of(made_at_load.MEMORY))]
    assert "its control group has no more" not in ways
