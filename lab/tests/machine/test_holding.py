"""What is held of a process is as before afterwards, whoever is killed meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import held_server
import pytest
import real_engine
from crumple.machine import holding, process_tree
from crumple.machine.holding import NotHeld, What
from held_server import HeldServer, affinities, limits, states

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# By then the kernel, or who is left, has undone it.
UNDONE_S = 10.0


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    real_engine.used(monkeypatch)


@pytest.fixture
def server() -> Iterator[HeldServer]:
    with held_server.started() as started:
        yield started


def one_core() -> list[int]:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("there is one core only")
    return usable[-1:]


def how_it_is(server: HeldServer) -> tuple[object, ...]:
    stopped = {tid for tid, state in states(server.pid).items() if state in "tT"}
    return affinities(server.pid), limits(server.pid), stopped


def soon(is_so: Callable[[], bool]) -> bool:
    within_s = time.monotonic() + UNDONE_S
    while not is_so():
        if time.monotonic() > within_s:
            return False
        time.sleep(0.005)
    return True


def whats(server: HeldServer) -> dict[str, What]:
    return {
        "cores": holding.cores(server.pid, one_core()),
        "open-files": holding.open_files(server.pid),
        "process": holding.process(server.pid),
        "tree": holding.tree(server.pid),
    }


KINDS = ("cores", "open-files", "process", "tree")
# What the kernel does not undo, so that there is a second process for it.
TWO = ("cores", "open-files")


def test_all_threads_are_bound_to_one_core_and_then_as_before(server: HeldServer) -> None:
    before, (core,) = affinities(server.pid), one_core()
    with holding.held(holding.cores(server.pid, [core])):
        assert affinities(server.pid) == dict.fromkeys(before, frozenset({core}))
    assert affinities(server.pid) == before


def test_threads_and_processes_that_are_born_meanwhile_are_freed_too(server: HeldServer) -> None:
    before, (core,) = affinities(server.pid), one_core()
    with holding.held(holding.cores(server.pid, [core])):
        server.do("thread")
        server.do("process")
        assert soon(lambda: len(affinities(server.pid)) == len(before) + 3)
        assert {*affinities(server.pid).values()} == {frozenset({core})}
    after = affinities(server.pid)
    assert len(after) == len(before) + 3 and {*after.values()} == {*before.values()}


def test_a_thread_that_was_bound_to_other_cores_stays_so(server: HeldServer) -> None:
    server.do("bind")
    before, core = affinities(server.pid), one_core()
    assert len({*before.values()}) == 2
    with holding.held(holding.cores(server.pid, core)):
        server.do("thread")
    after = affinities(server.pid)
    # A new thread of a process gets the cores that most of its threads have.
    assert {tid: after.pop(tid) for tid in before} == before
    assert [*after.values()] == [frozenset(os.sched_getaffinity(0))]


def test_what_the_server_changes_itself_meanwhile_stays(server: HeldServer) -> None:
    core = one_core()
    with holding.held(holding.cores(server.pid, core)):
        os.sched_setaffinity(server.pid, {min(os.sched_getaffinity(0))})
    assert affinities(server.pid)[server.pid] == {min(os.sched_getaffinity(0))}


def test_limits_are_raised_to_what_each_process_may_have(server: HeldServer) -> None:
    before = limits(server.pid)
    assert {soft for soft, _ in before.values()} == {"64"}
    with holding.held(holding.open_files(server.pid)):
        assert limits(server.pid) == {pid: (hard, hard) for pid, (_, hard) in before.items()}
        server.do("process")
    after = limits(server.pid)
    assert len(after) == 3 and {*after.values()} == {*before.values()}


def test_one_thread_or_one_process_or_all_are_stopped(server: HeldServer) -> None:
    child = next(process_tree.descendants(server.pid))
    threads = [*states(server.pid)]
    of_child = {int(tid) for tid in os.listdir(f"/proc/{child}/task")}  # noqa: PTH208
    one = next(tid for tid in threads if tid not in {server.pid, *of_child})
    for what, expected in (
        (holding.thread(server.pid, one), {one}),
        (holding.process(child), of_child),
        (holding.tree(server.pid), {*threads}),
    ):
        with holding.held(what):
            assert {tid for tid, state in states(server.pid).items() if state == "t"} == expected
        assert soon(lambda: not {*states(server.pid).values()} & {"t", "T"})
    server.do("thread")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_if_the_hold_is_killed_it_is_undone_and_said(server: HeldServer, kind: str, number: int) -> None:
    before = how_it_is(server)
    with pytest.raises(NotHeld, match="let go too early"), holding.held(whats(server)[kind]):
        assert how_it_is(server) != before
        (hold, *_) = holds(os.getpid())
        os.kill(hold, number)
        assert soon(lambda: how_it_is(server) == before)
    assert how_it_is(server) == before


@pytest.mark.parametrize("kind", TWO)
@pytest.mark.parametrize("which", [(1,), (0, 1), (1, 0)], ids=["second", "both", "both, second first"])
def test_if_both_processes_of_a_hold_are_killed_the_lab_undoes_it(
    server: HeldServer, kind: str, which: tuple[int, ...]
) -> None:
    before = how_it_is(server)
    with pytest.raises(NotHeld, match="let go too early"), holding.held(whats(server)[kind]):
        assert soon(lambda: len(holds(os.getpid())) == 2)
        both = holds(os.getpid())
        kill(both[each] for each in which)
        assert soon(lambda: len(holds(os.getpid())) == 0)
    assert how_it_is(server) == before


# Holds what its argument says, and says so.
LAB = """
import json, sys, time
from crumple.machine import holding
with holding.held(json.loads(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["lab", "lab and hold", "group of the lab"])
def test_if_the_lab_is_killed_it_is_undone(server: HeldServer, kind: str, which: str) -> None:
    before = how_it_is(server)
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, json.dumps(whats(server)[kind])],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with lab:
        assert lab.stdout and lab.stdout.readline() == "held\n"
        assert how_it_is(server) != before
        assert soon(lambda: len(holds(lab.pid)) == 1 + (kind in TWO))
        both = holds(lab.pid)
        if which == "group of the lab":
            os.killpg(lab.pid, signal.SIGKILL)
        else:
            kill([lab.pid, *([both[0]] if which == "lab and hold" else [])])
    assert soon(lambda: how_it_is(server) == before)
    assert soon(lambda: not any(process_tree.stat(each)[0] != "Z" for each in both if is_there(each)))


def test_a_lab_that_is_stopped_does_not_hold_it_for_ever(
    server: HeldServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "AT_MOST_S", 0.2)
    before = how_it_is(server)
    for what in whats(server).values():
        with pytest.raises(NotHeld, match="let go too early"), holding.held(what):
            assert soon(lambda: how_it_is(server) == before and not holds(os.getpid()))


def test_what_cannot_be_held_has_a_reason(server: HeldServer) -> None:
    for what, why in (
        (holding.thread(server.pid, 1), "it has ended"),
        (holding.cores(1 << 22, [0]), "is not there, or hidden"),
        (holding.cores(server.pid, sorted(os.sched_getaffinity(0))), "bound to these cores already"),
    ):
        with pytest.raises(NotHeld, match=why), holding.held(what):
            pass
    with (
        holding.held(holding.open_files(server.pid)),
        pytest.raises(NotHeld, match="as high as it may be"),
        holding.held(holding.open_files(server.pid)),
    ):
        pass
    with (
        holding.held(holding.process(server.pid)),
        pytest.raises(NotHeld, match=r"process \d+, a debugger, traces it already"),
        holding.held(holding.thread(server.pid, server.pid)),
    ):
        pass


def holds(lab: int) -> list[int]:
    """The processes of a hold of this lab, its second one behind it."""
    found = [pid for pid in process_tree.descendants(lab) if is_hold(pid)]
    return [pid for pid in found if process_tree.stat(pid)[0] != "Z"]


def is_hold(pid: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:  # noqa: PTH123
        return words.read().endswith(b"\0hold\0")
    return False


def is_there(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}/stat")  # noqa: PTH110


def kill(pids: Iterator[int] | list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
