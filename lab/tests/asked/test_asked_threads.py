"""What thread dumps show. The texts in asked_texts/ were printed by small servers under load, and cut."""

import json
from pathlib import Path

import pytest
from crumple.asked import goroutines, jvm_threads, python_threads, threads
from crumple.asked.found import SourceFinding
from crumple.asked.threads import RuntimeThread, Wait

TEXTS = Path(__file__).parents[1] / "asked_texts"
READERS = {"jvm": jvm_threads.read, "python": python_threads.read, "go": goroutines.read}


def shown(name: str) -> SourceFinding:
    file = next(TEXTS.glob(f"{name}.*"))
    return READERS[name.partition("-")[0]](file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "part", "number", "of", "place"),
    [
        ("jvm-pool", "pooled", 3, 4, "(HikariPool.getConnection) at Shop.handle(Shop.java:11)"),
        ("jvm-lock", "gated", 3, 4, "(Object) at Shop.handle(Shop.java:12)"),
        ("jvm-permit", "gated", 3, 4, "(Semaphore$NonfairSync) at Shop.handle(Shop.java:13)"),
        ("jvm-slow", "occupied", 3, 3, "threads named pool-1-thread-… have work"),
        ("python-lock", "gated", 5, 6, "(a lock) at H.do_GET (shop.py:10)"),
        ("python-permit", "gated", 3, 6, "(a semaphore or condition) at H.do_GET (shop.py:12)"),
        ("python-pool", "gated", 2, 6, "(a queue) at get_conn (shop.py:5)"),
        ("python-slow", "occupied", 6, 6, "have work"),
        ("go-lock", "gated", 19, 20, "(sync.(*Mutex).Lock) at main.main.func1 (shop/main.go:8)"),
        ("go-permit", "gated", 17, 20, "(a channel) at main.main.func2 (shop/main.go:9)"),
        ("go-pool", "pooled", 16, 24, "(net/http.(*Transport).getConn) at main.main.func4 (shop/main.go:11)"),
    ],
)
def test_a_dump_shows_what_its_server_was_made_to_wait_for(
    name: str, part: str, number: int, of: int, place: str
) -> None:
    read = shown(name).parts[part]
    assert (read.number, read.of) == (number, of)
    assert read.does.endswith(place)


@pytest.mark.parametrize("name", ["jvm-rest", "python-rest", "go-rest"])
def test_a_server_at_rest_waits_for_nothing(name: str) -> None:
    assert {each: part.number for each, part in shown(name).parts.items() if part.number} == {}


def test_counts_of_a_jvm_are_those_of_its_threads() -> None:
    assert shown("jvm-pool").shows == (
        "4 of 4 threads have work: 3 wait for a connection of a pool, 1 sleep for a time that was given"
    )
    assert shown("jvm-rest").shows == "0 of 3 threads have work"


def test_the_holder_of_a_monitor_is_named() -> None:
    (held,) = shown("jvm-lock").evidence
    assert "is waited for by 3 and held by pool-1-thread-" in held
    assert held.endswith("at Shop.handle(Shop.java:12)")


def test_a_lock_of_python_that_waits_while_another_thread_runs_may_be_the_interpreters() -> None:
    dumped = json.loads((TEXTS / "python-lock.json").read_text())
    assert {each["wchan"] for each in dumped if each["frames"][0]["name"] == "H.do_GET"} > {
        "hrtimer_nanosleep"
    }
    for each in dumped:
        each["owns_gil"] = each["wchan"] == "hrtimer_nanosleep"
    assert "the interpreter's lock" in python_threads.read(json.dumps(dumped)).parts["gated"].does


def test_a_consumer_of_a_queue_waits_for_work() -> None:
    dumped = [
        each
        for each in json.loads((TEXTS / "python-pool.json").read_text())
        if each["frames"][0]["name"] == "Condition.wait"
    ]
    assert dumped and python_threads.read(json.dumps(dumped)).parts["gated"].number == len(dumped)
    for each in dumped:
        # As a thread that was started with a function of the program itself.
        own = [frame for frame in each["frames"] if frame["filename"] == "/srv/shop/shop.py"]
        python = [frame for frame in each["frames"] if frame["filename"].endswith("threading.py")]
        queue = [frame for frame in each["frames"] if frame["filename"].endswith("queue.py")]
        each["frames"] = [python[0], *queue, own[0], *python[1:]]
    assert python_threads.read(json.dumps(dumped)).parts["gated"].number == 0


def test_code_of_a_library_is_no_place_of_the_program() -> None:
    dump = (TEXTS / "jvm-pool.txt").read_text()
    own = "\tat Shop.handle(Shop.java:11)"
    assert own in dump
    library = "\tat com.zaxxer.hikari.HikariDataSource.getConnection(HikariDataSource.java:128)"
    assert jvm_threads.read(dump.replace(own, f"{library}\n{own}")) == jvm_threads.read(dump)


def made(**waits: int) -> list[RuntimeThread]:
    kinds: dict[str, Wait] = {"pooled": "pooled", "sleeps": "sleeps", "idle": "idle"}
    every = [kind for kind, count in waits.items() for _ in range(count)]
    return [RuntimeThread(f"http-{number}", kinds[kind], f"at {kind}") for number, kind in enumerate(every)]


def test_threads_that_wait_for_work_are_in_the_pool_and_have_none() -> None:
    parts = threads.found(made(pooled=2, sleeps=6, idle=2)).parts
    assert (parts["pooled"].number, parts["pooled"].of) == (2, 8)
    assert (parts["occupied"].number, parts["occupied"].of) == (8, 10)


def test_the_pool_with_most_work_is_that_of_the_workers() -> None:
    others = [RuntimeThread(f"timer-{number}", "idle", "") for number in range(5)]
    assert threads.found([*others, *made(sleeps=3)]).parts["occupied"].of == 3


def test_one_thread_is_no_pool() -> None:
    assert (
        "occupied"
        not in threads.found([RuntimeThread("main", "sleeps", ""), RuntimeThread("timer", "idle", "")]).parts
    )


@pytest.mark.parametrize("runtime", READERS)
def test_a_dump_of_no_threads_shows_nothing(runtime: str) -> None:
    assert READERS[runtime]("[]").shows == "0 of no threads have work".replace(
        "thread", "goroutine" if runtime == "go" else "thread"
    )
