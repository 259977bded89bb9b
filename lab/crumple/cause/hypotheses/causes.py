"""All hypotheses. Pure."""

from crumple.cause.hypotheses import (
    background,
    busy_cores,
    busy_thread,
    busy_workers,
    collecting_garbage,
    connection_pools,
    contended_cores,
    holding_back,
    idle_holders,
    inner_gate,
    open_files,
    quotas,
    short_queue,
    slow_dependency,
    slow_disk,
    slow_pools,
    standstill,
    switching,
)
from crumple.cause.hypothesis import Hypothesis

ALL: tuple[Hypothesis, ...] = tuple(
    each.HYPOTHESIS
    for each in (
        busy_workers, inner_gate, connection_pools, slow_dependency, busy_cores, busy_thread, contended_cores,
        switching, slow_disk, collecting_garbage, quotas, open_files, short_queue, idle_holders, slow_pools,
        standstill, background, holding_back,
    )
)  # fmt: skip
