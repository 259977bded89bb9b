"""crumple verify: checks every answer of every server against the contract, and prints a table."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.text import Text

from crumple import engine
from crumple.commands import output
from crumple.commands.project_files import ChosenServer, Project, chosen
from crumple.drawing import numerals
from crumple.drawing.terminal import shown_text
from crumple.engine import Engine
from crumple.errors import EXIT_INTERRUPTED, CrumpleError, DatabaseFailed, DatabaseMissing, Interrupted
from crumple.interrupt import interruptible
from crumple.machine import capacity
from crumple.results.printed_documents import VerifiedRow
from crumple.subject import build, database, server_check, servers
from crumple.subject.database import Database, OnDemand
from crumple.subject.effects import MachineSpeed, Pids
from crumple.subject.installing import still_at_it
from crumple.subject.server_check import HTTP, MODEL, CheckedServer, CheckFinding, CheckResult
from crumple.subject.workload import Workload

START = "start"
WORDS: dict[CheckResult, tuple[str, str]] = {
    "right": ("ok", "green"),
    "wrong": ("no", "bold red"),
    "skipped": ("skip", "yellow"),
}
NOT_SERVED = "–"


@dataclass(frozen=True)
class Verified:
    """The findings on one server. `output_tail`: the last lines it printed, if it ended by itself."""

    label: str
    workloads: tuple[str, ...]
    findings: tuple[CheckFinding, ...]
    output_tail: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Return whether any check failed."""
        return any(finding.state == "wrong" for finding in self.findings)


def check(names: list[str], as_json: bool) -> int:
    """Verify the named servers (all if none is named). Return 1 if a check failed or a server did not start.

    A server that is not ready is skipped, and its reason is printed.
    """
    here = Project.here()
    wanted = chosen(here, names)
    output.end_leftovers()
    began = time.monotonic()
    verified: list[Verified] = []
    try:
        with interruptible(), database.on_demand() as databases:
            each = _Verifying(here.workloads, engine.load(here.root), databases)
            for number, one in enumerate(wanted):
                output.say(f"{one.label} …{_time_left(began, number, len(wanted))}")
                verified.append(each.of(one))
    except Interrupted:
        output.say(f"interrupted; {len(verified)} of {numerals.count(len(wanted), 'server')} verified")
    if as_json:
        output.models(
            [VerifiedRow(server=one.label, **asdict(finding)) for one in verified for finding in one.findings]
        )
    else:
        _show(verified, here.workloads, time.monotonic() - began)
    if len(verified) < len(wanted):
        return EXIT_INTERRUPTED
    return 1 if any(one.wrong for one in verified) else 0


@dataclass(frozen=True)
class _Verifying:
    """Verifies servers, one after the other."""

    workloads: dict[str, Workload]
    load: Engine
    databases: OnDemand

    def of(self, one: ChosenServer) -> Verified:
        """Build the server, start it, make all checks, and end it."""
        ready = servers.readiness(one.description)
        if isinstance(ready, servers.Missing):
            return _verified(one, [CheckFinding(START, "skipped", f"{ready.reason}; {ready.remedy}")])
        cores = capacity.cores_for("shared").server
        found: list[CheckFinding] = []
        try:
            data, no_database = self._database(one, cores)
            built = _built(one)
            environment = data.environment() if data else {}
            pace = MachineSpeed()
            with servers.start(built, cores=cores, settings=one.settings, environment=environment) as running:
                found.append(CheckFinding(START, "right"))
                subject = CheckedServer(
                    description=one.description,
                    address=running.address,
                    keeps=one.description.keeps_connections(running.settings),
                    pids=Pids(running.guarded.guard_pid),
                    workloads=self.workloads,
                    load=self.load,
                    files_left=running.files_left,
                    database=data,
                    no_database=no_database,
                    pace=pace,
                )
                found += server_check.findings(subject)
                tail = () if running.alive() else tuple(running.output_tail())
        except CrumpleError as error:
            tail = getattr(error, "output_tail", ())
            return _verified(one, [*found, CheckFinding(START, "wrong", str(error))], tail)
        return _verified(one, found, tail)

    def _database(self, one: ChosenServer, cores: tuple[int, ...]) -> tuple[Database | None, str]:
        """Return the database, which all servers share, or None and why there is none (empty: not needed)."""
        known = [self.workloads[name] for name in one.description.workloads if name in self.workloads]
        if not any(workload.database for workload in known):
            return None, ""
        try:
            return self.databases.ready(cores), ""
        except (DatabaseMissing, DatabaseFailed) as error:
            return None, str(error)


def _built(one: ChosenServer) -> servers.Built:
    """Return the built program; if it must be built first, print messages while that takes."""
    if build.is_built(one.description):
        return servers.build(one.description)
    output.say(f"  building {one.label} …")
    with still_at_it(f"building {one.label}", output.say):
        return servers.build(one.description)


def _verified(one: ChosenServer, found: Sequence[CheckFinding], tail: tuple[str, ...] = ()) -> Verified:
    return Verified(one.label, one.description.workloads, tuple(found), tail)


def _time_left(began: float, done: int, wanted: int) -> str:
    """Return " 2 of 5, about 30 s left"; no time for the first server, and nothing for a single one."""
    if wanted == 1:
        return ""
    left = ""
    if done:
        left_s = (time.monotonic() - began) / done * (wanted - done)
        left = f", about {left_s:.0f} s left" if left_s < 100 else f", about {left_s / 60:.0f} min left"
    return f" {done + 1} of {wanted}{left}"


def _show(verified: Sequence[Verified], workloads: dict[str, Workload], took_s: float) -> None:
    """Print a row for each server, then the reasons, then a summary."""
    served = {name for one in verified for name in one.workloads}
    columns = [*(name for name in workloads if name in served), *sorted(served - set(workloads)), HTTP, MODEL]
    rows = [[Text(one.label), *(_cell(one, column) for column in columns)] for one in verified]
    _print_rows([[Text(heading, "bold") for heading in ("server", *columns)], *rows])
    for one in verified:
        for finding in one.findings:
            if finding.reason:
                said = Text.assemble("\n", (f"{one.label}, {finding.check}: ", WORDS[finding.state][1]))
                output.facts.print(said + Text(shown_text(finding.reason)), soft_wrap=True)
        for line in one.output_tail:
            output.facts.print(Text(f"  {shown_text(line)}"), soft_wrap=True)
    output.facts.print(Text(f"\n{_summary(verified, workloads, took_s)}"), soft_wrap=True)


def _print_rows(rows: Sequence[Sequence[Text]]) -> None:
    """Print the rows aligned, each on one line however narrow the terminal is: a name must not be broken."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        line = Text(" ").join(
            Text.assemble(cell, " " * (width - len(cell))) for cell, width in zip(row, widths, strict=True)
        )
        output.facts.print(line, soft_wrap=True)


def _cell(one: Verified, column: str) -> Text:
    """Return the result of a check, or of the start if the server did not start."""
    if column not in (*one.workloads, HTTP, MODEL):
        return Text(NOT_SERVED, style="dim")
    states = [finding.state for finding in one.findings if finding.check in (column, START)]
    return Text(*WORDS[states[-1]])


def _summary(verified: Sequence[Verified], workloads: dict[str, Workload], took_s: float) -> str:
    states = [finding.state for one in verified for finding in one.findings]
    counts = ", ".join(f"{states.count(state)} {state}" for state in WORDS)
    several = [
        name
        for name, workload in workloads.items()
        if not workload.answer_to({}).fresh
        and sum(finding == CheckFinding(name, "right") for one in verified for finding in one.findings) > 1
    ]
    equal = f"; answers equal to the byte across servers: {', '.join(several)}" if several else ""
    servers_said = f"{len(verified)} server{'s' if len(verified) != 1 else ''}"
    return f"{servers_said} in {took_s:.0f} s; checks: {counts}{equal}"
