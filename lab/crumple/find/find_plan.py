"""The flags of `crumple find` → the question and where it is asked, or every mistake in them, one line each.

A plan resolves names, reads files and reads this machine's limits. Its site is a URL as it is, or a server of
the project, each start a fresh process. Nothing is sent or started before `conduct` opens the site.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from crumple import contract
from crumple.contract import TrialRecord
from crumple.errors import Mistakes, UsageError
from crumple.find.find_flags import FindFlags
from crumple.find.search import By, SearchQuestion
from crumple.load import (
    engine_spec,
    flag_files,
    habit_flags,
    load_flags,
    load_options,
    load_plan,
    load_shape,
    lost,
    objective,
    target,
    typed_values,
    watching,
)
from crumple.load.engine_spec import descriptors_beside
from crumple.load.load_flags import RequestFlags, TargetFlags
from crumple.load.load_options import Options
from crumple.load.load_shape import CONNECTIONS_OPEN_MAX
from crumple.load.objective import asked
from crumple.load.site import RunningServer, Site
from crumple.load.target import Resolved
from crumple.machine import at_rest, capacity, facts, load_machine
from crumple.machine.capacity import Placement
from crumple.machine.ceiling import Ceiling
from crumple.machine.load_machine import LoadMachine
from crumple.parsing import did_you_mean
from crumple.record import validity
from crumple.record.disturbance import disturbance
from crumple.record.validity import Validity
from crumple.subject import checked_start, server_toml, servers
from crumple.subject.build import Built
from crumple.subject.server_toml import ServerDescription, Setting, Variant
from crumple.subject.workload import Value, Workload

# The usual budget of a search and the least one, in seconds: less has no room for a bracket.
BUDGET_S, BUDGET_S_MIN = 90.0, 10.0
# The least budget, as a multiple of the limit of a response time: a level takes at most a fifth of the
# budget, and shows a queue beyond a limit only after several times the limit.
LIMITS_IN_BUDGET = 25.0
# The usual warm-up of a start, in seconds.
WARM_UP_S = 2.0
# The most connections that a search by connections goes to unless the user names a number.
CONNECTIONS_CLOSED_MAX = 10_000


@dataclass(frozen=True)
class UrlPlan:
    """A search on a URL, whichever process answers there."""

    question: SearchQuestion
    resolved: Resolved
    requests: tuple[contract.RequestSpec, ...]
    options: Options


@dataclass(frozen=True)
class ServerPlan:
    """A search on a server of the project, each start of it a fresh process. `label`: includes its settings.

    `workload` None: a path is asked for instead, and its answer is not known beforehand.
    """

    question: SearchQuestion
    description: ServerDescription
    label: str
    workload: Workload | None
    parameters: Mapping[str, Value]
    settings: Mapping[str, Setting]
    requests: tuple[contract.RequestSpec, ...]
    options: Options


def is_server(what: str) -> bool:
    """Whether `what` is a server's name or a variant's label, and not a URL."""
    return not any(mark in server_toml.server_of(what) for mark in "/:.")


def of_url(url: str, flags: FindFlags, machine: LoadMachine | None = None) -> UrlPlan:
    """Return what the flags mean for a URL that is loaded from a machine, by default this one.

    Raises UsageError.
    """
    machine, mistakes = machine or load_machine.this(), Mistakes()
    resolved = mistakes.of(lambda: target.resolve(url, flags, machine))
    path = resolved.path if resolved else "/"
    requests = mistakes.of(lambda: load_plan.requests_of(flags, path, per_request=flags.disable_keepalive))
    for flag in load_flags.typed_flags(flags, ("workload", "parameter", "path", "setting")):
        mistakes.add(f"{flag} is about a server of the project, and {url} is a URL", "leave it out")
    options, question = _shared(flags, resolved.target if resolved else None, machine, mistakes)
    mistakes.none()
    assert resolved and requests and options and question
    options, _ = watching.watch(options, resolved, by_itself=not flags.no_watch)
    return UrlPlan(question, resolved, requests, options)


def of_server(
    description: ServerDescription, workloads: Mapping[str, Workload], flags: FindFlags, label: str = ""
) -> ServerPlan:
    """Return what the flags mean for a server of the project, or its variant `label`. Raises UsageError."""
    mistakes = Mistakes()
    known = server_toml.defaults({description.name: description})
    asked = mistakes.of(lambda: server_toml.parse(label or description.name, known))
    of_url_only = (*(each.name for each in fields(TargetFlags)), "watch", "no_watch")
    for flag in load_flags.typed_flags(flags, of_url_only):
        mistakes.add(f"{flag} is about a URL, and {description.name} is a server", "leave it out")
    mistakes.of(lambda: servers.refuse_load_host(flags.from_, description.name))
    parameters = mistakes.of(lambda: read_assignments("--parameter", flags.parameter or ())) or {}
    given = mistakes.of(lambda: read_assignments("--setting", flags.setting or ())) or {}
    for name in asked.settings.keys() & given.keys() if asked else ():
        mistakes.add(f"--setting {name} and {label} both set {name}", "leave one of them out")
    over = mistakes.of(lambda: _as_described(description, given, known[description.name])) or {}
    meant = Variant(description.name, {**(asked.settings if asked else {}), **over})
    settings = mistakes.of(lambda: servers.settings_with(description, meant.settings))
    workload: Workload | None = None
    if flags.path is None:
        workload = mistakes.of(lambda: _workload(description, workloads, flags.workload))
        for flag in load_flags.typed_flags(flags, [each.name for each in fields(RequestFlags)]):
            mistakes.add(f"{flag} changes what a workload asks", "leave it out, or say --path")
    requests = mistakes.of(lambda: _requests(workload, parameters, flags))
    options, question = _shared(flags, None, load_machine.this(), mistakes)
    mistakes.none()
    assert requests is not None and options and question and settings is not None
    return ServerPlan(question, description, str(meant), workload, parameters, settings, requests, options)


def _shared(
    flags: FindFlags, to: contract.Target | None, machine: LoadMachine, mistakes: Mistakes
) -> tuple[Options | None, SearchQuestion | None]:
    options = mistakes.of(lambda: load_options.options_of(flags, machine))
    question = mistakes.of(lambda: _question(flags, to, options or Options(machine=machine)))
    mistakes.of(lambda: habit_flags.check(flags))
    written = [("--html", flags.html), ("--csv", flags.csv), ("--junit", flags.junit), ("--save", flags.save)]
    flag_files.check(written, mistakes, [("of --request-file", flags.request_file)])
    return options, question


def _question(flags: FindFlags, to: contract.Target | None, options: Options) -> SearchQuestion:
    mistakes = Mistakes()
    meant = mistakes.of(lambda: objective.parse(flags.objective))
    by = mistakes.of(lambda: _by(flags.by))
    budget_s = mistakes.of(
        lambda: typed_values.read_budget_s(flags.budget, BUDGET_S, BUDGET_S_MIN, "a bracket")
    )
    warm_up_s = WARM_UP_S
    if flags.warm_up is not None:
        typed = flags.warm_up
        warm_up_s = mistakes.of(lambda: typed_values.read_duration_s("--warm-up", typed)) or WARM_UP_S
    arrivals = mistakes.of(lambda: load_shape.read_arrivals(flags.arrivals))
    waits = mistakes.of(lambda: load_shape.pause(flags.pause))
    pause_ms, pause = waits or (0.0, "fixed")
    mistakes.of(lambda: typed_values.bounded("-c", flags.connections))
    if by == "rate" and flags.pause is not None:
        mistakes.add(
            "--pause is for users who wait for an answer, and a rate waits for none", "add --by connections"
        )
    if by == "connections" and flags.arrivals is not None:
        mistakes.add("--arrivals is about a rate, and connections have none", "leave it out")
    if meant and budget_s:
        _check_objective(meant, budget_s, mistakes)
    most = mistakes.of(lambda: _connections_most(by or "rate", flags.connections, options, to))
    mistakes.none()
    assert meant and by and budget_s and arrivals and most
    return SearchQuestion(
        objective=meant,
        by=by,
        budget_s=budget_s,
        warm_up_s=warm_up_s,
        connections_most=most,
        arrivals=arrivals,
        pause_ms=pause_ms,
        pause=pause,
        seed=options.seed,
    )


# Record → the engine's ceiling, if the validity of the record depends on it.
CeilingOf = Callable[[TrialRecord], Ceiling | None]
# How many of the usable cores there are for each thread of the engine, if the server runs here: the others
# are left to the server.
CORES_PER_THREAD = 4


def site_of_url(plan: UrlPlan, ceiling: CeilingOf) -> Site:
    """Return the site of a server that runs already."""
    cores, limits = engine_spec.cores_of(plan.options.server_pid), asked(plan.question.objective.terms)
    options, pid = load_options.reading(plan.options, plan.resolved), plan.options.server_pid

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        rest = at_rest.look(pid) if pid is not None else None
        target = plan.resolved.target
        yield RunningServer(target, plan.requests, options, lost.process(pid), rest)

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(
            record,
            server_cores=cores,
            ceiling=ceiling(record),
            asked=limits,
            disturbance=disturbance(record),
        )

    threads_most = plan.options.threads or plan.options.machine.threads_most
    return Site(plan.resolved.url, opened, False, threads_most, cores, assess)


def site_of_server(plan: ServerPlan, built: Built, ceiling: CeilingOf) -> Site:
    """Return the site of a server of the project, on cores of its own where the machine has two or more.

    `opened` checks the answers of each start. It raises ServerFailed, WrongAnswer, DatabaseMissing and
    DatabaseFailed.
    """
    # Imported here, as a URL needs no database, and what talks to one is not always installed.

    threads = plan.options.threads or plan.options.machine.threads_among(CORES_PER_THREAD)
    placement: Placement = "separate" if len(facts.usable_cores()) > 1 else "shared"
    cores = capacity.cores_for(placement, threads)
    options = replace(plan.options, cores=plan.options.cores or cores.engine)

    limits = asked(plan.question.objective.terms)

    @contextmanager
    def opened() -> Iterator[RunningServer]:
        with checked_start.start(
            built,
            cores=cores.server,
            settings=plan.settings,
            workload=plan.workload,
            parameters=plan.parameters,
        ) as running:
            target = contract.Target(address=running.address, host=running.address)
            watched = replace(options, server_pid=running.pid, stages=True, tasks=True, dependencies=True)
            yield RunningServer(target, plan.requests, watched, lost.process(running.pid, running.guarded))

    def assess(record: TrialRecord) -> Validity:
        return validity.assess(
            record,
            placement=placement,
            server_cores=cores.server,
            ceiling=ceiling(record),
            asked=limits,
            disturbance=disturbance(record),
        )

    return Site(plan.label, opened, True, threads, cores.server, assess)


def _check_objective(meant: objective.Objective, budget_s: float, mistakes: Mistakes) -> None:
    """Refuse terms that a load can meet but whose breaking point no search can find."""
    for term in meant.terms:
        if term.quantity == "throughput":
            mistakes.add(
                f"--objective {term}: a throughput grows with the load, until it breaks", "leave it out"
            )
        elif term.is_time and (needed_s := LIMITS_IN_BUDGET * term.limit / 1e9) > budget_s:
            possible = needed_s <= typed_values.DURATION_MAX_S
            remedy = f"give --budget {math.ceil(needed_s)}s" if possible else "lower its limit"
            mistakes.add(f"--objective {term}: no level of this budget sees enough of it", remedy)


def _by(text: str) -> By:
    if text == "rate":
        return "rate"
    if text == "connections":
        return "connections"
    raise UsageError(f"--by {text}: what is raised is rate or connections", "write --by rate")


def _connections_most(by: By, asked: int | None, options: Options, to: contract.Target | None) -> int:
    """The most connections the search may open. Raises UsageError where `asked` are not possible."""
    machine, threads = options.machine, options.threads or options.machine.threads_most
    files = machine.open_files - descriptors_beside(threads)
    if files < 1:
        raise UsageError(
            f"--threads {threads} need all the {machine.open_files:,} files that may be open {machine.at}",
            "raise the limit (ulimit -Hn), or write fewer",
        )
    if to and to.address.startswith("unix:"):
        ports = files
    else:
        of_one = machine.ports or CONNECTIONS_CLOSED_MAX
        ports = of_one * max(1, len(to.sources) if to else 1)
    fit = machine.hosts * min(files, ports)
    if asked is not None and asked > fit:
        what = "files that may be open" if files <= ports else "ports an address has"
        raise UsageError(
            f"-c {asked}: there are no more than {fit:,} {what} {machine.at}", f"write -c {fit} or less"
        )
    return asked or min(fit, CONNECTIONS_OPEN_MAX if by == "rate" else CONNECTIONS_CLOSED_MAX)


def _workload(
    description: ServerDescription, workloads: Mapping[str, Workload], name: str | None
) -> Workload:
    chosen = name or description.workloads[0]
    if chosen not in description.workloads or chosen not in workloads:
        remedy = did_you_mean(chosen, description.workloads)
        raise UsageError(f"server {description.name} has no workload {chosen}", remedy)
    return workloads[chosen]


def _requests(
    workload: Workload | None, parameters: Mapping[str, Value], flags: FindFlags
) -> tuple[contract.RequestSpec, ...]:
    if workload is not None:
        return (workload.request_with(parameters),)
    if flags.path is None:
        return ()
    if not flags.path.startswith("/"):
        raise UsageError(f"--path {flags.path}: a path begins with /", f"write --path /{flags.path}")
    for flag in load_flags.typed_flags(flags, ("workload", "parameter")):
        raise UsageError(f"{flag} and --path both say what to ask", "leave one of them out")
    return load_plan.requests_of(flags, flags.path, per_request=flags.disable_keepalive)


def read_assignments(flag: str, written: Sequence[str]) -> dict[str, str]:
    """Return name → value of each NAME=VALUE. Raises UsageError."""
    found = {}
    for text in written:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"{flag} {text}: that sets nothing", f"write {flag} NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def _as_described(
    description: ServerDescription, given: Mapping[str, str], defaults: Mapping[str, Setting]
) -> dict[str, Setting]:
    """Convert each setting to the type of its default. Raises UsageError."""
    return {name: server_toml.convert(description.name, name, text, defaults) for name, text in given.items()}
