"""The flags of `crumple load` → a load as it is meant, or every mistake in them, one line each.

`typed_request` reads the flags of the request, `target` where the load goes, `load_shape` when it is sent.
This reads files, resolves names and reads the machine's limits, but sends nothing. For --debug, `specs`
makes a spec for each request of a load: it is sent once on a connection of its own, and both sides are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.load import (
    engine_spec,
    flag_files,
    habit_flags,
    load_options,
    load_shape,
    request,
    request_flags,
    target,
    typed_values,
    watching,
)
from crumple.load.load_flags import LoadFlags, OutputFlags, RequestFlags
from crumple.load.load_options import READINGS, Options
from crumple.load.target import Resolved
from crumple.machine import capacity, load_machine
from crumple.machine.load_machine import LoadMachine

if TYPE_CHECKING:
    from crumple.load.objective import Term


@dataclass(frozen=True)
class LoadPlan:
    """One load as the flags mean it."""

    resolved: Resolved
    machine: LoadMachine
    """Where the load comes from."""
    spec: contract.TrialSpec
    fail_if: tuple["Term", ...]
    """Conditions that its record must not meet."""
    unwatched: str = ""
    """Why the server's side is not known, or only partly; empty: it is known, or was not to be watched."""
    counts: bool = False
    """Whether the number of requests was given, so that no others may be sent beside the load."""


def plan(url: str, flags: LoadFlags, machine: LoadMachine | None = None) -> LoadPlan:
    """Return the load from a machine, by default this one, that the flags mean.

    Raises UsageError with every mistake, one line each.
    """
    machine, mistakes = machine or load_machine.this(), Mistakes()
    resolved = mistakes.of(lambda: target.resolve(url, flags, machine))
    path = resolved.path if resolved else "/"
    requests = mistakes.of(lambda: requests_of(flags, path, per_request=flags.disable_keepalive))
    meant = mistakes.of(lambda: load_shape.shape_of(flags))
    options = mistakes.of(lambda: load_options.options_of(flags, machine))
    warm_up_s = mistakes.of(lambda: _warm_up_s(flags.warm_up, meant.shape if meant else None))
    fail_if = mistakes.of(lambda: _terms(flags.fail_if or ())) or ()
    mistakes.of(lambda: habit_flags.check(flags))
    _check_outputs(flags, mistakes)
    if meant and resolved and options:
        _check_fits(meant.shape, resolved.target, options, mistakes)
    mistakes.none()
    assert resolved and requests and meant and options
    by_itself = not flags.no_watch and watching.may_be_judged(meant.stop)
    options, unwatched = watching.watch(options, resolved, by_itself=by_itself)
    return LoadPlan(
        resolved=resolved,
        machine=machine,
        spec=engine_spec.spec(
            label=resolved.url,
            target=resolved.target,
            requests=requests,
            shape=meant.shape,
            stop=meant.stop,
            options=load_options.reading(options, resolved),
            warm_up_s=warm_up_s,
        ),
        fail_if=fail_if,
        unwatched=unwatched,
        counts=flags.requests is not None and flags.watch is None,
    )


def requests_of(flags: RequestFlags, path: str, *, per_request: bool) -> tuple[contract.RequestSpec, ...]:
    """Return what is asked. Raises UsageError with every mistake.

    `path`: the path of the URL; `per_request`: each request has a connection of its own.
    """
    mistakes = Mistakes()
    typed = request_flags.read(flags, path, mistakes)
    made = mistakes.of(lambda: request.make_all(typed, per_request=per_request, literal=flags.no_vary))
    mistakes.none()
    assert made
    return made


def requests_csv(flags: OutputFlags) -> Path | None:
    """The file for the table of requests, beside that for the series; None if --csv names no regular file."""
    file = flags.csv
    if file is None or not file.parent.is_dir() or (file.exists() and not file.is_file()):
        return None
    return file.with_suffix(".requests.csv")


def _terms(conditions: Sequence[str]) -> tuple["Term", ...]:
    if not conditions:
        return ()
    # Imported here because a load without conditions does not need it.
    from crumple.load import objective

    return objective.fail_if(conditions)


def _warm_up_s(text: str | None, shape: contract.ShapeSpec | None) -> float | None:
    if text is None:
        return None
    if isinstance(shape, contract.RampShapeSpec) and shape.from_connections == 0:
        raise UsageError("--ramp begins with no users, who warm nothing up", "begin it at 1")
    if isinstance(shape, contract.OpenShapeSpec) and shape.rates[0].from_per_s == 0:
        raise UsageError("--ramp begins at a rate of 0, which warms nothing up", "begin it at 1/s")
    return typed_values.read_duration_s("--warm-up", text)


def _check_outputs(flags: LoadFlags, mistakes: Mistakes) -> None:
    beside = requests_csv(flags)
    written = [("--csv", flags.csv), ("--csv", beside), ("--hdr", flags.hdr), ("--html", flags.html)]
    written.append(("--junit", flags.junit))
    for flag in {flag: None for flag, file in written if file is not None and flags.debug}:
        mistakes.add(f"{flag} writes what a load came to, and --debug puts none on", "leave out one of them")
    read = [("of --request-file", flags.request_file)]
    flag_files.check([*written, ("--save", flags.save)], mistakes, read)


def _check_fits(shape: contract.ShapeSpec, to: contract.Target, options: Options, mistakes: Mistakes) -> None:
    """Check that all connections can be opened; an open shape may not reach its limit."""
    machine, connections = options.machine, options.machine.share(capacity.connections_of(shape))
    if options.threads is not None and options.threads > connections:
        mistakes.add(
            f"--threads {options.threads} are more than the {connections} connections"
            f"{' of each load host' if machine.hosts > 1 else ''}",
            f"write --threads {connections} or less",
        )
    if isinstance(shape, contract.OpenShapeSpec):
        return
    threads = options.threads or engine_spec.threads_for(shape, machine.threads_most, machine.hosts)
    if connections + engine_spec.descriptors_beside(threads) > machine.open_files:
        mistakes.add(
            f"{connections:,} connections need more than the {machine.open_files:,} files that may be open "
            f"{machine.at}",
            "raise the limit (ulimit -Hn), or use fewer connections",
        )
    ports = machine.ports
    if ports is None or to.address.startswith("unix:"):
        return
    if connections > ports * max(1, len(to.sources)):
        needed = -(-connections // ports)
        is_near = not machine.where and to.address.startswith(("127.", "[::1]"))
        which = f"on loopback --source-address 127.0.0.2-127.0.0.{needed + 1}"
        its = f"of {machine.where or 'this machine'} that are in its network: --source-address FIRST-LAST"
        mistakes.add(
            f"{connections:,} connections need more than the {ports:,} ports an address has {machine.at}",
            f"give {needed} or more addresses to connect from, {which if is_near else its}",
        )


def specs(spec: contract.TrialSpec) -> list[contract.TrialSpec]:
    """Return a spec for each request of `spec`, to send it once: same target, same timeouts, same seed."""
    limits = spec.timeouts
    once = {
        "shape": contract.ClosedShapeSpec(connections=1),
        "warm_up": None,
        "stop": contract.RequestsStopSpec(requests=1, within_s=limits.connect_s + limits.request_s),
        "threads": 1,
        "cores": spec.cores[:1],
        "probe": spec.probe.model_copy(update={"server_pid": None, **dict.fromkeys(READINGS, False)}),
        "examples": "all",
    }
    return [spec.model_copy(update={**once, "requests": (request,)}) for request in spec.requests]
