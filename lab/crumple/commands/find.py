"""crumple find: searches for the highest load at which an objective holds; prints it with its interval."""

import sys
import time
from collections.abc import Callable
from functools import partial

from crumple import engine
from crumple.commands import ci_platform, from_curl, keeping, origin, output, saving, unanswered
from crumple.commands.origin import Origin
from crumple.commands.project_files import Project
from crumple.documents import result
from crumple.drawing import report_text
from crumple.errors import EXIT_INTERRUPTED, EXIT_NO, EXIT_NOT_VALID, CrumpleError, UsageError
from crumple.find import conduct, find_conditions, find_plan
from crumple.find.find_flags import FindFlags
from crumple.find.find_live import FindView
from crumple.find.find_plan import CeilingOf
from crumple.find.report import find_report, levels_csv
from crumple.find.report.find_document import FindDocument
from crumple.find.report.find_figures import SearchFigures
from crumple.find.search import Ending, SearchQuestion
from crumple.gate import condition
from crumple.gate.job_report import JobReport, Remark
from crumple.interrupt import interruptible
from crumple.load.site import NothingAnswered, Site
from crumple.machine import alone, ceiling
from crumple.machine.capacity import raise_open_files
from crumple.subject import server_toml, servers
from crumple.words import masked

CODES: dict[Ending, int] = {
    "found": 0,
    "highest": 0,
    "disturbed": 0,
    "never": EXIT_NO,
    "gone": EXIT_NOT_VALID,
    "engine": EXIT_NOT_VALID,
    "budget": EXIT_NOT_VALID,
    "interrupted": EXIT_INTERRUPTED,
}


def breaking_point(what: str | None, flags: FindFlags) -> int:
    """Search and print the result. Return exit code 0, 1, 3 or 130; raise UsageError before any request."""
    what, flags = _asked(what, flags)
    keeping.check(flags)
    fail_if = condition.read(flags.fail_if or (), find_conditions.KINDS)
    with origin.of(flags) as source:
        found = (_of_server if find_plan.is_server(what) else _of_url)(what, flags, source)
    if found is None:
        return EXIT_INTERRUPTED
    figures = SearchFigures(found)
    outcomes = find_conditions.outcomes(fail_if, figures)
    found = found.model_copy(update={"tags": tuple(flags.tag or ()), "fail_if": outcomes})
    found = result.measured_from(found, source.loaded_from)
    kept = keeping.keep(found.model_dump(mode="json"), flags)
    if found.ended_early:
        output.say("interrupted; the result covers the time before")
    if flags.json:
        output.as_json(kept.document)
    else:
        output.drawn(report_text.text(find_report.report(found)))
        ci_platform.show(outcomes)
    kept.say(flags.quiet)
    kept.write_page(flags, lambda: find_report.report(found))
    if flags.csv is not None:
        output.save(flags.csv, levels_csv.levels_csv(found))
    ci_platform.report(flags.junit, lambda: job_report(found))
    return condition.code_of(outcomes, code_of(figures))


def _asked(what: str | None, flags: FindFlags) -> tuple[str, FindFlags]:
    """Return what is searched, and the flags with what the command of --curl asks, if there is one."""
    if flags.curl is None:
        if what is None:
            raise UsageError(
                "nothing to search", "name a URL or a server: crumple find http://localhost:8080/"
            )
        return what, flags
    if what is not None:
        raise UsageError(f"--curl has a URL of its own, and {what} is given, too", "leave one of them out")
    return from_curl.translate(flags, "find")


def job_report(found: FindDocument) -> JobReport:
    """Return what a CI platform gets."""
    return JobReport(
        verb="find",
        asked=f"{found.asked}, {found.objective}",
        headline=found.headline,
        screen=report_text.text(find_report.report(found), ci_platform.COLUMNS, styled=False),
        outcomes=found.fail_if,
        remarks=(Remark("breaking point", found.headline, is_open=found.breaking_point is None),),
        problem=found.headline if code_of(SearchFigures(found)) else "",
        began_unix_s=found.unix_s,
        took_s=found.took_s,
    )


def code_of(figures: SearchFigures) -> int:
    """Return the exit code: that of the ending, or 3 where the time was too short to decide any level."""
    ending = figures.found.ending
    too_short = figures.decided_nothing and ending in ("found", "never")
    return EXIT_NOT_VALID if too_short else CODES[ending]


def _of_url(url: str, flags: FindFlags, source: Origin) -> FindDocument | None:
    plan = find_plan.of_url(url, flags, source.machine)
    saving.save("find", flags, [url])
    url = masked.url(plan.resolved.url)
    asked = f"{plan.requests[0].method} {url}"
    if len(plan.requests) > 1:
        asked = f"{len(plan.requests)} requests by weight to {url}"
    site_with = partial(find_plan.site_of_url, plan)
    return _searched(plan.question, source, site_with, asked, plan.resolved.is_local, flags)


def _of_server(name: str, flags: FindFlags, source: Origin) -> FindDocument | None:
    here = Project.here()
    (description,) = here.chosen([server_toml.server_of(name)])
    plan = find_plan.of_server(description, here.workloads, flags, name)
    saving.save("find", flags)
    ready = servers.readiness(description)
    if isinstance(ready, servers.Missing):
        raise CrumpleError(f"{description.name} cannot run here: {ready.reason}", ready.remedy)
    if not flags.quiet:
        output.say(f"building {description.name} (once; later searches reuse it)")
    built = servers.build(description)
    asked = f"server {plan.label}, {f'workload {plan.workload.name}' if plan.workload else flags.path}"
    site_with = partial(find_plan.site_of_server, plan, built)
    return _searched(plan.question, source, site_with, asked, True, flags)


def _searched(
    question: SearchQuestion,
    source: Origin,
    site_with: Callable[[CeilingOf], Site],
    asked: str,
    is_local: bool,
    flags: FindFlags,
) -> FindDocument | None:
    """Search; the budget starts here. None: it was interrupted before the first level was over."""
    loader = source.engine()
    output.end_leftovers()
    output.say_not_kept(ceiling.cache())
    began_s, began_unix_s = time.monotonic(), time.time()
    raise_open_files()
    try:
        with (
            interruptible(),
            alone.beside(output.say_disturbed),
            FindView(question.by, question.budget_s, quiet=flags.quiet) as view,
        ):
            site = site_with(ceiling.Ceilings(loader))
            run = partial(engine.run, loader)
            found = conduct.find(question, site, run, time.monotonic, view, began_s)
    except NothingAnswered as nothing:
        raise CrumpleError(unanswered.sentence(nothing.record, "--budget")) from None
    if found.ending == "interrupted" and not found.levels:
        output.say("interrupted before the first level was over")
        return None
    return find_report.document_of(
        question,
        found,
        asked=asked,
        command=saving.command_to_repeat(sys.argv[1:], flags, question.seed),
        afresh=site.afresh,
        server_cores=len(site.server_cores) or None,
        is_local=is_local,
        engine_version=loader.version,
        began_unix_s=began_unix_s,
    )
