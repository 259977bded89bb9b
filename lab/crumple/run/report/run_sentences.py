"""The sentences that every format prints, in the words of the glossary: plain text, no markup.

verdict_sentences.py words verdicts; this module words everything around them.
"""

import shlex
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.record.metrics import phrase
from crumple.run.report.left_sentences import by_servers
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView
from crumple.run.run_file import ServerNote
from crumple.study.study import Experiment
from crumple.study.study_load import Scale, Until, WarmUp
from crumple.verdict.effect import Effect, VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY, enumerate_parts

LOOPBACK = "Loopback on one small machine ranks mechanisms, not data centres."
CLOSED = (
    "In a closed shape the next request is due when the reply is there, so response time and service time "
    "are the same."
)
FIGURES = (
    "Figures of tables and charts are geometric means over starts with 95 % intervals; quantiles are read "
    "within each start."
)
NOT_COUNTED = (
    "What failed or is not valid is shown, but enters no figure, and verdicts only on failures; where the "
    "engine was the limit, the throughput enters both as a lower bound."
)
SEVERAL_LOOKS = (
    "judged after every block; their intervals are as wide as it takes to hold at all these looks together. "
    "Those of tables and charts are not: each is for itself, as if the number of blocks had been fixed "
    "beforehand."
)
NOT_RANKED = "not ranked by speed"
# Two blocks give one difference a server: that two starts came out alike says little of a third.
NOISE_BLOCKS_MIN = 3
TOO_FEW_BLOCKS = "two blocks are too few to tell"
# A visible difference above a factor of a thousand says only that nothing would be seen.
BEYOND_MEASURE = 1_000
OF_THE_OTHERS = "quantiles are of the others"

_PLACEMENTS = {
    "shared": "engine and server share the cores",
    "separate": "engine and server have cores of their own",
}
_CONNECTIONS = {"keep-alive": "kept alive", "per-request": "one per request"}


def io_model(note: ServerNote) -> str:
    """Return a server's I/O model, with "(declared)" if no check can show it."""
    return note.io_model if note.model_is_checked else f"{note.io_model} (declared)"


def reading(view: RunView) -> str:
    """Return how to read the figures of all experiments."""
    said = [FIGURES, NOT_COUNTED]
    several = [shown.name for shown in view.experiments if shown.scale.least_blocks is not None]
    if several:
        on = "" if len(several) == len(view.experiments) else f" on {enumerate_parts(several)}"
        said.append(f"Claims{on} were {SEVERAL_LOOKS}")
    if any(shown.experiment.shape.kind != "open" for shown in view.experiments):
        said.append(CLOSED)
    return " ".join(said)


def answer(given: Verdict | Effect) -> str:
    """Return the answer to a claim, or to one comparison of it, as a badge shows it."""
    return given.answer.value + (f" {IN_SIZE_ONLY}" if given.in_size_only else "")


def reason(verdict: Verdict) -> str:
    """Return the verdict's sentence without the answer at its beginning, which a badge shows."""
    opening, _, rest = verdict.sentence.partition(". ")
    return rest if opening.lower().startswith(verdict.answer.value) and rest else verdict.sentence


def summary(view: RunView) -> str:
    """Return "Of 6 claims, 3 are supported, 2 are contradicted (1 in size only), …"."""
    verdicts = view.asked
    if not view.verdicts:
        return "This study makes no claims."
    others = len(view.not_asked) - len(view.unasked_servers)
    more = f" {others} more {'is' if others == 1 else 'are'} asked at a larger scale." if others else ""
    more += f" {by_servers([view])}." if view.unasked_servers else ""
    if not verdicts:
        which = "run" if view.unasked_servers else "scale"
        return f"This {which} asks none of the study's claims.{more}"
    parts = [_answer_count(verdicts, kind) for kind in VerdictWord if any(v.answer == kind for v in verdicts)]
    first = "Of one claim" if len(verdicts) == 1 else f"Of {len(verdicts)} claims"
    return f"{first}, {enumerate_parts(parts)}.{more}"


def trials(view: RunView) -> str:
    """Return how the trials ended: "48 trials: 46 count (2 with a warning), 1 failed, 1 is not valid."."""
    starts, failed, not_valid = len(view.starts), len(view.failed), len(view.not_valid)
    skipped = len(view.skipped)
    if not starts:
        return "No trial has run yet."
    warned = f" ({len(view.warned)} with a warning)" if view.warned else ""
    counting = starts - skipped - failed - not_valid
    if counting == starts:
        every = "1 trial, and it counts" if starts == 1 else f"{starts:,} trials, all count"
        return f"{every}{warned}.{_left_out(view)}"
    parts = [f"{counting} {'counts' if counting == 1 else 'count'}{warned}"]
    if skipped:
        parts.append(f"{skipped} {'was' if skipped == 1 else 'were'} skipped")
    if failed:
        parts.append(f"{failed} failed")
    if not_valid:
        parts.append(f"{not_valid} {'is' if not_valid == 1 else 'are'} not valid")
    return f"{numerals.count(starts, 'trial')}: {', '.join(parts)}.{_left_out(view)}"


def warnings(view: RunView) -> str:
    """Return "28 trials count with a warning"."""
    number = len(view.warned)
    return f"{numerals.count(number, 'trial')} {'counts' if number == 1 else 'count'} with a warning"


def nothing_counts(shown: ExperimentView) -> str:
    """Return that no trial of an experiment counts, and the reasons, each once."""
    if not shown.starts:
        return "No trial of this experiment was run."
    reasons = dict.fromkeys(reason for start in shown.starts for reason in _why_not(start))
    return f"None of {numerals.count(len(shown.starts), 'trial')} counts: {'; '.join(reasons)}."


def _why_not(start: StartView) -> Iterable[str]:
    if start.trial.failure is not None:
        return [start.trial.failure.message]
    # What follows a colon has the figures of one trial.
    return [problem.partition(":")[0] for problem in start.trial.problems]


def not_counting(view: RunView) -> str:
    """Return "3 trials do not count"."""
    number = len(view.failed) + len(view.not_valid) + len(view.skipped)
    return f"{numerals.count(number, 'trial')} {'does' if number == 1 else 'do'} not count"


def _left_out(view: RunView) -> str:
    return f" {numerals.count(view.left_out, 'trial')} of the plan did not run." if view.left_out else ""


def skips(view: RunView) -> list[str]:
    """Return a line for each reason: "java-servlet: 6 trials were skipped: java is not installed"."""
    reasons = Counter(
        (start.trial.trial.server, start.trial.failure.message)
        for start in view.skipped
        if start.trial.failure
    )
    return [
        f"{server}: {numerals.count(number, 'trial')} {'was' if number == 1 else 'were'} skipped: {why}"
        for (server, why), number in reasons.items()
    ]


def _warm_up(warm_up: WarmUp | None) -> str:
    if warm_up is None:
        return "no warm-up"
    over = f" on {numerals.count(warm_up.connections, 'connection')}" if warm_up.connections else ""
    return f"{_until(warm_up)} of warm-up{over}{'' if warm_up.pauses else ' without pauses'}"


def _blocks(shown: ExperimentView) -> str:
    """Return how many blocks there are and, if the number was not fixed beforehand, why no more."""
    scale = shown.scale
    if scale.least_blocks in (None, scale.blocks):
        return numerals.count(scale.blocks, "block")
    why = f" ({shown.stopped})" if shown.stopped else ""
    return f"{shown.blocks} of {scale.least_blocks} to {numerals.count(scale.blocks, 'block')}{why}"


def setup(shown: ExperimentView) -> str:
    """Return the load and its repetitions in one line."""
    experiment, scale = shown.experiment, shown.scale
    parameters = ", ".join(f"{name}={value}" for name, value in experiment.parameters.items())
    others = "".join(f", {server} with {_warm_up(own)}" for server, own in scale.warm_up_of.items())
    fewer = "".join(f", {server} in {number}" for server, number in scale.blocks_of.items())
    return "; ".join(
        [
            f"workload {experiment.workload}{f' ({parameters})' if parameters else ''}",
            _shape(experiment, scale),
            f"{_PLACEMENTS[experiment.placement]}{_server_cores(experiment)}, "
            f"{numerals.count(experiment.threads, 'engine thread')}",
            f"{_blocks(shown)}{fewer}, "
            f"each start with {_warm_up(scale.warm_up)}{others}, and {_until(scale.stop)} measured",
            *_canary(experiment),
            *([scale.note.rstrip(".")] if scale.note else []),
        ]
    )


def _shape(experiment: Experiment, scale: Scale) -> str:
    shape = experiment.shape.drawn(scale.stop.at_most_s)
    kept = _CONNECTIONS[experiment.connection]
    connections = numerals.count(experiment.shape.most, "connection")
    if isinstance(shape, contract.OpenShapeSpec):
        ends = [*dict.fromkeys((shape.rates[0].from_per_s, shape.rates[-1].to_per_s))]
        rates = " to ".join(numerals.significant(per_s) for per_s in ends)
        steps = f" in {len(shape.rates)} steps" if len(shape.rates) > 1 else ""
        return f"open shape, {rates}{NARROW}/s{steps}, {shape.arrivals}, on up to {connections} {kept}"
    average = " on average" if shape.pause == "exponential" else ""
    pause = f", {numerals.significant(shape.pause_ms)}{NARROW}ms pause{average}" if shape.pause_ms else ""
    if isinstance(shape, contract.RampShapeSpec):
        over = f"{numerals.significant(shape.over_s)}{NARROW}s"
        return f"ramp, {shape.from_connections} to {connections} {kept} over {over}{pause}"
    return f"closed shape, {connections} {kept}{pause}"


def _server_cores(experiment: Experiment) -> str:
    number = experiment.server_cores
    return f", the server on {numerals.count(number, 'core')}" if number else ""


def _canary(experiment: Experiment) -> list[str]:
    canary = experiment.canary
    if canary is None:
        return []
    return [
        f"beside it a canary: {numerals.significant(canary.rate_per_s)}{NARROW}/s of workload "
        f"{canary.workload} on connections of its own"
    ]


def noise(shown: ExperimentView, metric: str = "throughput") -> str:
    """Return how much starts of a server differ, and what difference the experiment can therefore see."""
    of = shown.noise[metric]
    if of.spread is None:
        return f"How much starts of one server differ is not known: {of.why}."
    if of.blocks < NOISE_BLOCKS_MIN:
        return f"How much starts of one server differ is not known: {TOO_FEW_BLOCKS}."
    differ = f"differ by {difference(of.spread)} in {phrase(metric)}"
    said = f"Starts of one server typically {differ} from block to block"
    if of.visible is None:
        return f"{said}{f', and {of.why}' if of.why else ''}."
    blocks = numerals.count(of.blocks, "block")
    both = "servers that have all of them" if of.some_have_fewer else "servers"
    return (
        f"{said}, beside what all servers of a block have in common. With {blocks} this experiment sees a "
        f"difference of {difference(of.visible)} between two {both} in four runs of five"
        f"{', between others only a greater one' if of.some_have_fewer else ''}."
    )


def sees(shown: ExperimentView) -> str:
    """Return which difference in throughput the experiment could see, in a line."""
    of = shown.noise["throughput"]
    if of.visible is None or of.blocks < NOISE_BLOCKS_MIN:
        return f"what differences it could see: not known, {of.why or TOO_FEW_BLOCKS}"
    between = f" between servers with {numerals.count(of.blocks, 'block')}" if of.some_have_fewer else ""
    return f"sees differences of {difference(of.visible)} in throughput{between}"


def visible_ratio(shown: ExperimentView, metric: str = "throughput") -> float | None:
    """Return the difference that an experiment could see, as a factor; None: too little is known of it."""
    of = shown.noise[metric]
    return of.visible if of.blocks >= NOISE_BLOCKS_MIN else None


def visible(shown: ExperimentView) -> str:
    """Return the visible difference of every metric: "Seen in four runs of five: throughput 9.1 %, …"."""
    known = {name: found for name in shown.noise if (found := visible_ratio(shown, name)) is not None}
    seen = ", ".join(f"{phrase(name)} {difference(ratio)}" for name, ratio in known.items())
    return f"Seen in four runs of five: {seen}." if seen else ""


def twins(view: RunView) -> str:
    """Return how many twins were called different from their server; empty if there are none."""
    if not view.twins:
        return ""
    different = [each for each in view.twins if each.called_different]
    # An early look has less of the error than the last one, so count what each look has.
    expected = numerals.significant(sum(1 - each.ratio.confidence for each in view.twins), 2)
    named = "".join(f" ({each.server} in {each.experiment}, {phrase(each.metric)})" for each in different[:1])
    compared = numerals.count(len(view.twins), "comparison")
    return (
        f"Of {compared} of a server with itself, {len(different)} came out different{named}; by chance "
        f"{expected} would on average."
    )


def difference(ratio: float) -> str:
    """Return a ratio ≥ 1 as a difference: 1.0443 → "4.5 %", 2.31 → "a factor of 2.4"."""
    # Rounded up, because the smallest visible difference must not look smaller than it is.
    if ratio > BEYOND_MEASURE:
        return f"a factor of more than {BEYOND_MEASURE}"
    if ratio >= 2:
        return f"a factor of {numerals.raised(ratio)}"
    return f"{numerals.raised((ratio - 1) * 100)}{NARROW}%"


def identity(shown: ExperimentView) -> str:
    """Return how many requests the experiment scheduled, and how many had each outcome."""
    scheduled, outcomes = shown.outcomes
    if not scheduled:
        return "No request was scheduled in a measured window."
    ended = " + ".join(f"{number:,} {name}" for name, number in outcomes.items() if number or name == "ok")
    sign = "=" if scheduled == sum(outcomes.values()) else "≠"
    return f"{scheduled:,} scheduled {sign} {ended}"


def failures(start: StartView) -> str:
    """Return how a trial's failed requests ended: "1.4 % timeout, 0.9 % reset"; empty if none failed."""
    record = start.trial.record
    if record is None or not record.outcomes.failed:
        return ""
    ended = record.outcomes.ok + record.outcomes.failed
    outcomes = Counter(record.outcomes.as_dict())
    for not_failed in ("ok", "not-sent", "unfinished"):
        del outcomes[not_failed]
    return ", ".join(
        f"{numerals.share(number / ended)} {name}" for name, number in outcomes.most_common() if number
    )


def remark(start: StartView) -> str:
    """Return why a trial failed or is not valid, which requests failed, and its warnings."""
    trial = start.trial
    if trial.failure is not None:
        if trial.skipped:
            return f"skipped: {trial.failure.message}"
        return f"failed at {trial.failure.step}: {trial.failure.message}"
    said = [f"not valid: {problem}" for problem in trial.problems]
    lost = failures(start)
    warnings = [f"warning: {warning}" for warning in trial.warnings]
    return "; ".join([*said, *([lost] if lost else []), *warnings])


def marks(row: ServerView) -> str:
    """Return a server's losses and its starts that do not count; empty if there are none."""
    if row.starts and all(start.trial.skipped for start in row.starts):
        return "skipped"
    said = []
    for start in row.starts:
        if start.figures is None:
            said.append(f"{start.block_name} did not run")
        elif not start.counts:
            said.append(f"{start.block_name} {'engine-limited' if start.engine_limited else 'not valid'}")
        elif start.lossy:
            said.append(f"{numerals.share(start.figures.failed_share)} failed in {start.block_name}")
    return ", ".join([*said, *([starved] if (starved := unanswered(row)) else [])])


def unanswered(row: ServerView) -> str:
    """Return "up to 56 of 64 connections got no answer in 3 starts"; empty if all got one.

    These users are in no quantile.
    """
    found = [(start.unanswered, start.block_name) for start in row.counting if start.unanswered]
    if not found:
        return ""
    worst, block = max(found, key=lambda each: each[0].connections / each[0].of)
    said = f"{worst.connections:,} of {worst.of:,} connections got no answer"
    return f"{said} in {block}" if len(found) == 1 else f"up to {said} in {len(found)} starts"


def command(view: RunView, trial_id: str) -> str:
    """Return the command line that repeats one trial."""
    run = view.run
    restricted = ["--servers", ",".join(run.only)] if run.only else []
    own = [part for place in run.brought.values() for part in ("--server", place)]
    where = ["--scale", run.scale, "--seed", str(run.seed), *restricted, *own]
    return " ".join(map(_quote, ["crumple", "run", run.study.name, *where, "--only", trial_id]))


def _quote(part: str) -> str:
    # A shell does not expand "~" within a word, so it needs no quotes.
    return part if shlex.quote(part.replace("~", "")) == part.replace("~", "") else shlex.quote(part)


def circumstances(view: RunView) -> list[str]:
    """Return the run's scale, seed, beginning and duration, a few words each."""
    run = view.run
    said = [f"scale {run.scale}", f"seed {run.seed}"]
    if run.shard is not None:
        said.append(f"shard {run.shard}")
    if run.hosts:
        said.append(f"{len(run.hosts)} hosts")
    began = instant(run.began)
    said.append(f"{began:%Y-%m-%d %H:%M} UTC" if began else run.began)
    ended = instant(run.ended)
    if began and ended:
        said.append(f"took {numerals.seconds((ended - began).total_seconds())}")
    elif run.ended is None:
        said.append("not finished")
    return said


def conditions(verdict: Verdict) -> list[str]:
    """Return where the article makes the claim, and what the verdict rests on: a sentence each, or none."""
    said = [f"In the article: {verdict.place}."] if verdict.place else []
    if verdict.conditions:
        rests = "would rest" if verdict.answer is VerdictWord.NOT_TESTABLE else "rests"
        said.append(f"It {rests} on: {'; '.join(verdict.conditions)}.")
    return said


def article(view: RunView) -> str:
    """Return the article that is re-checked, in one line; empty if there is none."""
    source = view.run.study.article
    if source is None:
        return ""
    updated = f", updated {source.updated}" if source.updated else ""
    return f"“{source.title}”, {source.author}, {source.published}{updated}"


def _answer_count(verdicts: Iterable[Verdict], kind: VerdictWord) -> str:
    alike = [verdict for verdict in verdicts if verdict.answer == kind]
    partly = sum(verdict.in_size_only for verdict in alike)
    said = f"{len(alike)} {'is' if len(alike) == 1 else 'are'} {kind.value}"
    if not partly:
        return said
    return f"{said} ({IN_SIZE_ONLY})" if partly == len(alike) else f"{said} ({partly} {IN_SIZE_ONLY})"


def _until(phase: Until) -> str:
    if phase.requests is not None:
        return numerals.count(phase.requests, "request")
    return numerals.seconds(phase.duration_s or 0.0)


def instant(written: str | None) -> datetime | None:
    """Return when a run began or ended; None if it does not say so."""
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None
