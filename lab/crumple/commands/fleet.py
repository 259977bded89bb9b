"""`crumple fleet check`: looks at load hosts before a load comes from them."""

from collections.abc import Sequence

from crumple import engine, project
from crumple.commands import output
from crumple.drawing import numerals
from crumple.errors import EXIT_NO, UsageError
from crumple.load_host import fleet_check, where
from crumple.load_host.fleet_check import ReachedHost, Together, UnreachedHost


def run(what: str, hosts: Sequence[str], as_json: bool) -> int:
    """Look at the hosts, and print what was found. Exit code 1: one of them is not reached."""
    if what != "check":
        raise UsageError(f"{what} is nothing that a fleet does", "write crumple fleet check --from WHERE")
    if not hosts:
        raise UsageError("no load host is named", "write crumple fleet check --from WHERE")
    found = fleet_check.looked_at([where.read(each) for each in hosts], engine.load(project.root()))
    if as_json:
        output.models(found)
    else:
        _print(found)
    return EXIT_NO if any(isinstance(each, UnreachedHost) for each in found) else 0


def _print(found: Sequence[ReachedHost | UnreachedHost]) -> None:
    reached = [each for each in found if isinstance(each, ReachedHost)]
    if reached:
        columns = [_column(each) for each in reached]
        output.as_table(("", *(each.where for each in reached)), list(zip(NAMES, *columns, strict=True)))
    if len(reached) > 1:
        _say_together(fleet_check.together(reached))
    for each in found:
        if isinstance(each, UnreachedHost):
            remedy = f"; {each.remedy}" if each.remedy else ""
            output.say(f"{each.where} is not reached: {each.error}{remedy}")
        else:
            for line in _lines(each):
                output.say(f"{each.where}: {line}")


def _say_together(whole: Together) -> None:
    at_least = "at least " if whole.ceiling.at_least else ""
    output.say(
        f"together: {numerals.count(whole.cores, 'core')}, {at_least}"
        f"{numerals.rate(whole.ceiling.throughput_per_s)} by a thread on each; they begin within "
        f"{numerals.duration(whole.start_apart_ns)} of one another"
    )
    for names in whole.one_machine:
        output.say(f"{' and '.join(names)} are one machine, whose cores they share: leave all but one out")


NAMES = (
    "engine", "there and back", "its clock", "cores", "CPU", "kernel", "open files", "local ports", "ceiling",
)  # fmt: skip


def _column(host: ReachedHost) -> tuple[str, ...]:
    times = (host.round_trip_ns, host.round_trip_p99_ns)
    median, p99 = map(numerals.duration, times)
    ahead = "ahead" if host.clock_ahead_ns >= 0 else "behind"
    off, most = map(numerals.duration, (abs(host.clock_ahead_ns), host.clock_off_most_ns))
    at_least = "at least " if host.ceiling_at_least else ""
    return (
        f"{host.engine_version}, {'sent now' if host.was_sent else 'was there'}",
        f"{median}, p99 {p99}",
        f"{off} {ahead}, ± {most}",
        f"{host.cores:,}{'' if host.is_apart else ', shared with this machine'}",
        host.cpu_model or numerals.ABSENT,
        host.kernel or numerals.ABSENT,
        f"{host.open_files:,}",
        numerals.ABSENT if host.ports is None else f"{host.ports:,}",
        f"{at_least}{numerals.rate(host.ceiling_per_s)}",
    )


def _lines(host: ReachedHost) -> list[str]:
    """Return what is to be said beside the table."""
    if not host.ceiling_why:
        return [*host.lacks]
    what = "is not known" if host.ceiling_per_s is None else "may be higher"
    return [*host.lacks, f"the ceiling {what}: {host.ceiling_why}"]
