"""The answer of a load: what was asked, what came of it, what limits the server, how sure it is. Pure."""

import re
from collections.abc import Iterator

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.report_parts import Answer, Charts, Phrase, Words, join, phrase, sentence, sure
from crumple.limit import finding
from crumple.load.report import load_sentences as say
from crumple.load.report import server_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.record.stages import Budget
from crumple.words import answer_sentences as answers
from crumple.words import cause_sentences, lost_sentences

# The most sentences of an answer: more are not read in a minute.
SENTENCES_MAX = 3
# The most kinds of unexpected answers that its first sentence names.
ENDS_MAX = 2


# Names of facts.
Names = tuple[str, ...]


def of(load: LoadDocument, picture: Charts | None = None) -> Answer:
    """Return the answer."""
    return Answer(asked(load), [said for _, said in _told(load)], how_sure(load), picture=picture)


def names(load: LoadDocument) -> frozenset[str]:
    """Return the names of the facts that the answer says."""
    return frozenset(name for names, _ in _told(load) for name in names)


def _told(load: LoadDocument) -> list[tuple[Names, Words]]:
    return [*_found(load)][:SENTENCES_MAX]


def asked(load: LoadDocument) -> str:
    """Return what was asked, in a sentence."""
    spec = load.record.spec
    verb = "is" if len(spec.requests) == 1 else "are"
    return f"How fast {verb} {load.asked} {_under(spec.shape)}, {_long(spec.stop)}?"


def _under(shape: contract.ShapeSpec) -> str:
    """Return when requests are sent: "with 32 connections that ask again at once"."""
    if isinstance(shape, contract.OpenShapeSpec):
        return f"at {_rates(shape)}"
    pauses = f"after {numerals.duration(shape.pause_ms * 1e6)}" if shape.pause_ms else "at once"
    if isinstance(shape, contract.RampShapeSpec):
        rises = f"with {shape.from_connections:,} to {numerals.count(shape.to_connections, 'connection')}"
        return f"{rises} that ask again {pauses}"
    if shape.connections == 1:
        return f"with one connection that asks again {pauses}"
    return f"with {shape.connections:,} connections that ask again {pauses}"


def _rates(shape: contract.OpenShapeSpec) -> str:
    first, last = shape.rates[0], shape.rates[-1]
    ends = f"{numerals.significant(first.from_per_s)} to {numerals.significant(last.to_per_s)}"
    if len(shape.rates) > 1:
        return f"{len(shape.rates)} rates from {ends} requests a second"
    if first.from_per_s != first.to_per_s:
        return f"{ends} requests a second"
    return f"{numerals.significant(first.to_per_s)} requests a second"


def _long(stop: contract.StopSpec) -> str:
    if stop.kind == "requests":
        return f"for {numerals.count(stop.requests, 'request')}"
    return f"for {say.seconds(stop.duration_s)}"


def _found(load: LoadDocument) -> Iterator[tuple[Names, Words]]:
    """Yield what came of it, what limits the server, and what to change, as far as it is known.

    Each with the names of the facts that it says.
    """
    if load.lost is not None:
        yield (), phrase(sentence(lost_sentences.sentence(load.lost)), "bad", strong=True)
        if load.throughput_per_s:
            yield (), join("Before that: ", *_figures(load))
        return
    if overload := server_sentences.overload(load):
        yield (), phrase(sentence(overload), "bad", strong=True)
    if not load.outcomes.ok:
        nothing = load.validity.problems[0] if load.validity.problems else say.losses(load)
        yield (), phrase(sentence(nothing), "bad", strong=True)
        return
    yield (), join(*_figures(load))
    yield from _limit(load)


def _figures(load: LoadDocument) -> Iterator[Words]:
    """Yield how many answers came, within which times, and what failed."""
    last = load.steps[-1] if len(load.steps) > 1 else None
    times = load.times["response_time"] if last is None else last.response_time
    within = [
        f"{part} within {numerals.duration(times.quantile_ns[q])}"
        for q, part in ((0.5, "half"), (0.99, f"99{numerals.NARROW}%"))
        if q in times.quantile_ns
    ]
    if load.has_times and times.max_ns:
        within.append(f"longest {numerals.duration(times.max_ns)}")
    per_s = load.throughput_per_s if last is None else last.throughput_per_s
    of_due = f" of {numerals.significant(last.due_per_s)} due" if last is not None else ""
    said = f"{numerals.significant(per_s or 0.0)} answers a second{of_due}"
    at = f"in the last of {len(load.steps)} steps, " if last is not None else ""
    yield f"{sentence(f'{at}{said}; ' + ', '.join(within)) if within else sentence(at + said)} "
    yield _failed(load)


def _failed(load: LoadDocument) -> Words:
    losses = say.losses(load)
    if not losses:
        return "None failed."
    ends = ", ".join(answers.short(each) for each in load.unexpected_ends[:ENDS_MAX])
    said = f"{losses}{f' ({ends})' if ends else ''}"
    return phrase(sentence(said), "bad" if load.is_lossy else "doubtful", strong=True)


def _limit(load: LoadDocument) -> Iterator[tuple[Names, Words]]:
    first = finding.first(load.findings)
    if first is None:
        return
    mean_s = load.stages.measured_ns / 1e9 if isinstance(load.stages, Budget) else None
    limit = sentence(cause_sentences.first_limit(first, mean_s))
    likely = "" if first.cause == "none" else f" {sentence(cause_sentences.sure(first))}"
    yield ("first limit",), f"{limit}{likely}"
    if first.remedy:
        yield ("try",), sentence(f"try: {first.remedy}")


def how_sure(load: LoadDocument) -> Phrase:
    """Return whether the load measured the server, and why."""
    word = say.validity(load)
    failing = [each.written for each in load.fail_if if each.state == "holds"]
    if load.lost is not None or not load.outcomes.ok:
        # The sentences have said why.
        return sure(word, "bad")
    if load.validity.problems:
        problems = (each.removeprefix(f"{word}: ") for each in load.validity.problems)
        return sure(word, "bad", "; ".join(problems))
    if load.ended_early:
        return sure(word, "doubtful", "interrupted, so it tells of the time before")
    if failing:
        return sure(word, "bad", f"{', '.join(failing)} {'holds' if len(failing) == 1 else 'hold'}")
    warned = say.warnings(load)
    if warned:
        # Behind a colon or a semicolon stands what follows of it, which the warning itself says below.
        first = _AFTER_THE_FACT.split(warned[0])[0]
        more = f" and {numerals.count(len(warned) - 1, 'more warning')}" if len(warned) > 1 else ""
        return sure(word, "doubtful", f"but {first}{more}; {ONE}")
    return sure(word, "good", f"neither the engine nor other programs held it back; {ONE}")


_AFTER_THE_FACT = re.compile("[:;] ")
# Why a figure of a load has no interval.
ONE = "one load, so no interval"
