"""What the server's runtime and its dependencies answer of themselves, asked while a load of the work is on.

It only reads, as their user. They are asked once the requests have come to where they wait, and have three
seconds to answer (`asked/`). Predicted: a pool of n connections: all threads but n wait for a connection · a
lock or a semaphore for k: all but k wait for it · workers: none of them waits for work · a row of a database:
most of its sessions wait for a lock.

Nothing is to be undone.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from crumple.asked import all_sources, calling
from crumple.asked.all_sources import Source
from crumple.experiment.bench import Bench
from crumple.observation.answers import Answers, SourceAnswer
from crumple.observation.at_load import Peer

# How long requests have to come to where they wait before sources are asked: a time in seconds, a multiple of
# a request alone, and the longest in seconds.
GATHER_S, GATHER_TIMES, GATHER_S_MAX = 0.5, 2, 6.0


def sources(bench: Bench, peers: Sequence[Peer]) -> tuple[Source, ...]:
    """Return whom there is to ask; asks nobody."""
    pid = bench.subject.pid
    return () if pid is None else all_sources.of_server(pid, peers)


def ask(bench: Bench, found: Sequence[Source]) -> Answers:
    """Put the load on, ask these sources during it, and return what they answered."""
    if not any(each.ask for each in found):
        return Answers(0, tuple(SourceAnswer(each.name, each.command, why=each.why) for each in found))
    gather_s = bench.warming_s + min(GATHER_S_MAX, max(GATHER_S, GATHER_TIMES * bench.alone_s))
    longer = replace(bench, load_s=gather_s + calling.LIMIT_S)
    over = threading.Event()
    with ThreadPoolExecutor(1) as loads:
        load = loads.submit(longer.record)
        load.add_done_callback(lambda _: over.set())
        over.wait(gather_s)
        answers = all_sources.answers(found)
        load.result()
    return Answers(bench.connections, answers)
