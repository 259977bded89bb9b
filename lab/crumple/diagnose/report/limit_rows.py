"""What limits a server, what was tried, and what to change, as rows of the screen. Pure."""

from collections.abc import Iterator

from crumple.cause import judged, reading_words
from crumple.cause.experiment_account import ExperimentMade, Rival
from crumple.cause.hypothesis import SAME, Reading
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import tenths
from crumple.drawing import numerals
from crumple.limit import gain_words, what_if
from crumple.limit.finding import CAUSES, Cause, Finding, Out, Unclear
from crumple.limit.what_if import Changes
from crumple.machine.setting_names import Setting
from crumple.observation import peer_names
from crumple.observation.answers import SourceAnswer
from crumple.observation.server_facts import ServerFacts
from crumple.words import cause_sentences

Rows = list[tuple[str, str]]
NO_SOURCE = "is no JVM, no Python, no Go program and no php-fpm, and asks no PostgreSQL, MySQL or MariaDB"

# What a cause would have asked for, where an experiment refuted it.
ASKED_FOR: dict[Cause, str] = {
    "workers": "more workers",
    "cpu": "more cores",
    "contention": "fewer threads that compute",
    "connection-pool": "more connections",
    "dependency": "a faster dependency",
    "gate": "a gate that lets in more",
    "one-loop": "more processes",
    "memory": "more memory, or less garbage",
    "switches": "fewer threads",
    "idle-connections": "fewer idle connections",
    "slow-pool": "a pool that grows faster",
    "accept-queue": "a longer listen queue",
    "disk": "a faster disk",
    "throttled": "a larger quota of CPU time",
    "descriptors": "more open files",
}
# What it means that an experiment left the throughput as it was.
UNCHANGED = {
    "half_sent": "a place more or less changed nothing",
    "silent": "silent connections took no place",
    "waiting": "requests that only wait took no place",
    "falls": "many in flight are answered as fast as few",
    "slower": "under load it answers as fast as alone",
    "longer": "it stays the same for longer",
    "other_key": "another key changed nothing",
    "one_core": "one core serves as much as all",
    "one_thread": "it serves as much with its busiest thread stopped",
}
# A rival is called refuted by an experiment if its probability was at least BEFORE without it, and is less
# than AFTER with it.
BEFORE, AFTER = 0.05, 0.02
# The largest share of the time for which a connection is held that it waits for an answer, if connections are
# said to be held for longer than they are used.
HELD_SHARE = 0.7
# The largest distance from the whole throughput at which the throughput is called unchanged, as a share of
# it.
NEAR_ALL = 0.07


def why_unknown(diagnosis: Diagnosis) -> list[str]:
    """Why it is not known, or not sure, what limits the server."""
    return [
        each.why for each in diagnosis.said if isinstance(each, Unclear) and each.cause in ("none", "engine")
    ]


def others(diagnosis: Diagnosis) -> Rows:
    """What else limits it, each with its evidence and what to change."""
    findings = [each for each in diagnosis.said if isinstance(each, Finding)]
    rows: Rows = []
    for each in findings[1:]:
        rows += [("also", cause_sentences.finding(each)), *change(diagnosis, each)]
    return rows


def change(diagnosis: Diagnosis, found: Finding) -> Rows:
    """Return what to change, and what the usual change gives, with what limits then."""
    facts = diagnosis.facts
    changes = what_if.remedy(facts, found.cause) if facts is not None else {}
    predicted = what_if.predicted(facts, diagnosis.said, changes) if facts is not None and changes else None
    if facts is None or predicted is None:
        return [("change", found.remedy)] if found.remedy else []
    setting = next((each for each in diagnosis.settings if each.cause == found.cause), None)
    what = described(facts, found.cause, changes, setting)
    gives = f"{what}: {gain_words.from_to(facts, found.cause, changes, predicted)}"
    if found.cause == "connection-pool" and (held := _held(facts)):
        return [("change", held), ("or", gives)]
    if found.cause in ("workers", "connection-pool"):
        return [("change", gives)]
    return [("change", found.remedy), ("gain", gives)]


def described(facts: ServerFacts, cause: Cause, changes: Changes, setting: Setting | None) -> str:
    """Return a change as the program spells it; generic words where it is not known."""
    ((part, value),) = changes.items()
    if setting is not None and not setting.library:
        return f"{setting.written(value)}{_today(setting)}"
    also = f" (as {setting.written(value)} {setting.where})" if setting is not None else ""
    peer = peer_names.most_asked(facts)
    name = peer_names.name(peer) if peer is not None else "what it asks"
    number = f"{round(value):,}"
    words = {
        "workers": f"{number} {'processes' if cause == 'one-loop' else 'workers'}",
        "connections": f"{number} connections to {name}",
        "cores": f"{numerals.significant(value, 2)} {'core' if value == 1 else 'cores'}",
        "gate": f"held for half as long, or {value:.2g} at a time",
        "dependency": f"{name} in {numerals.duration(1e9 * value)}, half of its time",
        "cpu": f"{numerals.share(value)} of the CPU time",
    }
    return f"{words[part]}{also}"


def _held(facts: ServerFacts) -> str:
    """Return that connections are held for longer than what is asked works; empty: they are not."""
    peer, number = peer_names.most_asked(facts), what_if.now(facts, "connections")
    if peer is None or number is None or not facts.beyond.per_s:
        return ""
    held_s, works_s = number / facts.beyond.per_s, peer.waiting / facts.beyond.per_s
    if works_s > HELD_SHARE * held_s:
        return ""
    held, works = (numerals.duration(1e9 * each) for each in (held_s, works_s))
    return (
        f"hold them for less: a request keeps one for {held}, and {peer_names.name(peer)} works for {works} "
        "of it; look for a transaction that is open while something else is done"
    )


def _today(setting: Setting) -> str:
    known = [
        f"{setting.now:,} now" if setting.now is not None else "",
        f"in {setting.file}" if setting.file else "",
        setting.where if setting.now is None else "",
    ]
    said = ", ".join(each for each in known if each)
    return f" ({said})" if said else ""


def experiment_rows(diagnosis: Diagnosis) -> Rows:
    """The experiments: what was done and seen, and what each rival expected."""
    return [("tried", _tried(each)) for each in diagnosis.made if each.seen]


def _tried(made: ExperimentMade) -> str:
    expected = [f"{CAUSES[each.cause]} {each.expected}" for each in made.rivals if each.expected]
    # Where all expect the same, it did not distinguish them.
    tells = len({each.expected for each in made.rivals}) > 1
    rivals = f" ({'; '.join(expected)})" if expected and tells else ""
    return f"{made.does}: {made.seen}{rivals}"


def answer_rows(diagnosis: Diagnosis) -> Rows:
    """What runtimes and dependencies answered, each with what was run or sent; or why nobody did."""
    if not diagnosis.plan.asks:
        return []
    found = diagnosis.seen.outcomes.sources
    if found is None:
        return [("asked", "nobody: no time was left, or its process is not known")]
    if not found.answers:
        return [("asked", f"nobody: it {NO_SOURCE}")]
    return [("asked", _answered(each)) for each in found.answers]


def _answered(answer: SourceAnswer) -> str:
    command = f" ({answer.command})" if answer.command else ""
    if answer.why:
        return f"{answer.source}{command}: no answer: {answer.why}"
    return f"{answer.source}{command}: {'; '.join([answer.shows, *answer.evident(), *answer.evidence])}"


def refuted(diagnosis: Diagnosis) -> dict[Cause, str]:
    """The causes that an experiment refuted, and why."""
    if diagnosis.facts is None:
        return {}
    read = judged.scene_of(diagnosis.facts).readings
    found: dict[Cause, str] = {}
    for made in diagnosis.made:
        for rival in made.rivals:
            if _is_refuted(rival) and rival.cause in ASKED_FOR:
                found.setdefault(rival.cause, _why(made, rival, read.get(made.name)))
    return found


def refutation_rows(diagnosis: Diagnosis) -> Rows:
    """The causes that an experiment refuted, a line each: what they would have asked for, and why not."""
    return [("refuted", f"{ASKED_FOR[cause]}: no, {why}") for cause, why in refuted(diagnosis).items()]


def ruled_out(diagnosis: Diagnosis) -> list[tuple[list[Cause], str]]:
    """The causes that an experiment refuted, and those of which there is no sign: each reason once."""
    known = refuted(diagnosis)
    causes: dict[str, list[Cause]] = {}
    for cause, why in known.items():
        causes.setdefault(f"{why} (tested)", []).append(cause)
    for each in diagnosis.said:
        if isinstance(each, Out) and each.cause not in known:
            causes.setdefault(each.why, []).append(each.cause)
    return [(found, why) for why, found in causes.items()]


def _is_refuted(rival: Rival) -> bool:
    return bool(rival.expected) and rival.before >= BEFORE and rival.after < AFTER


def _why(made: ExperimentMade, rival: Rival, reading: Reading | None) -> str:
    if reading is not None and made.name in UNCHANGED and _is_unchanged(reading):
        return UNCHANGED[made.name]
    return reading_words.instead(made.seen, rival.expected)


def _is_unchanged(reading: Reading) -> bool:
    if reading.scale == "share":
        return reading.value >= 1.0 - NEAR_ALL
    return SAME.low <= reading.value <= SAME.high


def what_if_asked(diagnosis: Diagnosis) -> str:
    """What --if asked for, with its range and what limits then; empty: nothing."""
    changes, facts = diagnosis.plan.changes, diagnosis.facts
    if not changes:
        return ""
    asked = ", ".join(in_words(part, value) for part, value in changes.items())
    found = what_if.predicted(facts, diagnosis.said, changes) if facts is not None else None
    if facts is None or found is None:
        return f"{asked}: cannot tell: nothing is known to limit it"
    cause = next(iter(what_if.weighed(diagnosis.said)))
    return f"{asked}: {gain_words.from_to(facts, cause, changes, found)}"


def more(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """What 10 % more of each part would give."""
    for at, line in enumerate(tenths.lines(tenths.of(diagnosis.facts, diagnosis.said))):
        yield "10 % more" if not at else "", line


def in_words(part: str, value: float) -> str:
    """Return a change as --if has it."""
    if part == "dependency":
        return f"{part}={numerals.duration(1e9 * value)}".replace(numerals.NARROW, "")
    return f"{part}={value:g}"
