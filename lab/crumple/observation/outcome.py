"""What came of an experiment: figures, each with its standard error; how pairs of loads become one. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from crumple.machine.process_tree import Tree
from crumple.observation.answers import Answers

# The least standard error of a ratio of two loads of about a second each. A few pairs may be alike by chance,
# and then their spread shows an error that is too small.
SD_MIN = 0.02
# The most requests that a diagnosis has in flight at a time: more than most servers have places by default,
# so that nearly all of them show their limit.
IN_FLIGHT_MOST = 512


@dataclass(frozen=True)
class LoadPairs:
    """Throughput with one thing changed, as a part of that without, from loads in turn.

    `ratio`: the mean over the pairs; `sd`: its standard error; `pairs`: how many there were.
    """

    ratio: float
    sd: float
    pairs: int


def paired(pairs: Sequence[tuple[float, float]]) -> LoadPairs | None:
    """Return what pairs come to; None: there are fewer than two in which the load without it was answered.

    `pairs`: answers per second with the change, and soon before or after that without. What drifts in the
    meantime makes the pairs differ, which `sd` shows.
    """
    ratios = [changed / without for changed, without in pairs if without]
    if len(ratios) < 2:
        return None
    spread = stdev(ratios) / len(ratios) ** 0.5
    return LoadPairs(fmean(ratios), max(SD_MIN, spread), len(ratios))


@dataclass(frozen=True)
class MeasuredRate:
    """Answers per second, with the standard error."""

    per_s: float
    sd: float


@dataclass(frozen=True)
class LadderStep:
    """One load of a ladder: its requests in flight, answers per second with a standard error, mean time in s.

    `failed`: how many were not answered as expected; `unanswered`: connections without any answer. `cores`:
    CPU seconds that the server used per second; None: not read.
    """

    connections: int
    per_s: float
    sd: float
    mean_s: float
    failed: int = 0
    unanswered: int = 0
    cores: float | None = None


@dataclass(frozen=True)
class Ladder:
    """Short loads with more and more requests in flight, lowest first."""

    steps: tuple[LadderStep, ...]


@dataclass(frozen=True)
class Crowd:
    """The work beside others that may take its places, as a part of the work alone.

    `others`: how many connections, or requests at all times, were beside it; `connections`: how many requests
    of the work. `other_s`: how long one of those requests takes alone; None: they were connections.
    """

    others: int
    connections: int
    paired: LoadPairs
    other_s: float | None = None


@dataclass(frozen=True)
class Longer:
    """A load for many seconds: its throughput in the first and in the last third.

    `at_begin`, `at_end`: the processes and threads of the server; None: not read.
    """

    first: MeasuredRate
    last: MeasuredRate
    at_begin: Tree | None
    at_end: Tree | None


@dataclass(frozen=True)
class OtherKey:
    """The work with a part of the request varied, as a part of the work as it is. `part`: which one.

    `alone`: how long a varied request takes alone, as a multiple of one as it is.
    """

    part: str
    alone: float
    paired: LoadPairs


@dataclass(frozen=True)
class Refused:
    """An experiment that could not be made here, or showed nothing. `why`: in words, with no full stop."""

    why: str


@dataclass(frozen=True)
class Failing:
    """Requests that failed, or got no answer, with one thing changed; and as many loads without.

    `failed` of `asked` with the change; `failed_before` of `asked_before` without.
    """

    failed: int
    asked: int
    failed_before: int
    asked_before: int


@dataclass(frozen=True)
class Stopped:
    """Connections of the server to a dependency that is stopped: how many are owed an answer, and all.

    Means over the readings while it was stopped. `most`: the most that waited at a reading; `readings`: how
    many there were. `unknown`: of how many it is not known.
    """

    waiting: float
    connections: float
    most: int
    readings: int
    unknown: float = 0.0


@dataclass(frozen=True)
class ExperimentOutcomes:
    """What came of the experiments that were made. None: it was not made, or nothing came of it.

    `one_core`, `one_thread`: the throughput with all threads on one core, and with the busiest one stopped.
    `slower`: how long one request alone waits for what it asks, in s, by its name; empty: for nothing.
    `spaced`: the response time of one request at a time with pauses, as a part of that without.
    `stuck`: connections to what is behind it while that was stopped. `sources`: what its runtime and
    what it asks answered of themselves. `refused`: why others could not be made.
    """

    half_sent: Crowd | None = None
    silent: Crowd | None = None
    waiting: Crowd | None = None
    falls: Ladder | None = None
    longer: Longer | None = None
    other_key: OtherKey | None = None
    one_core: LoadPairs | None = None
    one_thread: LoadPairs | None = None
    stuck: Stopped | None = None
    slower: Mapping[str, float] | None = None
    spaced: LoadPairs | None = None
    sources: Answers | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
