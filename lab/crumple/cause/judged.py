"""What limits a server: whether requests wait at all, and then which hypothesis is the most probable. Pure.

What could not be read speaks for nothing.
"""

from collections.abc import Sequence

from crumple.cause import experiments, failing, limiter_rule, next_experiment, reading_words, readings
from crumple.cause.belief import Belief, believed
from crumple.cause.hypotheses import causes
from crumple.cause.hypothesis import Scene, weight
from crumple.drawing import numerals
from crumple.limit.finding import CAUSES, LIKELY, SURE, Cause, Finding, Out, Said, Sure, Unclear
from crumple.observation.peer_names import name
from crumple.observation.server_facts import ServerFacts
from crumple.record import let_through
from crumple.record.let_through import Slot
from crumple.record.limiter_course import Limiter
from crumple.stats import shares

# The least probability of a rival that is named.
RIVAL = 0.1
# The largest probability of a cause of which there is said to be no sign.
NO_SIGN = 0.02
# If a request spends at least this part of its waiting elsewhere, the server does not limit it.
ELSEWHERE = 0.5
# Causes that use CPU time, which requests that are refused take as well.
OF_CPU_TIME: tuple[Cause, ...] = ("cpu", "one-loop", "memory", "switches", "contention")
UNWATCHED = "its CPU time could not be read; name its process: --watch PID"
REFUSES = (
    "requests fail under load that do not without it: it may refuse those beyond a number at a time; look "
    "at what it answers"
)


def scene_of(facts: ServerFacts) -> Scene:
    """Return what the hypotheses are asked about."""
    return Scene(facts, readings.of(facts))


def held_by(facts: ServerFacts) -> tuple[Belief, ...]:
    """Return all hypotheses with their probabilities, the most probable first."""
    return believed(causes.ALL, scene_of(facts))


def is_open(facts: ServerFacts) -> bool:
    """Whether requests wait, and experiments may show what for."""
    load = facts.beyond
    if load.engine_limited or load.disturbed or _limiters(facts):
        return False
    return bool(facts.is_harmed) and bool(load.answers)


def judged(facts: ServerFacts) -> list[Said]:
    """Return what limits the server, or why that is not known, and of which causes there is no sign."""
    limited = limiter_rule.finding(_limiters(facts))
    if limited is not None and limited.sure == "tested":
        # It says so itself, whatever the engine and others did. What it uses to turn requests away, and what
        # those wait for that it lets through, limits nothing.
        return [limited]
    said = _of_load(facts)
    return said if limited is None or limiter_rule.is_explained(said) else [limited]


def _limiters(facts: ServerFacts) -> list[Limiter]:
    """The limiter, if the course of the load shows it, or that fewer are turned away one at a time."""
    load, tried, found = facts.beyond, facts.tried, facts.beyond.limiter
    if found is None or not facts.fails:
        return []
    if found.is_shown or not found.is_named or tried is None:
        return [found] if found.is_shown else []
    alone = Slot(0.0, tried.answers, tried.answers + tried.failed)
    loaded = Slot(load.spent_s, load.answers, load.answers + load.failed)
    return [found] if let_through.differ([alone, loaded]) else []


def _of_load(facts: ServerFacts) -> list[Said]:
    """What is said of a load, whatever a limiter may have done."""
    if facts.beyond.engine_limited:
        return [Unclear("engine", "the engine was at its limit, which hides the server's")]
    if facts.beyond.disturbed:
        return [Unclear("none", f"{facts.beyond.disturbed}{_near(facts)}; repeat it on a calm machine")]
    return [*_judged(facts), *_unseen_others(facts), *_unread(facts)]


def _judged(facts: ServerFacts) -> list[Said]:
    if facts.is_harmed is None and not _is_unharmed_unknown(facts):
        return [Unclear("none", _unknown_harm(facts)), *failing.said(facts)]
    if facts.is_harmed is None:
        return failing.said(facts)
    if not facts.is_harmed and facts.alone_s is not None:
        loaded, alone = (numerals.duration(1e9 * each) for each in (facts.beyond.mean_s, facts.alone_s))
        why = f"a request takes {loaded} under load and {alone} alone{failing.besides(facts)}"
        return [Finding("none", "tested", 1.0, facts.share(facts.alone_s), why, "")]
    if on_the_way := _on_the_way(facts):
        return [Unclear("none", on_the_way), *failing.said(facts)]
    scene = scene_of(facts)
    held = believed(causes.ALL, scene)
    mostly_fails = facts.fails_by_load and facts.beyond.failed > shares.MOST * (
        facts.beyond.answers + facts.beyond.failed
    )
    said = [*of_belief(held, scene, of_refusals=bool(mostly_fails)), *no_signs(held, scene)]
    return [*said, Unclear("none", REFUSES)] if mostly_fails else [*said, *failing.said(facts)]


def _on_the_way(facts: ServerFacts) -> str:
    """Return where requests wait if most of that is not at the server; empty: it is, or it is not known."""
    load, waited_s = facts.beyond, facts.waited_s
    if facts.fails_by_load or not waited_s or facts.on_the_way_s < ELSEWHERE * waited_s:
        return ""
    way, loaded = (numerals.duration(1e9 * each) for each in (facts.on_the_way_s, load.mean_s))
    return f"of {loaded} a request is {way} with {load.passed_on}: load that address, which leaves it out"


def of_belief(held: Sequence[Belief], scene: Scene, *, of_refusals: bool = False) -> list[Said]:
    """Return the most probable cause if it is likely; otherwise the causes between which it is open."""
    first, rivals = held[0], [each for each in held[1:] if each.probability >= RIVAL]
    if first.hypothesis is None or first.probability < LIKELY:
        between = {each.cause: each.probability for each in (first, *rivals)}
        return [Unclear("none", _cannot_tell([first, *rivals], scene), between)]
    words = first.hypothesis.words(scene)
    sure: Sure = "tested" if first.probability >= SURE and was_tested(held, scene) else "likely"
    evidence = words.evidence
    sources = scene.facts.seen.outcomes.sources
    if sources is not None and (answered := sources.evidence(first.cause)):
        evidence = f"{evidence}; {answered}"
    if of_refusals and first.cause in OF_CPU_TIME:
        sure = "likely"
        evidence = f"{evidence}; most requests were refused, and refusing them also costs CPU time"
    rival = next((each for each in rivals if each.hypothesis is not None), None)
    return [
        Finding(
            first.cause,
            sure,
            first.probability,
            words.share_s,
            evidence,
            words.change,
            rival.cause if rival is not None else None,
            rival.probability if rival is not None else 0.0,
        )
    ]


def was_tested(held: Sequence[Belief], scene: Scene) -> bool:
    """Whether an experiment was made that could have refuted the first, and did not. `held`: all of them."""
    for tried in experiments.READINGS:
        range_, reading = next_experiment.expected(held[0], tried), scene.readings.get(tried)
        if range_ is None or reading is None or not next_experiment.could_refute(held, tried):
            continue
        if weight(reading, range_) > 0:
            return True
    return False


def no_signs(held: Sequence[Belief], scene: Scene) -> list[Said]:
    """Return the causes of which there is no sign, each with the reading that says most against it."""
    said: list[Said] = []
    for each in held:
        if each.hypothesis is None or each.way is None or each.probability >= NO_SIGN:
            continue
        if (why := reading_words.against(each.way, scene)) is not None:
            said.append(Out(each.cause, why))
    return said


def _cannot_tell(held: Sequence[Belief], scene: Scene) -> str:
    """Why it is not known what requests wait for."""
    load, facts = scene.facts.beyond, scene.facts
    if load.rose:
        return "the load rose, and what is used up at its end is not known: put on a load of one size"
    if facts.fails_by_load:
        return f"nothing that was measured is used up, and {REFUSES}"
    named = [each for each in held if each.hypothesis is not None]
    if not named:
        return "requests wait, and nothing that was measured fits any cause that is known"
    said = ", ".join(f"{CAUSES[each.cause]} {numerals.probability(each.probability)}" for each in named)
    if len(named) < len(held):
        other = next(each for each in held if each.hypothesis is None)
        said = f"{said}, something else {numerals.probability(other.probability)}"
    return f"requests wait, and what was measured fits several causes: {said}"


def _is_unharmed_unknown(facts: ServerFacts) -> bool:
    """Whether only what is said of requests that fail shows whether there is harm."""
    return facts.fails and (facts.alone_s is not None or not facts.beyond.answers)


def _unknown_harm(facts: ServerFacts) -> str:
    """Why it is not known whether requests wait."""
    work = facts.seen.work
    disturbed = f" ({work.disturbed})" if work is not None and work.disturbed else ""
    if not facts.beyond.answers:
        return "no request was answered while it was measured: one takes too long"
    unknown = f"how long a request takes alone is not known{disturbed}"
    return f"{unknown}, and no queue was seen in front of the server"


def _near(facts: ServerFacts) -> str:
    """Who may be among other programs: what the server asks is not, but others that are asked in turn."""
    near = [name(peer) for peer in facts.beyond.peers or () if peer.listener]
    behind = f"; whom {' or '.join(near)} asks in turn may be among them" if near else ""
    in_front = facts.beyond.unread.get("in_front")
    return f"{behind}; one of them is in front of it: {in_front}" if in_front else behind


def _unread(facts: ServerFacts) -> list[Said]:
    """Return of which causes nothing is known because what would show them could not be read."""
    load = facts.beyond
    found: list[Said] = []
    if load.cores is None:
        found.append(Unclear("cpu", UNWATCHED))
    if facts.peers is None or {"peers", "dependencies", "udp"} & {*load.unread}:
        why = load.unread.get("dependencies") or facts.unread("peers", "its own connections")
        found.append(Unclear("dependency", why))
    if load.threads is None:
        found.append(Unclear("gate", facts.unread("threads", "its threads")))
    if load.stage is None:
        found.append(Unclear("workers", facts.unread("stage", "where requests wait")))
    if load.descriptors is None:
        found.append(Unclear("descriptors", "its open files could not be read"))
    if load.grew is None:
        found.append(Unclear("slow-pool", "its processes and threads could not be counted"))
    if facts.others is None:
        found.append(Unclear("idle-connections", "how many connections others hold could not be read"))
    return found


def _unseen_others(facts: ServerFacts) -> list[Said]:
    why = facts.beyond.unread.get("others")
    return [Unclear("none", f"whether other programs disturbed it: {why}")] if why else []
