"""Searches of each ending, as reports show them."""

from functools import cache
from typing import Any

from crumple.find.report.find_figures import SearchFigures
from crumple.find.report.find_report import document_of
from crumple.find.search import SearchResult
from crumple.load import objective
from made_questions import question, searched, usual
from synthetic_server import SyntheticServer

COMMAND = "crumple find synthetic --seed 5"


@cache
def searches(kind: str) -> tuple[Any, SearchResult]:
    """Question and result of a search that ended as `kind` says."""
    if kind in ("found", "one start"):
        return question(), usual(afresh=kind == "found")[1]
    by_connections = {"by": "connections", "objective": objective.parse("p50<250ms")}
    asked: dict[str, tuple[SyntheticServer, dict[str, Any], bool]] = {
        "connections": (SyntheticServer(400.0), {**by_connections, "budget_s": 45.0}, True),
        "never": (SyntheticServer(400.0), {"objective": objective.parse("p50<1us")}, True),
        "engine": (SyntheticServer(20_000.0, engine_limit_per_s=6_000.0), {}, True),
        "dies": (SyntheticServer(1_800.0, dies_above_per_s=1_500.0), {"budget_s": 45.0}, True),
        "gone": (SyntheticServer(2_000.0, dies_above_per_s=1_500.0), {"budget_s": 45.0}, False),
        "budget": (SyntheticServer(8.0), {"budget_s": 10.0}, True),
        "highest": (SyntheticServer(400.0), {**by_connections, "connections_most": 50}, True),
    }
    server, changes, afresh = asked[kind]
    return question(**changes), searched(server, afresh=afresh, **changes)[0]


KINDS = ("found", "one start", "connections", "never", "engine", "dies", "gone", "budget", "highest")


def finding(kind: str, **changes: Any) -> SearchFigures:
    """The figures of such a search."""
    asked, found = searches(kind)
    plain: dict[str, Any] = {
        "question": asked,
        "found": found,
        "asked": "server synthetic, workload hello",
        "command": COMMAND,
        "afresh": kind not in ("one start", "gone"),
        "server_cores": 1,
        "is_local": True,
        "engine_version": "0.1.0",
        "began_unix_s": 1_795_242_612.0,
    }
    return SearchFigures(document_of(**plain | changes))


def changed(seen: SearchFigures, **changes: Any) -> SearchFigures:
    """The figures of the same search, if its question, what it found or another of its facts were these."""
    facts = ("asked", "command", "afresh", "server_cores", "is_local", "engine_version")
    plain = {name: getattr(seen.document, name) for name in facts}
    plain |= {"question": seen.question, "found": seen.found, "began_unix_s": seen.document.unix_s}
    return SearchFigures(document_of(**plain | changes))


def plain(said: str) -> str:
    """Replace narrow spaces by plain ones."""
    return said.replace("\u202f", " ")
