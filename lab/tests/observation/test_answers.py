"""What runtimes and dependencies answer: as readings, as evidence, and in a diagnosis that asks."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import simulated_causes
from crumple.asked.all_sources import Source
from crumple.asked.found import SourceFinding
from crumple.cause import judged, readings
from crumple.cause.experiments import Permission
from crumple.contract import TrialRecord
from crumple.diagnose import experimenting
from crumple.diagnose.experimenting import Experimenting
from crumple.diagnose.report import limit_rows
from crumple.experiment.bench import Bench
from crumple.limit.finding import Finding, Unclear
from crumple.observation.answers import Answers, AskedPart, SourceAnswer
from crumple.observation.server_facts import COUNTED, ServerFacts

POOL = "threads with work wait for a connection of a pool (HikariPool.getConnection) at Orders.load"
LOCK = "sessions wait for a lock: UPDATE stock SET n = n + ? WHERE id = ?"


def server(cause: str, seed: int = 1) -> ServerFacts:
    """A simulated server with this cause whose requests wait, on which no experiment was made."""
    random = np.random.default_rng(seed)
    while not (found := simulated_causes.drawn(cause, random)).is_harmed or found.stage is None:
        pass
    return replace(found, seen=replace(found.seen, outcomes=type(found.seen.outcomes)()))


def answered(facts: ServerFacts, source: str = "jcmd", **parts: AskedPart) -> ServerFacts:
    """These facts, with what one source answered."""
    found = Answers(32, (SourceAnswer(source, "ask", "it shows", parts),))
    return replace(facts, seen=replace(facts.seen, outcomes=replace(facts.seen.outcomes, sources=found)))


def probability(facts: ServerFacts, cause: str) -> float:
    return next(each.probability for each in judged.held_by(facts) if each.cause == cause)


def open_between_pool_and_gate() -> ServerFacts:
    """A pool of connections that what was read does not tell from a gate."""
    return server("connection-pool", seed=11)


def test_threads_that_wait_for_a_connection_settle_between_a_pool_and_a_gate() -> None:
    facts = open_between_pool_and_gate()
    assert isinstance(judged.judged(facts)[0], Unclear)
    pooled = answered(facts, pooled=AskedPart(22, 32, POOL), gated=AskedPart(0, 32))
    first = judged.judged(pooled)[0]
    assert isinstance(first, Finding) and (first.cause, first.sure) == ("connection-pool", "likely")
    assert f"jcmd: 22 of 32 {POOL}" in first.evidence
    # The pool may be another than that to the dependency that is asked most.
    assert "127.0.0.1:9" not in f"{first.evidence}{first.remedy}"
    gated = answered(
        facts, pooled=AskedPart(0, 32), gated=AskedPart(31, 32, "threads with work wait for a lock")
    )
    assert probability(gated, "gate") > max(probability(facts, "gate"), probability(gated, "connection-pool"))


def test_a_pool_of_the_programs_own_may_be_a_queue_to_its_runtime() -> None:
    facts = server("connection-pool", seed=5)
    queued = answered(facts, pooled=AskedPart(0, 32), gated=AskedPart(26, 32, "threads wait for a queue"))
    first = judged.judged(queued)[0]
    assert isinstance(first, Finding) and first.cause == "connection-pool"
    assert "26 of 32 threads wait for a queue" in first.evidence


def test_no_thread_that_waits_speaks_against_a_pool() -> None:
    facts = server("connection-pool", seed=3)
    none = answered(facts, pooled=AskedPart(0, 32), gated=AskedPart(0, 32))
    assert probability(none, "connection-pool") < probability(facts, "connection-pool") / 2


def test_workers_of_which_some_wait_for_work_are_not_the_limit() -> None:
    facts = server("workers", seed=2)
    some, all_ = (probability(answered(facts, occupied=AskedPart(n, 8)), "workers") for n in (2, 8))
    assert 1 - some > 3 * (1 - probability(facts, "workers")) and all_ > probability(facts, "workers")


def test_sessions_that_wait_for_a_lock_point_to_the_database_and_say_for_what() -> None:
    facts = server("dependency", seed=4)
    held = answered(facts, "postgres", held_up=AskedPart(15, 16, LOCK))
    assert probability(held, "dependency") > probability(facts, "dependency")
    first = judged.judged(held)[0]
    assert isinstance(first, Finding) and first.cause == "dependency"
    assert f"postgres: 15 of 16 {LOCK}" in first.evidence
    assert first.remedy.startswith("hold the lock for less there")
    full = answered(facts, "php-fpm", held_up=AskedPart(5, 5, "children of pool shop have a request"))
    of_php = judged.judged(full)[0]
    assert isinstance(of_php, Finding) and of_php.remedy.startswith("raise pm.max_children")


@pytest.mark.parametrize(("listed", "is_read"), [(15, False), (16, True)])
def test_a_runtime_that_lists_fewer_threads_than_half_of_those_inside_is_not_read(
    listed: int, is_read: bool
) -> None:
    # As where requests wait in coroutines, which no thread dump shows.
    facts = server("gate", seed=3)
    assert facts.stage is not None and facts.stage.inside > 32
    assert ("gated" in readings.of(answered(facts, gated=AskedPart(0, listed)))) == is_read


def test_the_error_is_that_of_so_many_threads() -> None:
    few, many = (
        readings.of(answered(server("workers", 2), occupied=AskedPart(2, number)))["occupied"]
        for number in (4, 400)
    )
    assert (few.value, few.sd) == (0.5, 0.25)
    assert (many.value, many.sd) == (0.005, COUNTED)


@pytest.mark.parametrize(("number", "of", "is_evidence"), [(1, 4, False), (2, 4, True), (2, 20, False)])
def test_few_that_wait_are_no_evidence(number: int, of: int, is_evidence: bool) -> None:
    found = Answers(32, (SourceAnswer("jcmd", "", parts={"pooled": AskedPart(number, of, POOL)}),))
    assert bool(found.evidence("connection-pool")) == is_evidence
    assert found.evidence("cpu") == ""


def course(
    monkeypatch: pytest.MonkeyPatch, facts: ServerFacts, sources: tuple[Source, ...], *allowed: Permission
) -> tuple[Experimenting, list[str]]:
    """Experiments on a server with these sources, and what is announced. No load is put on."""
    monkeypatch.setattr(experimenting.sources_asked, "sources", lambda bench, peers: sources)
    announced: list[str] = []
    bench = Bench(
        subject=cast(Any, SimpleNamespace(pid=1, slow=None, work=())),
        put_on=cast(Callable[..., TrialRecord], lambda *_: None),
        alone_s=0.01,
        connections=32,
        load_s=0.1,
    )
    watcher = cast(Any, SimpleNamespace(doing=announced.append))
    nothing = lambda: None  # noqa: E731
    made = Experimenting(facts, bench, frozenset(allowed), lambda: 60.0, nothing, nothing, watcher)
    return made, announced


def asks(asked: list[str]) -> Source:
    def ask(deadline: float) -> SourceFinding:
        asked.append("asked")
        return SourceFinding("it shows", {"pooled": AskedPart(22, 32, POOL), "gated": AskedPart(0, 32)})

    return Source("jcmd", "jcmd 7 Thread.print", ask)


def test_what_is_asked_is_announced_and_named_and_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made, announced = course(monkeypatch, open_between_pool_and_gate(), (asks(asked),), "ask")
    made.make()
    assert announced[0].endswith("what they do: jcmd 7 Thread.print") and asked == ["asked"]
    (one,) = made.made
    assert one.seen.startswith("69") and "wait for a connection of a pool" in one.seen
    assert {each.cause for each in one.rivals} >= {"connection-pool", "gate"}
    assert made.facts.seen.outcomes.sources is not None


def test_nothing_is_asked_without_the_flag_and_the_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made, announced = course(monkeypatch, open_between_pool_and_gate(), (asks(asked),))
    made.make()
    assert (asked, announced) == ([], [])
    assert made.would_tell().startswith("--ask, for ")


def test_what_there_was_no_time_for_is_had_by_the_same_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made, announced = course(monkeypatch, open_between_pool_and_gate(), (asks(asked),), "ask")
    made.left_s = lambda: 0.0
    made.make()
    assert (asked, announced) == ([], [])
    assert made.would_tell().startswith("the same command again, which may have time for ")


def test_the_flag_is_not_named_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Source("jcmd", why="jcmd is not installed: install the JDK of this JVM")
    made, _ = course(monkeypatch, open_between_pool_and_gate(), (missing,))
    assert "--ask" not in made.would_tell()


def test_without_anybody_to_ask_no_load_is_put_on(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Source("jcmd", why="jcmd is not installed: install the JDK of this JVM")
    made, _ = course(monkeypatch, open_between_pool_and_gate(), (missing,), "ask")
    monkeypatch.setattr(Bench, "record", lambda *_: pytest.fail("a load was put on"))
    made.make()
    found = made.facts.seen.outcomes.sources
    assert found is not None and [each.why for each in found.answers] == [missing.why]


def diagnosed(*found: SourceAnswer, asks: bool = True) -> Any:
    """A diagnosis with these answers; of those none, nobody could be asked."""
    outcomes = SimpleNamespace(sources=Answers(32, found))
    return SimpleNamespace(plan=SimpleNamespace(asks=asks), seen=SimpleNamespace(outcomes=outcomes))


def test_the_screen_names_what_was_run_what_it_showed_and_who_holds_others_up() -> None:
    parts = {"held_up": AskedPart(15, 16, LOCK), "runs": AskedPart(1, 16, "sessions run: x")}
    one = SourceAnswer("postgres", "psql -p 5432", "16 of 20 sessions", parts, ("session 9 blocks 15",))
    other = SourceAnswer("py-spy", "", why="py-spy is not installed: pip install py-spy")
    assert limit_rows.answer_rows(diagnosed(one, other)) == [
        ("asked", f"postgres (psql -p 5432): 16 of 20 sessions; 15 of 16 {LOCK}; session 9 blocks 15"),
        ("asked", "py-spy: no answer: py-spy is not installed: pip install py-spy"),
    ]


def test_the_screen_says_that_nobody_could_be_asked_and_nothing_without_the_flag() -> None:
    ((_, said),) = limit_rows.answer_rows(diagnosed())
    assert said.startswith("nobody: it is no JVM")
    assert limit_rows.answer_rows(diagnosed(asks=False)) == []


def test_what_no_rival_expects_of_a_reading_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = course(monkeypatch, open_between_pool_and_gate(), (asks([]),), "ask")
    made.make()
    expected = {each.cause: each.expected for each in made.made[0].rivals}
    assert expected["connection-pool"].endswith("or more") and expected["dependency"] == ""


def test_a_load_that_others_disturbed_is_asked_about_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = open_between_pool_and_gate()
    facts = replace(facts, beyond=replace(facts.beyond, disturbed="other programs took 60 % of the time"))
    asked: list[str] = []
    made, _ = course(monkeypatch, facts, (asks(asked),), "ask", "nothing")
    made.make()
    assert asked == ["asked"] and [each.name for each in made.made] == ["sources"]
    assert isinstance(judged.judged(made.facts)[0], Unclear)


def test_nobody_is_asked_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made, _ = course(monkeypatch, open_between_pool_and_gate(), (asks(asked),), "ask")
    made.left_s = lambda: 4.0
    made.make()
    assert asked == []
