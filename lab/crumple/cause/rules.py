"""What limits a server: a rule for each cause. Pure.

A rule needs a resource that is used up *and* requests that wait for it: a busy core that nobody waits for is
no cause. What could not be read is never taken for 0.
"""

from collections.abc import Callable
from dataclasses import replace

from crumple.cause import (
    behind_rules,
    blocked_loop,
    cpu_rules,
    failing,
    few_served,
    limiter_rule,
    lock_rules,
    memory_rules,
    queue_rules,
    two_limits,
)
from crumple.cause.finding import MOST_SHARE, Cause, Facts, Finding, Out, Said, Unclear
from crumple.drawing import numerals
from crumple.record import let_through
from crumple.record.let_through import Part
from crumple.record.limiter import Limiter

RULES: tuple[Callable[[Facts], Said | None], ...] = (
    cpu_rules.throttled,
    queue_rules.descriptors,
    queue_rules.idle_connections,
    queue_rules.slow_pool,
    queue_rules.workers,
    queue_rules.accept_queue,
    behind_rules.disk,
    behind_rules.dependency,
    blocked_loop.said,
    cpu_rules.switches,
    memory_rules.memory,
    cpu_rules.one_core,
    cpu_rules.cpu,
    lock_rules.lock,
)
# What a finding explains: where the first is shown, the others are its effects.
EXPLAINS = {
    "throttled": {"one-loop", "one-lock", "cpu", "workers", "memory"},
    "descriptors": {"accept-queue", "workers", "idle-connections"},
    "idle-connections": {"workers", "accept-queue", "slow-pool"},
    "slow-pool": {"workers"},
    "disk": {"one-lock", "workers"},
    "connection-pool": {"one-lock", "dependency", "workers"},
    "dependency": {"one-lock"},
    "accept-queue": {"workers"},
    "switches": {"one-lock", "one-loop", "cpu", "memory", "slow-pool", "workers"},
    "memory": {"cpu", "one-loop"},
    "one-loop": {"workers"},
    "one-lock": {"workers", "slow-pool"},
}
# These may account for a small part of what requests wait, and then explain nothing else: a quota is reached
# now and then, or a few connections come late.
EXPLAINS_BY_SHARE = ("throttled", "accept-queue")
# Causes that use CPU time, which requests that are refused take as well.
OF_CPU_TIME = ("cpu", "one-loop", "one-lock", "memory", "switches")
REFUSES = (
    "requests fail under load that do not without it: it may refuse more than so many at a time; look at "
    "what it answers"
)
# Less than this part of what requests wait is small.
SMALL_SHARE = 0.2


def judged(facts: Facts) -> list[Said]:
    """Return what each rule says: findings first, the surest and then the greatest share first."""
    limited = limiter_rule.finding(_limiters(facts))
    if limited is not None and limited.sure == "shown":
        # It says so itself, whatever the engine and others did. What it uses to turn requests away, and what
        # those wait for that it lets through, limits nothing.
        return [limited]
    said = _of_load(facts)
    return said if limited is None or limiter_rule.is_explained(said) else [limited]


def _limiters(facts: Facts) -> list[Limiter]:
    """The limiter, if the course of the load shows it, or that fewer are turned away one at a time."""
    load, tried, found = facts.beyond, facts.tried, facts.beyond.limiter
    if found is None or not facts.fails:
        return []
    if found.is_shown or not found.is_named or tried is None:
        return [found] if found.is_shown else []
    alone = Part(0.0, tried.answers, tried.answers + tried.failed)
    loaded = Part(load.spent_s, load.answers, load.answers + load.failed)
    return [found] if let_through.differ([alone, loaded]) else []


def _of_load(facts: Facts) -> list[Said]:
    """What is said of a load, whatever a limiter may have done."""
    if facts.beyond.engine_limited:
        return [Unclear("engine", "the engine was at its limit, which hides the server's")]
    if facts.beyond.disturbed:
        return [Unclear("none", f"{facts.beyond.disturbed}{_near(facts)}; repeat it on a calm machine")]
    return [*_judged(facts), *_unseen_others(facts)]


def _judged(facts: Facts) -> list[Said]:
    if facts.is_harmed is None:
        return [*_unknown_harm(facts), *failing.said(facts), *_if_harmed(facts)]
    if not facts.is_harmed and facts.alone_s is not None:
        loaded, alone = (numerals.duration(1e9 * each) for each in (facts.beyond.mean_s, facts.alone_s))
        why = f"a request takes {loaded} under load and {alone} alone{failing.besides(facts)}"
        return [Finding("none", "shown", facts.share(facts.alone_s), why, ""), *_out(facts)]
    said_all = [said for rule in RULES if (said := rule(facts)) is not None]
    all_found = [said for said in said_all if isinstance(said, Finding)]
    findings, found = _first(facts, all_found), {each.cause for each in all_found}
    others = _said_once([said for said in said_all if said.cause not in found])
    if not findings and (few := few_served.said(facts, others)) is not None:
        # The evidence of that finding says whether a lock looks the same.
        told = {few.cause, "one-lock"}
        others = [said for said in others if said.cause not in told or isinstance(said, Unclear)]
        return [few, *others, *failing.said(facts)]
    if not findings:
        return [Unclear("none", _none_found(facts)), *others, *failing.said(facts)]
    if facts.fails_by_load and facts.beyond.failed > MOST_SHARE * (
        facts.beyond.answers + facts.beyond.failed
    ):
        return [*map(_of_refusals, findings), *others, Unclear("none", REFUSES)]
    return [*findings, *others, *failing.said(facts)]


def _none_found(facts: Facts) -> str:
    """Why it cannot be told what requests wait for."""
    load = facts.beyond
    if load.rose:
        return "the load rose meanwhile, and what is used up at its end is not known: put on one load"
    if facts.fails_by_load:
        return f"nothing that was measured is used up, and {REFUSES}"
    why = "requests wait, and nothing that was measured is used up"
    if facts.has_idle_cores or facts.others_cores <= max(cpu_rules.ENGINE_MIN, load.engine_cores or 0.0):
        return why
    used = f"{numerals.significant(facts.others_cores, 2)} of {load.all_cores} cores"
    return f"{why}, but other programs, with those that it asks, used {used} and may have left it too few"


def _of_refusals(found: Finding) -> Finding:
    """A finding of a load of which most requests fail: what takes CPU time may be to refuse them."""
    if found.cause not in OF_CPU_TIME:
        return found
    said = f"{found.evidence}; most requests fail meanwhile, and to refuse them takes CPU time as well"
    return replace(found, sure="consistent", evidence=said)


def _unknown_harm(facts: Facts) -> list[Said]:
    """Why it is not known whether requests wait; empty: what is said of those that fail tells it."""
    if facts.fails and (facts.alone_s is not None or not facts.beyond.answers):
        return []
    work = facts.seen.work
    disturbed = f" ({work.disturbed})" if work is not None and work.disturbed else ""
    unknown = f"how long a request takes alone is not known{disturbed}"
    why = f"{unknown}, and no queue was seen in front of the server"
    if not facts.beyond.answers:
        why = "no request was answered while it was measured: one takes too long"
    return [Unclear("none", why)]


def _near(facts: Facts) -> str:
    """Who may be among other programs: what the server asks is not, but others that are asked in turn."""
    near = [behind_rules.name(peer) for peer in facts.beyond.peers or () if peer.listener]
    behind = f"; whom {' or '.join(near)} asks in turn may be among them" if near else ""
    in_front = facts.beyond.unread.get("in_front")
    return f"{behind}; one of them is in front of it: {in_front}" if in_front else behind


def _unseen_others(facts: Facts) -> list[Said]:
    why = facts.beyond.unread.get("others")
    return [Unclear("none", f"whether other programs disturbed it: {why}")] if why else []


def _said_once(said_all: list[Said]) -> list[Said]:
    """Leave out that a cause is ruled out by one rule where another rule cannot tell."""
    unclear = {said.cause for said in said_all if isinstance(said, Unclear)}
    return [said for said in said_all if isinstance(said, Unclear) or said.cause not in unclear]


def _out(facts: Facts) -> list[Said]:
    return [said for rule in RULES if isinstance(said := rule(facts), Out)]


def _if_harmed(facts: Facts) -> list[Said]:
    """What can be said without knowing whether requests wait: what is ruled out, or used up, if they do."""
    said_all = [said for rule in RULES if (said := rule(replace(facts, if_harmed=True))) is not None]
    found = {said.cause for said in said_all if isinstance(said, Finding)}
    used_up = {
        said.cause: Unclear(said.cause, f"{said.evidence}, but whether that harms requests is not known")
        for said in said_all
        if isinstance(said, Finding) and said.sure == "shown"
    }
    others = [said for said in said_all if said.cause not in found]
    return [*used_up.values(), *_said_once(others)]


def _first(facts: Facts, findings: list[Finding]) -> list[Finding]:
    """Return the findings in order, one for each cause, without those that another one explains."""
    left = [each for each in findings if not _explained_by(facts, each, findings)]
    waited = [each for each in findings if {*two_limits.WAITED} >= _explained_by(facts, each, findings)]
    workers = [each for each in waited if each.cause == "workers" and each not in left]
    if both := two_limits.and_workers(facts, [*left, *workers]):
        left = [each for each in left if each.cause not in {said.cause for said in both}]
        left.extend(both)
    # Two rules may find one cause, a lock for instance. What they say of it is the same time.
    one_each: dict[Cause, Finding] = {}
    for each in sorted(left, key=lambda each: _place(facts, each, left)):
        one_each.setdefault(each.cause, each)
    return list(one_each.values())


def _place(facts: Facts, finding: Finding, findings: list[Finding]) -> tuple[int, bool, float]:
    """Return what findings are sorted by. What may be an effect of another one comes after that one."""
    before = [
        each
        for each in findings
        if finding.cause in EXPLAINS.get(each.cause, ()) and each.cause not in EXPLAINS_BY_SHARE
    ]
    rank = max(_rank(facts, each, findings) for each in [finding, *before])
    return rank, bool(before), -(finding.share_s or 0.0)


def _rank(facts: Facts, finding: Finding, findings: list[Finding]) -> int:
    """What is shown comes first, unless it is a small part and what is consistent with all is most of it.

    Where idle connections kept single requests from being answered, nobody was answered at all while these
    were open. That outweighs what a load waits for.
    """
    if finding.cause == "idle-connections" and "work" in facts.seen.failed:
        return -1
    if finding.sure == "consistent":
        return 1
    waited_s = facts.waited_s or 0.0
    most = any(
        each.sure == "consistent" and (each.share_s or 0.0) > MOST_SHARE * waited_s for each in findings
    )
    return 2 if most and _is_small(facts, finding) else 0


def _is_small(facts: Facts, finding: Finding) -> bool:
    """Whether it accounts for a small part of what requests wait; False: it is not known."""
    share_s, waited_s = finding.share_s, facts.waited_s
    return share_s is not None and waited_s is not None and share_s < SMALL_SHARE * waited_s


def _explained_by(facts: Facts, finding: Finding, findings: list[Finding]) -> set[Cause]:
    """Return the causes that were found, and of which this one is an effect."""
    found = [each for each in findings if finding.cause in EXPLAINS.get(each.cause, ())]
    return {each.cause for each in found if _explains(facts, each, finding)}


def _explains(facts: Facts, found: Finding, effect: Finding) -> bool:
    """Whether a cause explains what may be its effect: it is as sure, and of CPU time it takes most.

    Of a queue, the time in front says nothing of what holds up those inside.
    """
    if found.cause in EXPLAINS_BY_SHARE:
        return found.sure == "shown" and not _is_small(facts, found)
    if effect.sure == "shown" and found.sure != "shown":
        return False
    if effect.cause not in OF_CPU_TIME:
        return True
    return found.share_s is None or effect.share_s is None or found.share_s >= MOST_SHARE * effect.share_s
