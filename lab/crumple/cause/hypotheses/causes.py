"""All hypotheses. Pure."""

from crumple.cause.hypotheses import (
    accept_queue,
    background,
    connection_pool,
    contention,
    cpu,
    dependency,
    descriptors,
    disk,
    gate,
    idle_connections,
    limiter,
    memory,
    one_loop,
    slow_pool,
    standstill,
    switches,
    throttled,
    workers,
)
from crumple.cause.hypothesis import Hypothesis

ALL: tuple[Hypothesis, ...] = tuple(
    each.HYPOTHESIS
    for each in (
        workers, gate, connection_pool, dependency, cpu, one_loop, contention,
        switches, disk, memory, throttled, descriptors, accept_queue, idle_connections, slow_pool,
        standstill, background, limiter,
    )
)  # fmt: skip
