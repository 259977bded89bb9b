"""crumple load: puts one load on a URL, shows it, and ends in what became of its requests."""

import contextlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from crumple import engine, project
from crumple.commands import cleared, output
from crumple.contract import TrialRecord
from crumple.engine import Engine
from crumple.errors import CrumpleError
from crumple.live.load import LoadView
from crumple.load import load
from crumple.load import plan as load_plan
from crumple.load.flags import LoadFlags, OutputFlags
from crumple.load.plan import LoadPlan
from crumple.load_report import export as load_export
from crumple.load_report import summary as load_summary
from crumple.load_report.figures import Load
from crumple.machine import ceiling, turns
from crumple.machine.ceiling import Ceiling
from crumple.record import validity

NO, NOT_VALID, INTERRUPTED = 1, 3, 130


def put_on(url: str, flags: LoadFlags) -> int:
    """Exit code 0, 1, 3 or 130. Raises UsageError before anything is sent."""
    plan = load_plan.plan(url, flags)
    found = engine.load(project.root())
    cleared.away()
    output.say_not_kept(ceiling.cache())
    with (
        turns.beside(output.say_disturbed),
        LoadView(plan.spec, plan.resolved.url, quiet=flags.quiet) as view,
    ):
        conducted = load.conduct(found, plan.spec, view.progress)
    record = conducted.record
    reached = None if conducted.ended_early else _ceiling(found, record, flags.quiet)
    result = _judged(plan, record, reached)
    _show(result, flags.json)
    _write(result, flags)
    if conducted.ended_early:
        output.say("interrupted; this is what was measured before")
        return INTERRUPTED
    return code_of(result)


def code_of(result: Load) -> int:
    """1: nothing was answered, or a condition of failure holds; 3: not valid, or a condition is not known."""
    if not result.record.outcomes.ok:
        return NO
    if result.validity.problems:
        return NOT_VALID
    if any(holds for _, holds in result.fail_if):
        return NO
    return NOT_VALID if any(holds is None for _, holds in result.fail_if) else 0


def command(arguments: list[str], seed: int) -> str:
    """What repeats a load, for a shell. `arguments`: those it was called with."""
    seeded = any(argument.partition("=")[0] == "--seed" for argument in arguments)
    return shlex.join(["crumple", *arguments, *([] if seeded else ["--seed", str(seed)])])


def unanswered(record: TrialRecord) -> str:
    """Why nothing was answered, in one line with its remedy."""
    ends = {name: number for name, number in record.outcomes.as_dict().items() if number}
    if not ends:
        return "nothing was sent; make the load longer, or its rate higher"
    worst, number = max(ends.items(), key=lambda end: end[1])
    said = f"nothing was answered as expected: {number:,} of {record.scheduled:,} {worst}"
    return f"{said}; {_remedy(worst, record)}"


def _remedy(outcome: str, record: TrialRecord) -> str:
    address = record.spec.target.address
    if outcome == "malformed" and record.spec.target.tls and not record.connections_opened:
        return "no TLS handshake was completed; is it https, is its certificate trusted (--cacert FILE)?"
    remedies = {
        "refused": f"nobody listens at {address}; start the server, or mend the URL",
        "connect-timeout": f"{address} does not take connections; is it the right address?",
        "wrong-status": "the status is not the one expected; ask once with curl -i, or say --expect-status",
        "wrong-body": "the body is not the one expected; ask once with curl, or mend --expect-body",
        "malformed": "what answers is no HTTP/1.1; is it the right port, and http or https?",
        "timeout": "the answers took longer than -t; raise it, or lower the load",
        "unfinished": "the load ended before the first answer; give it longer with -z",
    }
    return remedies.get(outcome, "look at what the server says of it")


def _ceiling(found: Engine, record: TrialRecord, quiet: bool) -> Ceiling | None:
    """Measured after the load, so that the load begins at once; None where nothing was answered."""
    if not record.outcomes.ok:
        return None
    if not quiet:
        output.say("the engine's own ceiling on this machine …")
    # Who has waited long enough has their result without it.
    with contextlib.suppress(KeyboardInterrupt):
        return ceiling.ceiling(found, record.spec, ceiling.cache())
    return None


def _judged(plan: LoadPlan, record: TrialRecord, reached: Ceiling | None) -> Load:
    return Load(
        record=record,
        validity=validity.assess(
            record, server_cores=load.cores_of(record.spec.probe.server_pid), ceiling=reached
        ),
        url=plan.resolved.url,
        command=command(sys.argv[1:], record.spec.seed),
        fail_if=tuple((str(term), term.holds(record)) for term in plan.fail_if),
        ceiling_per_s=reached and reached.throughput_per_s,
    )


def _write(result: Load, flags: OutputFlags) -> None:
    written: dict[Path | None, Callable[[Load], str]] = {
        flags.csv: load_export.series_csv,
        flags.hdr: load_export.hdr_log,
        flags.html: _page,
    }
    for file, drawn in written.items():
        if file is not None:
            try:
                output.write(file, drawn(result))
            except OSError as error:
                raise CrumpleError(f"cannot write {file}: {error.strerror}", "write elsewhere") from None


def _page(result: Load) -> str:
    # Its charts take a second to import, which nobody else is to wait for.
    from crumple.load_report import html as load_html

    return load_html.html(result)


def _show(result: Load, as_json: bool) -> None:
    if as_json:
        output.as_json(load_export.document(result))
    else:
        output.drawn(load_summary.text(result))
    if not result.record.outcomes.ok:
        output.say(unanswered(result.record))
