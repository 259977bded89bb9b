"""All checks of `crumple verify` on one running server, as findings: a check, its outcome, and the reason.

The values that must be answered and those that must be refused follow from the workload's description of its
parameters. Nothing is started here but a short load between two passes of checks.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal
from urllib.parse import quote

from crumple import contract, engine
from crumple.contract import RequestSpec, TrialSpec
from crumple.engine import Engine
from crumple.errors import CrumpleError, WrongAnswer
from crumple.subject import answer_check, effects
from crumple.subject.answer_check import Reply, at_once, connection
from crumple.subject.database import Database
from crumple.subject.effects import MachineSpeed, NotJudged, Pids
from crumple.subject.server_toml import SHOWS_MODEL, ServerDescription
from crumple.subject.workload import PLACEHOLDER, Parameter, Value, Workload

Parameters = Mapping[str, Value]

# The values that are tried of each number besides its least, as far as it may have them.
SMALL = (3, 100)
# Several parameters at once, and answers that need more than one write.
MORE: dict[str, tuple[Parameters, ...]] = {
    "mix": ({"bytes": 200_000}, {"wait_ms": 5, "spin_us": 200, "bytes": 1000}),
    "primes": ({"below": 2},),
}
# Signs, a fraction and a word, which are not decimal digits alone; the last number needs more than 64 bits.
NO_NUMBER = ("-1", "+1", "1.5", "ten", "99999999999999999999")


def right_parameters(workload: Workload) -> tuple[Parameters, ...]:
    """The sets of parameters to ask for: the defaults, then one parameter changed at a time."""
    cases: list[Parameters] = [{}]
    for name, parameter in workload.parameters.items():
        cases += [{name: value} for value in _values(parameter) if value != parameter.default]
    return (*cases, *MORE.get(workload.name, ()))


def wrong_requests(workload: Workload) -> Iterator[RequestSpec]:
    """Requests that must be answered with 400: each has one parameter with a value that is not allowed."""
    usual = workload.request_with({})
    defaults = {name: str(parameter.default) for name, parameter in workload.parameters.items()}
    for name, parameter in workload.parameters.items():
        for value in _bad_values(parameter):
            values = {**defaults, name: value}
            path = PLACEHOLDER.sub(partial(_quoted, values), workload.request.path)
            yield usual.model_copy(update={"path": path})


def without_query(workload: Workload) -> RequestSpec | None:
    """The request without its query, to be answered as with the defaults; None if it has no query."""
    request = workload.request_with({})
    path, query, _ = request.path.partition("?")
    return request.model_copy(update={"path": path}) if query else None


def _values(parameter: Parameter) -> tuple[Value, ...]:
    if parameter.among:
        return parameter.among
    if parameter.least is None or parameter.most is None:
        return ()
    return (parameter.least, *(value for value in SMALL if parameter.least < value <= parameter.most))


def _bad_values(parameter: Parameter) -> tuple[str, ...]:
    if parameter.among:
        return ("no-such-word",)
    if parameter.least is None or parameter.most is None:
        return ()
    below = (str(parameter.least - 1),) if parameter.least > 0 else ()
    return (*NO_NUMBER, *below, str(parameter.most + 1))


CheckResult = Literal["right", "wrong", "skipped"]

HTTP = "HTTP"
MODEL = "model"
# The connections that are opened at once, and those of the load.
CONNECTIONS = 64
# The requests that are sent one after the other on a connection that is kept open.
ON_ONE_CONNECTION = 20
# Seconds that the load takes.
LOAD_S = 1.0
# The factors by which the load is then longer. On a busy machine it may be over before its first request is.
LONGER = (4, 16)
# Seconds after which a connect or a request of the load is given up.
REQUEST_S = 20.0
# The model is wrong only if each of these waits contradicts it: on a busy machine one may do so by chance.
WAITS_S = (0.2, 0.4, 0.8)


@dataclass(frozen=True)
class CheckFinding:
    """The result of one check. `check`: a workload's name, HTTP or MODEL. `reason`: empty if it is right."""

    check: str
    state: CheckResult
    reason: str = ""


@dataclass(frozen=True)
class CheckedServer:
    """A running server, and what is needed to check it.

    `keeps`: whether it should keep connections open. `files_left`: how many of the files that it made for
    answers remain. `no_database`: why `database` is None. `pace`: read before the server started.
    """

    description: ServerDescription
    address: str
    keeps: bool
    pids: Pids
    workloads: Mapping[str, Workload]
    load: Engine
    files_left: Callable[[], int]
    database: Database | None
    no_database: str = ""
    pace: MachineSpeed = field(default_factory=MachineSpeed)


def _quoted(values: Mapping[str, str], found: re.Match[str]) -> str:
    return quote(values[found[1]], safe="")


def findings(subject: CheckedServer) -> Iterator[CheckFinding]:
    """The findings of all checks, in the order of a table's columns."""
    for name in subject.description.workloads:
        yield _found(name, partial(_workload, subject, name))
    yield _found(HTTP, lambda: _http(subject))
    yield _found(MODEL, lambda: _model(subject))


class _Skipped(Exception):  # noqa: N818 - reads as what happened
    """A check cannot be made here, and why."""


def _found(check: str, ask: Callable[[], None]) -> CheckFinding:
    try:
        ask()
    except (_Skipped, NotJudged) as skipped:
        return CheckFinding(check, "skipped", str(skipped))
    except CrumpleError as error:
        return CheckFinding(check, "wrong", str(error))
    return CheckFinding(check, "right")


def _workload(subject: CheckedServer, name: str) -> None:
    """Check every set of parameters, right and wrong, and the effects that the answers must have."""
    if name not in subject.workloads:
        raise WrongAnswer(f"contract/workloads has no {name}.toml", "mend the name, or write that file")
    workload = subject.workloads[name]
    if workload.database and subject.database is None:
        raise _Skipped(subject.no_database)
    with effects.queries_counted(subject.database, workload) as counted:
        for parameters in right_parameters(workload):
            answer_check.twice(subject.address, workload, parameters, keeps=subject.keeps)
            counted.add(2)
    bare = without_query(workload)
    if bare is not None:
        answer_check.in_two_segments(subject.address, bare, workload, {})
    for request in wrong_requests(workload):
        _refused(subject.address, request)
    effects.really_waits(subject.address, workload)
    effects.leaves_no_file(subject.files_left, workload)
    # Last: if the machine is too busy to judge this, all else has been checked.
    effects.spends_cpu(subject.address, subject.pids, workload, subject.pace)


def _refused(address: str, request: contract.RequestSpec) -> None:
    asked = answer_check.named(request)
    with connection(address) as peer:
        reply = peer.ask(request, asked)
    if reply.status != 400:
        raise WrongAnswer(f"{asked}: status {reply.status}", "answer 400 to what the workload does not allow")


def _http(subject: CheckedServer) -> None:
    """Check split requests, kept connections, unknown paths, many at once; put on a load; check again."""
    usable = _usable(subject)
    address, first = subject.address, usable[0]
    answer_check.answers(address, first, {}, keeps=subject.keeps)
    if subject.keeps:
        answer_check.kept(address, first, ON_ONE_CONNECTION)
    asked = f"{answer_check.named(first.request_with({}))}, {CONNECTIONS} at once"
    for reply in at_once(address, first.request_with({}), asked, CONNECTIONS):
        _raised_or(reply, asked, first)
    _load(subject, first)
    for workload in usable:
        try:
            answer_check.twice(address, workload, {}, keeps=subject.keeps)
        except WrongAnswer as wrong:
            raise WrongAnswer(
                f"after a load of {CONNECTIONS} connections, {wrong.message}", wrong.remedy
            ) from None


def _usable(subject: CheckedServer) -> list[Workload]:
    """The workloads that can be asked here."""
    known = [subject.workloads[name] for name in subject.description.workloads if name in subject.workloads]
    usable = [workload for workload in known if subject.database is not None or not workload.database]
    if not usable:
        raise _Skipped("no workload that can be asked here")
    return usable


def _raised_or(reply: Reply | WrongAnswer, asked: str, workload: Workload) -> None:
    if isinstance(reply, WrongAnswer):
        raise reply
    answer_check.check(asked, reply, workload, {})


def _load(subject: CheckedServer, workload: Workload) -> None:
    outcomes = _loaded(subject, workload, LOAD_S)
    for longer in LONGER:
        if outcomes.ok or outcomes.failed:
            break
        outcomes = _loaded(subject, workload, LOAD_S * longer)
    if outcomes.failed or not outcomes.ok:
        said = ", ".join(f"{number} {name}" for name, number in outcomes.as_dict().items() if number)
        message = f"{workload.name} on {CONNECTIONS} connections: {said or 'nothing was answered'}"
        raise WrongAnswer(message, "see what it prints, or its limits of connections")


def _loaded(subject: CheckedServer, workload: Workload, duration_s: float) -> contract.Outcomes:
    """How the requests of a load of that length ended."""
    spec = TrialSpec(
        label="verify",
        target=contract.Target(address=subject.address, host=subject.address),
        requests=(workload.request_with({}),),
        shape=contract.ClosedShapeSpec(connections=CONNECTIONS),
        connection="keep-alive",
        warm_up=None,
        stop=contract.DurationStopSpec(duration_s=duration_s),
        timeouts=contract.TimeoutSpec(connect_s=REQUEST_S, request_s=REQUEST_S),
        threads=1,
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
        seed=1,
    )
    return engine.run(subject.load, spec, lambda _: None).outcomes


def _model(subject: CheckedServer) -> None:
    """Check the declared I/O model against what the server does while requests wait."""
    workload = subject.workloads.get(SHOWS_MODEL)
    if workload is None or not subject.description.model_is_checked:
        raise _Skipped(f"only the workload {SHOWS_MODEL} shows how a server waits")
    said: str | None = None
    for wait_s in WAITS_S:
        request = workload.request_with({"delay_ms": round(wait_s * 1000)})
        seen = effects.observe(subject.address, subject.pids, request, wait_s)
        said = effects.contradiction(subject.description.io_model, seen)
        if said is None:
            return
    assert said is not None
    raise WrongAnswer(said, "declare another io_model, or mend the server")
