"""Lines of evidence of an I/O model: the models there are, and what one observation leaves of them. Pure."""

from dataclasses import dataclass
from typing import get_args

from crumple.subject.server_toml import IoModel

Models = frozenset[IoModel]
ALL: Models = frozenset(get_args(IoModel))
PER_CONNECTION: Models = frozenset({"process-per-connection", "thread-per-connection"})
POOLS: Models = frozenset({"process-pool", "thread-pool"})
BLOCKING: Models = PER_CONNECTION | POOLS
LOOPS: Models = frozenset({"event-loop", "event-loop-per-core"})
UNBLOCKED: Models = ALL - BLOCKING

# Up to so many busy threads, as if they shared the CPU time evenly, are one.
ONE_BUSY_MAX = 1.3
# So many threads more than cores that share the CPU time are more than a runtime's threads for the cores.
MORE_BUSY = 0.7
# Fewer cores than this on which requests compute are one.
TWO_CORES = 1.5
# Fewer connections than this may be held, or meet a busy loop, by chance as they are.
HELD_MIN = 8


@dataclass(frozen=True)
class Line:
    """One line of evidence: a sentence, and the models that it leaves."""

    says: str
    leaves: Models
