"""A kernel's trace is read as it was written: who ran, who was ready, who waited, who had a request."""

import importlib
from typing import Any

import pytest
from crumple import project

# Thread 7 reads a request, computes 2 ms, waits for a disk for 3 ms, is ready for 1 ms, computes for half a
# millisecond, is ready for 1 ms again, computes for half a millisecond and answers. Another program runs
# meanwhile.
TRACE = """\
# tracer: nop
          <idle>-0       [000] d..2.   9.990000: sched_waking: comm=worker pid=7 prio=120 target_cpu=000
          <idle>-0       [000] d..2.   9.991000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=7 next_prio=120
          worker-7       [000] .....   9.992000: sys_recvfrom -> 0xfffffffffffffff5
          worker-7       [000] .....  10.000000: sys_recvfrom -> 0x5a
          worker-7       [000] d..2.  10.002000: sched_switch: prev_comm=worker prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=a b next_pid=9 next_prio=120
             a b-9       [000] .....  10.003000: sys_sendto(fd: 3, buff: 7f00, len: 5)
             a b-9       [000] d..4.  10.005000: sched_waking: comm=worker pid=7 prio=120 target_cpu=000
             a b-9       [000] d..2.  10.006000: sched_switch: prev_comm=a b prev_pid=9 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=7 next_prio=120
          worker-7       [000] d..2.  10.006500: sched_switch: prev_comm=worker prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=a b next_pid=9 next_prio=120
             a b-9       [000] d..2.  10.007500: sched_switch: prev_comm=a b prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=worker next_pid=7 next_prio=120
          worker-7       [000] .....  10.008000: sys_sendto(fd: 4, buff: 7f00, len: 5)
          worker-7       [000] d..2.  10.008500: sched_switch: prev_comm=worker prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"""  # noqa: E501


@pytest.fixture
def trace_lines(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(project.root() / "bench"))
    return importlib.import_module("trace_lines")


def test_the_times_of_a_thread_are_those_of_the_trace(trace_lines: Any) -> None:
    spent = trace_lines.read(TRACE.splitlines(), {7})
    assert spent.answers == 1
    assert spent.inside == pytest.approx(0.008)
    assert spent.disk == pytest.approx(0.003)
    # A millisecond before it had the request, one after the disk, one when it was taken off its core.
    assert spent.ready == pytest.approx(0.003)
    # 11 ms until it waited for the disk, and two pieces around the last time that it was ready.
    assert spent.run == pytest.approx(0.011 + 0.0005 + 0.001)


def test_other_threads_do_not_count(trace_lines: Any) -> None:
    spent = trace_lines.read(TRACE.splitlines(), {8})
    assert (spent.answers, spent.run, spent.ready, spent.inside) == (0, 0.0, 0.0, 0.0)
