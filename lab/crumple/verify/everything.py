"""All that `crumple verify` asks one running server, as findings: a check, its outcome, and the reason.

Nothing is started here but the short load between the first pass and the second.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from crumple import contract, engine
from crumple.contract import TrialSpec
from crumple.database.database import Database
from crumple.engine import Engine
from crumple.errors import CrumpleError, WrongAnswer
from crumple.server.server import ServerDescription
from crumple.verify import cases, effects, io_model, verify
from crumple.verify.effects import NotJudged
from crumple.verify.http import Reply, at_once, connection
from crumple.verify.io_model import Pids
from crumple.verify.pace import Pace
from crumple.workload.workload import Workload

State = Literal["right", "wrong", "skipped"]

HTTP = "HTTP"
MODEL = "model"
CONNECTIONS = 64
ON_ONE_CONNECTION = 20
LOAD_S = 1.0
REQUEST_S = 20.0
# A contradiction must be seen each time: a machine busy with something else may look like one.
WAITS_S = (0.2, 0.4, 0.8)


@dataclass(frozen=True)
class Finding:
    """What became of one check: the name of a workload, HTTP or MODEL. `reason`: empty where it is right."""

    check: str
    state: State
    reason: str = ""


@dataclass(frozen=True)
class Subject:
    """A server that runs, and what is needed to ask it everything.

    `keeps`: whether it is to keep connections; `files_left`: how many files it made for answers are still
    there; `no_database`: why there is none, if so. `pace`: read before the server started.
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
    pace: Pace = field(default_factory=Pace)


def findings(subject: Subject) -> Iterator[Finding]:
    """Every check, in the order of the columns of a table."""
    for name in subject.description.workloads:
        yield _found(name, lambda name=name: _workload(subject, name))
    yield _found(HTTP, lambda: _http(subject))
    yield _found(MODEL, lambda: _model(subject))


class _Skipped(Exception):  # noqa: N818 - reads as what happened
    """What cannot be asked here, and why."""


def _found(check: str, ask: Callable[[], None]) -> Finding:
    try:
        ask()
    except (_Skipped, NotJudged) as skipped:
        return Finding(check, "skipped", str(skipped))
    except CrumpleError as error:
        return Finding(check, "wrong", str(error))
    return Finding(check, "right")


def _workload(subject: Subject, name: str) -> None:
    """Every set of parameters, right and wrong, and what the answers must have cost or left behind."""
    if name not in subject.workloads:
        raise WrongAnswer(f"contract/workloads has no {name}.toml", "mend the name, or write that file")
    workload = subject.workloads[name]
    if workload.database and subject.database is None:
        raise _Skipped(subject.no_database)
    with effects.queries_counted(subject.database, workload) as counted:
        for parameters in cases.right(workload):
            verify.twice(subject.address, workload, parameters, keeps=subject.keeps)
            counted.add(2)
    bare = cases.without_query(workload)
    if bare is not None:
        verify.in_two_segments(subject.address, bare, workload, {})
    for request in cases.wrong(workload):
        _refused(subject.address, request)
    effects.really_waits(subject.address, workload)
    effects.leaves_no_file(subject.files_left, workload)
    # Last: where the machine is too busy to judge, all else has been asked.
    effects.spends_cpu(subject.address, subject.pids, workload, subject.pace)


def _refused(address: str, request: contract.Request) -> None:
    asked = verify.named(request)
    with connection(address) as peer:
        reply = peer.ask(request, asked)
    if reply.status != 400:
        raise WrongAnswer(f"{asked}: status {reply.status}", "answer 400 to what the workload does not allow")


def _http(subject: Subject) -> None:
    """Torn requests, kept connections, unknown paths, many at once; then a load, and everything once more."""
    usable = _usable(subject)
    address, first = subject.address, usable[0]
    verify.answers(address, first, {}, keeps=subject.keeps)
    if subject.keeps:
        verify.kept(address, first, ON_ONE_CONNECTION)
    asked = f"{verify.named(first.request_with({}))}, {CONNECTIONS} at once"
    for reply in at_once(address, first.request_with({}), asked, CONNECTIONS):
        _raised_or(reply, asked, first)
    _load(subject, first)
    for workload in usable:
        try:
            verify.twice(address, workload, {}, keeps=subject.keeps)
        except WrongAnswer as wrong:
            raise WrongAnswer(
                f"after a load of {CONNECTIONS} connections, {wrong.message}", wrong.remedy
            ) from None


def _usable(subject: Subject) -> list[Workload]:
    """The workloads that can be asked here."""
    known = [subject.workloads[name] for name in subject.description.workloads if name in subject.workloads]
    usable = [workload for workload in known if subject.database is not None or not workload.database]
    if not usable:
        raise _Skipped("no workload that can be asked here")
    return usable


def _raised_or(reply: Reply | WrongAnswer, asked: str, workload: Workload) -> None:
    if isinstance(reply, WrongAnswer):
        raise reply
    verify.check(asked, reply, workload, {})


def _load(subject: Subject, workload: Workload) -> None:
    spec = TrialSpec(
        label="verify",
        target=contract.Target(address=subject.address, host=subject.address),
        requests=(workload.request_with({}),),
        shape=contract.ClosedShape(connections=CONNECTIONS),
        connection="keep-alive",
        warm_up=None,
        stop=contract.AfterDuration(duration_s=LOAD_S),
        timeouts=contract.Timeouts(connect_s=REQUEST_S, request_s=REQUEST_S),
        threads=1,
        cores=(),
        probe=contract.Probe(interval_ms=100, server_pid=None),
        seed=1,
    )
    outcomes = engine.run(subject.load, spec, lambda _: None).outcomes
    if outcomes.failed or not outcomes.ok:
        said = ", ".join(f"{number} {name}" for name, number in outcomes.as_dict().items() if number)
        message = f"{workload.name} on {CONNECTIONS} connections: {said or 'nothing was answered'}"
        raise WrongAnswer(message, "see what it prints, or its limits of connections")


def _model(subject: Subject) -> None:
    """The declared I/O model against what the server does while requests wait."""
    workload = subject.workloads.get("hello")
    if workload is None or "hello" not in subject.description.workloads:
        raise _Skipped("only the workload hello shows how a server waits")
    said: str | None = None
    for wait_s in WAITS_S:
        request = workload.request_with({"delay_ms": round(wait_s * 1000)})
        seen = io_model.observe(subject.address, subject.pids, request, wait_s)
        said = io_model.contradiction(subject.description.io_model, seen)
        if said is None:
            return
    assert said is not None
    raise WrongAnswer(said, "declare another io_model, or mend the server")
