"""The table of experiments: readings, permission and time of each. Pure; `experiment/` makes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from crumple.cause.hypothesis import Scale
from crumple.observation import answers

# "nothing": requests and connections only. "own": it acts on the server's own process, and undoes that
# whatever happens. "intervene": it stops a process behind the server for a moment (--intervene). "ask": it
# reads what runtimes and dependencies say to their user (--ask).
Permission = Literal["nothing", "own", "intervene", "ask"]


@dataclass(frozen=True)
class CauseExperiment:
    """`name`: of the reading that it gives; `does`: in words; `takes_s`: about how long, in seconds, of
    quick requests. `responses`: how many times as long as one request it takes at least.
    `several`: the readings that it may give, if these are several.
    """

    name: str
    does: str
    needs: Permission
    takes_s: float
    scale: Scale = "share"
    several: tuple[str, ...] = ()
    responses: float = 0.0

    def lasts_s(self, alone_s: float) -> float:
        """Return about how long it takes, in s, if a request takes `alone_s` alone."""
        return max(self.takes_s, self.responses * alone_s)

    @property
    def gives(self) -> tuple[str, ...]:
        """The readings that it may give."""
        return self.several or (self.name,)


# About how long an experiment takes, in response times: four pairs of loads, each a warm-up and five
# responses; the steps of a ladder; requests with pauses and without.
IN_PAIRS, LADDER, SPACED = 48.0, 45.0, 60.0
ALL: tuple[CauseExperiment, ...] = (
    CauseExperiment(
        "half_sent",
        "half-sent requests beside the work, in turn with the work alone",
        "nothing",
        8.0,
        responses=IN_PAIRS,
    ),
    CauseExperiment(
        "silent",
        "silent connections beside the work, in turn with the work alone",
        "nothing",
        8.0,
        responses=IN_PAIRS,
    ),
    CauseExperiment(
        "waiting",
        "requests that only wait beside the work, in turn with the work alone",
        "nothing",
        9.0,
        responses=IN_PAIRS,
    ),
    CauseExperiment(
        "falls",
        "a ladder of loads: 1, 2, 3, 4, 6, 8, 16, 64, 512 in flight",
        "nothing",
        9.0,
        "ratio",
        responses=LADDER,
    ),
    CauseExperiment(
        "slower",
        "one request at a time for longer, to see what it waits for",
        "nothing",
        5.0,
        "ratio",
    ),
    CauseExperiment(
        "spaced",
        "one request at a time, with a pause before it and without, in turn",
        "nothing",
        3.0,
        "ratio",
        responses=SPACED,
    ),
    CauseExperiment("longer", "the same load for longer", "nothing", 12.0, "ratio"),
    CauseExperiment(
        "other_key",
        "the work with another key for each request, in turn",
        "nothing",
        8.0,
        "ratio",
        responses=IN_PAIRS,
    ),
    CauseExperiment(
        "one_core",
        "all threads of the server on one core, in turn with all cores",
        "own",
        8.0,
        responses=IN_PAIRS,
    ),
    CauseExperiment(
        "one_thread", "its busiest thread stopped for a second, in turn", "own", 8.0, responses=IN_PAIRS
    ),
    CauseExperiment("stuck", "what is behind it stopped for less than a second", "intervene", 4.0, "ratio"),
    CauseExperiment(
        "sources",
        "its runtime and what is behind it asked, under the load, what they do",
        "ask",
        4.5,
        several=answers.READ,
    ),
)
BY_NAME: Mapping[str, CauseExperiment] = {each.name: each for each in ALL}
READINGS: tuple[str, ...] = tuple(name for each in ALL for name in each.gives)
