"""Finds the sources that a server has, and asks them all at once: → what each answers, or why not."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from crumple.asked import calling, jcmd, mysql, php_fpm, postgres, pprof, py_spy
from crumple.asked.found import EVIDENCE_MOST, LINE_MOST, AskedServer, NotAnswered, SourceFinding, line
from crumple.machine import process_tree
from crumple.observation.answers import AskedPart, SourceAnswer
from crumple.observation.at_load import Peer

# In this order they are returned.
SOURCES: tuple[ModuleType, ...] = (jcmd, py_spy, pprof, php_fpm, postgres, mysql)
# All sources together: one has LIMIT_S, and its program a moment to end.
TOTAL_S = calling.LIMIT_S + 1.0


@dataclass(frozen=True)
class Source:
    """A source of the server, and what it takes to ask it. `why`: why it cannot be asked; empty: it can."""

    name: str
    command: str = ""
    ask: Callable[[float], SourceFinding] | None = None
    why: str = ""


def of_server(pid: int, peers: Sequence[Peer], modules: Sequence[ModuleType] = SOURCES) -> tuple[Source, ...]:
    """Return the sources of the server with this root process; asks none of them."""
    server = AskedServer((pid, *process_tree.descendants(pid)), tuple(peers))
    return tuple(found for each in modules if (found := _of(each, server)) is not None)


def _of(module: ModuleType, server: AskedServer) -> Source | None:
    try:
        target = module.applies(server)
    except OSError:  # a process has ended while it was looked at
        return None
    if not target:
        return None
    if isinstance(target, str):
        return Source(module.NAME, why=line(target, 2 * LINE_MOST))

    def ask(deadline: float) -> SourceFinding:
        return cast(SourceFinding, module.read(module.call(target, deadline)))

    return Source(module.NAME, line(module.command(target), 2 * LINE_MOST), ask)


def answers(sources: Sequence[Source], total_s: float = TOTAL_S) -> tuple[SourceAnswer, ...]:
    """Ask these sources. Returns after `total_s` at the latest, with what has been answered by then."""
    found: dict[str, SourceAnswer] = {}

    def put(source: Source) -> None:
        found[source.name] = _answer(source)

    threads = [threading.Thread(target=put, args=(each,), daemon=True) for each in sources if each.ask]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + total_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"it did not answer within {total_s:.0f} s"
    # A copy: a source that is late may still put its answer there.
    there = dict(found)
    return tuple(
        there.get(each.name) or SourceAnswer(each.name, each.command, why=each.why or late)
        for each in sources
    )


def _answer(source: Source) -> SourceAnswer:
    assert source.ask is not None
    try:
        found: Any = source.ask(calling.until())
    except NotAnswered as error:
        return SourceAnswer(source.name, source.command, why=line(str(error), 2 * LINE_MOST))
    except Exception as error:
        # What a runtime prints may have any form, and no diagnosis may end by it.
        why = line(f"its answer cannot be read: {error!r}", 2 * LINE_MOST)
        return SourceAnswer(source.name, source.command, why=why)
    parts = {name: AskedPart(each.number, each.of, line(each.does)) for name, each in found.parts.items()}
    evidence = tuple(map(line, found.evidence[:EVIDENCE_MOST]))
    return SourceAnswer(source.name, source.command, line(found.shows, 2 * LINE_MOST), parts, evidence)
