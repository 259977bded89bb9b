"""Lines of evidence of an I/O model: the models there are, and what one observation leaves of them. Pure."""

from dataclasses import dataclass
from typing import get_args

from crumple.subject.server_toml import IoModel

Models = frozenset[IoModel]
ALL: Models = frozenset(get_args(IoModel))
PER_CONNECTION: Models = frozenset({"process-per-connection", "thread-per-connection"})
POOLS: Models = frozenset({"process-pool", "thread-pool"})
PROCESSES: Models = frozenset({"process-per-connection", "process-pool"})
BLOCKING: Models = PER_CONNECTION | POOLS
LOOPS: Models = frozenset({"event-loop", "event-loop-per-core"})
UNBLOCKED: Models = ALL - BLOCKING

# Up to so many busy threads (`loaded.sharing`) count as one.
ONE_BUSY_MAX = 1.3
# If there are so many more busy threads than cores, they are more than one for each core.
MORE_BUSY = 0.7
# Fewer cores than this on which requests compute are one.
TWO_CORES = 1.5
# If the threads that compute use this share of the CPU time of requests that wait, they take these in, too.
SAME_THREADS_SHARE = 0.8
# With this share of a process or thread more for each connection, every connection has one of its own.
OWN_SHARE = 0.5
# A line of evidence needs so many idle connections, or so many light requests on connections that were open:
# fewer may be spread over processes and loops by chance.
HELD_MIN = 8


@dataclass(frozen=True)
class Line:
    """One line of evidence: a sentence, and the models that it leaves.

    `of`: what it rests on, where other lines rest on the same; these count as one.
    """

    says: str
    leaves: Models
    of: str = ""
