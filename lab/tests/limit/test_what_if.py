"""What a server would answer with a part changed: the laws, and simulated servers that were changed so."""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from crumple.cause import judged
from crumple.limit import gain_words, what_if
from crumple.limit.finding import Cause, Finding, Unclear
from crumple.limit.what_if import Changes
from crumple.observation.at_load import Stage
from crumple.observation.server_facts import ServerFacts
from made_at_load import (
    CONNECTION_POOL,
    CPU,
    DEPENDENCY,
    LOCK,
    NOTHING,
    ONE_LOOP,
    WORKERS,
    facts,
)


def said(cause: Cause, probability: float = 0.97, **rival: object) -> list[Finding]:
    return [Finding(cause, "tested", probability, None, "", "", **rival)]  # type: ignore[arg-type]


# The servers have these numbers: 8 workers at 160 /s; a loop that is alone on one of 2 cores; CPU of 2 cores
# at 400 /s; a gate of 1 at 200 /s; 4 connections at 800 /s.
@pytest.mark.parametrize(
    ("seen", "cause", "changes", "factor", "then"),
    [
        (WORKERS, "workers", {"workers": 16}, 2.0, "workers"),
        (WORKERS, "workers", {"workers": 4}, 0.5, "workers"),
        (WORKERS, "workers", {"cores": 4}, 1.0, "workers"),
        (WORKERS, "workers", {"connections": 20}, 1.0, "workers"),
        (ONE_LOOP, "one-loop", {"cores": 8}, 1.0, "one-loop"),
        (ONE_LOOP, "one-loop", {"cpu": 0.5}, 2.0, "one-loop"),
        (ONE_LOOP, "one-loop", {"workers": 8}, 1.98, "cpu"),
        (CPU, "cpu", {"cores": 4}, 2.0, "cpu"),
        (CPU, "cpu", {"cpu": 0.8}, 1.25, "cpu"),
        (CPU, "cpu", {"workers": 64}, 1.0, "cpu"),
        (LOCK, "gate", {"gate": 2}, 2.0, "gate"),
        (LOCK, "gate", {"workers": 64}, 1.0, "gate"),
        (CONNECTION_POOL, "connection-pool", {"connections": 6}, 1.5, "connection-pool"),
        (CONNECTION_POOL, "connection-pool", {"workers": 64}, 1.0, "connection-pool"),
        (DEPENDENCY, "dependency", {"dependency": 0.155}, 2.0, "dependency"),
        (DEPENDENCY, "dependency", {"connections": 64}, 1.0, "dependency"),
    ],
)
def test_a_part_gives_what_the_laws_say_and_another_part_gives_nothing(
    seen: ServerFacts, cause: Cause, changes: Changes, factor: float, then: Cause
) -> None:
    found = what_if.predicted(seen, said(cause), changes)
    assert found is not None and found.then == then
    assert found.middle == pytest.approx(factor * seen.beyond.per_s, rel=0.02)


def test_cores_bound_what_more_workers_give() -> None:
    busy = facts(WORKERS, cores=1.0)
    found = what_if.predicted(busy, said("workers"), {"workers": 64})
    most = what_if.caps(busy, "workers", {})["cpu"]
    assert found is not None and found.then == "cpu" and found.high == most == pytest.approx(160 * 1.98)
    more = what_if.predicted(busy, said("workers"), {"workers": 64, "cores": 4})
    assert more is not None and more.high == pytest.approx(2 * most)


def test_a_faster_dependency_frees_workers_and_may_not_free_a_gate() -> None:
    asking = replace(DEPENDENCY, alone_s=0.32)
    freed = what_if.predicted(asking, said("workers"), {"dependency": 0.155})
    gate = what_if.predicted(asking, said("gate"), {"dependency": 0.155})
    assert freed is not None and freed.low > 1.5 * asking.beyond.per_s
    # It is not known whether the gate is held meanwhile.
    assert gate is not None and gate.low == pytest.approx(asking.beyond.per_s)
    assert gate.high > 1.5 * asking.beyond.per_s


def test_the_range_is_over_all_causes_that_are_left() -> None:
    sure = what_if.predicted(WORKERS, said("workers"), {"workers": 16})
    rival = said("workers", 0.85, rival="gate", rival_probability=0.12)
    likely = what_if.predicted(WORKERS, rival, {"workers": 16})
    between = [Unclear("none", "", {"gate": 0.48, "workers": 0.41, "none": 0.11})]
    open_ = what_if.predicted(WORKERS, between, {"workers": 16})
    assert sure is not None and likely is not None and open_ is not None
    assert sure.low > 1.9 * 160 and likely.low == open_.low == pytest.approx(160)
    assert sure.high == likely.high == open_.high and (likely.then, open_.then) == ("workers", "gate")


def test_nothing_is_predicted_of_a_server_that_nothing_is_known_to_limit() -> None:
    assert what_if.predicted(NOTHING, judged.judged(NOTHING), {"workers": 16}) is None
    assert what_if.predicted(WORKERS, [Unclear("none", "others disturbed it")], {"workers": 16}) is None
    assert what_if.predicted(facts(WORKERS, per_s=0.0), said("workers"), {"workers": 16}) is None


def test_a_gain_names_what_limits_next() -> None:
    plain = gain_words.from_to(WORKERS, "workers", {"workers": 16})
    assert plain.startswith("160\u202f/s → 320\u202f/s, if nothing else limits it first; CPU limits it from")
    bounded = gain_words.from_to(facts(WORKERS, cores=1.0), "workers", {"workers": 64})
    assert bounded.endswith(", then CPU")
    assert gain_words.from_to(LOCK, "gate", {"workers": 64}).endswith(
        ": a gate inside the program limits it as before"
    )


def answered(
    workers: int, cores: int, delay: Callable[[], float], compute: Callable[[], float], requests: int = 20_000
) -> tuple[float, float]:
    """Return answers per second of workers that wait, then compute on one of the cores; and cores used."""
    order = itertools.count()
    ready = [(delay(), next(order)) for _ in range(workers)]
    heapq.heapify(ready)
    free_s, busy_s, now_s = [0.0] * cores, 0.0, 0.0
    for _ in range(requests):
        at_s, _ = heapq.heappop(ready)
        took_s = compute()
        now_s = max(at_s, heapq.heappop(free_s)) + took_s
        busy_s += took_s
        heapq.heappush(free_s, now_s)
        heapq.heappush(ready, (now_s + delay(), next(order)))
    return requests / now_s, busy_s / now_s


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("compute_s", [0.0005, 0.004, 0.012])
@pytest.mark.parametrize(("workers", "more"), [(4, 8), (3, 12)])
def test_a_simulated_server_gives_what_was_predicted(
    random: bool, compute_s: float, workers: int, more: int
) -> None:
    drawn = Random(7)

    def of(mean_s: float) -> Callable[[], float]:
        return (lambda: drawn.expovariate(1 / mean_s)) if random else (lambda: mean_s)

    delay, compute = of(0.020), of(compute_s)
    per_s, cores = answered(workers, 2, delay, compute)
    inside = Stage(not_accepted=0, unread=64 - workers, inside=workers, other=0)
    seen = facts(WORKERS, per_s=per_s, cores=cores, engine_cores=0.0, stage=inside)
    seen = replace(seen, seen=replace(seen.seen, waiting=(), slow=None), alone_s=0.020 + compute_s)
    found = what_if.predicted(seen, said("workers"), {"workers": more})
    then, _ = answered(more, 2, delay, compute)
    assert found is not None and found.low * 0.96 <= then <= found.high * 1.04


def test_fewer_cores_and_more_cpu_time_may_leave_less_than_is_served_now() -> None:
    busy = facts(WORKERS, cores=1.5)
    for changes, most in (({"cores": 1.0}, 1.0 / 1.5), ({"cpu": 3.0}, 2.0 / 4.5)):
        found = what_if.predicted(busy, said("workers"), changes)  # type: ignore[arg-type]
        assert found is not None
        assert found.high <= most * 1.35 * busy.beyond.per_s and found.then == "cpu"


def test_a_loop_that_sleeps_in_a_call_saves_only_the_cpu_time_that_it_uses() -> None:
    loop = facts(WORKERS, cores=0.05)
    found = what_if.of_cause(loop, "one-loop", {"cpu": 0.1})
    assert loop.beyond.per_s <= found.low <= found.high < 1.06 * loop.beyond.per_s
