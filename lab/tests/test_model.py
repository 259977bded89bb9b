"""The I/O model follows from two lines of evidence or more, and from none it does not."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from crumple.cause import beside_heavy, model, model_lines, parallelism
from crumple.cause.at_load import Peer
from crumple.cause.observed import Beside, Observed
from crumple.cause.parallelism import Parallelism
from crumple.cause.unknown import Unknown
from crumple.diagnose.report import diagnose_sentences
from crumple.machine.at_rest import AtRest
from crumple.machine.process_tree import Tree
from made_observed import (
    GREEN,
    HELD,
    HYBRID,
    LOOP,
    LOOPS,
    MODELS,
    PROCESS_EACH,
    THREAD_EACH,
    THREADS,
    alone,
    beside,
    many,
)


@pytest.mark.parametrize("name", MODELS)
def test_each_model_is_named(name: str) -> None:
    named = model.named(MODELS[name])
    assert named.known == name, [(line.says, sorted(line.leaves)) for line in named.lines]


@pytest.mark.parametrize("name", MODELS)
def test_without_its_process_no_wrong_model_is_named(name: str) -> None:
    seen = MODELS[name]
    without = [replace(each, cores=None, at_rest=None, most=None) for each in seen.waiting]
    computing = seen.computing and replace(seen.computing, cores=None, at_rest=None, most=None)
    unwatched = replace(seen, held=None, waiting=tuple(without), computing=computing)
    assert model.named(unwatched).known in (None, name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("left_out", ["held", "waiting", "computing", "beside_one", "beside_many"])
def test_without_one_observation_no_wrong_model_is_named(name: str, left_out: str) -> None:
    less = replace(MODELS[name], **{left_out: () if left_out == "waiting" else None})  # type: ignore[arg-type]
    assert model.named(less).known in (None, name)


def test_processes_that_come_with_the_one_request_that_waits_are_no_workers() -> None:
    # A loop that waits for a child process at each request.
    comes = replace(LOOP, waiting=(many(32, 1, 0.1, at_rest=Tree(1, 7), most=Tree(3, 9)),))
    assert "event-loop" in model.named(comes).left
    stays = replace(LOOP, waiting=(many(32, 1, 0.1, at_rest=Tree(3, 9), most=Tree(3, 9)),))
    assert "event-loop" not in model.named(stays).left


def test_a_runtime_of_light_threads_tells_only_between_models_that_are_left() -> None:
    held = replace(HELD, runtime="Go")
    unsure = replace(GREEN, beside_one=None, beside_many=None)
    assert model.named(unsure).known is None and "green-threads" in model.named(unsure).left
    named = model.named(replace(unsure, held=held))
    assert named.known == "green-threads" and "that of Go" in named.lines[-1].says
    # A loop of its own in such a runtime is what it does, and one line alone names no model.
    assert model.named(replace(LOOPS, held=held)).known == "event-loop-per-core"
    assert model.named(Observed(cores=2, held=replace(held, accepted=None))).known is None


def test_a_runtime_without_light_threads_leaves_the_other_models() -> None:
    unsure = replace(GREEN, beside_one=None, beside_many=None)
    left = model.named(unsure).left
    named = model.named(replace(unsure, held=replace(HELD, runtime="JavaScript")))
    assert named.left == left - {"green-threads"} and named.left
    assert "JavaScript, which has no light threads" in named.lines[-1].says
    # A thread beside the loop, which computes meanwhile, makes it look like light threads: it is none.
    assert model.named(GREEN).known == "green-threads"
    assert model.named(replace(GREEN, held=replace(HELD, runtime="JavaScript"))).known is None


def test_processes_that_were_there_before_their_connections_are_a_pool() -> None:
    there = Tree(65, 65)
    held = replace(HELD, kept=False, accepted=20, holders=20, most=1, before=there, after=there)
    assert model.named(Observed(cores=2, held=held)).left == {"process-pool"}
    # Of eight that hold one, three were there: a pool that grows.
    grows = replace(held, accepted=8, holders=8, before=Tree(4, 4), after=Tree(9, 9))
    assert model.named(Observed(cores=2, held=grows)).left == {"process-pool"}
    # Six of eight were added, or some ended meanwhile: both may be so.
    for before, after in ((Tree(4, 4), Tree(10, 10)), (Tree(30, 30), Tree(12, 12))):
        unsure = replace(grows, before=before, after=after)
        assert "process-per-connection" in model.named(Observed(cores=2, held=unsure)).left


def test_a_process_that_starts_the_others_may_have_threads_of_its_own() -> None:
    # Two workers with one thread each, one that starts them, and one that looks after what they share.
    there = Tree(4, 6)
    held = replace(HELD, holders=2, most=14, before=there, after=there)
    seen = replace(
        LOOPS,
        held=held,
        waiting=(many(512, 440, 0.1, at_rest=there, most=there),),
        computing=replace(many(16, 16, 0.02, at_rest=there, most=there), busy=1.6),
    )
    assert "green-threads" in model.named(seen).left
    # Two loops of a proxy may hold them, and others compute behind these.
    proxy = replace(seen, held=replace(held, holders_threads=2))
    assert "green-threads" in model.named(proxy).left
    assert seen.computing is not None
    told = replace(proxy, computing=replace(seen.computing, by_holders=True))
    assert "green-threads" not in model.named(told).left
    assert "2 processes that hold connections have one thread each" in "".join(
        line.says for line in model.named(told).lines
    )


@pytest.mark.parametrize(("busy", "left"), [(180.0, {"thread-pool"}), (20.0, {"hybrid", "thread-pool"})])
def test_a_pool_that_had_grown_before_serves_what_waits_if_many_of_its_threads_do(
    busy: float, left: set[str]
) -> None:
    grown = Tree(1, 620)
    loads = (many(512, 510, 0.1, at_rest=grown, most=grown, busy=busy),)
    named = model.named(replace(HYBRID, waiting=loads, beside_many=beside(8, 0.2)))
    assert named.left == left, named.lines


def test_processes_that_were_added_before_are_no_added_threads() -> None:
    grown = Tree(520, 520)
    loads = (many(512, 146, 0.1, at_rest=Tree(500, 500), most=grown, busy=140.0),)
    assert model.named(replace(PROCESS_EACH, waiting=loads)).known == "process-per-connection"


def test_one_thread_computes_however_short_the_heavy_request_is() -> None:
    short = replace(LOOP, heavy=alone(3.6, 3.6), waiting=(many(512, 512, 0.1),))
    assert isinstance(parallelism.computes(short), Unknown)
    assert model.named(short).known == "event-loop"
    assert short.computing is not None
    idle = replace(short, computing=replace(short.computing, cores=0.2))
    assert "event-loop-per-core" in model.named(idle).left


def test_of_several_processes_one_may_have_accepted_all_connections() -> None:
    uneven = replace(LOOPS, computing=many(16, 1, 0.02, cores=1.0, busy=1.0))
    assert "event-loop-per-core" in model.named(uneven).left
    assert "event-loop-per-core" not in model.named(replace(uneven, held=HELD)).left


def test_processes_of_one_thread_each_have_no_pool_beside_their_loops() -> None:
    there = Tree(3, 3)
    held = replace(HELD, holders=2, most=13, before=there, after=there)
    single = replace(LOOPS, held=held, waiting=(many(512, 510, 0.1, most=there),), beside_one=None)
    assert single.computing is not None
    single = replace(single, beside_many=None, computing=replace(single.computing, most=there))
    assert model.named(single).known == "event-loop-per-core"
    more = replace(single, waiting=(many(512, 510, 0.1, most=Tree(3, 7)),))
    assert {"green-threads", "hybrid"} <= model.named(more).left
    # Processes that are started to compute are a pool beside its loops.
    forked = replace(single, computing=many(16, 1.9, 0.02, cores=1.95, busy=2.0, most=Tree(20, 20)))
    assert "hybrid" in model.named(forked).left


@pytest.mark.parametrize(
    ("accepted", "threads", "leaves"),
    [
        (0, 2, model_lines.ALL),
        (4, 1, model_lines.UNBLOCKED | {"thread-pool"}),
        (5, 9, model_lines.BLOCKING),
        (5, 30, model_lines.ALL - model_lines.PER_CONNECTION),
    ],
)
def test_connections_that_are_not_accepted_tell_of_workers_only_if_these_hold_others(
    accepted: int, threads: int, leaves: model_lines.Models
) -> None:
    # A loop may have a limit on its connections, and one that is reached by others accepts none.
    there = Tree(1, threads)
    held = replace(HELD, accepted=accepted, before=there, after=there, answered=False)
    quick = Observed(cores=2, held=held, light=alone(0.2))
    assert model.named(quick).left == leaves
    # A runtime of light threads has threads for other things; and who takes long keeps others waiting anyway.
    assert "green-threads" in model.named(replace(quick, held=replace(held, runtime="Go"))).left
    assert model.named(replace(quick, light=alone(800))).left == model_lines.ALL
    assert model.named(replace(quick, light=None)).left == model_lines.ALL
    unanswered = replace(quick, light=None, failed={"light": "no answer within 12 s"})
    assert model.named(unanswered).left == leaves


def test_a_pool_of_processes_that_grows_until_it_is_full_is_no_process_for_each() -> None:
    there = Tree(21, 21)
    full = replace(HELD, before=Tree(6, 6), after=there, accepted=20, holders=20, most=1, answered=False)
    loads = (many(32, 20, 0.1, at_rest=there, most=there),)
    assert model.named(replace(PROCESS_EACH, held=full, waiting=loads)).known == "process-pool"
    shrinks = (many(32, 20, 0.1, at_rest=Tree(11, 11), most=there),)
    assert "process-pool" in model.named(replace(PROCESS_EACH, held=full, waiting=shrinks)).left


def test_some_threads_that_a_pool_beside_loops_added_serve_no_requests_that_wait() -> None:
    # Sixteen loops on eight cores, and a pool of twenty for what blocks, which the heavy load has filled.
    there = Tree(1, 55)
    seen = replace(HYBRID, cores=8, held=replace(HELD, before=Tree(1, 35), after=Tree(1, 35)))
    seen = replace(seen, waiting=(many(32, 32, 0.1, at_rest=there, most=there, busy=9.0),))
    assert "hybrid" in model.named(seen).left


def test_without_knowing_who_holds_connections_one_process_may_have_taken_all() -> None:
    two = many(16, 1, 0.02, cores=1.0, busy=1.0, most=Tree(3, 3))
    assert "event-loop-per-core" in model.named(replace(LOOPS, held=None, computing=two)).left
    one = many(16, 1, 0.02, cores=1.0, busy=1.0)
    assert "event-loop-per-core" not in model.named(replace(LOOPS, held=None, computing=one)).left


def test_a_pool_that_grows_until_it_is_full_adds_threads_for_connections_too() -> None:
    full = replace(HELD, before=Tree(1, 5), after=Tree(1, 18), answered=False)
    there = Tree(1, 18)
    seen = replace(THREADS, held=full, waiting=(many(32, 16, 0.1, at_rest=there, most=there),))
    assert model.named(seen).known == "thread-pool"


def test_threads_that_a_load_added_may_take_in_what_a_pool_serves() -> None:
    held = replace(HELD, before=Tree(1, 22), after=Tree(1, 42))
    there = Tree(1, 318)
    seen = replace(THREADS, held=held, waiting=(many(32, 16, 0.1, at_rest=there, most=there),))
    assert model.named(seen).known == "thread-pool"


def test_of_nothing_nothing_follows() -> None:
    named = model.named(Observed(cores=2))
    assert named.known is None and named.left == model_lines.ALL and not named.contradicts


def test_one_line_alone_names_no_model() -> None:
    held = replace(HELD, after=replace(HELD.after, threads=34)) if HELD.after else HELD
    named = model.named(Observed(cores=2, held=held))
    assert named.left == {"thread-per-connection"} and named.known is None


def test_what_is_left_is_said_in_common_if_two_lines_leave_it() -> None:
    assert model.named(PROXY).in_common == model_lines.UNBLOCKED
    assert model.named(LOOP).in_common is None
    held = replace(HELD, accepted=5, before=Tree(1, 9), after=Tree(1, 9), answered=False)
    one_line = model.named(Observed(cores=2, light=alone(0.2), held=held))
    assert one_line.left == model_lines.BLOCKING and one_line.in_common is None
    # That requests compute on two cores excludes one event loop, and says nothing of what else waits.
    two = model.named(replace(LOOPS, held=held, waiting=(), beside_one=None, beside_many=None))
    assert two.left < model_lines.BLOCKING and two.in_common != model_lines.UNBLOCKED
    assert {*model.KINDS} == {*diagnose_sentences.KINDS}


def test_lines_that_contradict_each_other_name_none() -> None:
    assert HELD.after is not None
    grows = replace(HELD, after=replace(HELD.after, threads=34))
    named = model.named(replace(LOOP, held=grows))
    assert named.contradicts and named.known is None


def test_all_that_wait_at_a_time_is_no_limit() -> None:
    found = parallelism.waits(LOOP)
    assert isinstance(found, Parallelism) and (found.kind, found.value, found.why) == ("at-least", 512, "all")


def test_all_that_may_wait_at_a_time_are_not_said_to() -> None:
    # Of 32, 28 were served at a time, give or take 2: all but what the engine takes, or a limit.
    load = many(32, 28, 0.1, per_s_low=260.0, per_s_high=300.0)
    found = parallelism.waits(replace(LOOP, waiting=(load,)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "perhaps-all")
    assert found.value == found.low == pytest.approx(26)
    assert found.may_be_all
    of_more = parallelism.waits(replace(LOOP, waiting=(load, many(512, 28, 0.1))))
    assert isinstance(of_more, Parallelism) and not of_more.may_be_all
    assert of_more.kind == "limit" and of_more.value == pytest.approx(28)


def test_a_pool_limits_what_waits() -> None:
    found = parallelism.waits(THREADS)
    assert isinstance(found, Parallelism) and found.kind == "limit" and found.value == pytest.approx(8)


def test_a_server_without_cpu_time_left_shows_no_limit() -> None:
    busy = replace(LOOP, waiting=(many(512, 200, 0.1, cores=0.97),))
    found = parallelism.waits(busy)
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "cpu")


def test_a_server_that_still_grows_shows_no_limit() -> None:
    found = parallelism.waits(replace(LOOP, waiting=(many(32, 8, 0.1, growing=True),)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "growing")


def test_a_core_that_another_thread_burns_is_none_on_which_requests_compute() -> None:
    # A loop computes on one core. A thread that computes for nobody has the other.
    burns = replace(LOOP, rest=AtRest(1.0, 0.0), computing=many(16, 1, 0.02, cores=1.98, busy=1.02))
    found = parallelism.computes(burns)
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "cpu")
    assert not parallelism.is_on_all_cores(found, burns)
    said = diagnose_sentences.computing(SimpleNamespace(seen=burns))  # type: ignore[arg-type]
    assert said == "on at least 0.98 of 2 cores"
    both = diagnose_sentences.computing(SimpleNamespace(seen=LOOPS))  # type: ignore[arg-type]
    assert both == "on all 2 cores"


def test_a_server_that_refuses_requests_beyond_a_rate_shows_no_limit_of_those_that_wait() -> None:
    # It answers 50 per second, which wait for 0.1 s each, and the others at once with 429.
    refuses = replace(LOOP, waiting=(many(32, 5, 0.1, mean_s=0.1, failed=4_000),))
    found = parallelism.waits(refuses)
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "failing")
    assert not [line for line in model.named(refuses).lines if "wait at a time" in line.says]
    # One that closes a connection now and then does not.
    some = parallelism.waits(replace(LOOP, waiting=(many(32, 5, 0.1, failed=3),)))
    assert isinstance(some, Parallelism) and some.kind == "limit"


def test_a_slow_request_that_computes_tells_nothing_of_waiting() -> None:
    assert isinstance(parallelism.waits(replace(LOOP, slow=alone(100, 90))), Unknown)


def test_a_heavy_request_that_waits_tells_nothing_of_computing() -> None:
    assert isinstance(parallelism.computes(replace(LOOP, heavy=alone(100, 1))), Unknown)


# A heavy request whose last part waits in the kernel for 43.5 ms, until the first is acknowledged.
PUT_OFF = replace(alone(64, 20.7), first_byte_s=0.0205)


def test_an_answer_that_waits_to_be_acknowledged_computes_as_long_as_it_is_served() -> None:
    found = parallelism.computes(replace(LOOP, heavy=PUT_OFF))
    assert isinstance(found, Parallelism) and (found.kind, round(found.value)) == ("limit", 1)
    found = parallelism.waits(replace(LOOP, slow=replace(alone(63.5, 18), first_byte_s=0.02)))
    assert isinstance(found, Unknown) and "computes rather than waits" in found.why


def test_all_cores_are_no_limit_and_one_core_is() -> None:
    one, all_ = parallelism.computes(LOOP), parallelism.computes(LOOPS)
    assert isinstance(one, Parallelism) and (one.kind, round(one.value)) == ("limit", 1)
    assert isinstance(all_, Parallelism) and all_.kind == "at-least"


def test_light_requests_that_wait_in_part_tell_several_loops_from_one() -> None:
    assert model.named(replace(LOOP, beside_one=beside(1, 0.4))).known is None


def test_a_pool_that_is_still_being_filled_has_no_thread_for_each_connection() -> None:
    # An executor of Java starts a thread for each request until it has 200.
    filling = replace(HELD, before=Tree(1, 111), after=Tree(1, 135), grown=90, asked=111)
    # One thread of the runtime, for one request; and requests of which each had a connection of its own.
    for other in (replace(HELD, after=Tree(1, 34), grown=1, asked=1), replace(filling, kept=False)):
        assert model.named(replace(THREAD_EACH, held=other)).known == "thread-per-connection"
    there = Tree(1, 223)
    waiting = (many(512, 206, 0.1, at_rest=there, most=there),)
    assert model.named(replace(THREADS, held=filling, waiting=waiting)).known == "thread-pool"
    own = replace(HELD, after=Tree(1, 34), grown=2, asked=111)
    assert model.named(replace(THREAD_EACH, held=own)).known == "thread-per-connection"


def test_fewer_light_requests_than_would_meet_a_busy_loop_wait_for_no_loop() -> None:
    # 0.375 of them would meet one loop of two, and 0.2 for long; a runtime that shares two cores with the
    # engine showed 0.27 and 0.09.
    some = replace(GREEN, beside_one=replace(beside(1, 0.3), long=9))
    assert "green-threads" in model.named(some).left and model.named(some).known in (None, "green-threads")
    met = replace(LOOPS, beside_one=replace(beside(1, 0.3), long=16))
    assert model.named(met).known == "event-loop-per-core"
    uncounted = replace(GREEN, beside_one=beside(1, 0.26))
    assert "green-threads" in model.named(uncounted).left


def test_light_requests_that_are_let_in_before_the_heavy_one_is_over_exclude_nothing() -> None:
    # Of those that wait for the rest of a heavy request, half wait for more than 0.6 of it. A loop whose
    # handler gives way once, to ask its database, lets them in as well.
    let_in, until_over = (replace(beside(1, 0.45), long=long) for long in (6, 24))
    assert "green-threads" in model.named(replace(GREEN, beside_one=let_in)).left
    assert model.named(replace(LOOPS, beside_one=until_over)).known == "event-loop-per-core"
    assert model.named(replace(LOOP, beside_one=replace(beside(1, 0.9), long=48))).known == "event-loop"
    turns = model.named(replace(LOOP, beside_one=replace(beside(1, 0.9), long=9)))
    assert {"event-loop", "green-threads"} <= turns.left


def test_light_requests_on_new_connections_may_be_accepted_by_a_loop_that_is_free() -> None:
    # Two processes of Sanic: the one that is free accepts each new connection.
    accepted = replace(LOOPS, beside_one=beside(1, 0.0))
    assert model.named(accepted).known is None
    assert "event-loop-per-core" in model.named(accepted).left
    kept = Beside(1, 24, 10, long=5)
    assert model.named(replace(accepted, beside_held=kept)).known == "event-loop-per-core"


def test_light_requests_on_connections_that_were_open_tell_green_threads_from_loops() -> None:
    free = Beside(1, 24, 0, long=0)
    loops = replace(LOOPS, beside_one=None)
    assert model.named(replace(GREEN, beside_held=free)).known == "green-threads"
    assert "event-loop-per-core" not in model.named(replace(loops, beside_held=free)).left
    # Four of 24 may have waited for a core.
    some = replace(GREEN, beside_held=Beside(1, 24, 4, long=1))
    assert model.named(some).known in (None, "green-threads") and "green-threads" in model.named(some).left


def test_of_several_processes_one_that_is_free_lets_light_requests_in() -> None:
    # Four workers of Mojolicious, of which three compute for eight connections.
    free = replace(LOOPS, held=replace(HELD, holders=4, most=11), beside_one=beside(1, 0.01))
    several = replace(free, beside_many=replace(beside(8, 0.11), long=0))
    assert "event-loop-per-core" in model.named(several).left


def test_the_loop_that_accepts_for_the_others_may_be_the_busy_one() -> None:
    # A selector of Grizzly, which accepts and runs handlers: 99 of 100 light requests waited for it.
    met = replace(beside(1, 0.99), long=99)
    assert model.named(replace(LOOPS, beside_one=met)).known == "event-loop-per-core"


@pytest.mark.parametrize("light", [5, 9])
def test_few_connections_may_meet_no_busy_loop_by_chance(light: int) -> None:
    few = replace(LOOPS, beside_one=None, beside_held=Beside(1, light, 0, long=0))
    busy = replace(few.computing, busy=4.0) if few.computing else None
    assert "event-loop-per-core" in model.named(replace(few, computing=busy)).left


def test_a_process_that_accepted_all_connections_leaves_none_for_the_busy_one() -> None:
    free = Beside(1, 24, 0, long=0)
    one_has_all = replace(LOOPS, beside_one=None, beside_held=free, held=replace(HELD, holders=2, most=23))
    assert "event-loop-per-core" in model.named(one_has_all).left


def test_lines_that_rest_on_the_same_heavy_request_count_as_one() -> None:
    loop = frozenset[model_lines.IoModel]({"event-loop"})
    same = (
        model_lines.Line("one", loop, "heavy"),
        model_lines.Line("other", model_lines.ALL - {"hybrid"}, "heavy"),
    )
    assert model.Named(loop, same).known is None
    assert (
        model.Named(loop, (*same, model_lines.Line("threads", model_lines.UNBLOCKED))).known == "event-loop"
    )


def test_a_loop_that_waits_for_a_core_may_have_a_pool_for_handlers() -> None:
    # Ten threads of Twisted compute on two cores; the loop gets its turn after some milliseconds.
    turns = replace(HYBRID, beside_many=replace(beside(8, 0.75), long=10))
    assert model.named(turns).known == "hybrid"
    assert model.named(replace(HYBRID, beside_many=replace(beside(8, 0.75), long=70))).known is None


def test_threads_that_take_in_connections_may_have_a_pool_behind_them() -> None:
    # tiny_http reads each connection in a thread of its own, and twelve threads answer.
    many_threads = Tree(1, 314)
    read = replace(HELD, before=Tree(1, 18), after=Tree(1, 38))
    waiting = (many(32, 12.1, 0.1, at_rest=many_threads, most=many_threads),)
    computing = many(16, 1.9, 0.02, cores=1.95, busy=12.1)
    pool = replace(THREADS, held=read, waiting=waiting, computing=computing)
    assert model.named(pool).known == "thread-pool"


def test_of_few_that_wait_it_is_not_known_whether_they_are_let_in() -> None:
    few = replace(beside(1, 0.3), long=13)
    assert model.named(replace(LOOPS, beside_one=few)).known == "event-loop-per-core"


def test_a_runtime_that_takes_turns_is_not_told_from_a_pool_of_as_many_threads_as_cores() -> None:
    few = replace(MODELS["hybrid"], computing=many(16, 1.9, 0.02, cores=1.95, busy=2.0))
    assert model.named(few).left == {"green-threads", "hybrid"}


def test_a_load_whose_rate_is_not_steady_shows_no_limit() -> None:
    wild = replace(many(512, 2, 0.1), per_s_low=0.0, per_s_high=73.0)
    found = parallelism.waits(replace(LOOP, waiting=(many(32, 31, 0.1), wild)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "unsteady")
    assert found.value == pytest.approx(31, rel=0.03)


def test_loads_that_others_disturbed_say_nothing() -> None:
    disturbed = {"disturbed": "other programs used 40 % of the CPU time"}
    loads = {
        "computing": replace(many(16, 1, 0.02, cores=1.0), **disturbed),
        "waiting": (replace(many(512, 20, 0.1), **disturbed),),
        "beside_one": replace(beside(1, 0.4), **disturbed),
        "beside_many": replace(beside(8, 0.1), **disturbed),
    }
    seen = replace(LOOP, **loads)  # type: ignore[arg-type]
    assert isinstance(parallelism.waits(seen), Unknown) and isinstance(parallelism.computes(seen), Unknown)
    assert model.named(seen).known is None


def test_a_load_that_cpu_time_limited_leaves_it_to_the_one_before_what_waiting_costs() -> None:
    few = many(32, 32, 0.1, at_rest=Tree(5, 56), most=Tree(5, 74))
    most = many(512, 34, 0.1, cores=1.6, at_rest=Tree(5, 124), most=Tree(5, 134))
    pool = replace(HYBRID, waiting=(few, most), beside_one=beside(1, 0.08), beside_many=beside(8, 0.46))
    assert model.named(pool).known == "thread-pool"


def taking_turns(by_computing: float | None, busy: float = 2.0) -> Observed:
    """Light requests that hardly wait for many heavy ones, on as many threads as there are cores."""
    few, most = GREEN.waiting
    computing = replace(GREEN.computing, busy=busy) if GREEN.computing is not None else None
    waiting = (few, replace(most, by_computing=by_computing))
    return replace(GREEN, computing=computing, waiting=waiting, beside_many=beside(8, 0.01))


def test_threads_that_compute_and_take_in_requests_are_no_pool_for_handlers() -> None:
    # Of Erlang they used 97 % of the CPU time of requests that wait.
    assert model.named(taking_turns(0.97)).known == "green-threads"


@pytest.mark.parametrize("by_computing", [None, 0.02, 0.5])
def test_where_others_take_in_requests_there_may_be_a_pool_for_handlers(by_computing: float | None) -> None:
    assert model.named(taking_turns(by_computing)).left == {"green-threads", "hybrid"}


def test_a_pool_of_many_threads_may_take_in_requests_as_well() -> None:
    assert "hybrid" in model.named(taking_turns(0.97, busy=15.0)).left


# A proxy with two loops and its master, in front of a server that answers three requests at a time.
MASTER = Tree(3, 3)
BACKEND = Peer(address="127.0.0.1:9", listener="python3", connections=32, waiting=31.6, most=32)
PROXY = replace(
    LOOPS,
    heavy=alone(20, 0.1),
    held=replace(HELD, holders=2, most=12, before=MASTER, after=MASTER),
    waiting=(many(32, 3, 0.1, at_rest=MASTER, most=MASTER, behind=BACKEND),),
    computing=many(16, 3, 0.02, cores=0.02, at_rest=MASTER, most=MASTER),
    beside_one=beside(1, 0.0),
    beside_many=beside(8, 1.0),
)


def test_requests_that_wait_behind_a_proxy_show_no_limit_of_it() -> None:
    found = parallelism.waits(PROXY)
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "behind")
    assert found.value == pytest.approx(31.6)


def test_a_proxy_is_not_taken_for_as_many_workers_as_there_are_behind_it() -> None:
    named = model.named(PROXY)
    assert named.known is None and named.left == model_lines.UNBLOCKED, named.lines


def test_workers_that_each_wait_for_what_is_behind_them_are_a_limit() -> None:
    each_one = replace(PROXY.waiting[0], behind=replace(BACKEND, connections=3, waiting=3, most=3))
    found = parallelism.waits(replace(PROXY, waiting=(each_one,)))
    assert isinstance(found, Parallelism) and found.kind == "limit" and found.value == pytest.approx(3)


def test_light_requests_beside_heavy_ones_that_hardly_compute_tell_nothing() -> None:
    says = [line.says for line in model.named(PROXY).lines]
    assert not [line for line in says if "light requests" in line]


def test_light_requests_that_take_long_themselves_may_wait_for_a_core() -> None:
    """A server that executes a program for each connection takes the cores for that, too."""
    seen = replace(PROCESS_EACH, beside_one=beside(1, 0.9), beside_many=beside(8, 1.0))
    assert model.named(seen).contradicts
    assert model.named(replace(seen, light_new=alone(15, 14))).known == "process-per-connection"
    # One that waits for something else needs a core for a moment.
    assert model.named(replace(LOOP, light=alone(6, 0.05))).known == "event-loop"
    # That none waits tells as much as ever.
    none = replace(seen, light_new=alone(15, 14), beside_one=beside(1, 0.0))
    assert beside_heavy.one(none) is not None


def test_green_threads_that_nothing_interrupts_are_not_taken_for_loops() -> None:
    """Light requests meet the thread that computes as often as a busy loop, but others take them in."""
    seen = replace(LOOPS, held=HELD, beside_one=Beside(1, 100, 31, long=21))
    seen = replace(seen, beside_held=Beside(1, 24, 12, long=5))

    def taken_in(**by: float) -> model.Named:
        few, most = seen.waiting
        return model.named(replace(seen, waiting=(few, replace(most, **by))))

    # Loops, and such with a compiler beside them, which works for itself.
    assert taken_in(busy=2.0, by_computing=1.0).known == "event-loop-per-core"
    assert taken_in(busy=1.9, by_computing=0.3).known == "event-loop-per-core"
    others = taken_in(busy=5.6, by_computing=0.4)
    assert others.known is None and {"green-threads", "event-loop-per-core"} <= others.left
    assert "event-loop" not in others.left
    # Each of several processes has helpers of its own.
    seen = replace(seen, held=replace(HELD, holders=2, most=13))
    assert taken_in(busy=5.6, by_computing=0.6).known == "event-loop-per-core"


def test_more_requests_that_wait_than_processes_exclude_a_process_for_each() -> None:
    # Its rate was not steady, so that it is not known how many wait at a time: more than fourteen do.
    tree = Tree(5, 72)
    load = many(32, 24, 0.1, at_rest=tree, most=Tree(5, 76))
    load = replace(load, per_s_low=0.6 * load.per_s, per_s_high=1.4 * load.per_s)
    pool = replace(THREADS, waiting=(load,))
    said = "14 requests or more wait at a time in 5 processes"
    told = [line for line in model.named(pool).lines if line.says == said]
    assert [line.leaves for line in told] == [model_lines.ALL - {"process-per-connection", "process-pool"}]
    # As many processes as requests may hold one each.
    enough = replace(pool, waiting=(replace(load, at_rest=Tree(24, 72), most=Tree(24, 72)),))
    # Others than those of the tree may serve: it holds few of the connections, or does not compute.
    assert pool.held is not None and pool.heavy is not None
    away = replace(pool, held=replace(pool.held, accepted=0))
    hands_on = replace(pool, heavy=replace(pool.heavy, cpu_s=0.0))
    for each in (enough, away, hands_on):
        assert not [line for line in model.named(each).lines if "requests or more wait" in line.says]
