"""Asks all sources that a server has, at the same time; returns what each says, or why it was not asked."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from crumple.asked import calling, jcmd, mysql, php_fpm, postgres, pprof, py_spy, redis
from crumple.asked.said import NotAnswered, NotAsked, Peer, Said, Server, escaped
from crumple.machine import process_tree

# In this order they are returned.
SOURCES: tuple[ModuleType, ...] = (jcmd, py_spy, php_fpm, postgres, mysql, redis, pprof)
TOTAL_S = 6.0


@dataclass(frozen=True)
class Source:
    """One source. `applies`: whom to ask, or in words why not; empty: the server has nothing of the kind."""

    name: str
    applies: Callable[[Server], Any]
    command: Callable[[Any], str]
    call: Callable[[Any, float], str]
    read: Callable[[str, str], Said]

    def answer(self, server: Server) -> Said | NotAsked:
        """What it says, or why it does not."""
        target = self.applies(server)
        if isinstance(target, str):
            return NotAsked(self.name, target or "the server has none", bool(target))
        try:
            return self.read(self.call(target, calling.until()), self.command(target))
        except NotAnswered as error:
            return NotAsked(self.name, error.why, True)


def all_of(
    pid: int,
    peers: Sequence[Peer],
    urls: Sequence[str] = (),
    sources: Sequence[ModuleType] = SOURCES,
    total_s: float = TOTAL_S,
) -> tuple[Said | NotAsked, ...]:
    """Ask about the server with the root process `pid`; `urls`: databases that the user named.

    Returns after `total_s` at the latest: a source that has not answered by then is `NotAsked`.
    """
    server = Server((pid, *process_tree.descendants(pid)), tuple(peers), tuple(urls))
    answers: dict[str, Said | NotAsked] = {}
    threads = []
    for source in map(_source, sources):
        threads.append(threading.Thread(target=_put, args=(source, server, answers), daemon=True))
        threads[-1].start()
    deadline = time.monotonic() + total_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"it did not answer within {total_s:.0f} s"
    # A copy: a source that is late may still put its answer there.
    there = dict(answers)
    return tuple(escaped(there.get(each.NAME) or NotAsked(each.NAME, late, True)) for each in sources)


def _put(source: Source, server: Server, answers: dict[str, Said | NotAsked]) -> None:
    try:
        answers[source.name] = source.answer(server)
    except Exception as error:
        # What a runtime prints may have any form, and no diagnosis may end by it.
        answers[source.name] = NotAsked(source.name, f"its answer cannot be read: {error!r}", True)


def _source(module: ModuleType) -> Source:
    return Source(module.NAME, module.applies, module.command, module.call, module.read)
