"""How much others (programs, the hypervisor) took from a trial, and by which factor that slowed it. Pure.

What others used on cores that no thread of the trial missed did no harm. So two figures bound what was
taken: the CPU time that others used, and how long threads of the trial (of the server, of the processes that
serve its dependencies, and of the engine) were ready to run and did not run. The latter alone would count
threads that wait for each other. Steal comes on top of both, because no thread counts it.

So no more than T = min(O, W) + S was taken: O is what others used, W how long threads of the trial were ready
without a core, S the steal. In a window of length L a trial that stood still whenever something was taken did
its work in L − T, so undisturbed it is at most L/(L − T) times as fast. Nor can it have used more than the
CPU time that it used (c), that others used, that was stolen and that was idle (i): at most 1 + (O + S + i)/c
times as fast. Nor can the server have used more than its control groups allow it. The smallest factor counts.

Where the load comes from a load host, others may have taken from either machine: from the engine there, or
from the server here. Both delay requests, so both are added up; and neither machine could do more than with
all of its own cores.

Processes that serve a dependency are not counted as others: those that listen where the server has
connections that were used during the load, and their descendants. All that such a process does counts as done
for the server; what it asks in turn counts as others. Only a socket's own user and root can read which
process holds it. So a process of another user that may serve a dependency is not counted as others either.
The kernel's own threads are not counted: they write to the disk for whichever process asked. What others do
to the speed of a core (caches, a shared physical core, its clock) is not bounded here; twins show how much it
is.

Nothing here depends on a trial's results, so a trial may be left out for its disturbance without choosing
among results.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from crumple.contract import MachineRecord, OpenShapeSpec, OtherProgram, ProcessWindow, TrialRecord
from crumple.contract_base import Frozen
from crumple.machine.serving import PASS_ON
from crumple.record import machine_use, undisturbed
from crumple.record.machine_use import MachineUse, used_ns
from crumple.record.undisturbed import Factors
from crumple.record.windows import evenly, server

# A trial does not count if it might have been twice as fast on a calm machine: more was taken from it then
# than it had left.
SLOWDOWN_MAX = 2.0
# The largest slowdown that is stored: that of a trial that stood still is infinite, which is no JSON number.
SLOWDOWN_TOLD = 1_000.0
# Reports mention others if the trial might have been 1.05 times as fast without them. Starts of one server
# differ by more than that.
MENTIONED = 1.05
# Other programs are named if one or two of them used half of what all of them used.
NAMED_MAX, MOST = 2, 0.5
# How long a tree waited for cores is not known if the threads that were read used less than a tenth of its
# CPU time.
SEEN_MIN = 0.1
# The field of a record of dependencies that has the CPU time of those who serve them.
SERVING = "serving_cpu_ns"


class LoadHostDisturbance(Frozen):
    """What others took on the machine that the load came from, where the server is on another."""

    name: str
    """As the command names it."""
    others_share: float
    """The CPU time that other programs used there, as a share of the time of all cores (0..1)."""
    steal_share: float
    """The CPU time that its hypervisor took, as a share of the time of all cores (0..1)."""
    taken_share: float
    """The share of the window (0..1) in which the engine had no core because of others, at most."""
    by: str = ""
    """The one or two programs that used most of it; empty: it was more of them."""

    @property
    def who(self) -> str:
        """Who took it, and where."""
        return f"{_who(self.others_share, self.steal_share, self.by)} on {self.name}"


class Disturbance(Frozen):
    """What others took from a trial over the measured window."""

    others_share: float | None
    """The CPU time that other programs used on the server's machine, as a share of the time of all cores
    (0..1); None: not known. Other programs are all but the engine, the canary, the server, those that serve
    its dependencies or may serve them and could not be found, and the kernel's own threads.
    """
    steal_share: float | None
    """The CPU time that the hypervisor took there, as a share of the time of all cores (0..1); None: not
    known.
    """
    taken_share: float = 0.0
    """The share of the window (0..1) in which the trial had no core because of others, at most."""
    slowdown: float = 1.0
    """The factor (1 or more) by which the throughput would have been higher without them, at most; 1 if
    nothing is known of others.
    """
    delayed_share: float = 0.0
    """The share of the requests (0..1) that they delayed in an open shape or one with pauses, at most."""
    unread: str = ""
    """What is not known, and why."""
    by: str = ""
    """The one or two programs that used most of it; empty: it was more of them."""
    load_host: LoadHostDisturbance | None = None
    """What of it was taken where the load came from; None: from the server's machine, or it was not read."""

    @property
    def disturbed(self) -> bool:
        """Whether more may have been taken from the trial than it had left."""
        return self.slowdown > SLOWDOWN_MAX

    @property
    def is_mentioned(self) -> bool:
        """Whether the slowdown is large enough to be shown beside the noise of starts."""
        return self.slowdown >= MENTIONED

    @property
    def why(self) -> str:
        """Who took how much of the time; empty if it is not worth mentioning."""
        if not self.is_mentioned:
            return ""
        return f"{self._who} took up to {self.taken_share:.0%} of the time"

    @property
    def against(self) -> str:
        """Why the trial does not count; empty if it does."""
        return self.why if self.disturbed else ""

    @property
    def sentence(self) -> str:
        """Return a warning if the slowdown is worth mentioning: what was taken, and what follows from it."""
        if not self.is_mentioned:
            return ""
        if self.disturbed:
            return f"{self.why}, more than was left: end other programs, or run later or elsewhere"
        return (
            f"{self.why}: on a calm machine throughput is at most {self.slowdown:.2f} times as high, "
            "and long response times may be much shorter"
        )

    @property
    def _who(self) -> str:
        here = _who(self.others_share or 0.0, self.steal_share or 0.0, self.by)
        if self.load_host is None:
            return here
        there_share = self.load_host.taken_share
        here_share = max(0.0, self.taken_share - there_share)
        # A machine where less than half as much was taken as on the other one is not named.
        if there_share > 2 * here_share:
            return self.load_host.who
        here = f"{here} on the server's machine"
        return f"{here} and {self.load_host.who}" if 2 * there_share >= here_share else here


def _who(others_share: float, steal_share: float, by: str) -> str:
    programs = f"other programs ({by})" if by else "other programs"
    if steal_share > others_share:
        return "the hypervisor"
    return f"{programs} and the hypervisor" if steal_share > others_share / 2 else programs


def disturbance(
    record: TrialRecord,
    canary: TrialRecord | None = None,
    database_ns: int | None = 0,
    quota_cores: float = math.inf,
) -> Disturbance:
    """Return what others took from a trial.

    `database_ns`: CPU time of its database over the window, which is one of its dependencies; None: it has
    one, whose time was not read. `quota_cores`: the CPU time that control groups allow the server, in cores.
    """
    machine = record.probes.machine_of_server
    bare = machine_use.of(record, machine, 0.0, 0.0)
    if bare is None:
        why = "; ".join(each.why for each in machine.unread)
        unread = why or "the CPU time of the whole machine was not read"
        return Disturbance(others_share=None, steal_share=None, unread=unread)
    behind = _behind(record, database_ns)
    loading, serving = _loading(record, canary), _serving(record, behind)
    if unknown := [who for who, known_ns in (loading | serving).items() if known_ns is None]:
        unread = f"the CPU time of {' and '.join(unknown)} was not read"
        return Disturbance(others_share=None, steal_share=bare.share(bare.steal_ns), unread=unread)
    is_apart = record.probes.server_machine is not None
    loading_ns, engines_waited_ns = _sum(loading), _engines_waited_ns(record, canary)
    ours_ns, waited_ns = _sum(serving), behind.waited_ns + _of_server_ns(record, server(record))
    if not is_apart:
        ours_ns, waited_ns = ours_ns + loading_ns, waited_ns + engines_waited_ns
    here = machine_use.of(record, machine, ours_ns, waited_ns, behind.further_ns) or bare
    there = machine_use.of(record, record.probes.machine, loading_ns, engines_waited_ns) if is_apart else None
    machines = [here] if there is None else [here, there]
    taken_ns = math.fsum(each.taken_ns for each in machines)
    taken_share = min(1.0, taken_ns / record.measured_ns)
    slowed = min(slowdown(taken_ns, record.measured_ns, each.ours_ns, each.further_ns) for each in machines)
    if used := serving["the server"]:
        slowed = min(slowed, max(1.0, quota_cores * record.measured_ns / used))
    busy_share = max(here.used_share, _busiest_share(record)) if _piles_up(record) else 0.0
    not_there = "the CPU time of the load host was not read" if is_apart and there is None else ""
    return Disturbance(
        others_share=here.share(here.others_ns),
        steal_share=here.share(here.steal_ns),
        taken_share=round(taken_share, 4),
        slowdown=round(min(slowed, SLOWDOWN_TOLD), 4),
        delayed_share=round(undisturbed.delayed_share(taken_share, busy_share), 4),
        unread=behind.unread or not_there,
        by=_most_of(machine, here.others_ns, _serving_pids(record, behind)),
        load_host=_on_load_host(record, there) if there is not None else None,
    )


def _loading(record: TrialRecord, canary: TrialRecord | None) -> dict[str, float | None]:
    """Return the CPU time of what loads; None: not read."""
    engine = {"the engine": used_ns(record, record.probes.engine.window)}
    return engine if canary is None else engine | {"the canary": used_ns(canary, canary.probes.engine.window)}


def _serving(record: TrialRecord, behind: "_Behind") -> dict[str, float | None]:
    """Return the CPU time of the server, and of what is beside it on its machine; None: not read."""
    found = {
        "the server": used_ns(record, server(record)),
        "the database": behind.used_ns,
        "what passes connections on": _passing_ns(record),
    }
    watch = record.probes.watch
    return found if watch is None else found | {"the engine beside it": used_ns(record, watch.window)}


def _on_load_host(record: TrialRecord, there: MachineUse) -> LoadHostDisturbance:
    return LoadHostDisturbance(
        name=record.load_host or "the load host",
        others_share=there.share(there.others_ns),
        steal_share=there.share(there.steal_ns),
        taken_share=round(min(1.0, there.taken_ns / record.measured_ns), 4),
        by=_most_of(record.probes.machine, there.others_ns, ()),
    )


def _serving_pids(record: TrialRecord, behind: "_Behind") -> set[int]:
    """Return the processes that pass connections on, or serve a dependency.

    Where some of these were not found, also those that may.
    """
    on_the_way = {program.pid for program in passing(record)}
    found = record.probes.dependencies
    if found is None:
        return on_the_way
    return {*on_the_way, *found.serving_pids, *(found.unfound_pids if behind.further_ns else ())}


def _sum(known: Mapping[str, float | None]) -> float:
    return math.fsum(each or 0.0 for each in known.values())


def is_beyond(factors: Factors) -> bool:
    """Whether others may have changed a figure by more than what was measured."""
    low, high = factors
    return low < 1 / SLOWDOWN_MAX or high > SLOWDOWN_MAX


def slowdown(taken_ns: float, measured_ns: float, ours_ns: float, further_ns: float) -> float:
    """Return the factor by which a trial may have been faster, at most, had nothing been taken from it.

    Two bounds hold, and the smaller one counts. If all of the trial stood still whenever something was taken
    from it, it did in the rest of the window what takes it no less time undisturbed. And it cannot use more
    CPU time than it used and `further_ns` together (what others used, the hypervisor took, and was idle), at
    the same CPU time per request.
    """
    left_ns = measured_ns - taken_ns
    standing_still = measured_ns / left_ns if left_ns > 0 else math.inf
    using_all = 1 + further_ns / ours_ns if ours_ns else math.inf
    return min(standing_still, using_all)


def _most_of(machine: MachineRecord, others_ns: float, serving: Collection[int]) -> str:
    """Return the other programs that used most of this time; empty: none, or more than two.

    `serving`: processes that are no others.
    """
    named: list[str] = []
    used_ns = 0
    everybody = machine.all_processes
    for program in everybody.programs if everybody is not None else ():
        if program.pid not in serving and len(named) < NAMED_MAX and used_ns < MOST * others_ns:
            used_ns += program.cpu_ns
            named.append(f"{program.name} (pid {program.pid})")
    return " and ".join(named) if used_ns >= MOST * others_ns else ""


def _passing_ns(record: TrialRecord) -> float:
    """Return what programs used that pass connections on to the server's container: it is part of the way."""
    everybody = record.probes.machine_of_server.all_processes
    if everybody is None or not everybody.span_ns:
        return 0.0
    return evenly(record, sum(each.cpu_ns for each in passing(record)), everybody.span_ns)


def passing(record: TrialRecord) -> list[OtherProgram]:
    """Return the programs that pass connections on to the server's container, by their names.

    Those of other containers are among them: they have little to do.
    """
    everybody = record.probes.machine_of_server.all_processes
    if everybody is None or record.spec.probe.server_address is None:
        return []
    return [program for program in everybody.programs if program.name.startswith(PASS_ON)]


@dataclass(frozen=True)
class _Behind:
    """The processes that serve the server's dependencies."""

    used_ns: float | None
    """Their CPU time; None: not read."""
    waited_ns: float = 0.0
    """How long they were ready to run and did not run."""
    further_ns: float = 0.0
    """CPU time of processes that may serve them and could not be found, at most."""
    unread: str = ""
    """Why such processes could not be found."""


def _behind(record: TrialRecord, database_ns: int | None) -> _Behind:
    found = record.probes.dependencies
    if found is None or found.serving_cpu_ns is None or not found.serving_span_ns:
        # Then those who serve are others, and what they waited is not known.
        return _Behind(database_ns, math.inf if database_ns or found is not None else 0.0)
    serving_ns = evenly(record, found.serving_cpu_ns, found.serving_span_ns)
    # Both may count the same database. Of one that is not read, it is enough that those who serve were found.
    used_ns = max(database_ns, serving_ns) if database_ns is not None else serving_ns or None
    unfound = found.unfound_cpu_ns
    further_ns = math.inf if unfound is None else evenly(record, unfound, found.serving_span_ns)
    whys = "; ".join(each.why for each in found.unread if each.field == SERVING)
    waited_ns = _by_all(
        found.serving_run_queue_ns,
        found.serving_run_queue_cpu_ns,
        used_ns or 0.0,
        record.measured_ns / found.serving_span_ns,
    )
    unread = f"the CPU time of its dependencies was not read: {whys}" if further_ns else ""
    return _Behind(used_ns, waited_ns, further_ns, unread)


def _piles_up(record: TrialRecord) -> bool:
    """Whether requests of the load come while earlier ones wait. If they do not, those of its canary may."""
    shape = record.spec.shape
    return isinstance(shape, OpenShapeSpec) or shape.pause_ms > 0


def _busiest_share(record: TrialRecord) -> float:
    """Return for which share of the time (0..1) the server's busiest thread ran.

    If its threads were not read, it is taken to have one.
    """
    tasks = record.probes.tasks
    if tasks is None or not tasks.window_ns or not tasks.threads_seen:
        return min(1.0, (used_ns(record, server(record)) or 0.0) / record.measured_ns)
    return min(1.0, max(thread.cpu_ns for thread in tasks.threads_seen) / tasks.window_ns)


def _engines_waited_ns(record: TrialRecord, canary: TrialRecord | None) -> float:
    """Return how long the engines' threads were ready and did not run, in all; infinite if not known."""
    waited_ns = 0.0
    for each in (record, *((canary,) if canary else ())):
        for thread in each.probes.threads:
            if thread.window is None or thread.window.run_queue_ns is None or not thread.window.span_ns:
                return math.inf
            waited_ns += evenly(each, thread.window.run_queue_ns, thread.window.span_ns)
    return waited_ns


def _of_server_ns(record: TrialRecord, window: ProcessWindow | None) -> float:
    """Return how long the server's threads were ready and did not run; infinite if not known."""
    if window is None or not window.threads_span_ns:
        return math.inf
    cpu_ns = used_ns(record, window) or 0.0
    return _by_all(
        window.run_queue_ns, window.run_queue_cpu_ns, cpu_ns, record.measured_ns / window.threads_span_ns
    )


def _by_all(waited_ns: int | None, seen_ns: int | None, used_ns: float, by_time: float) -> float:
    """Return how long all threads of a tree waited in the phase, of which some were seen for some time.

    Threads that ended between two readings are not seen. They are taken to have waited as the others did, by
    the CPU time that is missing: the tree used `used_ns`, and the threads that were seen `seen_ns`. Infinite
    if that is not known, or too little was seen.
    """
    if not used_ns:
        return (waited_ns or 0) * by_time
    if waited_ns is None or not seen_ns or seen_ns * by_time < SEEN_MIN * used_ns:
        return math.inf
    return waited_ns * max(by_time, used_ns / seen_ns)
