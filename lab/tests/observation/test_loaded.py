"""The record of a load becomes what is known of a server: what it lacks is unknown, and no 0."""

from collections.abc import Sequence
from itertools import accumulate

import documents
import made_inside
import pytest
from crumple import contract
from crumple.machine.at_rest import AtRest
from crumple.observation import loaded, places
from crumple.observation.loaded import Beside
from crumple.record import disturbance
from made_probes import WINDOW_NS, of_probes, tasks, thread
from made_stages import readings

BURNS = thread(5, 0.95)


def test_an_unwatched_server_has_unknown_figures() -> None:
    found = loaded.from_record(of_probes(server=None), 2)
    assert (found.cores, found.grew, found.switches_per_s) == (None,) * 3
    assert (found.threads, found.peers, found.stage) == (None,) * 3


def test_an_engine_that_could_not_be_read_used_an_unknown_time() -> None:
    engine = documents.record().probes.engine.model_copy(update={"window": None})
    assert loaded.from_record(of_probes(engine=engine), 2).engine_cores is None


def test_the_engine_is_on_the_cores_that_the_server_may_not_use_while_there_is_room() -> None:
    machine = documents.machine(0, cores=4)
    assert loaded.from_record(of_probes(machine=machine), 4).engine_cores == 0.5
    assert loaded.from_record(of_probes(machine=machine), 1).engine_cores == 0.0


def test_the_engine_shares_the_servers_cores_if_it_may_use_no_others() -> None:
    # Server and engine are bound to two of 64 cores.
    machine = documents.machine(0, cores=64)
    assert loaded.from_record(of_probes(machine=machine), 2, elsewhere=0).engine_cores == 0.5
    assert loaded.from_record(of_probes(machine=machine), 2).engine_cores == 0.0


def test_an_engine_on_another_machine_uses_none_of_the_servers_cores() -> None:
    # The engine used half a core there, and what watches the server a tenth of one here.
    here, there = documents.machine(1_200_000_000), documents.machine(4_000_000_000)
    probes = of_probes(machine=there, server_machine=here, watch=documents.probe(0.1))
    found = loaded.from_record(probes, 2)
    assert (found.engine_cores, found.idle_most) == (pytest.approx(0.1), pytest.approx(1.4))


def test_an_engine_in_another_namespace_shares_the_servers_cores() -> None:
    one = of_probes(machine=documents.machine(0), watch=documents.probe(0.1))
    one = one.model_copy(update={"load_host": "ip netns exec a"})
    assert loaded.from_record(one, 2, elsewhere=0).engine_cores == pytest.approx(0.6)


def test_no_more_cores_are_idle_than_the_whole_machine_had() -> None:
    machine = documents.machine(3_000_000_000, 600_000_000)
    assert loaded.from_record(of_probes(machine=machine), 2).idle_most == pytest.approx(0.2)
    assert loaded.from_record(of_probes(), 2).idle_most is None


def test_what_sends_light_requests_beside_the_load_is_the_loads_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 1.1)
    monkeypatch.setattr(disturbance, "MENTIONED", 1.05)
    plain = documents.record()
    server, engine = plain.probes.server, plain.probes.engine.window
    assert server is not None and server.window is not None and engine is not None
    light = plain
    # Nobody but the server and the two engines uses the machine.
    busy_ns = 2 * engine.cpu_ns + server.window.cpu_ns
    machine = documents.machine(busy_ns)
    record = of_probes(machine=machine, dependencies=None)
    alone, both = (loaded.from_record(record, 2, light=each) for each in (None, light))
    assert (alone.engine_cores, both.engine_cores) == (0.5, 1.0)
    assert alone.disturbed and not both.disturbed


def of_engine(record: contract.TrialRecord, window: contract.ProcessWindow) -> contract.Probes:
    """The record's probes, with another window of the engine."""
    engine = record.probes.engine.model_copy(update={"window": window})
    return record.probes.model_copy(update={"engine": engine})


def test_a_load_of_several_rates_rose() -> None:
    def rate(from_per_s: float, to_per_s: float) -> contract.RateSpec:
        return contract.RateSpec(from_per_s=from_per_s, to_per_s=to_per_s, duration_s=1.0)

    def rose(shape: contract.ShapeSpec) -> bool:
        return loaded.from_record(documents.record(spec=documents.spec(shape=shape)), 2).rose

    def is_open(*rates: contract.RateSpec) -> contract.OpenShapeSpec:
        return contract.OpenShapeSpec(connections=8, arrivals="even", rates=rates)

    assert not rose(contract.ClosedShapeSpec(connections=8)) and not rose(is_open(rate(5, 5)))
    assert rose(is_open(rate(5, 5), rate(9, 9))) and rose(is_open(rate(5, 9)))


def test_a_reading_all_of_whose_requests_ended_tells_of_no_stage() -> None:
    rows = [{"inside": 8}, {"thrown_away": 8}]
    found = loaded.from_record(of_probes(stages=readings(rows)), 2)
    assert found.stage is not None and found.stage.inside == pytest.approx(8)


def test_a_reading_that_found_no_request_counts() -> None:
    found = loaded.from_record(of_probes(stages=readings([{"inside": 8}, {}, {}, {"inside": 8}])), 2)
    assert found.in_flight == pytest.approx(4)
    assert found.stage is not None and found.stage.inside == pytest.approx(4)


def test_a_process_of_the_server_is_not_behind_it() -> None:
    rows = [(3, 1, 0)] * 20
    plain = made_inside.dependencies(documents.record(), {"127.0.0.1:1": rows, "127.0.0.1:2": rows})
    peers = [
        peer.model_copy(update={"listener": contract.ListenerRecord(pid=10, name="worker", own=own)})
        for peer, own in zip(plain.peers, (True, False), strict=True)
    ]
    read = plain.model_copy(update={"peers": tuple(peers)})
    found = loaded.from_record(of_probes(tasks=tasks(thread(1, 0.9)), dependencies=read), 2).peers
    assert found is not None and [each.address for each in found] == ["127.0.0.1:2"]


def test_that_dependencies_may_be_among_others_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 1.1)
    monkeypatch.setattr(disturbance, "MENTIONED", 1.05)
    named = contract.Unread(field="serving_cpu_ns", why="who serves 127.0.0.1:9 could not be found")
    read = made_inside.dependencies(
        documents.record(), {}, serving_cpu_ns=0, unfound_cpu_ns=10**10, unread=(named,)
    )
    machine = documents.machine(10**10)
    found = loaded.from_record(of_probes(dependencies=read, machine=machine), 2)
    assert found.disturbed == ""
    assert found.unread["others"].endswith("who serves 127.0.0.1:9 could not be found")
    sure = read.model_copy(update={"unfound_cpu_ns": 0})
    found = loaded.from_record(of_probes(dependencies=sure, machine=machine), 2)
    assert "others" not in found.unread


def test_threads_that_burn_cores_are_not_ready_for_requests() -> None:
    seen = tasks(thread(1, 0.1, 0.2), thread(5, 0.5, 0.5), run_queue_ns=round(0.7 * WINDOW_NS))
    alone = loaded.from_record(of_probes(tasks=seen), 2, Beside(rest=AtRest(1.0, 0.0, (5,)))).threads
    every = loaded.from_record(of_probes(tasks=seen), 2).threads
    assert alone is not None and alone.runnable == pytest.approx(0.2)
    assert every is not None and every.runnable == pytest.approx(0.7)


def test_threads_that_ended_were_ready_too() -> None:
    seen = tasks(thread(1, 0.1), run_queue_ns=WINDOW_NS, ended_run_queue_ns=WINDOW_NS)
    found = loaded.from_record(of_probes(tasks=seen), 2).threads
    assert found is not None and found.runnable == pytest.approx(2.0)


def test_whether_connections_were_late_is_not_known_where_none_was_opened_and_some_are_pending() -> None:
    pending = loaded.from_record(of_probes(stages=readings([{"not_accepted": 3, "inside": 5}] * 4)), 2)
    none = loaded.from_record(of_probes(stages=readings([{"inside": 8}] * 4)), 2)
    assert (pending.late_connects, none.late_connects) == (None, 0)


def test_a_connection_that_never_came_about_was_late() -> None:
    record = documents.record(outcomes=documents.outcomes(ok=20_000, connect_timeout=7))
    assert loaded.from_record(record, 2).late_connects == 7


def test_a_thread_is_saturated_if_it_uses_its_core_or_waits_for_one_all_the_time() -> None:
    seen = tasks(thread(1, 0.9), thread(2, 0.5, 0.45), thread(3, 0.5, 0.1), thread(4, 0.1, 0.9), BURNS)
    found = loaded.from_record(of_probes(tasks=seen), 2, Beside(rest=AtRest(1.0, 0.0, (5,)))).threads
    assert found is not None
    assert [each.program for each in found.saturated] == ["thread-1", "thread-2"]


def test_the_busiest_thread_is_none_that_burns_a_core_for_nobody() -> None:
    seen = tasks(thread(1, 0.5, 0.2), thread(2, 0.6), BURNS)
    found = loaded.from_record(of_probes(tasks=seen), 2, Beside(rest=AtRest(1.0, 0.0, (5,)))).threads
    assert found is not None and found.busiest == pytest.approx(0.7)


def test_how_threads_share_is_not_known_where_most_of_the_time_is_of_threads_not_seen() -> None:
    # The processes used 0.9 cores, and the threads that lived long enough to be read a tenth.
    brief = loaded.from_record(of_probes(tasks=tasks(thread(1, 0.1))), 2).threads
    known = loaded.from_record(of_probes(tasks=tasks(thread(1, 0.45), thread(2, 0.45))), 2).threads
    assert brief is not None and known is not None
    assert brief.sharing is None and known.sharing == pytest.approx(2)


def test_threads_share_alike_though_not_all_of_them_are_told_apart() -> None:
    # 160 threads used as much each, and the record tells 64 of them apart.
    told = [thread(at, 0.02) for at in range(64)]
    many = tasks(*told, cpu_ns=round(160 * 0.02 * WINDOW_NS))
    assert loaded.sharing(of_probes(tasks=many)) == pytest.approx(160)
    # One of them computes for nobody.
    assert loaded.sharing(of_probes(tasks=many), (63,)) == pytest.approx(159)


def test_switches_of_threads_too_brief_to_be_read_are_missing() -> None:
    # The processes used 0.9 cores.
    brief = loaded.from_record(of_probes(tasks=tasks(thread(1, 0.1))), 2)
    assert "used 89% of its CPU time" in brief.unread["switches"]
    assert "switches" not in loaded.from_record(of_probes(tasks=tasks(thread(1, 0.88))), 2).unread


def test_why_something_could_not_be_read_is_kept() -> None:
    doubt = contract.Unread(field="disk", why="no thread of this machine waited for a disk")
    asleep = loaded.from_record(of_probes(tasks=tasks(thread(1, 0.9), unread=(doubt,))), 2)
    assert asleep.unread == {"disk": doubt.why}
    unread = tasks(at_ns=[], looked=[], threads=[], window_ns=None, why="not permitted")
    assert loaded.from_record(of_probes(tasks=unread), 2).unread == {"threads": "not permitted"}
    hidden = contract.DependencyRecord(
        at_ns=(documents.record().warm_up_ns,),
        late_ns=(0,),
        cost_ns=(0,),
        serving_pids=(),
        unfound_pids=(),
        peers=(),
        unread=(contract.Unread(field="unix", why="not permitted"),),
        why=None,
    )
    assert loaded.from_record(of_probes(dependencies=hidden), 2).unread == dict.fromkeys(
        ("peers", "dependencies"), "not permitted"
    )


def test_a_dependency_that_was_missed_is_known_as_such_and_one_of_somebody_is_not() -> None:
    plain = documents.record()
    at = ["127.0.0.1:1", "127.0.0.1:2"]
    found = made_inside.dependencies(
        plain,
        {address: [(0, 1, 0)] * 4 for address in at},
        unread=(
            contract.Unread(field="peers", why=f"{at[0]}: 9 connections with it were closed"),
            contract.Unread(field="connections", why="2 of the server's processes belong to another user"),
            contract.Unread(field="peers", why="127.0.0.1:3: 9 connections with it were closed"),
        ),
    )
    peers = loaded.from_record(of_probes(dependencies=found), 2).peers
    assert peers is not None
    assert {peer.address: peer.missed for peer in peers} == {
        at[0]: "9 connections with it were closed",
        at[1]: "",
    }


def test_the_dependency_that_most_connections_wait_for_is_told() -> None:
    rows = {
        "127.0.0.1:1": [(1, 3, 0)] * 20,
        "127.0.0.1:2": [(30, 2, 0)] * 20,
        "127.0.0.1:3": [(0, 9, 0)] * 20,
    }
    read = made_inside.dependencies(documents.record(), rows)
    found = loaded.waited_for(of_probes(dependencies=read))
    assert found is not None and (found.address, found.waiting) == ("127.0.0.1:2", 30)
    idle = made_inside.dependencies(documents.record(), {"127.0.0.1:3": rows["127.0.0.1:3"]})
    assert loaded.waited_for(of_probes(dependencies=idle)) is None
    assert loaded.waited_for(of_probes()) is None


def test_whom_the_server_asks_while_nobody_asks_it_is_waited_for_by_no_request() -> None:
    rows = {"127.0.0.1:1": [(2, 2, 0)] * 20, "127.0.0.1:2": [(1, 4, 0)] * 20, "127.0.0.1:3": [(0, 9, 0)] * 20}
    read = of_probes(dependencies=made_inside.dependencies(documents.record(), rows))
    assert loaded.asks_at_rest(read) == {"127.0.0.1:1": 2.0, "127.0.0.1:2": 1.0}
    assert loaded.asks_at_rest(of_probes()) is None
    found = loaded.waited_for(read, {"127.0.0.1:1": 2.0})
    assert found is not None and (found.address, found.waiting) == ("127.0.0.1:2", 1)
    assert loaded.waited_for(read, loaded.asks_at_rest(read) or {}) is None


def test_of_switches_that_are_not_all_known_the_least_and_the_most_are() -> None:
    """The threads of the server ended with the load; the machine has others besides, and the engine's."""
    plain = of_probes()
    server, engine = plain.probes.server, plain.probes.engine
    assert server is not None and server.window is not None and engine.window is not None
    ended = {"voluntary_switches": None, "involuntary_switches": None, "switches_at_least": 40_000}
    probes = plain.probes.model_copy(
        update={
            "server": server.model_copy(update={"window": server.window.model_copy(update=ended)}),
            "engine": engine.model_copy(
                update={"window": engine.window.model_copy(update={"switches_at_least": 10_000})}
            ),
            "machine": documents.machine(0, switches=70_000, span_ns=plain.measured_ns),
        }
    )
    found = loaded.from_record(plain.model_copy(update={"probes": probes}), 2)
    spent_s = plain.measured_ns / 1e9
    assert found.switches_per_s is None
    assert found.switches_least_per_s == pytest.approx(40_000 / spent_s)
    # An older record does not tell it.
    older = loaded.from_record(plain, 2)
    assert older.switches_least_per_s is None


def test_where_the_thread_sleeps_that_used_most_cpu_time_is_kept_but_not_of_one_that_burns() -> None:
    first, second = thread(5, 0.5) | {"place": "do_epoll_wait"}, thread(1, 0.1) | {"place": "wait_woken"}
    seen = tasks(first, second)
    every = loaded.from_record(of_probes(tasks=seen), 2).threads
    alone = loaded.from_record(of_probes(tasks=seen), 2, Beside(rest=AtRest(1.0, 0.0, (5,)))).threads
    assert every is not None and every.busiest_at == "do_epoll_wait"
    assert alone is not None and alone.busiest_at == "wait_woken"


def test_the_rate_is_kept_of_the_first_third_of_a_load_and_of_the_last() -> None:
    rows, tenth_ns = 9, 100_000_000

    def rates(ok: Sequence[int], tenths: Sequence[int]) -> tuple[float, float] | None:
        """Of a load without a warm-up, whose rows last so many tenths of a second."""
        ends_ns = [tenth_ns * end for end in accumulate(tenths)]
        plain = documents.record(measured_ns=ends_ns[-1], warm_up_ns=0)
        columns = {
            "at_ns": (0, *ends_ns[:-1]),
            "phase": ("measured",) * len(ok),
            "duration_ns": tuple(tenth_ns * each for each in tenths),
            "ok": tuple(ok),
        }
        series = plain.series.model_copy(update=columns)
        return loaded.from_record(plain.model_copy(update={"series": series}), 2).rates

    assert rates(range(rows), [1] * rows) == pytest.approx((10, 70))
    assert rates(range(6), [1] * 6) is None
    # In a long load later rows are longer.
    assert rates([1] * 12 + [4] * 6 + [12] * 3, [1] * 12 + [2] * 6 + [4] * 3) == pytest.approx((10, 30))


def test_threads_that_looks_at_them_have_not_found_yet_are_counted_by_the_samples() -> None:
    """A server that starts a thread for each connection grows faster than its threads are listed."""
    record = documents.record()
    server = made_inside.server(record, 0.1)
    grown = server.samples.model_copy(update={"threads": (400,) * len(server.samples.at_ns)})
    tasks = made_inside.tasks(record, [(0, 0, 0)] * 60, threads=8)
    asleep = tasks.model_copy(
        update={"places": (contract.PlaceRecord(where="futex_do_wait", looked=8 * 60),)}
    )
    probes = record.probes.model_copy(
        update={"server": server.model_copy(update={"samples": grown}), "tasks": asleep}
    )
    found = loaded.from_record(record.model_copy(update={"probes": probes}), 2)
    assert found.threads is not None and found.threads.number == 400
    assert places.under_load(found.threads, places.is_lock) == pytest.approx(400)
