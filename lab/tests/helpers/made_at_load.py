"""Servers under a load beyond their limit, in round figures: one for each cause."""

from dataclasses import replace

from crumple.machine.group_limits import GroupLimits, Limit
from crumple.machine.group_owner import Owner
from crumple.observation.at_load import AtLoad, Peer, Saturated, Stage, Threads
from crumple.observation.cpu_time import CpuTime, File, Function
from crumple.observation.observed import Observed
from crumple.observation.server_facts import ServerFacts
from crumple.record.limiter_course import Limiter
from crumple.stats.interval import Interval
from made_observed import HYBRID, LOOP, PROCESSES, THREADS, alone, many

# 64 connections ask a server with 8 workers, each of which waits 50 ms.
POOL = AtLoad(
    spent_s=5.0,
    answers=800,
    per_s=160,
    mean_s=0.4,
    in_flight=64,
    failed=0,
    unanswered=0,
    cores=0.1,
    engine_cores=0.02,
    all_cores=2,
    grew=0,
    grew_from=10,
    late_connects=0,
    engine_limited=False,
    switches_per_s=500,
    stage=Stage(not_accepted=0, unread=56, inside=8, other=0),
    threads=Threads(number=10, sharing=8, saturated=(), runnable=0, disk=0, stopped=0),
    peers=(),
    descriptors=(70, 1024),
    throttled_share=None,
)
IN = Stage(not_accepted=0, unread=0, inside=64, other=0)
WORK = replace(THREADS, work=alone(50, 0.6))
# The workers sleep while they wait; the other threads wait for something to do.
ASLEEP = {"hrtimer_nanosleep": 0.8, "ep_poll": 0.2}
WORKERS = ServerFacts(
    seen=WORK,
    beyond=replace(POOL, threads=Threads(10, 8, (), runnable=0, disk=0, stopped=0, places=ASLEEP)),
    alone_s=0.05,
)


def facts(base: ServerFacts = WORKERS, **changed: object) -> ServerFacts:
    """The facts with some of the load's fields changed."""
    return replace(base, beyond=replace(base.beyond, **changed))  # type: ignore[arg-type]


def under_load(seen: Observed, alone_s: float, **changed: object) -> ServerFacts:
    """What was seen, how long a request takes alone, and POOL's load with some fields changed."""
    return facts(ServerFacts(seen=seen, beyond=POOL, alone_s=alone_s), **changed)


def threads(**changed: object) -> Threads:
    assert POOL.threads is not None
    return replace(POOL.threads, **changed)  # type: ignore[arg-type]


BUSY = Saturated(share=0.99, program="server")
# A loop that computes 5 ms for each request.
ONE_LOOP = under_load(
    replace(LOOP, work=alone(5, 5)),
    0.005,
    per_s=200,
    mean_s=0.32,
    cores=1.0,
    threads=threads(saturated=(BUSY,), sharing=1.02),
)
ONE_LOCK = facts(ONE_LOOP, threads=threads(saturated=(), sharing=16))
CPU = under_load(
    replace(HYBRID, work=alone(5, 5)),
    0.005,
    per_s=400,
    mean_s=0.16,
    cores=1.95,
    stage=IN,
    threads=threads(sharing=12, runnable=14),
)
COLLECTS = CpuTime(
    samples=1_000,
    functions=(Function("runtime.gcDrain", "server", 600), Function("main.work", "server", 400)),
    files=(File("server", 1_000, 1_000),),
    stands_for=1.0,
)
MEMORY = facts(CPU, cpu_time=COLLECTS)
SWITCHES = replace(facts(CPU, switches_per_s=800_000), switch_s=1e-6)
# Work under one lock for 5 ms, of which 32 wait in threads.
LOCK = under_load(
    replace(HYBRID, work=alone(5, 0.5)),
    0.005,
    per_s=200,
    mean_s=0.32,
    stage=IN,
    threads=threads(number=66, places={"futex_wait_queue": 0.95}),
)
DISK = facts(LOCK, threads=threads(disk=3.0, number=66, places={"io_schedule": 0.5}))
NEAR = Peer(address="127.0.0.1:9", listener="database", connections=4, waiting=4, most=4)
# A request asks for 5 ms, alone and under load.
ASKING = replace(LOCK, seen=replace(LOCK.seen, work=replace(alone(5, 0.5), waits_s={"database": 0.005})))
CONNECTION_POOL = facts(
    ASKING,
    per_s=800,
    mean_s=0.08,
    cores=0.4,
    peers=(NEAR,),
    threads=threads(number=5, places={"futex_wait_queue": 1.0}),
)
DEPENDENCY = facts(
    LOCK, peers=(replace(NEAR, connections=64, waiting=62, most=64),), threads=threads(number=66)
)
SLOW_POOL = facts(replace(WORKERS, seen=replace(WORK, waiting=(many(32, 4, 0.1, growing=True),))), grew=6)
ACCEPT_QUEUE = under_load(
    replace(LOOP, work=alone(20, 1.6)),
    0.02,
    per_s=60,
    mean_s=1.0,
    late_connects=40,
    queue_empty_share=0.5,
    stage=Stage(not_accepted=60, unread=0, inside=1.2, other=2.8),
)
IDLE_CONNECTIONS = facts(
    ServerFacts(seen=replace(PROCESSES, work=None), beyond=POOL, alone_s=None, others=8),
    per_s=0,
    answers=0,
    mean_s=0,
    cores=0.0,
    unanswered=64,
    stage=Stage(not_accepted=64, unread=0, inside=0, other=0),
)
DESCRIPTORS = facts(ACCEPT_QUEUE, descriptors=(40, 40))
CONTAINER = Owner("container", "3f2a9c1b0d2e", "docker")
# Its container may use half of a core, memory of 64 MiB, and twenty processes and threads.
QUOTA = GroupLimits(quota=Limit(0.5, CONTAINER, "cpu.max", "50000 100000"))
LITTLE_MEMORY = GroupLimits(memory=Limit(2**26, CONTAINER, "memory.max", str(2**26)))
FEW_TASKS = GroupLimits(tasks=Limit(20, CONTAINER, "pids.max", "20"))
THROTTLED = facts(
    ONE_LOOP,
    per_s=50,
    mean_s=1.28,
    cores=0.25,
    throttled_share=0.7,
    threads=threads(sharing=1.02, busiest=0.25),
)
STOPPED = facts(ONE_LOOP, cores=0.5, threads=threads(stopped=5, sharing=1))
NOTHING = under_load(replace(LOOP, work=alone(50, 0.6)), 0.05, per_s=1280, mean_s=0.05, cores=0.8, stage=IN)
LIMITER = facts(
    failed=9_000,
    limiter=Limiter(429, 9_000, 10_000, 1_000, rate=Interval(200, 195, 205, 0.95, 50), retry_after="1"),
)
CAUSES = {
    "workers": WORKERS,
    "one-loop": ONE_LOOP,
    "gate": ONE_LOCK,
    "cpu": CPU,
    "memory": MEMORY,
    "switches": SWITCHES,
    "disk": DISK,
    "connection-pool": CONNECTION_POOL,
    "dependency": DEPENDENCY,
    "slow-pool": SLOW_POOL,
    "accept-queue": ACCEPT_QUEUE,
    "idle-connections": IDLE_CONNECTIONS,
    "descriptors": DESCRIPTORS,
    "throttled": THROTTLED,
    "limiter": LIMITER,
    "none": NOTHING,
}
