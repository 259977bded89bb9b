"""Handle the result of `crumple load`: judge it, print it, write its files, and return the exit code."""

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from crumple import streams
from crumple.commands import ci_platform, keeping, output, saving, unanswered
from crumple.commands.keeping import Kept
from crumple.contract import TrialRecord
from crumple.documents.result import measured_from
from crumple.drawing import report_text
from crumple.engine import Engine
from crumple.errors import EXIT_INTERRUPTED, EXIT_NO, EXIT_NOT_VALID, EngineFailed, Interrupted
from crumple.gate import condition
from crumple.gate.job_report import JobReport
from crumple.load import (
    compression,
    engine_spec,
    first_look,
    load_conditions,
    load_plan,
    lost,
    objective,
    unloaded,
)
from crumple.load.engine_spec import Conducted
from crumple.load.load_flags import LoadFlags, OutputFlags
from crumple.load.load_plan import LoadPlan
from crumple.load.lost import NOT_KNOWN, ServerProcess
from crumple.load.report import first_screen, load_files, load_making, load_report
from crumple.load.report.load_document import LoadDocument
from crumple.load.unloaded import Before
from crumple.machine import ceiling
from crumple.machine.ceiling import Ceiling
from crumple.record import limiter_course, validity
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.loss import Lost
from crumple.record.validity import Validity
from crumple.words import lost_sentences, masked

if TYPE_CHECKING:
    from crumple.documents.loaded_from import LoadedFrom
    from crumple.limit.finding import Said
    from crumple.observation.observed import FailuresAlone, WorkAlone


def finish(
    found: Engine,
    plan: LoadPlan,
    conducted: Conducted,
    before: Before,
    flags: LoadFlags,
    process: ServerProcess = NOT_KNOWN,
    loaded_from: "LoadedFrom | None" = None,
) -> int:
    """Judge, print and write the result of the load. Return exit code 0, 1, 3 or 130.

    `process`: of the server; `loaded_from`: None: this machine.
    """
    record = conducted.record
    gone = _lost(found, plan, conducted, process)
    measure = gone is None and not conducted.ended_early
    ask = measure and not plan.counts
    if flags.first_look:
        measure = measure and first_look.compares_engine(time.monotonic() - streams.BEGAN_S)
        ask = ask and first_look.asks_after(before.alone)
    reached = _ceiling(found, record, flags.quiet) if measure else None
    alone = unloaded.quicker(before.alone, _alone(found, record, flags) if ask else None)
    # A first look has neither the time for it nor a line.
    asks = gone is None and not (conducted.ended_early or flags.disable_compression or flags.first_look)
    compressed = compression.compressible(found, record) if asks else None
    cores, others = engine_spec.cores_of(record.spec.probe.server_pid), disturbance(record)
    load = load_making.make(
        masked.record(record),
        _validity(plan, record, cores, reached, others),
        masked.url(plan.resolved.url),
        # It was masked when it was made.
        saving.command_to_repeat(sys.argv[1:], flags, record.spec.seed),
        findings=_findings(record, cores, alone, before, plan.machine.apart(record.spec.cores, cores)),
        lost=gone,
        ended_early=conducted.ended_early,
        tags=tuple(flags.tag or ()),
        fail_if=load_conditions.outcomes(plan.fail_if, record, others, is_lost=gone is not None),
        ceiling_per_s=reached.throughput_per_s if reached else None,
        ceiling_at_least=bool(reached and reached.at_least),
        idle_cores=before.idle_cores,
        alone=unloaded.answered(alone),
        compressible=compressed,
        program=before.program,
        unwatched=plan.unwatched or None,
    )
    return _deliver(measured_from(load, loaded_from), flags)


def _deliver(load: LoadDocument, flags: LoadFlags) -> int:
    """Store, print and write the result. Return the exit code."""
    kept = keeping.keep(load.model_dump(mode="json"), flags)
    _show(load, kept, flags)
    kept.say(flags.quiet)
    _write(load, flags)
    kept.write_page(flags, lambda: load_report.report(load))
    ci_platform.report(flags.junit, lambda: job_report(load))
    if load.ended_early:
        output.say("interrupted; the result covers the time before")
        return EXIT_INTERRUPTED
    return code_of(load)


def _lost(found: Engine, plan: LoadPlan, conducted: Conducted, process: ServerProcess) -> Lost | None:
    """Return how the server was lost in the load; None: it was not. After Ctrl-C nothing more is sent."""
    record = conducted.record

    def ask() -> TrialRecord:
        return unloaded.ask_once(found, record.spec, lost.asked_s(record))

    is_asked = not conducted.ended_early and not plan.counts
    try:
        return lost.after(record, process, ask if is_asked else None)
    except EngineFailed as failed:
        _say_unasked(failed)
        return lost.after(record, process, None)


def code_of(result: LoadDocument) -> int:
    """Return the exit code of a load that was not interrupted.

    1: no request was answered, or a --fail-if holds. 3: the server was lost, the load is not valid, or it is
    not known whether a --fail-if holds.
    """
    code = condition.code_of(result.fail_if, 0)
    if result.lost is not None:
        return code or EXIT_NOT_VALID
    if not result.record.outcomes.ok:
        return EXIT_NO
    return EXIT_NOT_VALID if result.validity.problems else code


def job_report(result: LoadDocument) -> JobReport:
    """Return what a CI platform gets."""
    record = result.record
    problems = "; ".join(result.validity.problems)
    if not record.outcomes.ok and result.lost is None:
        problems = unanswered.sentence(record)
    return JobReport(
        verb="load",
        asked=result.asked,
        headline=result.headline,
        screen=report_text.text(load_report.report(result), ci_platform.COLUMNS, styled=False),
        outcomes=result.fail_if,
        problem="it was interrupted" if result.ended_early else problems,
        began_unix_s=record.began_unix_ns / 1e9,
        took_s=result.measured_s,
    )


def _ceiling(found: Engine, record: TrialRecord, quiet: bool) -> Ceiling | None:
    """Measure the engine's ceiling if the load came near it, else return None.

    It is measured after the load, so that the load begins at once.
    """
    where = found.load_host.name if found.load_host is not None else "this machine"
    telling = (lambda: None) if quiet else (lambda: output.say(f"the engine's own ceiling on {where} …"))
    # Ctrl-C skips this measurement; the result is then shown without a ceiling.
    with contextlib.suppress(KeyboardInterrupt):
        return ceiling.measured_after(found, record, ceiling.cache(), telling)
    return None


def _alone(found: Engine, record: TrialRecord, flags: LoadFlags) -> "WorkAlone | FailuresAlone | None":
    """Send a few requests one at a time, if the load is judged and was answered, rightly or not."""
    ends = record.outcomes
    if not unloaded.is_judged(record) or not (ends.ok or ends.wrong_status or ends.wrong_body):
        return None
    if not flags.quiet:
        output.say_alone()
    within_s = unloaded.FIRST_WITHIN_S
    if flags.first_look:
        within_s = first_look.first_within_s(time.monotonic() - streams.BEGAN_S)
    # Ctrl-C skips this too.
    with contextlib.suppress(KeyboardInterrupt, Interrupted):
        try:
            return unloaded.alone(found, record.spec, within_s)
        except EngineFailed as failed:
            _say_unasked(failed)
    return None


def _say_unasked(failed: EngineFailed) -> None:
    """Say why no request was sent after the load. The load is over, and its result is kept."""
    output.say(f"no request could be sent after the load: {failed}")


def _validity(
    plan: LoadPlan,
    record: TrialRecord,
    cores: tuple[int, ...],
    reached: Ceiling | None,
    others: Disturbance,
) -> Validity:
    return validity.assess(
        record,
        server_cores=cores,
        ceiling=reached,
        asked=objective.asked(plan.fail_if),
        bounds=True,
        disturbance=others,
    )


def _findings(
    record: TrialRecord,
    cores: tuple[int, ...],
    alone: "WorkAlone | FailuresAlone | None",
    before: Before,
    apart: int,
) -> "tuple[Said, ...]":
    limited, is_judged = limiter_course.of(record), bool(cores) and unloaded.is_judged(record)
    if limited is None and not is_judged:
        return ()
    # Imported here, as it takes as long as all else, and a single request is not judged.
    from crumple.cause import in_short, limiter_rule

    if limited is not None and (limited.is_named or not is_judged):
        # Watched or not: what it answers says it.
        return tuple(filter(None, [limiter_rule.finding([limited])]))

    return in_short.judged(record, len(cores), alone, before.others, rest=before.rest, elsewhere=apart)


def _write(result: LoadDocument, flags: OutputFlags) -> None:
    drawn = (
        (flags.csv, load_files.series_csv),
        (load_plan.requests_csv(flags), load_files.requests_csv),
        (flags.hdr, load_files.hdr_log),
    )
    for file, draw in drawn:
        if file is not None:
            output.save(file, draw(result))


def _show(result: LoadDocument, kept: Kept, flags: LoadFlags) -> None:
    if flags.json:
        output.as_json(kept.document)
    else:
        named = result.model_copy(update={"name": kept.document["name"]})
        report = first_screen.report(named) if flags.first_look else load_report.report(named)
        output.drawn(report_text.text(report))
    if result.lost is not None:
        output.say(f"{lost_sentences.sentence(result.lost)}; {lost_sentences.remedy(result.lost)}")
    elif not result.record.outcomes.ok:
        output.say(unanswered.sentence(result.record))
