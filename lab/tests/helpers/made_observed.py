"""What is seen of servers of each I/O model, in round figures."""

from dataclasses import replace

from crumple.machine.process_tree import Tree
from crumple.observation.observed import IdleHeld, Many, Observed, WorkAlone

REST = Tree(1, 10)
HELD = IdleHeld(
    connections=24, kept=True, accepted=24, holders=1, most=24, before=REST, after=REST, answered=True
)


def alone(ms: float, cpu_ms: float = 0.05) -> WorkAlone:
    return WorkAlone(answers=20, mean_s=ms / 1e3, least_s=ms / 1e3, cpu_s=cpu_ms / 1e3)


def many(connections: int, at_a_time: float, each_s: float, **other: object) -> Many:
    """A load of which so many requests are served at a time, each in `each_s`."""
    per_s = at_a_time / each_s
    made = Many(
        connections=connections,
        per_s=per_s,
        per_s_low=0.98 * per_s,
        per_s_high=1.02 * per_s,
        mean_s=connections / per_s,
        failed=0,
        unanswered=0,
        cores=0.2,
        engine_cores=0.05,
        at_rest=REST,
        most=REST,
        growing=False,
        busy=None,
    )
    return replace(made, **other)  # type: ignore[arg-type]


LOOP = Observed(
    cores=2,
    light=alone(0.2),
    slow=alone(100),
    heavy=alone(20, 20),
    held=HELD,
    waiting=(many(32, 32, 0.1), many(512, 510, 0.1)),
    computing=many(16, 1, 0.02, cores=1.0, busy=1.02),
)
LOOPS = replace(
    LOOP,
    held=replace(HELD, holders=2, most=13),
    computing=many(16, 1.9, 0.02, cores=1.95, busy=2.0),
)
GREEN = replace(LOOPS, held=HELD)
HYBRID = replace(GREEN, computing=many(16, 1.9, 0.02, cores=1.95, busy=15.0))
THREAD_EACH = replace(
    HYBRID,
    held=replace(HELD, after=Tree(1, 34)),
    waiting=(many(32, 32, 0.1, most=Tree(1, 42)), many(512, 500, 0.1, most=Tree(1, 522))),
)
PROCESS_EACH = replace(
    HYBRID,
    held=replace(HELD, after=Tree(25, 34), holders=24, most=1),
    waiting=(many(32, 32, 0.1, most=Tree(33, 42)), many(512, 500, 0.1, most=Tree(513, 522))),
)
THREADS = replace(HYBRID, waiting=(many(32, 8, 0.1),), computing=many(16, 1.9, 0.02, cores=1.95, busy=8.0))
FIVE = Tree(5, 5)
PROCESSES = replace(
    HYBRID,
    waiting=(many(32, 4, 0.1, at_rest=FIVE, most=FIVE),),
    held=replace(HELD, kept=False, accepted=4, holders=4, most=1, before=FIVE, after=FIVE, answered=False),
)
MODELS = {
    "event-loop": LOOP,
    "event-loop-per-core": LOOPS,
    "green-threads": GREEN,
    "hybrid": HYBRID,
    "thread-per-connection": THREAD_EACH,
    "process-per-connection": PROCESS_EACH,
    "thread-pool": THREADS,
    "process-pool": PROCESSES,
}
