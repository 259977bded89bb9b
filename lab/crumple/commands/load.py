"""crumple load: puts one load on a URL, shows its progress, and prints the result.

This module imports only what the load needs, so that it starts at once. The modules that judge and draw the
result are imported after the load.
"""

import shlex
from collections.abc import Callable

from crumple import engine, project
from crumple.cause.observed import Alone, Tried
from crumple.commands import from_curl, keeping, output, saving
from crumple.contract import Example, OpenShape, TrialRecord
from crumple.drawing.terminal import shown
from crumple.engine import Engine
from crumple.errors import EXIT_NO, EXIT_NOT_VALID, UsageError
from crumple.load import engine_spec, load_plan, unloaded
from crumple.load.load_flags import LoadFlags
from crumple.load.load_live import LoadView
from crumple.load.load_plan import LoadPlan
from crumple.load.report import answer_sentences, masked
from crumple.load.report.answer_sentences import Exchange
from crumple.machine import alone, ceiling
from crumple.record import failures, malformed

NO, NOT_VALID, INTERRUPTED = EXIT_NO, EXIT_NOT_VALID, 130
ONE_AT_A_TIME = "a few requests, one at a time …"


def put_on(url: str | None, flags: LoadFlags) -> int:
    """Put the load on and print the result. Return exit code 0, 1, 3 or 130.

    Raises UsageError before any request.
    """
    url, flags = _as_curl_would(url, flags)
    plan = load_plan.plan(url, flags)
    keeping.check(flags)
    saving.save("load", flags, [url])
    engine_spec.check_listening(plan.spec.target)
    found = engine.load(project.root())
    if flags.debug:
        return _show_answers(found, plan, flags.json)
    output.end_leftovers()
    output.say_not_kept(ceiling.cache())
    before = unloaded.before(plan.spec, _asking(found, plan, flags.quiet))
    with (
        alone.beside(output.say_disturbed),
        LoadView(plan.spec, masked.url(plan.resolved.url), quiet=flags.quiet) as view,
    ):
        conducted = engine_spec.conduct(found, plan.spec, view.progress)
    from crumple.commands import load_result

    return load_result.finish(found, plan, conducted, before, flags)


def _asking(found: Engine, plan: LoadPlan, quiet: bool) -> Callable[[], Alone | Tried | None] | None:
    """Return what sends requests one at a time before the load; None: none are to be sent.

    They are sent after it. After an overload its queue may still be there, so of a rate they are sent before
    it as well.
    """
    if plan.counts or not isinstance(plan.spec.shape, OpenShape):
        return None

    def ask() -> Alone | Tried | None:
        if not quiet:
            output.say(ONE_AT_A_TIME)
        return unloaded.alone(found, plan.spec)

    return ask


def _as_curl_would(url: str | None, flags: LoadFlags) -> tuple[str, LoadFlags]:
    """Return the URL, and the flags with what the command of --curl asks, if there is one."""
    if flags.curl is None:
        if url is None:
            raise UsageError("there is no URL", "write crumple load http://localhost:8080/, for instance")
        return url, flags
    if url is not None:
        raise UsageError(f"--curl has a URL of its own, and so has {url}", "leave one of them out")
    return from_curl.asked(flags, "load")


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
    return 0 if all(each.is_met for each in sent) else NO


def command(arguments: list[str], seed: int) -> str:
    """Return a shell command that repeats the load, with its secrets masked. `arguments`: those typed."""
    seeded = any(argument.partition("=")[0] == "--seed" for argument in arguments)
    masked_ones = masked.arguments(arguments)
    return shlex.join(["crumple", *masked_ones, *([] if seeded else ["--seed", str(seed)])])


def unanswered(record: TrialRecord, longer: str = "-z") -> str:
    """Return one line: why no request was answered as expected, and the remedy.

    `longer`: the flag by which the load lasts longer.
    """
    ends = {name: number for name, number in record.outcomes.as_dict().items() if number}
    if not ends:
        return "no request was sent; make the load longer, or its rate higher"
    worst, number = max(ends.items(), key=lambda end: end[1])
    found = next((each for each in failures.unexpected_ends(record) if each.outcome == worst), None)
    fault = failures.tls_fault(record, worst)
    first = found.first if found else None
    said = f"{number:,} of {record.scheduled:,} {f'without TLS ({worst})' if fault else worst}"
    if found is not None and found.status is not None:
        said = f"{found.count:,} of {record.scheduled:,} were {answer_sentences.unnumbered(found)}"
    return f"no request was answered as expected: {said}; {_remedy(worst, first, record, longer)}"


def _remedy(outcome: str, first: Example | None, record: TrialRecord, longer: str) -> str:
    address = record.spec.target.address
    is_tls, stands = record.spec.target.tls is not None, record.connections_opened > 0
    fault = record.tls_fault or ""
    if record.spec.target.proxy is not None and fault.startswith("the proxy"):
        return f"{shown(fault)}; see the proxy's log, or load the server without -x"
    if outcome in ("closed-early", "reset") and first is not None and first.status is not None:
        return "the server closed the connection within its answer; look at the server's log"
    if outcome == "connect-timeout" and is_tls:
        return f"no TLS handshake was completed in time; does {address} speak TLS, or plain http?"
    if outcome == "malformed" and is_tls and "InvalidContentType" in (record.tls_fault or ""):
        return f"{address} does not speak TLS; write http://"
    if outcome == "malformed" and is_tls and not stands:
        why = f": {shown(record.tls_fault)}" if record.tls_fault else ""
        return (
            f"no TLS handshake was completed{why}; is it https, is its certificate trusted (--cacert FILE)?"
        )
    if outcome == "malformed" and (reason := malformed.most_frequent(record)):
        return f"{malformed.what(reason)}; {malformed.remedy(reason)}"
    if outcome == "not-sent" and record.not_sent.route:
        return f"this machine has no route to {address}; {failures.routed(record)}"
    if outcome == "unfinished" and not stands:
        what = "TLS handshake was completed" if is_tls else "connection was made"
        return f"no {what}; does {address} accept connections{', and is it https' if is_tls else ''}?"
    hung_up = "the server closed the connection before its answer was complete; is it the right port"
    remedies = {
        "closed-early": f"{hung_up}{'' if is_tls else ', and http, not https'}?",
        "reset": f"{hung_up}{'' if is_tls else ', and http, not https'}?",
        "refused": engine_spec.nobody_listens(record.spec.target),
        "connect-timeout": f"{address} does not accept connections; is it the right address?",
        "wrong-status": "see request and answer with --debug, or set --expect-status",
        "wrong-body": "see request and answer with --debug, or correct --expect-body",
        "timeout": "the answers took longer than -t; raise it, or lower the load",
        "unfinished": f"the load ended before the first answer; give it longer with {longer}",
    }
    return remedies.get(outcome, "look at the server's log")
