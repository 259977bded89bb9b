"""One diagnosis in the words of the glossary: plain text, no markup."""

from collections.abc import Mapping

from crumple import contract
from crumple.cause import failing
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import limit_rows, remedy_sentences
from crumple.diagnose.time_left import LASTS_S_MAX
from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.find.report import find_sentences
from crumple.limit import finding
from crumple.limit.finding import CAUSES, Finding, Unclear
from crumple.machine import capacity
from crumple.observation import connection_memory, parallelism, who_waits
from crumple.observation.parallelism import Parallelism
from crumple.observation.unknown import Unknown
from crumple.observation.who_waits import Who, WhoWaits
from crumple.record import failures
from crumple.record.stages import Budget, NoBudget
from crumple.words import cause_sentences, cpu_time_sentences, time_sentences

Rows = list[tuple[str, str]]
WAITERS: Mapping[Who, str] = {
    "processes": "a process waits with each request",
    "threads": "a thread waits with each request",
    "either": "a process or a thread waits with each request",
    "nobody": "no process or thread waits with a request",
}
# What begins a row of which nothing is known; the reason follows.
CANNOT_TELL = "cannot tell: "
NOT_ANSWERED = "no request was answered as expected"
CLOSES_UNSAID = (
    "each connection after its answer, and the answer does not say so: the next request on it fails. "
    "Send Connection: close"
)


def subject_line(diagnosis: Diagnosis) -> str:
    """What was looked at."""
    subject = diagnosis.subject
    pid = f", pid {subject.pid}" if subject.pid is not None else ""
    held = diagnosis.seen.held
    tree = held.before if held is not None else None
    of = ""
    if tree is not None:
        of = f", {numerals.count(tree.processes, 'process', 'processes')}"
        of += f" with {numerals.count(tree.threads, 'thread')}"
    return f"{diagnosis.plan.label}{pid}{of}"


def facts(diagnosis: Diagnosis) -> Rows:
    """What a terminal shows before the answer: what was done, how the server behaves, what cannot be told."""
    return [
        *done(diagnosis),
        *limit_rows.refutation_rows(diagnosis),
        *limit_rows.more(diagnosis),
        *times(diagnosis),
        *behaviour(diagnosis),
        *(
            ("cannot tell", f"{name}: {why}")
            for name, why in untold(diagnosis, whole=finding.first(diagnosis.said) is None)
        ),
    ]


def done(diagnosis: Diagnosis) -> Rows:
    """What was tried, asked and changed, and what else limits it."""
    return _known(
        [
            *limit_rows.others(diagnosis),
            *limit_rows.experiment_rows(diagnosis),
            *limit_rows.answer_rows(diagnosis),
            *remedy_sentences.rows(diagnosis.remedy),
            # Where a change was tried, the answer is what it gave.
            ("if", limit_rows.what_if_asked(diagnosis) if diagnosis.remedy else ""),
            # Where nothing limits it for sure, the answer says what would tell more.
            ("would tell", diagnosis.would_tell if finding.first(diagnosis.said) else ""),
            ("given up", omissions(diagnosis)),
        ]
    )


def behaviour(diagnosis: Diagnosis) -> Rows:
    """How requests fail and wait, and what a connection takes, as far as it is known."""
    return _known(_behaviour(diagnosis))


def untold(diagnosis: Diagnosis, *, whole: bool = True) -> Rows:
    """What cannot be told, and why. `whole`: also of causes that nothing could rule out."""
    # Where no limit is known, the answer says why.
    doubts = limit_rows.why_unknown(diagnosis) if finding.first(diagnosis.said) else []
    every = [("holds", holds(diagnosis)), *_behaviour(diagnosis)]
    return [
        *(("the limit", why) for why in doubts),
        *((name, said.removeprefix(CANNOT_TELL)) for name, said in every if said.startswith(CANNOT_TELL)),
        *(("causes", said) for said in [unclear(diagnosis)] if said and whole),
    ]


def _behaviour(diagnosis: Diagnosis) -> Rows:
    return [
        ("fails", fails(diagnosis)),
        ("who waits", who(diagnosis)),
        ("waiting", waiting(diagnosis)),
        ("computing", computing(diagnosis)),
        ("a connection", memory(diagnosis)),
        ("closes", CLOSES_UNSAID if diagnosis.seen.closes_unsaid else ""),
        ("an answer", in_parts(diagnosis)),
    ]


def _known(rows: Rows) -> Rows:
    return [(name, said) for name, said in rows if said and not said.startswith(CANNOT_TELL)]


def who(diagnosis: Diagnosis) -> str:
    """Whether a process or a thread waits with each request, how many there are, and what shows it."""
    found = who_waits.of(diagnosis.seen)
    if isinstance(found, Unknown):
        why = diagnosis.plan.unwatched
        unwatched = f"its process was not watched ({why})" if diagnosis.subject.pid is None else why
        return CANNOT_TELL + "; ".join(filter(None, (unwatched, found.why)))
    return f"{waits_with(found)} ({found.evidence})"


def waits_with(found: WhoWaits) -> str:
    """Who waits with each request, and how many there are."""
    if found.number is not None:
        return f"{WAITERS[found.who]}, of which there are {found.number}"
    return f"{WAITERS[found.who]}, and more are added" if found.grows else WAITERS[found.who]


def waiting(diagnosis: Diagnosis) -> str:
    """How many requests wait at a time."""
    found = parallelism.waits(diagnosis.seen)
    if isinstance(found, Unknown):
        # The line above says why.
        return "" if isinstance(who_waits.of(diagnosis.seen), Unknown) else f"{CANNOT_TELL}{found.why}"
    why = {
        "all": "all that were sent",
        "perhaps-all": "its rate was not steady enough to show whether more of those that were sent do",
        "cpu": "its CPU time was the limit",
        "growing": "it still added processes or threads",
        "unsteady": "under more connections its rate did not become steady",
        "unread": "its CPU time could not be read, and may have been the limit",
        "failing": "it answered others with something else, or not at all",
        "behind": "they wait for what is behind it, which answers fewer at a time",
        None: "the others wait in a queue",
    }[found.why]
    if found.kind == "limit" and any(
        isinstance(each, Finding) and each.cause == "idle-connections" for each in diagnosis.said
    ):
        why = "the others wait in a queue; idle connections of others may hold more workers"
    return f"{_number(found)} at a time ({why})"


def computing(diagnosis: Diagnosis) -> str:
    """On how many cores requests compute."""
    found = parallelism.computes(diagnosis.seen)
    if isinstance(found, Unknown):
        return f"{CANNOT_TELL}{found.why}"
    cores = diagnosis.seen.cores
    if parallelism.is_on_all_cores(found, diagnosis.seen):
        return f"on all {cores} cores" if cores > 1 else "on the only core"
    return f"on {_number(found)} of {numerals.count(cores, 'core')}"


def memory(diagnosis: Diagnosis) -> str:
    """What an idle connection costs."""
    if diagnosis.seen.memory is None:
        return ""
    found = connection_memory.per_connection(diagnosis.seen.memory)
    if isinstance(found, Unknown):
        return f"{CANNOT_TELL}{found.why}"
    value, low, high = (numerals.significant(each / 1024, 2) for each in (found.value, found.low, found.high))
    return f"takes {value} KiB [{low}{NARROW}–{NARROW}{high}] of memory while it is idle"


def in_parts(diagnosis: Diagnosis) -> str:
    """That the rest of an answer is kept back on its way."""
    work = diagnosis.seen.work
    if work is None or work.disturbed or not work.unacknowledged_s:
        return ""
    return cause_sentences.in_parts(1e9 * work.unacknowledged_s, is_shown=False)


def omissions(diagnosis: Diagnosis) -> str:
    """What was not measured because the diagnosis took too long."""
    parts = "; ".join(diagnosis.seen.given_up)
    return f"{parts}: a diagnosis takes no more than {LASTS_S_MAX:.0f} s" if parts else ""


def _number(found: Parallelism) -> str:
    value = numerals.significant(found.value, 2 if found.value < 10 else 3)
    if found.kind == "at-least":
        return f"at least {value if found.value < 10 else f'{found.value:.0f}'}"
    low, high = (numerals.significant(each, 2 if found.value < 10 else 3) for each in (found.low, found.high))
    return f"{value} [{low}{NARROW}–{NARROW}{high}]"


def holds(diagnosis: Diagnosis) -> str:
    """The breaking point."""
    found, meant = diagnosis.found, diagnosis.plan.objective
    if meant is None:
        return ""
    if found is None:
        return "" if diagnosis.interrupted else NOT_ANSWERED
    if found.lost is not None:
        held = found.highest_held
        most = find_sentences.load(held, True) if held is not None else "no load that was tried"
        return f"{most}, at {meant}; with more it ceased to answer"
    if found.point is not None:
        by = f", then breaks on {found.breaks_by}" if found.breaks_by else ""
        return f"{numerals.with_interval(found.point, unit='/s')} at {meant}{by}"
    if found.highest_held is not None:
        return f"at least {find_sentences.load(found.highest_held, True)} at {meant}"
    if any(level.outcome == "broke" for level in found.levels):
        return f"no load that was tried, at {meant}"
    return "" if diagnosis.interrupted else f"{CANNOT_TELL}no load was decided, at {meant}"


def fails(diagnosis: Diagnosis) -> str:
    """How many requests fail beyond the breaking point, how, and how many without load."""
    beyond = diagnosis.beyond
    if beyond is None or not (said := failures.describe_failed(beyond)):
        return ""
    alone = failing.without_load(diagnosis.facts) if diagnosis.facts is not None else ""
    others = "; all times are of the others" if beyond.outcomes.ok else ""
    return f"{said}, and {alone or 'how many fail without load is not known'}{others}"


def unclear(diagnosis: Diagnosis) -> str:
    """What else is not known, and why: without what stands beside the first limit."""
    others = [
        each for each in diagnosis.said if isinstance(each, Unclear) and each.cause not in ("none", "engine")
    ]
    return cause_sentences.unclear(others)


def times(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Where the time goes, below and beyond the breaking point, and beyond it what CPU time is spent on."""
    beyond = diagnosis.beyond
    return [
        *(
            (name, f"at {load(record)}{_answers(record)}: {time_sentences.by_stages(budget)}")
            for name, record, budget in budgets(diagnosis)
        ),
        *(cpu_time_sentences.rows(beyond) if beyond is not None else ()),
    ]


def budgets(diagnosis: Diagnosis) -> list[tuple[str, contract.TrialRecord, Budget | NoBudget]]:
    """Where the time was looked at (its name, and the load's record), and the budget found there."""
    looked = (
        ("time below", diagnosis.below, diagnosis.time_below),
        ("time beyond", diagnosis.beyond, diagnosis.time_beyond),
    )
    return [
        (name, record, budget) for name, record, budget in looked if record is not None and budget is not None
    ]


def _answers(record: contract.TrialRecord) -> str:
    """The rate of answers, where the load does not set it."""
    if record.spec.shape.kind == "open":
        return ""
    return f", {numerals.rate(record.outcomes.ok / (record.measured_ns / 1e9))} answered"


def load(record: contract.TrialRecord) -> str:
    """The load in words: its rate, or how many connections it has."""
    shape = record.spec.shape
    if shape.kind == "open":
        return find_sentences.load(shape.rates[0].to_per_s, True)
    return numerals.count(capacity.connections_of(shape), "connection")


def interruption(diagnosis: Diagnosis) -> str:
    """That the user ended it, and what was likely by then."""
    if not diagnosis.interrupted:
        return ""
    so_far = diagnosis.preliminary
    likely = f"; after the first load it was: {so_far.line}" if so_far is not None else ""
    return f"only what was measured before is shown{likely}"


def headline(diagnosis: Diagnosis) -> str:
    """What limits it first, what it holds and who waits, in one sentence; only what is known."""
    said: list[str] = []
    first = finding.first(diagnosis.said)
    if first is not None and first.cause != "none":
        said.append(f"its first limit is {CAUSES[first.cause]} ({cause_sentences.sure(first)})")
    if diagnosis.found is not None and (held := holds(diagnosis)) and not held.startswith(CANNOT_TELL):
        said.append(f"it holds {held}" if said else f"holds {held}")
    if isinstance(found := who_waits.of(diagnosis.seen), WhoWaits):
        said.append(waits_with(found))
    return "; ".join(said) or who(diagnosis)


def circumstances(diagnosis: Diagnosis) -> list[str]:
    """How long it took, with which seed, and which process it was."""
    subject = diagnosis.subject
    return [
        f"{numerals.seconds(diagnosis.took_s)} of loads",
        f"seed {diagnosis.plan.seed}",
        *([f"pid {subject.pid}"] if subject.pid is not None else []),
    ]
