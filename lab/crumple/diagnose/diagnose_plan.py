"""The flags of `crumple diagnose` → the server to look at and what to ask it, or every mistake in them.

Nothing is sent or started before `running` is entered. A server is one that runs already, named by its URL;
one of the project; or one that a command starts.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial

from crumple import contract
from crumple.diagnose import change
from crumple.diagnose.change import Change
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.errors import CrumpleError, Mistakes, UsageError
from crumple.experiment.subject import Subject
from crumple.limit.what_if import Changes
from crumple.load import (
    engine_spec,
    flag_files,
    load_flags,
    load_options,
    load_plan,
    objective,
    request,
    request_flags,
    target,
    typed_values,
    watching,
)
from crumple.load.load_flags import RequestFlags, TargetFlags
from crumple.load.load_options import Options
from crumple.load.objective import Objective
from crumple.load.typed_request import TypedRequest
from crumple.machine import facts, load_machine
from crumple.machine.load_machine import LoadMachine
from crumple.subject import command_start, server_toml, servers
from crumple.subject.server_toml import ServerDescription, Setting
from crumple.subject.workload import Value, Workload

# What the project's servers are asked: the workload, and its parameters.
SLOW: tuple[str, dict[str, Value]] = ("hello", {"delay_ms": 100})
HEAVY: tuple[str, dict[str, Value]] = ("mix", {"spin_us": 20_000})
LIGHT = "hello"
_METHOD_AND_PATH = re.compile(r"(?:(?P<method>[A-Za-z]+)\s+)?(?P<path>/.*)")


@dataclass(frozen=True)
class DiagnosisPlan:
    """One diagnosis as it is meant. `running` gives the server.

    `unwatched`: why its process is not known, or not all of it.
    `label`: what is looked at. `acts`: experiments may act on the server's own processes; `intervenes`: and
    on what is behind it. `changes`: with which parts of the server changed its throughput is computed.
    on what is behind it. `asks`: runtimes and dependencies are asked what they do.
    on what is behind it. `change`: what is tried after it; `changed` gives a second server, with that; None:
    nothing is.
    """

    label: str
    objective: Objective | None
    seed: int
    running: Callable[[], AbstractContextManager[Subject]]
    unwatched: str = ""
    acts: bool = True
    intervenes: bool = False
    changes: Changes = field(default_factory=dict, hash=False)
    asks: bool = False
    change: Change | None = None
    changed: Callable[[], AbstractContextManager[Subject]] | None = None


@dataclass(frozen=True)
class _DiagnosisRequests:
    """What is asked besides the work itself."""

    work: tuple[contract.RequestSpec, ...]
    light: contract.RequestSpec
    slow: contract.RequestSpec | None
    heavy: contract.RequestSpec | None


def split(words: Sequence[str], typed: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the URL or server, and the command after "--", as they were typed. Raises UsageError."""
    command: tuple[str, ...] = ()
    if "--" in typed:
        command = tuple(typed[list(typed).index("--") + 1 :])
        words = words[: len(words) - len(command)]
        if not command:
            raise UsageError("-- without a command", "write crumple diagnose -- ./server --port {port}")
    if len(words) > 1:
        raise UsageError(f"{' '.join(words)}: that is more than one server", "name one; a command follows --")
    if not words and not command:
        raise UsageError(
            "nothing to diagnose",
            "name a URL, a server, or a command: crumple diagnose http://localhost:8080/",
        )
    return (words[0] if words else None), command


def of_url(url: str, flags: DiagnoseFlags, machine: LoadMachine) -> DiagnosisPlan:
    """Return the diagnosis of a server that runs already, by loads from a machine. Raises UsageError."""
    mistakes = Mistakes()
    resolved = mistakes.of(lambda: target.resolve(url, flags, machine))
    asked = mistakes.of(lambda: _asked(flags, resolved.path if resolved else "/"))
    options = mistakes.of(lambda: _options(flags, machine))
    meant = mistakes.of(lambda: _objective(flags))
    if flags.setting:
        mistakes.add(f"--setting is about a server of the project, and {url} is a URL", "leave it out")
    if flags.try_:
        mistakes.add(
            f"--try starts the server a second time, and what listens at {url} runs already",
            f"write the command that starts it: crumple diagnose {url} --try NAME=VALUE -- COMMAND",
        )
    if flags.proxy is not None:
        mistakes.add("-x: a diagnosis looks at the server, and would see the proxy", "leave it out")
    _check_outputs(flags, mistakes)
    mistakes.none()
    assert resolved and asked and options
    if flags.watch is not None:
        options = replace(options, server_pid=load_options.watched_pid(flags.watch))
    watched, unwatched = watching.watch(options, resolved)

    @contextmanager
    def running() -> Iterator[Subject]:
        engine_spec.check_listening(resolved.target, options.machine)
        yield _subject(resolved.target, asked, watched)

    return DiagnosisPlan(resolved.url, meant, options.seed, running, unwatched)


def of_server(
    label: str, description: ServerDescription, workloads: Mapping[str, Workload], flags: DiagnoseFlags
) -> DiagnosisPlan:
    """Return the diagnosis of a server of the project, or its variant `label`.

    Raises UsageError and CrumpleError.
    """
    known = server_toml.defaults({description.name: description})
    variant = server_toml.parse(label, known)
    given = dict(variant.settings)
    for text in flags.setting or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--setting {text}: that sets nothing", "write --setting NAME=VALUE")
        given[name] = server_toml.convert(description.name, name, value, known[description.name])
    settings = servers.settings_with(description, given)
    tries = change.read(flags.try_)
    typed = {
        name: server_toml.convert(description.name, name, value, known[description.name])
        for name, value in tries.items()
    }
    changed = servers.settings_with(description, {**given, **typed})
    meant_change = change.of_settings(tries, settings)
    mistakes = Mistakes()
    mistakes.of(lambda: servers.refuse_load_host(flags.from_, label))
    for flag in load_flags.typed_flags(flags, (*_names(TargetFlags), "watch")):
        mistakes.add(f"{flag} is about a URL, and {label} is a server", "leave it out")
    paths = load_flags.typed_flags(flags, ("light", "slow", "heavy"))
    for flag in load_flags.typed_flags(
        flags, [name for name in _names(RequestFlags) if name != "header" or not paths]
    ):
        mistakes.add(f"{flag} changes what is asked, and {label} is asked its workloads", "diagnose a URL")
    options = mistakes.of(lambda: _options(flags, load_machine.this()))
    meant = mistakes.of(lambda: _objective(flags))
    asked = mistakes.of(lambda: _of_workloads(description, workloads, flags))
    _check_outputs(flags, mistakes)
    mistakes.none()
    assert options and asked
    ready = servers.readiness(description)
    if isinstance(ready, servers.Missing):
        raise CrumpleError(f"{description.name} cannot run here: {ready.reason}", ready.remedy)
    built = servers.build(description)

    @contextmanager
    def running(with_settings: Mapping[str, Setting]) -> Iterator[Subject]:
        with servers.start(built, cores=(), settings=with_settings) as server:
            target = contract.Target(address=server.address, host=server.address)
            seen = _subject(target, asked, replace(options, server_pid=server.pid))
            yield replace(seen, guarded=server.guarded)

    plan = DiagnosisPlan(label, meant, options.seed, partial(running, settings))
    return _with(plan, meant_change, partial(running, changed))


def of_command(
    command: tuple[str, ...], url: str | None, flags: DiagnoseFlags, machine: LoadMachine
) -> DiagnosisPlan:
    """Return the diagnosis of the server that a command starts, by loads from a machine. Raises UsageError.

    `url`: where it answers; None: on the port that it is given, at /.
    """
    command_start.check(change.fill(command, {}))
    mistakes = Mistakes()
    mistakes.of(lambda: command_start.check_reached(machine))
    resolved = mistakes.of(lambda: target.resolve(url, flags, machine)) if url else None
    asked = mistakes.of(lambda: _asked(flags, resolved.path if resolved else "/"))
    options = mistakes.of(lambda: _options(flags, machine))
    meant = mistakes.of(lambda: _objective(flags))
    for flag in load_flags.typed_flags(flags, ("watch",)):
        mistakes.add(f"{flag} names a process that runs, and the command starts one", "leave one of them out")
    for flag in load_flags.typed_flags(flags, ("setting",)):
        mistakes.add(f"{flag} is about a server of the project", "write what you mean into the command")
    tried = mistakes.of(lambda: change.of_command(command, change.read(flags.try_), os.environ))
    for flag in load_flags.typed_flags(flags, _names(TargetFlags)) if url is None else ():
        mistakes.add(f"{flag} is about a URL, and none is given", "write the URL before --")
    _check_outputs(flags, mistakes)
    mistakes.none()
    assert asked and options

    @contextmanager
    def running(port: int | None, tried: Change | None) -> Iterator[Subject]:
        values = tried.values if tried is not None else {}
        given = change.environment(command, tried) if tried is not None else {}
        with command_start.start(
            change.fill(command, values), port, environment=given, host=machine.server_host
        ) as server:
            # The second server has a port of its own; all else of a URL is about both.
            there = contract.Target(address=server.address, host=server.address)
            at = resolved.target.model_copy(update={"address": there.address}) if resolved else there
            seen = _subject(at, asked, replace(options, server_pid=server.pid))
            yield replace(seen, guarded=server.guarded)

    port = int(resolved.target.address.rpartition(":")[2]) if resolved else None
    plan = DiagnosisPlan(
        " ".join(change.fill(command, {})), meant, options.seed, partial(running, port, None)
    )
    return _with(plan, tried, partial(running, None, tried))


def _with(
    plan: DiagnosisPlan, tried: Change | None, changed: Callable[[], AbstractContextManager[Subject]]
) -> DiagnosisPlan:
    """Return the plan with a change to try; as it is, if there is none."""
    return plan if tried is None else replace(plan, change=tried, changed=changed)


def _asked(flags: DiagnoseFlags, path: str) -> _DiagnosisRequests:
    """Return what a server is asked at its paths; the work is at `path`. Raises UsageError."""
    mistakes = Mistakes()
    work = mistakes.of(lambda: load_plan.requests_of(flags, path, per_request=False))
    light = mistakes.of(lambda: _at("--light", flags.light, flags))
    slow = mistakes.of(lambda: _at("--slow", flags.slow, flags))
    heavy = mistakes.of(lambda: _at("--heavy", flags.heavy, flags))
    mistakes.none()
    assert work
    return _DiagnosisRequests(work, light or work[0], slow, heavy)


def of_work_alone(flags: DiagnoseFlags) -> str:
    """Return a line if method or body of the work could be taken for those of other paths, too; else ""."""
    of_work = load_flags.typed_flags(flags, ("body", "body_file", "body_lines", "form", "request_file"))
    if not of_work and (flags.method or "GET").upper() == "GET":
        return ""
    given = {"--light": flags.light, "--slow": flags.slow, "--heavy": flags.heavy}
    by_get = [name for name, text in given.items() if text is not None and text.strip().startswith("/")]
    if not by_get:
        return ""
    verb = "are" if len(by_get) > 1 else "is"
    other = f"{by_get[0]} '{(flags.method or 'POST').upper()} {(given[by_get[0]] or '').strip()}'"
    return (
        f"{' and '.join(by_get)} {verb} asked by GET: method and body are the work's alone; "
        f"to ask by another method, without a body, write {other}"
    )


def _at(name: str, text: str | None, flags: DiagnoseFlags) -> contract.RequestSpec | None:
    """Return the request for "PATH" or "METHOD PATH", with the headers of all. Raises UsageError."""
    if text is None:
        return None
    read = _METHOD_AND_PATH.fullmatch(text.strip())
    if read is None:
        raise UsageError(f"{name} {text}: a path begins with /", f"write {name} /{text}")
    headers = request_flags.headers_of(flags)
    return request.make(TypedRequest(path=read["path"], method=read["method"], headers=headers))


def _of_workloads(
    description: ServerDescription, workloads: Mapping[str, Workload], flags: DiagnoseFlags
) -> _DiagnosisRequests:
    """Return what a server of the project is asked. Raises UsageError."""
    given = {"--slow": flags.slow, "--heavy": flags.heavy, "--light": flags.light}
    slow, heavy, light = (_at(name, path, flags) for name, path in given.items())

    def workload(of: tuple[str, dict[str, Value]]) -> contract.RequestSpec | None:
        name, parameters = of
        return workloads[name].request_with(parameters) if name in description.workloads else None

    lightest = light or workload((LIGHT, {})) or workloads[description.workloads[0]].request_with({})
    return _DiagnosisRequests((lightest,), lightest, slow or workload(SLOW), heavy or workload(HEAVY))


def _options(flags: DiagnoseFlags, machine: LoadMachine) -> Options:
    """Return what every load needs. Raises UsageError."""
    typed_values.bounded("--seed", flags.seed, least=0)
    options = Options(machine=machine)
    return options if flags.seed is None else replace(options, seed=flags.seed)


def _names(of: type[TargetFlags] | type[RequestFlags]) -> list[str]:
    return [each.name for each in fields(of)]


def _check_outputs(flags: DiagnoseFlags, mistakes: Mistakes) -> None:
    written = [("--html", flags.html), ("--junit", flags.junit), ("--save", flags.save)]
    flag_files.check(written, mistakes)


def _objective(flags: DiagnoseFlags) -> Objective | None:
    """Return what is searched; None: nothing. Raises UsageError."""
    if flags.no_search and load_flags.typed_flags(flags, ("objective",)):
        raise UsageError("--objective says what to search, and --no-search not to", "leave one of them out")
    return None if flags.no_search else objective.parse(flags.objective)


def _subject(target: contract.Target, asked: _DiagnosisRequests, options: Options) -> Subject:
    cores = engine_spec.cores_of(options.server_pid) or tuple(facts.usable_cores())
    return Subject(
        target=target,
        work=asked.work,
        light=asked.light,
        slow=asked.slow,
        heavy=asked.heavy,
        options=options,
        cores=len(cores),
    )
