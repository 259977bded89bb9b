"""Which hosts of a run are alike: by facts that change times, by versions, and by how fast their cores are.

How fast is judged by the CPU time of a request, as the hosts do the same work: that of the first host divided
by that of another one. Blocks scatter, so the unit is a block: the mean over the servers of what their
requests cost in it. Only blocks of one experiment are compared, with those of both hosts.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from crumple.drawing import numerals
from crumple.drawing.report_parts import Column, Paragraph, Part, Table
from crumple.record.figures import Figures
from crumple.run.report.view import RunView
from crumple.run.run_file import Host
from crumple.stats import averages
from crumple.stats.decision import Extent, differs
from crumple.stats.estimate import Estimate
from crumple.stats.interval import Interval
from crumple.verdict.verdict_sentences import enumerate_parts

# By how much the speed of cores may differ in hosts that are alike. Virtual machines of one kind differ by a
# few percent from one to the next, which no choice of hosts avoids.
ALIKE_WITHIN = 0.05
HOW_COMPARED = (
    "Blocks never span hosts, so servers are compared on one host. A figure of one server has one value for "
    "each host, and its interval shows how much hosts differ."
)


@dataclass(frozen=True)
class HostSeen:
    """One of several hosts, beside the first."""

    name: str
    host: Host
    blocks: int
    apart: tuple[str, ...]
    """The facts and versions in which it differs, a few words each."""
    speed: Interval | None
    """How many times as fast its cores are; None: too few blocks tell."""

    @property
    def alike(self) -> bool | None:
        """Whether it is like the first host; None: that is not decided."""
        if self.apart:
            return False
        if self.speed is None:
            return None
        if Extent.around(1.0, 1.0, ALIKE_WITHIN).holds(self.speed) == "yes":
            return True
        return False if differs(self.speed) else None

    @property
    def how_fast(self) -> str:
        """Return how fast its cores are, in words; empty if that is not known."""
        return f"{numerals.with_interval(self.speed, of='block')} times as fast" if self.speed else ""


def seen(view: RunView) -> tuple[HostSeen, ...]:
    """Return the hosts of a run, the first one first; none if it was measured on one host."""
    hosts = view.run.hosts
    trials = [start.trial for start in view.starts]
    figures = [start.figures for start in view.starts if start.counts and start.figures]
    costs = _costs(figures)
    return tuple(
        HostSeen(
            name=f"host {number}",
            host=host,
            blocks=len({(t.trial.experiment, t.trial.block) for t in trials if t.host_id == host.id}),
            apart=host.apart_from(hosts[0]),
            speed=_speed(costs.get(hosts[0].id, {}), costs.get(host.id, {})) if number > 1 else None,
        )
        for number, host in enumerate(hosts, 1)
    )


def _costs(figures: Sequence[Figures]) -> dict[str, dict[str, list[float]]]:
    """Return host → experiment → for each block the mean logarithm of the CPU time of a request.

    Of each server its own mean is taken out, and only servers that have the most blocks count: without that,
    the servers that a block happens to have would decide.
    """
    rows: dict[tuple[str, str, bool], list[tuple[Figures, float]]] = {}
    for each in figures:
        if each.cpu_per_request_us:
            place = (each.experiment, each.server, each.twin)
            rows.setdefault(place, []).append((each, math.log(each.cpu_per_request_us)))
    most: dict[str, int] = {}
    for (experiment, _, _), row in rows.items():
        most[experiment] = max(most.get(experiment, 0), len(row))
    blocks: dict[tuple[str, str, int], list[float]] = {}
    for (experiment, _, _), row in rows.items():
        own = fmean(log for _, log in row)
        for each, log in row if len(row) == most[experiment] else ():
            blocks.setdefault((each.host, experiment, each.block), []).append(log - own)
    found: dict[str, dict[str, list[float]]] = {}
    for (host, experiment, _), logs in blocks.items():
        found.setdefault(host, {}).setdefault(experiment, []).append(fmean(logs))
    return found


def _speed(first: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> Interval | None:
    """Return how many times as fast the cores of the other host are; None if too few blocks tell."""
    cells = [(first[name], other[name]) for name in first if name in other]
    weights = [len(ours) * len(theirs) / (len(ours) + len(theirs)) for ours, theirs in cells]
    freedom = sum(len(ours) + len(theirs) - 2 for ours, theirs in cells)
    if not freedom:
        return None
    apart = [fmean(ours) - fmean(theirs) for ours, theirs in cells]
    centre = sum(map(math.prod, zip(weights, apart, strict=True))) / sum(weights)
    squares = sum(averages.variance(each) * (len(each) - 1) for cell in cells for each in cell)
    number = sum(len(theirs) for _, theirs in cells)
    spread = math.sqrt(squares / freedom * number / sum(weights))
    return Estimate(centre, spread, number, freedom).interval()


def sentence(view: RunView) -> str:
    """Return which hosts are alike, and how servers are compared; empty if there is one host."""
    hosts = seen(view)
    if not hosts:
        return ""
    first, *others = hosts
    like = [first, *(each for each in others if each.alike)]
    said = [f"{enumerate_parts([each.name for each in like])} are alike"] if len(like) > 1 else []
    said += [f"{each.name} differs: {_how(each)}" for each in others if each.alike is False]
    if untold := [each for each in others if each.alike is None]:
        named = enumerate_parts([each.name for each in untold])
        said.append(f"too few blocks tell whether {first.name} is like {named}")
    return f"{len(hosts)} hosts: {'; '.join(said)}. {HOW_COMPARED}"


def _how(host: HostSeen) -> str:
    is_other = host.speed is not None and differs(host.speed)
    return ", ".join([*host.apart, *([host.how_fast] if is_other else [])])


def table(view: RunView) -> Iterator[Part]:
    """Yield the hosts: what each is, how many blocks it measured, and how it differs from the first."""
    hosts = seen(view)
    words = {True: "like host 1", False: "differs", None: "not decided"}
    facts = ("cpu_model", "usable_cores", "kernel")
    yield Paragraph(HOW_COMPARED)
    yield Table(
        [
            Column("Host", [each.name for each in hosts]),
            Column("Blocks", [str(each.blocks) for each in hosts], right=True),
            Column("CPU, cores, kernel", [_words(each.host.machine, facts) for each in hosts]),
            Column("Beside host 1", ["", *(words[each.alike] for each in hosts[1:])]),
            Column("Cores", [each.how_fast or numerals.ABSENT for each in hosts]),
            Column("Other facts and versions", [", ".join(each.apart) or numerals.ABSENT for each in hosts]),
        ],
        style="plain",
    )


def _words(machine: Mapping[str, object], facts: Sequence[str]) -> str:
    known = [(fact, machine.get(fact)) for fact in facts]
    said = (numerals.count(len(value), "core") if isinstance(value, list) else value for _, value in known)
    return ", ".join(str(each) for each in said if each is not None)
