"""What thread dumps show. The texts in asked_texts/ were printed by small servers under load, and cut."""

import json
from pathlib import Path

import pytest
from crumple.asked import goroutines, jvm_threads, python_threads
from crumple.asked.said import Said
from crumple.asked.threads import Thread, Wait, found, pool_name

TEXTS = Path(__file__).parent / "asked_texts"
READERS = {"jvm": jvm_threads.read, "python": python_threads.read, "go": goroutines.read}


def said(name: str) -> Said:
    file = next(TEXTS.glob(f"{name}.*"))
    return READERS[name.partition("-")[0]](file.read_text(encoding="utf-8"), "the command")


@pytest.mark.parametrize(
    ("name", "points", "count", "place"),
    [
        ("jvm-pool", "connection-pool", None, "Shop.handle(Shop.java:11)"),
        ("jvm-lock", "gate", 1, "Shop.handle(Shop.java:12)"),
        ("jvm-permit", "gate", None, "Shop.handle(Shop.java:13)"),
        ("jvm-slow", "workers", 3, "Shop.handle(Shop.java:14)"),
        ("jvm-garbage", "garbage", None, ""),
        ("jvm-rest", "none", None, ""),
        ("python-lock", "gate", 1, "H.do_GET (shop.py:10)"),
        ("python-permit", "gate", None, "H.do_GET (shop.py:12)"),
        ("python-pool", "gate", None, "get_conn (shop.py:5)"),
        ("python-slow", "workers", 6, "H.do_GET (shop.py:17)"),
        ("python-rest", "none", None, ""),
        ("go-lock", "gate", 1, "main.main.func1 (shop/main.go:8)"),
        ("go-permit", "gate", None, "main.main.func2 (shop/main.go:9)"),
        ("go-pool", "connection-pool", None, "main.main.func4 (shop/main.go:11)"),
        ("go-rest", "none", None, ""),
    ],
)
def test_a_dump_points_to_what_its_server_was_made_to_wait_for(
    name: str, points: str, count: int | None, place: str
) -> None:
    read = said(name)
    assert (read.points_to, read.count, read.place) == (points, count, place)


def test_counts_of_a_jvm_are_those_of_its_threads() -> None:
    assert said("jvm-pool").shows == (
        "4 of 4 threads have work and wait: 3 for a connection of a pool and 1 for a timer"
    )
    assert said("jvm-rest").shows == "0 of 3 threads have work; 3 wait for work"


def test_the_holder_of_a_monitor_is_named() -> None:
    held = [line for line in said("jvm-lock").evidence if "held by" in line]
    assert len(held) == 1
    assert "is waited for by 3 and held by pool-1-thread-" in held[0]
    assert held[0].endswith("at Shop.handle(Shop.java:12)")


def test_the_share_of_collecting_garbage_is_that_of_its_threads() -> None:
    # GC Thread#0 and #1, G1 Conc#0 and G1 Main Marker have 4993.5 of 5624.8 ms.
    assert said("jvm-garbage").shows.startswith("collecting garbage has taken 89% of the CPU time")


def test_contended_locks_of_go_are_evidence() -> None:
    profiles = f"{(TEXTS / 'go-lock.txt').read_text()}\n{(TEXTS / 'go-mutex.txt').read_text()}"
    waited = [line for line in goroutines.read(profiles, "").evidence if "since the start" in line]
    # 120,348,764,887 cycles at 2,596,138,154 per second.
    assert waited == [
        "waited for locks since the start: 46.4 s in 57 waits, unlocked at main.main.func1 (shop/main.go:8)"
    ]


def test_a_lock_of_python_that_waits_while_another_thread_runs_may_be_the_interpreters() -> None:
    threads = json.loads((TEXTS / "python-lock.json").read_text())
    assert {each["wchan"] for each in threads if each["frames"][0]["name"] == "H.do_GET"} > {
        "hrtimer_nanosleep"
    }
    for each in threads:
        each["owns_gil"] = each["wchan"] == "hrtimer_nanosleep"
    read = python_threads.read(json.dumps(threads), "")
    assert (read.points_to, read.count) == ("gate", 1)
    assert any("the interpreter's lock" in line for line in read.evidence)


def test_a_consumer_of_a_queue_waits_for_work() -> None:
    threads = [
        each
        for each in json.loads((TEXTS / "python-pool.json").read_text())
        if each["frames"][0]["name"] == "Condition.wait"
    ]
    for each in threads:
        # As a thread that was started with a function of the program itself.
        own = [frame for frame in each["frames"] if frame["filename"] == "/srv/shop/shop.py"]
        python = [frame for frame in each["frames"] if frame["filename"].endswith("threading.py")]
        queue = [frame for frame in each["frames"] if frame["filename"].endswith("queue.py")]
        each["frames"] = [python[0], *queue, own[0], *python[1:]]
    assert threads
    assert python_threads.read(json.dumps(threads), "").points_to == "none"


def threads(**waits: int) -> list[Thread]:
    kinds: dict[str, Wait] = {
        "pool": "connection-pool", "gate": "gate", "reads": "dependency", "sleeps": "sleeps", "idle": "idle"
    }  # fmt: skip
    made = [kind for kind, count in waits.items() for _ in range(count)]
    return [Thread(f"http-{number}", kinds[kind], f"at {kind}") for number, kind in enumerate(made)]


def test_a_queue_for_connections_explains_why_workers_have_work() -> None:
    assert found(threads(pool=2, reads=10)).points_to == "connection-pool"
    assert found(threads(pool=1, reads=11)).points_to == "workers"


def test_a_tenth_that_waits_at_a_gate_is_a_queue_and_fewer_are_not() -> None:
    assert found(threads(gate=10, sleeps=90)).points_to == "gate"
    assert found(threads(gate=9, sleeps=91)).points_to == "workers"


def test_workers_are_a_limit_only_if_none_waits_for_work() -> None:
    full = found(threads(sleeps=8))
    assert (full.points_to, full.count) == ("workers", 8)
    assert found(threads(sleeps=8, idle=1)).points_to == "none"


def test_threads_that_read_point_to_what_they_read_from_if_others_wait_for_work() -> None:
    assert found(threads(reads=5, idle=3)).points_to == "dependency"


def test_threads_without_numbers_are_no_pool() -> None:
    assert pool_name("http-nio-8080-exec-12") == "http-nio-8080-exec-"
    assert pool_name("main") == ""
    assert found([Thread("main", "sleeps", ""), Thread("timer", "sleeps", "")]).points_to == "none"


@pytest.mark.parametrize("runtime", READERS)
def test_a_dump_of_no_threads_points_to_nothing(runtime: str) -> None:
    assert READERS[runtime]("[]", "").points_to == "none"
