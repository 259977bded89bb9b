"""Connections that are opened at once, and then as many that are opened one by one.

If the queue of connections that wait to be accepted is too short for those that come at once, some connect a
second or more later, when the kernel sends the SYN again; opened slowly none is late, and the throughput is
the same once all are open. If the server accepts no more than it has workers, as many are late or unanswered
however slowly they are opened. The kernel's own counters of full queues say the same, for all servers of the
network namespace together.

Undone by itself: nothing is held after a load.
"""

from dataclasses import replace

from crumple import contract
from crumple.cause.outcome import Opening
from crumple.contract import TrialRecord
from crumple.experiment import settling, throughput
from crumple.experiment.bench import Bench
from crumple.machine import listen_queue
from crumple.machine.listen_queue import Counted
from crumple.record import histogram

CONNECTIONS = 512
# They are opened within this, which is far more than ten times what opening them at once takes. The
# throughput is of the rest of the load. The kernel sends the SYN again after a second, and then after two
# more.
OPENED_OVER_S, REST_S = 2.0, 1.6
LATE_NS = 1e9


def opened(bench: Bench, connections: int = CONNECTIONS) -> tuple[Opening, Opening]:
    """Open them at once, and slowly; return what came of each."""
    return _opened(bench, connections, 0.0), _opened(bench, connections, OPENED_OVER_S)


def _opened(bench: Bench, connections: int, over_s: float) -> Opening:
    lasts_s = OPENED_OVER_S + max(REST_S, bench.load_s)
    shape: contract.Shape = contract.ClosedShape(connections=connections)
    if over_s:
        shape = contract.RampShape(from_connections=1, to_connections=connections, over_s=over_s)
    before = _counted(bench)
    record = replace(bench, connections=connections, load_s=lasts_s, warm_s=0.0).record(shape=shape)
    full = _since(before, _counted(bench))
    settling.settled(bench)
    return Opening(
        over_s=over_s,
        late=_late(record),
        rate=throughput.rate(record, from_share=OPENED_OVER_S / lasts_s),
        unanswered=record.users_unanswered,
        overflows=full.overflows if full else None,
        drops=full.drops if full else None,
    )


def _counted(bench: Bench) -> Counted | None:
    return None if bench.subject.pid is None else listen_queue.counted(bench.subject.pid)


def _since(before: Counted | None, after: Counted | None) -> Counted | None:
    if before is None or after is None:
        return None
    return Counted(after.overflows - before.overflows, after.drops - before.drops)


def _late(record: TrialRecord) -> int:
    times = record.histograms.connect_time
    late = histogram.decoded(times).count_above(LATE_NS) if times.count else 0
    return late + record.outcomes.connect_timeout
