"""A comparison of two versions, and its ratios."""

from dataclasses import replace
from functools import cache
from typing import Any

from crumple.load.load_options import Options
from crumple.load.target import resolve
from crumple.record.validity import Validity
from crumple.stats.interval import Interval
from crumple.versus import standing
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.report.versus_report import document_of
from crumple.versus.standing import Figure, Ratio
from crumple.versus.turn import VersusBlock
from crumple.versus.version_sites import CommonRequest
from crumple.versus.versions import UrlVersion, Version
from crumple.versus.versus_course import VersionComparison
from crumple.versus.versus_plan import VersusPlan
from synthetic_server import SyntheticServer
from synthetic_versions import LOADS, Machine, machine

COMMAND = "crumple versus localhost:1 localhost:2 --seed 5"


@cache
def compared(kind: str) -> VersionComparison:
    """A comparison that came out as `kind` says."""
    machines = {
        "faster": lambda: machine(1_000.0, 1_500.0),
        "three": lambda: machine(1_000.0, 1_500.0, 700.0),
        "interrupted": lambda: machine(1_000.0, 1_500.0, interrupted_at={"B": 4}),
        "gone": lambda: machine(1_000.0, 1_500.0, ends_at={"B": 4}),
        "limited": lambda: machine(
            1_000.0, 1_500.0, judged=lambda _: Validity("disturbed", ("disturbed: others used 90%",), ())
        ),
        "behind": lambda: Machine({"A": SyntheticServer(1_000.0), "B": SyntheticServer(200.0, seed=2)}),
    }
    loads = replace(LOADS, rate_per_s=400.0) if kind == "behind" else LOADS
    return machines[kind]().compare(loads)


def result(kind: str = "faster", **changes: Any) -> VersusFigures:
    """The report's view of such a comparison of URLs."""
    found = compared(kind)
    urls = [resolve(f"http://127.0.0.1:{port}/") for port in range(1, 4)]
    lettered = tuple(
        Version(letter, UrlVersion(url)) for letter, url in zip(found.known or ("A", "B"), urls, strict=False)
    )
    plan = VersusPlan(lettered, CommonRequest(lambda _: (), None, None, {}, Options(seed=5)), LOADS)
    plain: dict[str, Any] = {
        "labels": plan.labels,
        "same": plan.same,
        "loads": plan.loads,
        "compared": found,
        "command": COMMAND,
        "afresh": dict.fromkeys(found.known, True),
        "server_cores": {},
        "engine_version": "0.1.0",
        "began_unix_s": 1_795_242_612.0,
    }
    return figures_of(**plain | changes)


def figures_of(**given: Any) -> VersusFigures:
    """The figures of a comparison, with what each look saw."""
    return VersusFigures(document_of(**given), given["compared"].seen)


def changed(found: VersusFigures, **changes: Any) -> VersusFigures:
    """The figures of the same comparison, if something of it were different."""
    plain = {name: getattr(found, name) for name in ("labels", "same", "loads", "compared", "afresh")}
    own = {name: getattr(found.document, name) for name in ("command", "engine_version")}
    whole = {**plain, **own, "server_cores": {}, "began_unix_s": found.document.unix_s}
    return figures_of(**whole | changes)


def bounded(found: VersusFigures) -> VersusFigures:
    """The same, but the p99 of B in the first block is only a lower bound."""
    first, *others = found.compared.blocks
    turns = (
        replace(each, at_rate=replace(each.at_rate, at_least=("p99",))) if each.letter == "B" else each
        for each in first.turns
    )
    blocks = (VersusBlock(tuple(turns)), *others)
    return changed(found, compared=replace(found.compared, blocks=blocks))


def ratio(figure: Figure, low: float, high: float, answer: standing.LikenessWord = "different") -> Ratio:
    middle = (low * high) ** 0.5
    interval = Interval(middle, low, high, 0.98, 8)
    return Ratio("B", figure, 8, interval, interval, answer, "")


def plain(said: str) -> str:
    """Replace narrow spaces by plain ones."""
    return said.replace("\u202f", " ")
