"""Workers that are all busy, for far longer than a request takes alone, are no limit by themselves."""

from dataclasses import replace

from crumple.cause import rules
from crumple.cause.at_load import Peer
from crumple.cause.finding import Facts, Finding, Out
from made_at_load import WORKERS, facts, threads

# Eight workers ask for a lock of the database again and again, with a pause: one has it for 50 ms.
PAUSES = threads(number=9, places={"hrtimer_nanosleep": 0.85, "poll_schedule_timeout": 0.1})
SERIAL = facts(WORKERS, per_s=20, mean_s=3.2, threads=PAUSES)
# A service answers two of the workers at a time.
FEW = Peer(address="127.0.0.1:9", listener="service", connections=8, waiting=7.6, most=8)
BEHIND = facts(WORKERS, per_s=48, mean_s=1.33, peers=(FEW,))


def found(given: Facts) -> list[tuple[str, str]]:
    return [(each.cause, each.sure) for each in rules.judged(given) if isinstance(each, Finding)]


def test_workers_that_do_no_more_than_one_alone_wait_for_one_another() -> None:
    assert found(SERIAL) == [("one-lock", "consistent")]
    said = rules.judged(SERIAL)
    assert isinstance(said[0], Finding) and "no more is answered than one at a time" in said[0].evidence
    workers = next(each for each in said if each.cause == "workers")
    assert isinstance(workers, Out) and "keeps one 8.0 times as long as alone" in workers.why


def test_without_a_dependency_ruled_out_it_is_not_said_for_what_they_wait() -> None:
    assert found(facts(SERIAL, peers=None, unread={"peers": "it is of another user"})) == []


def test_what_they_wait_for_comes_before_them_if_it_got_slower() -> None:
    assert found(BEHIND) == [("dependency", "shown"), ("workers", "consistent")]


def test_workers_that_each_take_as_long_as_alone_are_the_limit() -> None:
    assert found(WORKERS)[0] == ("workers", "shown")
    as_alone = facts(WORKERS, peers=(replace(FEW, waiting=7.9),))
    assert found(as_alone)[0] == ("workers", "shown")
