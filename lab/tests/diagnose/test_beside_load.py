"""What is looked at beside a load: for how much of the measured time a control group stopped the server."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import documents
import made_waits
import pytest
from crumple import contract
from crumple.diagnose import beside_load, load_sizes
from crumple.diagnose.beside_load import BesideLoad
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.diagnosis import Diagnosis
from crumple.machine.at_rest import AtRest
from crumple.machine.control_groups import Groups
from crumple.machine.group_limits import GroupCounts, GroupLimits, Limit
from crumple.machine.group_owner import Owner
from crumple.observation.observed import Observed
from crumple.record.stages import Budget
from made_observed import GREEN, LOOP, PROCESSES, THREADS, alone
from made_subject import SUBJECT

OWN = Path("/sys/fs/cgroup/service/web")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, float]]:
    """The time, and for how long the server had been stopped until then, in seconds.

    A group around the one that stops it did so for longer before, and does no more.
    """
    now = {"at_s": 100.0, "stopped_s": 50.0, "stalled_s": 30.0, "full": 7, "refused": 2, "tasks": 5}

    def counts(_: Groups) -> GroupCounts:
        return GroupCounts(
            stopped_ns={OWN: round(1e9 * now["stopped_s"]), OWN.parent: 400_000_000_000},
            stalled_ns=round(1e9 * now["stalled_s"]),
            full=round(now["full"]),
            refused=round(now["refused"]),
            tasks=round(now["tasks"]),
        )

    monkeypatch.setattr(beside_load.time, "monotonic", lambda: now["at_s"])
    monkeypatch.setattr(beside_load.group_limits, "counts", counts)
    monkeypatch.setattr(beside_load.bounds_of, "open_files", lambda _: None)
    yield now


def look(beside: BesideLoad, now: dict[str, float], at_s: float, phase: contract.Phase, **add: float) -> None:
    now["at_s"] += 1.0
    for name, more in add.items():
        now[name] += more
    line = documents.progress(seconds=at_s, scheduled=0, outcomes=documents.outcomes(), slower=())
    beside.look(line.model_copy(update={"phase": phase}))


def test_only_the_measured_time_counts(clock: dict[str, float]) -> None:
    beside = BesideLoad(SUBJECT, Observed(cores=2))
    clock["at_s"] += 20.0
    look(beside, clock, 1.0, "warm-up", stopped_s=0.9)
    for at_s in (2.0, 3.0, 4.0):
        look(beside, clock, at_s, "measured", stopped_s=0.5)
    assert beside.seen(1.0).throttled_share == pytest.approx(0.5)


def test_a_load_that_is_put_on_again_is_looked_at_anew(clock: dict[str, float]) -> None:
    beside = BesideLoad(SUBJECT, Observed(cores=2))
    for at_s in (2.0, 3.0, 2.0, 3.0):
        look(beside, clock, at_s, "measured", stopped_s=1.0 if at_s == 2.0 else 0.1)
    assert beside.seen(1.0).throttled_share == pytest.approx(0.1)


def test_the_times_of_several_cores_are_no_longer_than_the_whole(clock: dict[str, float]) -> None:
    beside = BesideLoad(SUBJECT, Observed(cores=2))
    for at_s in (2.0, 3.0):
        look(beside, clock, at_s, "measured", stopped_s=1.5)
    assert beside.seen(2.0).throttled_share == pytest.approx(0.75)
    assert beside.seen(None).throttled_share == 1.0


MEMORY = Observed(cores=2, limits=GroupLimits(memory=Limit(2**26, Owner("group", "/web"), "memory.max", "")))


def test_threads_wait_for_memory_only_where_its_limit_is_met(clock: dict[str, float]) -> None:
    beside = BesideLoad(SUBJECT, MEMORY)
    for at_s in (2.0, 3.0, 4.0):
        look(beside, clock, at_s, "measured", stalled_s=0.25, full=40)
    assert beside.seen(1.0).stalled_share == pytest.approx(0.25)
    for at_s in (2.0, 3.0):
        look(beside, clock, at_s, "measured", stalled_s=0.25)
    assert beside.seen(1.0).stalled_share == 0.0, "another group's threads may"
    assert BesideLoad(SUBJECT, Observed(cores=2)).seen(1.0).stalled_share is None


def test_a_thread_that_was_refused_shows_that_the_limit_was_reached(clock: dict[str, float]) -> None:
    limits = GroupLimits(tasks=Limit(20, Owner("group", "/web"), "pids.max", "20"))
    beside = BesideLoad(SUBJECT, Observed(cores=2, limits=limits))
    assert beside.seen(1.0).tasks is None
    look(beside, clock, 2.0, "measured")
    look(beside, clock, 3.0, "measured", tasks=4)
    assert beside.seen(1.0).tasks == (9, 20)
    look(beside, clock, 4.0, "measured", refused=1)
    assert beside.seen(1.0).tasks == (20, 20)


def test_one_look_tells_no_share(clock: dict[str, float]) -> None:
    beside = BesideLoad(SUBJECT, Observed(cores=2))
    look(beside, clock, 2.0, "measured")
    assert beside.seen(1.0).throttled_share is None


@pytest.mark.parametrize(("queued", "share"), [((0, 0, 2, 0), 0.75), ((0, 0), None), ((None,) * 4, None)])
def test_how_often_no_connection_waits_to_be_accepted(
    clock: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    queued: tuple[int | None, ...],
    share: float | None,
) -> None:
    seen = iter(queued)
    monkeypatch.setattr(beside_load.tcp_tables, "queued", lambda *_: next(seen))
    beside = BesideLoad(SUBJECT, Observed(cores=2))
    for at in range(len(queued)):
        look(beside, clock, 2.0 + at, "measured")
    assert beside.seen(1.0).queue_empty_share == share


def test_the_load_beyond_the_limit_has_several_times_what_waits_at_a_time() -> None:
    assert load_sizes.beyond_connections(GREEN, None) == load_sizes.BEYOND_MIN
    assert load_sizes.beyond_connections(THREADS, None) == 64
    many = replace(THREADS, waiting=tuple(replace(each, per_s=1000.0, per_s_low=990.0, per_s_high=1010.0,
                                                  connections=512) for each in THREADS.waiting))  # fmt: skip
    assert load_sizes.beyond_connections(many, None) == 400


def test_light_requests_start_no_thread_for_each_where_they_tell_nothing() -> None:
    told = [LOOP, GREEN, Observed(cores=2), THREADS, PROCESSES]
    assert [load_sizes.light_tells(each) for each in told] == [True, True, True, False, False]


def test_a_time_alone_that_others_disturbed_is_not_known() -> None:
    calm = replace(LOOP, work=alone(5))
    assert load_sizes.alone_s(calm) == 0.005 and load_sizes.alone_s(LOOP) is None
    assert load_sizes.alone_s(replace(LOOP, work=replace(alone(5), disturbed="others used 40 %"))) is None


def test_what_the_server_uses_while_nobody_asks_is_no_part_of_a_request() -> None:
    record = made_waits.watched(user=1.0)

    def user_ms(rest: AtRest | None) -> float:
        found = Diagnosis(
            plan=DiagnosisPlan("a server", None, 3, nullcontext),  # type: ignore[arg-type]
            subject=SUBJECT,
            seen=Observed(cores=2, rest=rest),
            found=None,
            below=None,
            beyond=record,
            facts=None,
            said=(),
            made=(),
            would_tell="",
            engine_version="1",
            command="",
            began_unix_s=0.0,
            took_s=1.0,
        )
        assert found.time_below is None and isinstance(found.time_beyond, Budget)
        return next(part.mean_ns for part in found.time_beyond.pieces if part.name == "user") / 1e6

    assert user_ms(None) == pytest.approx(0.1)
    assert user_ms(AtRest(cores=0.4, disk=0.0)) == pytest.approx(0.06)


def test_a_request_that_takes_seconds_is_looked_at_for_longer() -> None:
    assert load_sizes.look_s(replace(LOOP, work=alone(5))) == load_sizes.LOOK_S
    assert load_sizes.look_s(replace(LOOP, work=alone(4000))) == 12.0
    assert load_sizes.look_s(replace(LOOP, work=alone(60_000))) == load_sizes.LOOK_S_MAX


def test_the_load_beyond_the_limit_lasts_until_its_response_time_can_be_divided() -> None:
    # 64 connections that get 90 answers per second wait 0.7 s for each.
    assert load_sizes.beyond_s(5.0, 64, 90.0) == pytest.approx(12 * 64 / 90)
    assert load_sizes.beyond_s(5.0, 64, 5000.0) == 5.0
    assert load_sizes.beyond_s(5.0, 512, 20.0) == 5.0, "nor would the longest load do"
    assert load_sizes.beyond_s(5.0, 64, 37.0) == load_sizes.LOOK_S_MAX, "beyond its limit it may answer more"
    assert load_sizes.beyond_s(12.0, 64, None) == 12.0
