"""The words and flags of `crumple versus` → what is compared, and how; or every mistake, one line each.

Nothing is built, started or sent here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial

from crumple import contract
from crumple.errors import Mistakes, UsageError
from crumple.find import find_plan
from crumple.gate import condition
from crumple.gate.condition import Condition
from crumple.load import flag_files, load_flags, load_options, load_plan, load_shape, typed_values
from crumple.load.load_flags import EngineFlags, RequestFlags, TargetFlags
from crumple.machine import load_machine
from crumple.machine.load_machine import LoadMachine
from crumple.subject import command_start
from crumple.subject import servers as subject_servers
from crumple.versus import versions, versus_conditions
from crumple.versus.lengths import Loads
from crumple.versus.version_sites import CommonRequest
from crumple.versus.versions import (
    LETTERS,
    CommandVersion,
    CommitVersion,
    Known,
    ServerVersion,
    UrlVersion,
    Version,
    VersionKind,
)
from crumple.versus.versus_flags import VersusFlags

# The usual budget of a comparison, and the least, in which a few blocks of fast servers fit.
BUDGET_S, BUDGET_S_MIN = 120.0, 30.0
# The usual number of connections of the closed load.
CONNECTIONS = 16
# The usual rate, as a share of what the slowest version takes.
SHARE = 0.5
# The largest rate, as a share of what the slowest takes: with more the slower version has no room for what
# chance brings at once.
SHARE_MAX = 0.9
# The largest difference of versions that are alike, as a share: the usual one, and the largest that can be
# named.
ALIKE, ALIKE_MAX = 0.05, 0.5


@dataclass(frozen=True)
class VersusPlan:
    """One comparison as it is meant."""

    versions: tuple[Version, ...]
    asked: CommonRequest
    loads: Loads
    fail_if: tuple[Condition, ...] = ()
    """What must not come of it."""

    @property
    def labels(self) -> dict[str, str]:
        """Letter → label."""
        return {each.letter: each.label for each in self.versions}

    @property
    def same(self) -> tuple[str, ...]:
        """The letters of versions that are the same thing as the first."""
        first, *others = self.versions
        return tuple(each.letter for each in others if versions.same(first.kind, each.kind))


def plan(
    words: Sequence[str],
    typed: Sequence[str],
    flags: VersusFlags,
    known: Known,
    machine: LoadMachine | None = None,
) -> VersusPlan:
    """Return what the words and flags mean. `typed`: the whole command line; `machine`: which loads.

    Raises UsageError.
    """
    named, commands = versions.split(words, typed)
    machine, mistakes = machine or load_machine.this(), Mistakes()
    found: list[VersionKind | None] = [
        mistakes.of(partial(versions.read, text, flags, known, machine)) for text in named
    ]
    found += _commands(commands, flags, mistakes)
    if commands:
        mistakes.of(lambda: command_start.check_reached(machine))
    typed_commands = [" ".join(each) for each in commands]
    mistakes.of(lambda: _check_number([*named, *(flags.at or typed_commands)]))
    kinds = [each for each in found if each is not None]
    if len(kinds) == len(found):
        _check_together(kinds, flags, mistakes)
    asked = mistakes.of(lambda: _common_request(flags, machine))
    loads = mistakes.of(lambda: _loads(flags, asked.options.seed if asked else 0, machine))
    fail_if = mistakes.of(lambda: condition.read(flags.fail_if or (), versus_conditions.KINDS)) or ()
    written = [("--html", flags.html), ("--junit", flags.junit), ("--save", flags.save)]
    flag_files.check(written, mistakes)
    mistakes.none()
    assert asked and loads
    lettered = tuple(Version(letter, kind) for letter, kind in zip(LETTERS, kinds, strict=False))
    return VersusPlan(lettered, asked, loads, fail_if)


def _commands(
    commands: Sequence[tuple[str, ...]], flags: VersusFlags, mistakes: Mistakes
) -> list[VersionKind | None]:
    """The servers that commands start; None: one that is wrong."""
    at = flags.at or ()
    if flags.build is not None and not at:
        mistakes.add("--build is about commits, and none is named", "name two: --at main --at HEAD")
    if not at:
        return [mistakes.of(partial(versions.command, each)) for each in commands]
    if len(commands) != 1:
        mistakes.add("--at is about one command", "write it behind --, once: -- ./server --port {port}")
        return []
    return [mistakes.of(partial(versions.command_at, commands[0], each)) for each in at]


def _check_number(named: Sequence[str]) -> None:
    if not named:
        raise UsageError(
            "nothing to compare", "name two versions: crumple versus http://localhost:8080/ :8081/"
        )
    if len(named) == 1:
        raise UsageError(f"{named[0]}: that is one version", "name another; the same again shows the noise")
    if len(named) > len(LETTERS):
        raise UsageError(f"{len(named)} versions are too many", f"compare at most {len(LETTERS)}")


def _check_together(kinds: Sequence[VersionKind], flags: VersusFlags, mistakes: Mistakes) -> None:
    """Check that flags apply to a version that there is, and that all versions can be asked the same."""
    urls = [each for each in kinds if isinstance(each, UrlVersion)]
    servers = [each for each in kinds if isinstance(each, ServerVersion | CommitVersion)]
    commands = [each for each in kinds if isinstance(each, CommandVersion)]
    if servers:
        mistakes.of(lambda: subject_servers.refuse_load_host(flags.from_, servers[0].label))
    for flag in (
        load_flags.typed_flags(flags, [each.name for each in fields(TargetFlags)]) if not urls else ()
    ):
        mistakes.add(f"{flag} is about a URL, and none is named", "leave it out")
    if flags.path is not None:
        for flag in load_flags.typed_flags(flags, ("workload", "parameter")):
            mistakes.add(f"{flag} and --path both say what to ask", "leave one of them out")
        if not (servers or commands):
            mistakes.add("--path is about servers that crumple starts", "write the path into each URL")
        return
    if servers and (urls or commands):
        other = (urls or commands)[0].label
        mistakes.add(
            f"{servers[0].label} is asked a workload, and {other} a path",
            "say with --path what both are asked",
        )
        return
    for flag in load_flags.typed_flags(flags, ("workload", "parameter")) if not servers else ():
        mistakes.add(f"{flag} is about servers with a server.toml, and none is named", "leave it out")
    for flag in (
        load_flags.typed_flags(flags, [each.name for each in fields(RequestFlags)]) if servers else ()
    ):
        mistakes.add(f"{flag} changes what a workload asks", "leave it out, or say --path")


def _common_request(flags: VersusFlags, machine: LoadMachine) -> CommonRequest:
    mistakes = Mistakes()
    engine_flags = EngineFlags(
        disable_keepalive=flags.disable_keepalive, timeout=flags.timeout, cores=flags.cores, seed=flags.seed
    )
    options = mistakes.of(lambda: load_options.options_of(engine_flags, machine))
    parameters = mistakes.of(lambda: find_plan.read_assignments("--parameter", flags.parameter or ()))
    if flags.path is not None and not flags.path.startswith("/"):
        mistakes.add(f"--path {flags.path}: a path begins with /", f"write --path /{flags.path}")

    def requests_at(path: str) -> tuple[contract.RequestSpec, ...]:
        return load_plan.requests_of(flags, path, per_request=flags.disable_keepalive)

    # With a request file the path is that of each request.
    mistakes.of(lambda: requests_at("/"))
    mistakes.none()
    assert options is not None and parameters is not None
    return CommonRequest(requests_at, flags.path, flags.workload, parameters, options)


def _loads(flags: VersusFlags, seed: int, machine: LoadMachine) -> Loads:
    mistakes = Mistakes()
    budget_s = mistakes.of(
        lambda: typed_values.read_budget_s(flags.budget, BUDGET_S, BUDGET_S_MIN, "a few blocks")
    )
    per_s, share = mistakes.of(lambda: _rate(flags.rate)) or (None, SHARE)
    tolerance = mistakes.of(lambda: _tolerance(flags.alike))
    warm_up = flags.warm_up
    warm_up_s = None
    if warm_up is not None:
        warm_up_s = mistakes.of(lambda: typed_values.read_duration_s("--warm-up", warm_up))
    arrivals = mistakes.of(lambda: load_shape.read_arrivals(flags.arrivals))
    files = machine.hosts * machine.open_files
    connections = mistakes.of(lambda: typed_values.bounded("-c", flags.connections, most=files))
    mistakes.none()
    assert budget_s and tolerance and arrivals
    return Loads(
        budget_s=budget_s,
        rate_per_s=per_s,
        share=share,
        connections=connections or CONNECTIONS,
        warm_up_s=warm_up_s,
        arrivals=arrivals,
        tolerance=tolerance,
        seed=seed,
    )


def _rate(text: str | None) -> tuple[float | None, float]:
    """The rate, or None and the share of what the slowest takes."""
    if text is None:
        return None, SHARE
    if not text.strip().endswith("%"):
        return typed_values.read_rate_per_s("--rate", text), SHARE
    share = _share("--rate", text)
    if share > SHARE_MAX:
        raise UsageError(
            f"--rate {text}: so near its limit times say more of the queue than of the server",
            f"write {SHARE_MAX:.0%} or less",
        )
    return None, share


def _tolerance(text: str | None) -> float:
    if text is None:
        return ALIKE
    share = _share("--alike", text)
    if share > ALIKE_MAX:
        raise UsageError(f"--alike {text}: that is not alike", f"write {ALIKE_MAX:.0%} or less")
    return share


def _share(flag: str, text: str) -> float:
    """A share above 0, as typed with a per cent sign. Raises UsageError."""
    written = text.strip()
    try:
        share = float(written.removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not written.endswith("%") or not share > 0:
        raise UsageError(f"{flag} {text}: that is not a share", f"write {flag} 5%, for instance")
    return share
