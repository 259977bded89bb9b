"""How many requests wait, and compute, at a time: by Little's law, unless something else limits them."""

from dataclasses import replace
from types import SimpleNamespace

import made_at_load
import pytest
from crumple.diagnose.report import diagnose_sentences
from crumple.machine.at_rest import AtRest
from crumple.observation import parallelism
from crumple.observation.at_load import Peer
from crumple.observation.parallelism import Parallelism
from crumple.observation.unknown import Unknown
from made_observed import HYBRID, LOOP, LOOPS, MODELS, THREADS, alone, many

# A heavy request whose last part waits in the kernel for 43.5 ms, until the first is acknowledged.
PUT_OFF = replace(alone(64, 20.7), first_byte_s=0.0205)
# A proxy in front of a server that answers three requests at a time.
BACKEND = Peer(address="127.0.0.1:9", listener="python3", connections=32, waiting=31.6, most=32)
PROXY = replace(LOOPS, heavy=alone(20, 0.1), waiting=(many(32, 3, 0.1, behind=BACKEND),))


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


def test_a_slow_request_that_computes_tells_nothing_of_waiting() -> None:
    assert isinstance(parallelism.waits(replace(LOOP, slow=alone(100, 90))), Unknown)


def test_a_heavy_request_that_waits_tells_nothing_of_computing() -> None:
    assert isinstance(parallelism.computes(replace(LOOP, heavy=alone(100, 1))), Unknown)


def test_an_answer_that_waits_to_be_acknowledged_computes_as_long_as_it_is_served() -> None:
    found = parallelism.computes(replace(LOOP, heavy=PUT_OFF))
    assert isinstance(found, Parallelism) and (found.kind, round(found.value)) == ("limit", 1)
    found = parallelism.waits(replace(LOOP, slow=replace(alone(63.5, 18), first_byte_s=0.02)))
    assert isinstance(found, Unknown) and "computes rather than waits" in found.why


def test_all_cores_are_no_limit_and_one_core_is() -> None:
    one, all_ = parallelism.computes(LOOP), parallelism.computes(LOOPS)
    assert isinstance(one, Parallelism) and (one.kind, round(one.value)) == ("limit", 1)
    assert isinstance(all_, Parallelism) and all_.kind == "at-least"


def test_a_load_whose_rate_is_not_steady_shows_no_limit() -> None:
    wild = replace(many(512, 2, 0.1), per_s_low=0.0, per_s_high=73.0)
    found = parallelism.waits(replace(LOOP, waiting=(many(32, 31, 0.1), wild)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "unsteady")
    assert found.value == pytest.approx(31, rel=0.03)


def test_requests_that_wait_behind_a_proxy_show_no_limit_of_it() -> None:
    found = parallelism.waits(PROXY)
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "behind")
    assert found.value == pytest.approx(31.6)


def test_workers_that_each_wait_for_what_is_behind_them_are_a_limit() -> None:
    each_one = replace(PROXY.waiting[0], behind=replace(BACKEND, connections=3, waiting=3, most=3))
    found = parallelism.waits(replace(PROXY, waiting=(each_one,)))
    assert isinstance(found, Parallelism) and found.kind == "limit" and found.value == pytest.approx(3)


def test_without_its_cpu_time_a_limit_may_be_that_of_the_cores() -> None:
    found = parallelism.waits(replace(THREADS, waiting=(many(32, 8, 0.1, cores=None),)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "unread")


def test_one_busy_thread_that_takes_in_requests_is_no_limit_of_how_many_wait() -> None:
    # Twisted with ten threads that compute on both cores: its loop is busy with 3,500 answers per second.
    loop = many(512, 355, 0.1, cores=0.99, busy=1.0)
    found = parallelism.waits(replace(HYBRID, waiting=(many(32, 32, 0.1), loop)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "cpu")
    idle = replace(loop, cores=0.3)
    found = parallelism.waits(replace(HYBRID, waiting=(many(32, 32, 0.1), idle)))
    assert isinstance(found, Parallelism) and found.kind == "limit"


def test_a_disturbed_load_that_computed_does_not_make_a_limit_of_the_cores() -> None:
    disturbed = replace(THREADS, computing=many(16, 0.3, 0.02, cores=0.3, disturbed="others used 40 %"))
    found = parallelism.waits(disturbed)
    assert isinstance(found, Parallelism) and found.kind == "limit"


def test_requests_that_take_next_to_no_time_tell_nothing() -> None:
    quick = parallelism.waits(replace(THREADS, slow=alone(2.0)))
    assert isinstance(quick, Unknown) and "takes 2 ms" in quick.why
    light = parallelism.computes(replace(THREADS, heavy=alone(1.0, 0.9)))
    assert isinstance(light, Unknown) and "takes 1 ms" in light.why


def test_a_request_that_failed_was_given_all_the_same() -> None:
    failed = replace(LOOP, slow=None, heavy=None, failed={"slow": "status 404 × 20", "heavy": "no answer"})
    waits, computes = parallelism.waits(failed), parallelism.computes(failed)
    assert isinstance(waits, Unknown) and waits.why.endswith("status 404 × 20")
    assert isinstance(computes, Unknown) and computes.why.endswith("no answer")


def test_a_load_without_an_answer_has_no_rate() -> None:
    dead = replace(many(32, 8, 0.1), per_s=0.0, per_s_low=0.0, per_s_high=0.0)
    assert isinstance(parallelism.waits(replace(THREADS, waiting=(dead,))), Unknown)
    assert isinstance(parallelism.computes(replace(THREADS, computing=replace(dead, cores=0.0))), Unknown)


def test_a_server_that_refuses_requests_beyond_a_rate_shows_no_limit_of_those_that_wait() -> None:
    # It answers 50 per second, which wait for 0.1 s each, and the others at once with 429.
    found = parallelism.waits(replace(LOOP, waiting=(many(32, 5, 0.1, mean_s=0.1, failed=4_000),)))
    assert isinstance(found, Parallelism) and (found.kind, found.why) == ("at-least", "failing")
    # One that closes a connection now and then does not.
    some = parallelism.waits(replace(LOOP, waiting=(many(32, 5, 0.1, failed=3),)))
    assert isinstance(some, Parallelism) and some.kind == "limit"


def test_a_thread_that_computes_while_nobody_asks_is_no_request_that_does() -> None:
    burns = replace(LOOP, rest=AtRest(1.0, 0.0, (7,)), computing=many(16, 1, 0.02, cores=1.95, busy=1.02))
    found = parallelism.computes(burns)
    assert isinstance(found, Parallelism) and found.value == pytest.approx(0.95)


@pytest.mark.parametrize("name", MODELS)
def test_under_a_quota_it_is_not_known_how_many_compute(name: str) -> None:
    assert isinstance(parallelism.computes(replace(MODELS[name], limits=made_at_load.QUOTA)), Unknown)


def test_loads_that_others_disturbed_say_nothing() -> None:
    disturbed = {"disturbed": "other programs used 40 % of the CPU time"}
    computing = replace(many(16, 1, 0.02, cores=1.0), **disturbed)  # type: ignore[arg-type]
    waiting = (replace(many(512, 20, 0.1), **disturbed),)  # type: ignore[arg-type]
    seen = replace(LOOP, computing=computing, waiting=waiting)
    assert isinstance(parallelism.waits(seen), Unknown) and isinstance(parallelism.computes(seen), Unknown)
