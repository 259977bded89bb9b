"""The same load for longer: throughput, processes and threads at its begin and at its end.

A pool that adds a worker now and then is at first the limit, and no longer at the end: the throughput rises
as the workers do. Where caches fill, it rises without them; where memory, files or a quota run out, it falls.
In all other cases both are alike, and what was seen in a short load is what limits the server.

Undone by itself: nothing is held after the load.
"""

from dataclasses import replace

from crumple.contract import SampleColumns, TrialRecord
from crumple.experiment import settling, throughput
from crumple.experiment.bench import Bench
from crumple.machine.process_tree import Tree
from crumple.observation.outcome import Longer

# How long the load lasts, in seconds: a pool that adds a worker each second doubles within it, unless it has
# many.
LASTS_S = 12.0
# The part of the load at its beginning, and at its end, whose throughputs are compared.
THIRD = 1 / 3


def load_longer(bench: Bench, lasts_s: float = LASTS_S) -> Longer:
    """Put the load on, and return what it came to."""
    record = replace(bench, load_s=max(lasts_s, bench.load_s)).record()
    settling.settle(bench)
    at_begin, at_end = _trees(record)
    return Longer(
        first=throughput.rate(record, to_share=THIRD),
        last=throughput.rate(record, from_share=1 - THIRD),
        at_begin=at_begin,
        at_end=at_end,
    )


def _trees(record: TrialRecord) -> tuple[Tree | None, Tree | None]:
    """Return the server's tree when the load began, warm-up included, and at its end."""
    server = record.probes.server
    if server is None or not server.samples.at_ns:
        return None, None
    return _tree(server.samples, 0), _tree(server.samples, -1)


def _tree(seen: SampleColumns, row: int) -> Tree:
    return Tree(seen.processes[row], seen.threads[row])
