"""crumple diagnose: finds out what limits a server, and what a change would give."""

import sys
from dataclasses import replace

from crumple.commands import ci_platform, from_curl, keeping, origin, output, saving
from crumple.commands.origin import Origin
from crumple.commands.project_files import Project
from crumple.diagnose import diagnose_conditions, diagnose_plan, diagnosis, what_if_flags
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.diagnose.diagnose_live import DiagnoseView
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.report import diagnose_report
from crumple.diagnose.report.diagnose_document import DiagnoseDocument
from crumple.documents import result
from crumple.drawing import report_text
from crumple.errors import EXIT_INTERRUPTED, EXIT_NO
from crumple.find import find_plan
from crumple.gate import condition
from crumple.gate.job_report import JobReport, Remark
from crumple.interrupt import interruptible
from crumple.limit import finding as causes
from crumple.machine import alone
from crumple.machine.capacity import raise_open_files
from crumple.machine.ceiling import Ceilings, cache
from crumple.subject import server_toml


def server(words: list[str], flags: DiagnoseFlags) -> int:
    """Diagnose a server and print what was found. Return exit code 0 or 130.

    Raises UsageError before any load.
    """
    of_curl: list[str] = []
    if flags.curl is not None:
        url, flags = from_curl.translate(flags, "diagnose")
        of_curl = [url]
    words = [*of_curl, *words]
    what, command = diagnose_plan.split(words, sys.argv)
    with origin.of(flags) as source:
        return _diagnose(what, command, of_curl, flags, source)


def _diagnose(
    what: str | None, command: tuple[str, ...], of_curl: list[str], flags: DiagnoseFlags, source: Origin
) -> int:
    plan = _plan(what, command, flags, source)
    keeping.check(flags)
    fail_if = condition.read(flags.fail_if or (), diagnose_conditions.KINDS)
    saving.save("diagnose", flags, of_curl=of_curl)
    if alone_said := diagnose_plan.of_work_alone(flags):
        output.say(alone_said)
    loader = source.engine()
    output.end_leftovers()
    output.say_not_kept(cache())
    raise_open_files()
    try:
        with (
            interruptible(),
            alone.beside(output.say_disturbed),
            DiagnoseView(
                searches=plan.objective is not None, tries=plan.change is not None, quiet=flags.quiet
            ) as view,
        ):
            typed = saving.command_to_repeat(sys.argv[1:], flags, plan.seed)
            found = diagnosis.diagnose(plan, loader, Ceilings(loader), view, typed)
    except KeyboardInterrupt:
        output.say("interrupted before the diagnosis was over")
        return EXIT_INTERRUPTED
    outcomes = diagnose_conditions.outcomes(fail_if, found)
    document = diagnose_report.document_of(found)
    document = document.model_copy(update={"tags": tuple(flags.tag or ()), "fail_if": outcomes})
    document = result.measured_from(document, source.loaded_from)
    kept = keeping.keep(document.model_dump(mode="json"), flags)
    if flags.json:
        output.as_json(kept.document)
    else:
        output.drawn(report_text.text(diagnose_report.report(document)))
        ci_platform.show(outcomes)
    kept.say(flags.quiet)
    kept.write_page(flags, lambda: diagnose_report.report(document))
    ci_platform.report(flags.junit, lambda: job_report(document))
    code = EXIT_INTERRUPTED if found.interrupted else 0
    if found.remedy is not None and found.remedy.problem:
        output.say(f"--try: {found.remedy.problem}")
        code = code or EXIT_NO
    return condition.code_of(outcomes, code)


def job_report(found: DiagnoseDocument) -> JobReport:
    """Return what a CI platform gets: each cause that was found is a finding."""
    return JobReport(
        verb="diagnose",
        asked=found.asked,
        headline=found.headline,
        screen=report_text.text(diagnose_report.report(found), ci_platform.COLUMNS, styled=False),
        outcomes=found.fail_if,
        remarks=tuple(
            Remark(each.cause, f"{each.sure}: {each.evidence}")
            for each in found.findings
            if isinstance(each, causes.Finding)
        ),
        problem="it was interrupted" if found.interrupted else "",
        began_unix_s=found.began_unix_s,
        took_s=found.took_s,
    )


def _plan(what: str | None, command: tuple[str, ...], flags: DiagnoseFlags, source: Origin) -> DiagnosisPlan:
    plan = _of(what, command, flags, source)
    return replace(
        plan,
        acts=not flags.only_loads,
        intervenes=flags.intervene,
        asks=flags.ask,
        changes=what_if_flags.changes(flags.if_ or ()),
    )


def _of(what: str | None, command: tuple[str, ...], flags: DiagnoseFlags, source: Origin) -> DiagnosisPlan:
    if command:
        return diagnose_plan.of_command(command, what, flags, source.machine)
    assert what is not None
    if not find_plan.is_server(what):
        return diagnose_plan.of_url(what, flags, source.machine)
    here = Project.here()
    (description,) = here.chosen([server_toml.server_of(what)])
    return diagnose_plan.of_server(what, description, here.workloads, flags)
