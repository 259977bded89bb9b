"""crumple load: puts one load on a URL, shows its progress, and prints the result.

This module imports only what the load needs, so that it starts at once. The modules that judge and draw the
result are imported after the load.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from crumple import streams
from crumple.commands import from_curl, keeping, origin, output, saving
from crumple.commands.origin import Origin
from crumple.contract import OpenShapeSpec
from crumple.engine import Engine
from crumple.errors import EXIT_NO, CrumpleError, UsageError
from crumple.load import engine_spec, first_look, load_plan, lost, unloaded
from crumple.load.load_flags import LoadFlags
from crumple.load.load_live import LoadView
from crumple.load.load_plan import LoadPlan
from crumple.machine import alone, ceiling
from crumple.words import answer_sentences, masked
from crumple.words.answer_sentences import Exchange

if TYPE_CHECKING:
    from crumple.observation.observed import FailuresAlone, WorkAlone

    pass


def put_on(url: str | None, flags: LoadFlags) -> int:
    """Put the load on and print the result. Return exit code 0, 1, 3 or 130.

    Raises UsageError before any request.
    """
    url, flags = _as_curl_would(url, flags)
    with origin.of(flags) as source:
        return _put_on(url, flags, source)


def _put_on(url: str, flags: LoadFlags, source: Origin) -> int:
    shaped = first_look.shape(flags) if flags.first_look else flags
    plan = load_plan.plan(url, shaped, source.machine)
    keeping.check(flags)
    saving.save("load", flags, [url])
    engine_spec.check_listening(plan.spec.target, plan.machine)
    found = source.engine()
    if flags.debug:
        return _show_answers(found, plan, flags.json)
    output.end_leftovers()
    output.say_not_kept(ceiling.cache())
    before = unloaded.before(plan.spec, _asking(found, plan, flags))
    if flags.first_look and not first_look.is_shaped(flags):
        plan = replace(plan, spec=first_look.shorten(plan.spec, time.monotonic() - streams.BEGAN_S))
    process = lost.process(plan.spec.probe.server_pid)
    with (
        alone.beside(output.say_disturbed),
        LoadView(plan.spec, masked.url(plan.resolved.url), quiet=flags.quiet) as view,
    ):
        conducted = engine_spec.conduct(found, plan.spec, view.progress)
    from crumple.commands import load_result

    return load_result.finish(found, plan, conducted, before, flags, process, source.loaded_from)


def _asking(
    found: Engine, plan: LoadPlan, flags: LoadFlags
) -> "Callable[[], WorkAlone | FailuresAlone | None] | None":
    """Return what sends requests one at a time before the load; None: none are to be sent.

    They are sent after it. After an overload its queue may still be there, so of a rate they are sent before
    it as well. A first look ends with them if none is answered as expected.
    """
    if plan.counts or not (flags.first_look or isinstance(plan.spec.shape, OpenShapeSpec)):
        return None

    def ask() -> "WorkAlone | FailuresAlone | None":
        if not flags.quiet:
            output.say_alone()
        record = unloaded.ask_alone(found, plan.spec)
        if flags.first_look and not record.outcomes.ok:
            # Imported here because most loads are answered.
            from crumple.commands import unanswered

            raise CrumpleError(unanswered.alone(record))
        return unloaded.alone_of(record)

    return ask


def _as_curl_would(url: str | None, flags: LoadFlags) -> tuple[str, LoadFlags]:
    """Return the URL, and the flags with what the command of --curl asks, if there is one."""
    if flags.curl is None:
        if url is None:
            raise UsageError("there is no URL", "write crumple load http://localhost:8080/, for instance")
        return url, flags
    if url is not None:
        raise UsageError(f"--curl has a URL of its own, and so has {url}", "leave one of them out")
    return from_curl.translate(flags, "load")


def _show_answers(found: Engine, plan: LoadPlan, as_json: bool) -> int:
    """Send each request once and show its answer. Return exit code 1 if one was unexpected, else 0."""
    sent = [
        Exchange(engine_spec.conduct(found, spec, lambda _: None).record)
        for spec in load_plan.specs(plan.spec)
    ]
    if as_json:
        output.as_json(answer_sentences.document(sent))
    else:
        output.drawn(answer_sentences.text(sent))
    return 0 if all(each.is_met for each in sent) else EXIT_NO
