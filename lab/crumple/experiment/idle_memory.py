"""Holds more and more idle connections to a server, and looks at its memory after each step."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from crumple.contract import RequestSpec
from crumple.experiment import idle
from crumple.machine import memory_of
from crumple.machine.connection_ends import Opened
from crumple.observation.observed import MemoryStep, MemorySteps

# How many steps of connections are held, and how many connections a step adds. The first step is left out of
# the slope.
STEPS, EACH = 6, 50
NO_TIME = "the diagnosis took too long for it"
# The largest difference of two successive looks with which memory has settled, as a share of it; the time
# between these looks, and how long that is waited for at most, in seconds.
SETTLED_SHARE, LOOK_S, SETTLING_S_MAX = 0.002, 0.15, 1.2


def held(
    opened: Opened,
    address: str,
    host: str,
    request: RequestSpec,
    may_go_on: Callable[[], bool] = lambda: True,
) -> MemorySteps:
    """Hold connections in steps, as long as it may go on. `address`: "ip:port", without TLS."""
    steps: list[MemoryStep] = []

    def taken(why: str = "") -> MemorySteps:
        return MemorySteps(tuple(steps), why)

    with ExitStack() as stack:
        ports: set[int] = set()
        for _ in range(STEPS):
            if not may_go_on():
                return taken(NO_TIME)
            more = stack.enter_context(idle.connections(address, host, request, EACH))
            if not more.kept:
                return taken("it closes a connection after its answer")
            ports |= {*more.ports}
            seen_bytes = _settled(opened.pid)
            ends = opened.ends(ports)
            if seen_bytes is None:
                return taken("its memory could not be read: run as the server's user")
            if ends is None:
                return taken(f"which connections it holds is not known: {opened.unread()}")
            if ends.accepted < EACH * (len(steps) + 1):
                return taken(f"it held {ends.accepted} of {EACH * (len(steps) + 1)} connections")
            steps.append(MemoryStep(ends.accepted, seen_bytes))
    return taken()


def _settled(pid: int) -> int | None:
    """The memory of the process tree once it no longer changes, or after a while; None: not read."""
    over_s = time.monotonic() + SETTLING_S_MAX
    last = memory_of.tree(pid)
    while last is not None and time.monotonic() < over_s:
        time.sleep(LOOK_S)
        now = memory_of.tree(pid)
        if now is None or abs(now - last) <= SETTLED_SHARE * last:
            return now
        last = now
    return last
