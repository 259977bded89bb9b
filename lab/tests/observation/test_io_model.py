"""The I/O models that counts of processes and threads allow, and the counts of a tiny server."""

import pytest
import tiny_servers
from crumple import project
from crumple.machine.process_tree import Tree
from crumple.subject import effects, servers, workload
from crumple.subject.effects import Pids, TreeSeen

MANY = 64


def seen(idle: tuple[int, int], waiting: tuple[int, int], at_once: int) -> TreeSeen:
    return TreeSeen(Tree(*idle), Tree(*waiting), MANY, at_once)


# Counts of each kind of server: processes and threads when idle, then while 64 requests wait.
NODE = seen((1, 11), (1, 11), MANY)
CLUSTER = seen((5, 55), (5, 55), MANY)
WIDE_CLUSTER = seen((17, 187), (17, 187), MANY)
GO = seen((1, 7), (1, 9), MANY)
ONE_THREAD = seen((1, 1), (1, 1), MANY)
THREAD_EACH = seen((1, 1), (1, 65), MANY)
GROWN_POOL = seen((1, 80), (1, 80), MANY)
SMALL_POOL = seen((1, 28), (1, 28), 4)
SMALL_PROCESS_POOL = seen((9, 9), (9, 9), 8)
PREFORK = seen((6, 6), (66, 66), MANY)
PROCESSES_WITH_THREADS = seen((3, 3), (3, 67), MANY)
BUSY_LOOP = seen((1, 11), (1, 11), 40)
BLOCKED_LOOP = seen((1, 11), (1, 11), 1)


@pytest.mark.parametrize(
    ("observed", "models"),
    [
        (NODE, {"event-loop", "event-loop-per-core", "green-threads", "hybrid"}),
        (CLUSTER, {"event-loop-per-core", "green-threads", "hybrid"}),
        (GO, {"event-loop", "event-loop-per-core", "green-threads", "hybrid"}),
        (ONE_THREAD, {"event-loop"}),
        (BUSY_LOOP, {"event-loop", "event-loop-per-core", "green-threads", "hybrid"}),
        (THREAD_EACH, {"thread-per-connection", "thread-pool", "hybrid"}),
        (SMALL_POOL, {"thread-pool", "hybrid"}),
        (SMALL_PROCESS_POOL, {"process-per-connection", "process-pool"}),
        (PREFORK, {"process-per-connection", "process-pool"}),
        (PROCESSES_WITH_THREADS, {"thread-per-connection", "thread-pool", "hybrid"}),
    ],
)
def test_the_models_that_fit_the_counts(observed, models):
    assert set(effects.compatible(observed)) == models


def test_many_idle_threads_leave_open_whether_each_request_uses_one():
    assert {"thread-pool", "event-loop-per-core"} <= set(effects.compatible(GROWN_POOL))
    assert "event-loop-per-core" in effects.compatible(WIDE_CLUSTER)
    assert "thread-per-connection" not in effects.compatible(GROWN_POOL)


@pytest.mark.parametrize(
    ("declared", "observed"),
    [
        ("event-loop", THREAD_EACH),
        ("event-loop", BLOCKED_LOOP),
        ("event-loop", PREFORK),
        ("event-loop", CLUSTER),
        ("event-loop-per-core", SMALL_POOL),
        ("green-threads", THREAD_EACH),
        ("thread-per-connection", NODE),
        ("thread-per-connection", SMALL_POOL),
        ("thread-pool", GO),
        ("thread-pool", PREFORK),
        ("process-pool", THREAD_EACH),
        ("process-per-connection", NODE),
        ("hybrid", PREFORK),
    ],
)
def test_a_contradiction_names_the_counts_and_the_models_that_fit(declared, observed):
    said = effects.contradiction(declared, observed)
    assert said is not None and said.startswith(f"declared {declared}, but ")
    assert f"{observed.at_once} waited at once; that is like " in said
    assert all(model in said for model in effects.compatible(observed))


def test_a_model_that_fits_is_no_contradiction():
    assert effects.contradiction("thread-per-connection", THREAD_EACH) is None


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.starts
@pytest.mark.parallel
def test_a_thread_for_each_connection_is_seen(tmp_path, own_cache):
    hello = workload.load(project.root() / "contract" / "workloads" / "hello.toml")
    built = servers.build(tiny_servers.described(tmp_path))
    with servers.start(built, cores=(), settings={}) as running:
        pids = Pids(running.guarded.guard_pid)
        assert effects.count(pids).processes == 1
        # Long enough for a busy machine to start 64 threads.
        request = hello.request_with({"delay_ms": 1500})
        observed = effects.observe(running.address, pids, request, 1.5)
    assert observed.at_once == MANY
    assert observed.waiting.threads - observed.idle.threads >= MANY / 2
    assert effects.contradiction("thread-per-connection", observed) is None
    assert effects.contradiction("event-loop", observed) is not None
