"""crumple versus: compares versions of a service, and says which is faster, and by how much."""

import sys
import time
from contextlib import ExitStack
from functools import partial

from crumple import engine
from crumple.commands import ci_platform, from_curl, keeping, origin, output, saving, unanswered
from crumple.commands.origin import Origin
from crumple.commands.project_files import Project
from crumple.contract import TrialRecord
from crumple.documents import result
from crumple.drawing import report_text
from crumple.errors import EXIT_INTERRUPTED, EXIT_NOT_VALID, CrumpleError
from crumple.gate import condition
from crumple.gate.job_report import JobReport, Remark
from crumple.interrupt import interruptible
from crumple.load.site import Site
from crumple.machine import alone
from crumple.machine.capacity import raise_open_files
from crumple.record import failures
from crumple.versus import version_sites, versus_conditions, versus_course, versus_plan
from crumple.versus.report import versus_report, versus_sentences
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.versus_course import UnansweredVersion, VersionComparison, VersusMeans
from crumple.versus.versus_flags import VersusFlags
from crumple.versus.versus_live import VersusView
from crumple.versus.versus_plan import VersusPlan
from crumple.words import answer_sentences


def versions(words: list[str], flags: VersusFlags) -> int:
    """Compare and print the result. Return exit code 0, 1, 3 or 130; raise UsageError before any request."""
    of_curl: list[str] = []
    if flags.curl is not None:
        url, flags = from_curl.translate(flags, "versus")
        of_curl = [url]
    words = [*of_curl, *words]
    with origin.of(flags) as source:
        return _compare(words, of_curl, flags, source)


def _compare(words: list[str], of_curl: list[str], flags: VersusFlags, source: Origin) -> int:
    plan = versus_plan.plan(words, sys.argv, flags, lambda: Project.here().servers, source.machine)
    keeping.check(flags)
    saving.save("versus", flags, of_curl=of_curl)
    figures = _compared(plan, flags, source)
    if figures is None:
        output.say("interrupted before the first block was over")
        return EXIT_INTERRUPTED
    outcomes = versus_conditions.outcomes(plan.fail_if, figures)
    found = figures.document.model_copy(update={"tags": tuple(flags.tag or ()), "fail_if": outcomes})
    found = result.measured_from(found, source.loaded_from)
    kept = keeping.keep(found.model_dump(mode="json"), flags)
    if flags.json:
        output.as_json(kept.document)
    else:
        output.drawn(report_text.text(versus_report.report(found)))
        ci_platform.show(outcomes)
    kept.say(flags.quiet)
    kept.write_page(flags, lambda: versus_report.report(found))
    ci_platform.report(flags.junit, lambda: job_report(found))
    return condition.code_of(outcomes, code_of(figures.compared))


def job_report(found: VersusDocument) -> JobReport:
    """Return what a CI platform gets: each comparison is a finding."""
    compared = VersusFigures(found).compared
    return JobReport(
        verb="versus",
        asked=found.asked,
        headline=found.headline,
        screen=report_text.text(versus_report.report(found), ci_platform.COLUMNS, styled=False),
        outcomes=found.fail_if,
        remarks=tuple(
            Remark(
                f"{versus_sentences.NAMES[each.figure]} of {each.letter}",
                f"{versus_sentences.verdict(each)}: {each.why}",
                is_open=not each.is_decided,
            )
            for each in compared.ratios
        ),
        problem=found.headline if code_of(compared) else "",
        began_unix_s=found.unix_s,
        took_s=found.took_s,
    )


def code_of(compared: VersionComparison) -> int:
    """Return the exit code of a comparison without conditions.

    3: a version was lost, or no block counts in any figure.
    """
    if compared.ending == "interrupted":
        return EXIT_INTERRUPTED
    counts = any(each.interval is not None for each in compared.ratios)
    return EXIT_NOT_VALID if compared.ending == "gone" or not counts else 0


def _compared(plan: VersusPlan, flags: VersusFlags, source: Origin) -> VersusFigures | None:
    """Make the versions ready, and compare them; the budget begins after that. None: it was interrupted."""
    loader = source.engine()
    output.end_leftovers()
    telling = (lambda _: None) if flags.quiet else output.say
    with ExitStack() as kept:
        sites = version_sites.open_sites(
            plan.versions, plan.asked, lambda: Project.here().workloads, telling, flags.build, kept
        )
        return _measured(plan, flags, loader, sites)


def _measured(
    plan: VersusPlan, flags: VersusFlags, loader: engine.Engine, sites: dict[str, Site]
) -> VersusFigures | None:
    began_unix_s = time.time()
    raise_open_files()
    try:
        with (
            interruptible(),
            alone.beside(output.say_disturbed),
            VersusView(plan.loads.budget_s, quiet=flags.quiet) as view,
        ):
            means = VersusMeans(partial(engine.run, loader), time.monotonic, view)
            bounds = versus_conditions.bounds(plan.fail_if)
            compared = versus_course.compare(plan.loads, sites, means, bounds)
    except UnansweredVersion as nothing:
        raise _unanswered(plan, nothing.letter, nothing.record) from None
    if not compared.blocks and compared.ending == "interrupted":
        return None
    document = versus_report.document_of(
        plan.loads,
        compared,
        labels=plan.labels,
        same=plan.same,
        command=saving.command_to_repeat(sys.argv[1:], flags, plan.loads.seed),
        afresh={letter: site.afresh for letter, site in sites.items()},
        server_cores={letter: len(site.server_cores) for letter, site in sites.items() if site.server_cores},
        engine_version=loader.version,
        began_unix_s=began_unix_s,
    )
    return VersusFigures(document, compared.seen)


def _unanswered(plan: VersusPlan, letter: str, record: TrialRecord) -> CrumpleError:
    """What came instead of the answer that was expected, and of which version."""
    label = next(each.label for each in plan.versions if each.letter == letter)
    came = next((each for each in failures.unexpected_ends(record) if each.status is not None), None)
    if came is None:
        return CrumpleError(f"{letter}, {label}: {unanswered.sentence(record, '--budget')}")
    said = answer_sentences.unnumbered(came)
    return CrumpleError(
        f"{letter}, {label}, was not answered as expected: {said}",
        "name what answers 200 to 299, or say --expect-status",
    )
