"""Servers whose cause is drawn, as what a diagnosis would have seen of them: with errors, and parts unread.

Throughput and stages follow from the operational laws of a closed load on one bottleneck. Not a test itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from crumple.machine.at_rest import AtRest
from crumple.observation.at_load import AtLoad, Light, Peer, Saturated, Stage, Threads
from crumple.observation.observed import Observed, WorkAlone
from crumple.observation.outcome import Crowd, ExperimentOutcomes, LoadPairs
from crumple.observation.server_facts import ServerFacts

Random = np.random.Generator
# Requests in flight, the half-sent requests of an experiment, and the engine's part of a core.
IN_FLIGHT, HALF_SENT, ENGINE_CORES = 64, 2, 0.1
# Errors: of a count at random instants, of a throughput, of one response time.
COUNTED, RATE, TIMES = 0.06, 0.03, 0.3


class Drawn:
    """One server. Each field is true; `facts` adds the errors.

    `cores`: as many as the server may use; None: drawn, too. `others`: cores that others use of these.
    """

    def __init__(self, random: Random, cores: int | None = None, others: float = 0.0) -> None:
        self.random = random
        drawn = int(random.choice([2, 2, 2, 4, 8, 16]))
        self.cores = cores or drawn
        self.others_cores = others
        self.alone_s = float(np.exp(random.uniform(np.log(0.004), np.log(0.2))))
        # The share of its time alone that a request computes.
        self.computes = float(random.uniform(0.01, 0.15))
        self.per_s = 0.0
        self.unread, self.not_accepted = 0.0, 0.0
        self.busiest, self.busy = 0.0, 1
        self.cpu_each_s = self.computes * self.alone_s
        self.locked = self.timed = self.receiving = self.disk = 0.0
        self.light: float | None = None
        self.left = 1.0
        self.peers: tuple[Peer, ...] = ()
        self.asked_alone_s = 0.0
        self.garbage = self.throttled = 0.0
        self.switches_per_s = 500.0
        self.late = 0
        self.queue_empty: float | None = None
        self.stopped_at = ""
        self.others = 0
        self.held = False
        self.grew, self.rises = 0, 1.0
        self.files = (80, 1024)

    @property
    def inside(self) -> float:
        """Requests inside: all that are not in front of the server."""
        return IN_FLIGHT - self.unread - self.not_accepted

    @property
    def cores_left(self) -> float:
        """Cores that the server can use: what others and the engine leave."""
        return self.cores - ENGINE_CORES - self.others_cores

    @property
    def cores_used(self) -> float:
        """CPU seconds of the server per second."""
        return min(self.cores_left, self.per_s * self.cpu_each_s)

    def counted(self, number: float) -> float:
        """A number of requests or threads, as it is counted."""
        return max(0.0, number * (1 + COUNTED * self.random.standard_normal()))

    def facts(self) -> ServerFacts:
        """What a diagnosis would have seen."""
        random = self.random
        answers = max(3, min(50, round(1.2 / self.alone_s)))
        alone_s = self.alone_s * max(0.3, 1 + TIMES / answers**0.5 * random.standard_normal())
        per_s = self.per_s * (1 + RATE * random.standard_normal())
        used = self.counted(self.cores_used)
        waits_s = (
            {"dependency": self.asked_alone_s * (1 + 0.2 * random.standard_normal())}
            if self.asked_alone_s
            else {}
        )
        work = WorkAlone(
            answers, alone_s, 0.8 * self.alone_s, self.counted(self.computes * self.alone_s), waits_s=waits_s
        )
        threads = Threads(
            number=max(4.0, self.inside),
            sharing=None,
            saturated=(Saturated(self.busiest, "server"),) * self.busy if self.busiest > 0.9 else (),
            runnable=max(0.0, self.inside - self.cores) if self.cores_used > 0.9 * self.cores else 0.0,
            disk=self.counted(self.disk),
            stopped=0.0,
            places=self._places(),
            busiest=self.busiest or min(0.8, used / max(1.0, min(self.inside, 16.0))),
            busiest_at=self.stopped_at,
        )
        ratio = self.left * (1 + 0.02 * random.standard_normal())
        tried = Crowd(HALF_SENT, 32, LoadPairs(max(0.0, ratio), 0.02, 4))
        seen = Observed(
            cores=self.cores,
            work=work,
            light=replace(work),
            rest=AtRest(0.0, 0.0),
            outcomes=ExperimentOutcomes(half_sent=tried if random.random() < 0.8 else None),
        )
        load = AtLoad(
            spent_s=5.0,
            answers=round(per_s * 5),
            per_s=per_s,
            mean_s=IN_FLIGHT / per_s if per_s else 0.0,
            in_flight=IN_FLIGHT,
            failed=0,
            unanswered=0 if per_s else IN_FLIGHT,
            cores=used,
            engine_cores=ENGINE_CORES,
            all_cores=self.cores,
            grew=self.grew,
            grew_from=10,
            late_connects=self.late,
            engine_limited=False,
            switches_per_s=self.switches_per_s,
            stage=Stage(
                self.counted(self.not_accepted), self.counted(self.unread), self.counted(self.inside), 0.0
            ),
            threads=threads,
            peers=self.peers,
            descriptors=self.files,
            throttled_share=self.throttled,
            idle_most=max(0.0, self.cores_left - used) if self.others_cores else None,
            rates=(per_s / self.rises, per_s) if per_s else None,
            queue_empty_share=self.queue_empty,
            light=Light(40, round(40 * self.light)) if self.light is not None else None,
        )
        load = self._unread(load)
        return ServerFacts(seen, load, alone_s, self.others, switch_s=1.5e-6)

    def _places(self) -> Mapping[str, float]:
        number = max(4.0, self.inside)
        found = {
            "futex_wait_queue": self.locked,
            "hrtimer_nanosleep": self.timed,
            "wait_woken": self.receiving,
        }
        shares = {place: min(1.0, self.counted(each) / number) for place, each in found.items() if each}
        return {**shares, "ep_poll": max(0.02, 1.0 - sum(shares.values()))}

    def _unread(self, load: AtLoad) -> AtLoad:
        """Leave out what could not be read, as on some machines and of some servers."""
        absent: dict[str, object] = {}
        for name in ("threads", "peers", "light", "rates", "switches_per_s", "stage"):
            if self.random.random() < (0.02 if name == "stage" else 0.1):
                absent[name] = None
        return replace(load, **absent)  # type: ignore[arg-type]


def _let_in(server: Drawn, k: float, each_s: float) -> None:
    server.per_s = k / each_s


def workers(server: Drawn) -> None:
    """k processes or threads, each of which serves one request."""
    k = int(server.random.integers(1, 33))
    _let_in(server, k, server.alone_s)
    server.unread, server.light = IN_FLIGHT - k, 1.0
    server.left = max(0.0, 1 - HALF_SENT / k)
    how = server.random.integers(0, 3)
    if how == 0:
        server.timed = k
    elif how == 1:
        server.receiving, server.asked_alone_s = k, 0.8 * server.alone_s
        server.peers = (Peer("127.0.0.1:9", "dependency", k, 0.8 * k, k),)
    server.computes = min(server.computes, 0.5 * server.cores / k)
    server.cpu_each_s = server.computes * server.alone_s


def computing_workers(server: Drawn) -> None:
    """k processes that compute, on more cores than they use."""
    k = int(server.random.integers(2, max(3, server.cores // 2 + 1)))
    _let_in(server, k, server.alone_s)
    server.unread, server.light = IN_FLIGHT - k, 1.0
    server.left = max(0.0, 1 - HALF_SENT / k)
    server.busiest, server.busy, server.computes = 0.98, k, 0.97
    server.cpu_each_s = server.computes * server.alone_s


def gate(server: Drawn) -> None:
    """k requests at a time for a share of their time; the others wait inside."""
    k = int(server.random.choice([1, 1, 1, 2, 4, 8]))
    share = float(server.random.uniform(0.3, 1.0))
    _let_in(server, k, share * server.alone_s)
    server.per_s = min(server.per_s, 0.5 * server.cores / server.cpu_each_s)
    server.light = 0.0
    if server.random.random() < 0.5:
        server.locked = IN_FLIGHT - k / share


def polled_gate(server: Drawn) -> None:
    """One at a time, and the others look again and again."""
    _let_in(server, 1, server.alone_s)
    server.timed, server.light = IN_FLIGHT - 1, 0.0


def connection_pool(server: Drawn) -> None:
    """n connections, each held for a share of a request, of which the dependency works a part."""
    n = int(server.random.integers(2, 17))
    share, works = server.random.uniform(0.5, 1.0), server.random.uniform(0.3, 1.0)
    _let_in(server, n, share * server.alone_s)
    server.asked_alone_s = share * works * server.alone_s
    server.peers = (Peer("127.0.0.1:9", "dependency", n, n * works, n),)
    server.receiving, server.light = n * works, 0.0
    if server.random.random() < 0.6:
        server.locked = IN_FLIGHT - n / share


def dependency(server: Drawn) -> None:
    """What it asks serves a few at a time."""
    asked = float(server.random.uniform(0.3, 0.95))
    server.asked_alone_s = asked * server.alone_s
    _let_in(server, float(server.random.integers(1, 9)), server.asked_alone_s)
    waiting = IN_FLIGHT - server.per_s * (1 - asked) * server.alone_s
    server.peers = (Peer("127.0.0.1:9", "dependency", IN_FLIGHT, max(1.0, waiting), IN_FLIGHT),)
    server.light = 0.0
    if server.random.random() < 0.5:
        server.receiving = waiting


def cpu(server: Drawn) -> None:
    """All cores compute."""
    server.computes = float(server.random.uniform(0.3, 1.0))
    server.cpu_each_s = server.computes * server.alone_s
    server.per_s = server.cores_left / server.cpu_each_s
    server.unread = float(server.random.choice([0.0, 0.5, 0.8])) * IN_FLIGHT
    server.light = float(server.random.uniform(0.3, 1.0))


def one_loop(server: Drawn) -> None:
    """One thread computes."""
    server.computes = float(server.random.uniform(0.6, 1.0))
    server.cpu_each_s = server.computes * server.alone_s
    server.per_s, server.busiest, server.light = 1 / server.cpu_each_s, 0.98, 1.0
    server.unread = IN_FLIGHT - float(server.random.choice([1.0, 8.0]))
    if server.cores == 1:
        server.cores = 2


def contention(server: Drawn) -> None:
    """All cores are busy, and a request takes many times its CPU time."""
    server.computes = float(server.random.uniform(0.3, 1.0))
    server.cpu_each_s = server.computes * server.alone_s * server.random.uniform(4, 20)
    server.per_s = server.cores_left / server.cpu_each_s


def disk(server: Drawn) -> None:
    """Requests wait for a disk that serves a few at a time."""
    _let_in(server, float(server.random.integers(1, 5)), server.alone_s)
    served = server.per_s * server.alone_s
    server.disk = served if server.random.random() < 0.5 else IN_FLIGHT / 2


def slow_pool(server: Drawn) -> None:
    """A pool that adds workers while it is loaded."""
    k = int(server.random.integers(4, 24))
    workers(server)
    _let_in(server, k, server.alone_s)
    server.unread, server.left = IN_FLIGHT - k, max(0.0, 1 - HALF_SENT / k)
    server.grew, server.rises = int(server.random.integers(3, 10)), float(server.random.uniform(1.2, 2.0))


def accept_queue(server: Drawn) -> None:
    """Its listen queue is short."""
    inside = float(server.random.uniform(1, 4))
    _let_in(server, inside, server.alone_s)
    server.not_accepted, server.late = IN_FLIGHT - inside, int(server.random.integers(5, 40))
    server.queue_empty = float(server.random.uniform(0.4, 1.0))


def throttled(server: Drawn) -> None:
    """A quota stops it."""
    cpu(server)
    server.throttled = float(server.random.uniform(0.1, 0.8))
    server.per_s *= 1 - server.throttled


def switches(server: Drawn) -> None:
    """Switching takes a good part of the CPU time."""
    cpu(server)
    server.switches_per_s = server.cores * float(server.random.uniform(0.25, 0.7)) / 1.5e-6


def descriptors(server: Drawn) -> None:
    """No descriptor is left."""
    accept_queue(server)
    server.files = (1024, 1024)


CAUSES: Mapping[str, Callable[[Drawn], None]] = {
    "workers": workers,
    "gate": gate,
    "connection-pool": connection_pool,
    "dependency": dependency,
    "cpu": cpu,
    "one-loop": one_loop,
    "contention": contention,
    "disk": disk,
    "slow-pool": slow_pool,
    "accept-queue": accept_queue,
    "throttled": throttled,
    "switches": switches,
    "descriptors": descriptors,
}


def drawn(cause: str, random: Random, cores: int | None = None, others: float = 0.0) -> ServerFacts:
    """Return what would be seen of a server with this cause."""
    server = Drawn(random, cores, others)
    (polled_gate if cause == "gate" and random.random() < 0.15 else CAUSES[cause])(server)
    return server.facts()


def of_none(random: Random) -> ServerFacts:
    """Return what would be seen of a server with a cause that no hypothesis is made for.

    Requests wait for one another in steps, for a timer, or for two limits near each other, and what is read
    fits none of the causes.
    """
    server = Drawn(random)
    _let_in(server, float(random.uniform(1.2, 20)), server.alone_s * float(random.uniform(1, 2)))
    server.unread = float(random.uniform(0.2, 0.8)) * IN_FLIGHT
    server.locked, server.timed = (float(random.uniform(0, 0.4)) * server.inside for _ in range(2))
    server.busiest = float(random.uniform(0.3, 0.8))
    server.light = float(random.uniform(0.2, 0.8))
    server.left = float(random.uniform(0.5, 1.05))
    server.cpu_each_s = float(random.uniform(0.2, 0.8)) * server.cores / server.per_s
    return server.facts()
