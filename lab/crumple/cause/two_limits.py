"""Two limits at once: what a lock or a pool, and the workers that wait for it, each account for. Pure.

Under load all workers are busy where they wait for a lock, or for a connection of a pool, too, and then more
workers change nothing. They are a limit of their own if requests would still wait for them without it: if a
good part of the workers' time is no waiting, and cores would be left idle.
"""

from collections.abc import Sequence
from dataclasses import replace

from crumple.cause.finding import QUEUE_SHARE, Cause, Facts, Finding
from crumple.drawing import numerals

# What workers wait for, and how they would serve without it.
WAITED: dict[Cause, str] = {"one-lock": "without the lock", "connection-pool": "with connections enough"}


def and_workers(facts: Facts, findings: Sequence[Finding]) -> tuple[Finding, Finding] | None:
    """Return both, each with its share; None: workers are no limit of their own, or not both were found.

    By Little's law, workers that wait for nothing else would answer as many requests per second as there are
    workers for the time of one request. What would still be waited then is the workers' share.
    """
    found = {each.cause: each for each in findings}
    lock, workers = next((found[cause] for cause in WAITED if cause in found), None), found.get("workers")
    limit, waited_s, alone_s = facts.workers, facts.waited_s, facts.alone_s
    if lock is None or workers is None or limit is None or waited_s is None or not alone_s:
        return None
    load = facts.beyond
    per_s = limit / alone_s
    if load.per_s < QUEUE_SHARE * per_s or not _would_leave_cores(facts, per_s):
        return None
    workers_s = min(waited_s, max(0.0, load.in_flight / per_s - alone_s))
    said = (
        f"all {limit:,.0f} workers are busy, and {WAITED[lock.cause]} they would serve {numerals.rate(per_s)}"
    )
    return (
        replace(lock, share_s=waited_s - workers_s),
        replace(workers, sure=lock.sure, share_s=workers_s, evidence=said),
    )


def _would_leave_cores(facts: Facts, per_s: float) -> bool:
    """Whether cores would be idle with so many answers per second; False if it is not known."""
    load, cores = facts.beyond, facts.asked_cores
    if cores is None or not load.per_s or load.cores is None or load.engine_cores is None:
        return False
    more = per_s / load.per_s
    kept = load.cores - cores
    return facts.is_idle_enough(load.all_cores - kept - more * (cores + load.engine_cores))
