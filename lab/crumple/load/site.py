"""A server that several loads are put on: how to get it, and a start of it. For searches and comparisons.

Types only.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from crumple import contract
from crumple.contract import TrialRecord
from crumple.load.load_options import Options
from crumple.load.lost import NOT_KNOWN, ServerProcess
from crumple.machine.at_rest import AtRest
from crumple.record.disturbance import Disturbance, disturbance
from crumple.record.validity import Validity


@dataclass(frozen=True)
class RunningServer:
    """A server that runs, and what it is asked."""

    target: contract.Target
    requests: tuple[contract.RequestSpec, ...]
    options: Options
    """With the process to watch and the engine's cores."""
    process: ServerProcess = NOT_KNOWN
    """Whether its process lives."""
    rest: AtRest | None = None
    """What it does without a load; None: not known."""


@dataclass(frozen=True)
class Site:
    """How to get a server that loads are put on."""

    label: str
    opened: Callable[[], AbstractContextManager[RunningServer]]
    """Gives a start of it."""
    afresh: bool
    """Whether each start is a new process."""
    threads_most: int
    """How many threads the engine may have."""
    server_cores: tuple[int, ...]
    """Cores that the server may use; empty: not known."""
    assess: Callable[[TrialRecord], Validity]
    taken: Callable[[TrialRecord], Disturbance] = disturbance
    """What others took from a load on it."""


class NothingAnswered(Exception):  # noqa: N818 - it reads as what happened
    """No request of the first load was answered as expected. `record`: the record of that load."""

    def __init__(self, record: TrialRecord) -> None:
        self.record = record
        super().__init__("nothing was answered")
