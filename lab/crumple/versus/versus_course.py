"""Conducts a comparison: calibrates, then block after block, until all is decided or the time is over.

A block has one turn of every version and of the first one's twin, in random order. `calibrating` learns what
the loads should be, `lengths` how long they last, `turn` what they showed, and `standing` what that decides.
The caller provides how a version is started, the engine called and the machine looked at.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from crumple import contract
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.errors import Interrupted, NothingCompared, ServerFailed
from crumple.load import engine_spec, load_options, lost, unloaded
from crumple.load.load_shape import CONNECTIONS_OPEN_MAX
from crumple.load.site import NothingAnswered, RunningServer, Site
from crumple.machine import facts
from crumple.stats.shuffling import shuffle
from crumple.versus import calibrating, lengths, standing, turn
from crumple.versus.calibrating import REWARM_S, Calibrated
from crumple.versus.lengths import Lengths, Loads
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import Bound, Figure, LookResult, Ratio, Rule
from crumple.versus.turn import Turn, VersusBlock
from crumple.words import lost_sentences

# The number of blocks that it takes to know how figures follow the speed of the cores, if that is read.
LEARNED_BLOCKS = 7
# From how many of the last blocks the time of the next is foreseen.
LAST_BLOCKS = 3

Ending = Literal["decided", "no use", "budget", "gone", "interrupted"]
# Spec, and a function that receives the progress → record.
Run = Callable[[TrialSpec, Callable[[ProgressLine], None]], TrialRecord]


class VersusWatcher(Protocol):
    """Receives the progress of a comparison."""

    def calibrating(self, letter: str) -> None:
        """A version is asked for the first time."""

    def planned(self, rate_per_s: float, rule: Rule, block_s: float) -> None:
        """The loads and the number of blocks are known."""

    def turn(self, block: int, letter: str, left_s: float) -> None:
        """A turn begins."""

    def progress(self, progress: ProgressLine) -> None:
        """The engine has written a line of progress."""

    def block(self, number: int, block: VersusBlock, ratios: Sequence[Ratio], left_s: float) -> None:
        """A block is over, and `ratios` is what all blocks so far come to."""


class UnansweredVersion(Exception):  # noqa: N818 - it reads as what happened
    """A version did not answer the first requests as expected; `record`: what came instead."""

    def __init__(self, letter: str, record: TrialRecord) -> None:
        self.letter = letter
        self.record = record
        super().__init__(f"{letter} did not answer")


@dataclass(frozen=True)
class VersusMeans:
    """What a comparison needs besides its versions."""

    run: Run
    clock: Callable[[], float]
    watcher: VersusWatcher


@dataclass(frozen=True)
class VersionComparison:
    """A comparison that is over."""

    ending: Ending
    known: Mapping[str, Calibrated]
    """Letter → what was learned beforehand."""
    rate_per_s: float
    rule: Rule | None
    """None: it was over before the first block."""
    lengths: Lengths | None
    """None: it was over before the first block."""
    blocks: tuple[VersusBlock, ...]
    seen: tuple[LookResult, ...]
    """Its looks."""
    took_s: float
    gone: str = ""
    """Which version was lost, and how."""

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """What each comparison came to."""
        return standing.standing(self.seen)


def compare(
    loads: Loads,
    sites: Mapping[str, Site],
    means: VersusMeans,
    bounds: Mapping[Figure, tuple[float, ...]] | None = None,
) -> VersionComparison:
    """Compare the versions. Interrupted, or when a version is lost, it returns what was measured until then.

    `bounds`: as in `Rule`; it goes on until these are decided, too.
    Raises UnansweredVersion, NothingCompared if the budget is too short, and what `sites` and `run` raise.
    """
    course = _VersusCourse(loads, sites, means, bounds or {})
    try:
        course.calibrate()
        course.plan()
        ending = course.blocks_until_the_end()
    except Interrupted:
        ending = "interrupted"
    except _GoneError as gone:
        if not course.is_planned:
            raise NothingCompared(str(gone), "look at its log, and compare again") from None
        return replace(course.result("gone"), gone=str(gone))
    return course.result(ending)


def is_of_use(blocks: Sequence[VersusBlock], ratios: Sequence[Ratio], bounds: Sequence[Bound] = ()) -> bool:
    """Whether a further block may decide something.

    It may also where a figure has too few blocks because others disturbed some, as that may be over soon; and
    while blocks will soon scatter less, as the slope of the cores' speed becomes known.
    """
    loads = (load for block in blocks for each in block.turns for load in each.loads)
    disturbed = any(load.word == "disturbed" for load in loads)
    is_kept_waiting = disturbed and any(each.interval is None for each in ratios)
    is_learning = len(blocks) < LEARNED_BLOCKS and bool(turn.speeds(blocks))
    return standing.goes_on(ratios, bounds) or is_kept_waiting or is_learning


class _GoneError(Exception):
    """A version does not run any more, or answers nothing."""


@dataclass
class _VersusCourse:
    """The state of a comparison."""

    _loads: Loads
    _sites: Mapping[str, Site]
    _means: VersusMeans
    _bounds: Mapping[Figure, tuple[float, ...]]
    _known: dict[str, Calibrated] = field(default_factory=dict)
    _watched: bool = True
    _rate_per_s: float = 0.0
    _rule: Rule | None = None
    _lengths: Lengths | None = None
    _blocks: list[VersusBlock] = field(default_factory=list)
    _took_s: list[float] = field(default_factory=list)
    _seen: list[LookResult] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began_s = self._means.clock()

    def calibrate(self) -> None:
        """Ask each version for the first time."""
        for letter, site in self._sites.items():
            self._means.watcher.calibrating(letter)
            began_s, begun = self._means.clock(), False
            try:
                with site.opened() as place:
                    begun = True
                    opened_s = self._means.clock()
                    known = self._calibrate(place, site, letter)
                    self._watched = self._watched and place.options.server_pid is not None
                    left_s = self._means.clock()
            except NothingAnswered as nothing:
                raise UnansweredVersion(letter, nothing.record) from None
            except ServerFailed as failed:
                how = "ended badly" if begun else "did not start"
                message = f"{letter}, {site.label}, {how}: {failed.message}"
                raise ServerFailed(failed.step, message, failed.output_tail, failed.remedy) from failed
            beside_s = opened_s - began_s + self._means.clock() - left_s
            self._known[letter] = replace(known, beside_s=beside_s)

    @property
    def is_planned(self) -> bool:
        """Whether the loads of the blocks are known."""
        return self._rule is not None

    def plan(self) -> None:
        """Choose the rate, the lengths of the loads and the looks. Raises NothingCompared."""
        known = [*self._known.values()]
        slowest = min(each.per_s for each in known)
        self._rate_per_s = self._loads.rate_per_s or self._loads.share * slowest
        left_s = max(0.0, self._left_s)
        self._lengths = lengths.lengths(known, self._rate_per_s, self._loads.budget_s, left_s)
        looks = lengths.looks(self._lengths.block_s, self._left_s)
        if looks is None:
            block_s, enough_s = self._lengths.block_s, self._enough_s(known)
            raise NothingCompared(
                f"a block takes {block_s:.0f} s, {left_s:.0f} s of the budget are left, and it takes "
                f"{lengths.LEAST} blocks",
                f"write --budget {enough_s:.0f}s or more",
            )
        of_cpu: tuple[Figure, ...] = ("cpu",) if self._watched else ()
        figures = (*self._lengths.quantiles, "throughput", *of_cpu)
        others = tuple(letter for letter in self._sites if letter != FIRST)
        self._rule = Rule(figures, others, looks, self._loads.tolerance, bounds=self._bounds)
        self._means.watcher.planned(self._rate_per_s, self._rule, self._lengths.block_s)

    def _enough_s(self, known: Sequence[Calibrated]) -> float:
        """Return a budget that is enough for the fewest blocks."""
        calibrating_s = self._loads.budget_s - self._left_s
        shortest = lengths.lengths(known, self._rate_per_s, self._loads.budget_s, 0.0)
        return lengths.budget_s(shortest.block_s, calibrating_s)

    def blocks_until_the_end(self) -> Ending:
        """Run block after block; return why there is no further one."""
        while (ending := self._ending()) is None:
            began_s = self._means.clock()
            self._blocks.append(self._block(len(self._blocks) + 1))
            self._took_s.append(self._means.clock() - began_s)
            self._look()
            ratios = standing.standing(self._seen)
            self._means.watcher.block(len(self._blocks), self._blocks[-1], ratios, self._left_s)
        if ending == "budget":
            self._look_again()
        return ending

    def result(self, ending: Ending) -> VersionComparison:
        """Return what it came to."""
        return VersionComparison(
            ending=ending,
            known=self._known,
            rate_per_s=self._rate_per_s,
            rule=self._rule,
            lengths=self._lengths,
            blocks=tuple(self._blocks),
            seen=tuple(self._seen),
            took_s=self._means.clock() - self._began_s,
        )

    @property
    def _left_s(self) -> float:
        return self._loads.budget_s - (self._means.clock() - self._began_s)

    @property
    def _block_s(self) -> float:
        assert self._lengths is not None
        return max(self._took_s[-LAST_BLOCKS:], default=self._lengths.block_s)

    def _ending(self) -> Ending | None:
        assert self._rule is not None
        done, ratios = len(self._blocks), standing.standing(self._seen)
        if done >= self._rule.looks.least:
            bounds = standing.open_bounds(self._seen)
            if not bounds and all(each.is_decided for each in ratios):
                return "decided"
            if done < self._rule.looks.most and not is_of_use(self._blocks, ratios, bounds):
                return "no use"
        return "budget" if done >= self._rule.looks.most or self._left_s < self._block_s else None

    def _look(self) -> None:
        self._seen.append(self._seen_now())

    def _look_again(self) -> None:
        """Look once more at what there is: it is known now that the time was over with it."""
        if self._seen:
            self._seen[-1] = self._seen_now(time_is_over=True)

    def _seen_now(self, *, time_is_over: bool = False) -> LookResult:
        assert self._rule is not None
        return standing.look(
            self._rule,
            turn.rows(self._blocks),
            len(self._blocks),
            bounded=turn.bounded(self._blocks),
            speeds=turn.speeds(self._blocks),
            factors=turn.factors(self._blocks),
            time_is_over=time_is_over,
        )

    def _block(self, number: int) -> VersusBlock:
        order = shuffle([*self._sites, TWIN], f"{self._loads.seed}/block {number}")
        return VersusBlock(tuple(self._turn(letter, number) for letter in order))

    def _turn(self, letter: str, number: int) -> Turn:
        self._means.watcher.turn(number, letter, self._left_s)
        of = FIRST if letter == TWIN else letter
        site, begun = self._sites[of], False
        try:
            with site.opened() as place:
                begun = True
                closed, at_rate = self._put_on(place, letter, number, self._known[of].warm_up_s)
                for record in (closed, at_rate):
                    self._check(record, place, f"{letter} was lost in block {number}")
        except ServerFailed as failed:
            how = "ended badly" if begun else "did not start again"
            raise _GoneError(f"{letter} {how} in block {number}: {failed}") from failed
        return Turn(
            letter,
            turn.load_by_connections(closed, site.assess(closed), site.taken(closed)),
            turn.load_at_rate(at_rate, site.assess(at_rate), site.taken(at_rate)),
        )

    def _check(
        self, record: TrialRecord, place: RunningServer, what: str, *, was_answered: bool = True
    ) -> None:
        """Raise _GoneError, which begins with `what`, if the version was lost in that load, or before it."""

        def ask() -> TrialRecord:
            return self._run(unloaded.one_of(record.spec, lost.asked_s(record)))

        found = lost.by_now(record, place.process, ask, was_answered=was_answered)
        if found is not None:
            raise _GoneError(lost_sentences.sentence(found, what))
        if not record.outcomes.ok and was_answered:
            raise _GoneError(f"{what}: it answered no request rightly, {_worst(record)}")

    def _put_on(
        self, place: RunningServer, letter: str, number: int, warm_up_s: float
    ) -> tuple[TrialRecord, TrialRecord]:
        """Put both loads on. All turns of a block have one seed, and so the same arrivals."""
        assert self._lengths is not None
        rate_s, per_s = self._lengths.rate_s, self._rate_per_s
        rate = contract.RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=rate_s)
        shapes: tuple[tuple[str, contract.ShapeSpec, float, float], ...] = (
            ("closed", self._closed, warm_up_s, self._lengths.closed_s),
            (
                "at the rate",
                contract.OpenShapeSpec(
                    connections=CONNECTIONS_OPEN_MAX, arrivals=self._loads.arrivals, rates=(rate,)
                ),
                REWARM_S,
                rate_s,
            ),
        )
        drawn = random.Random(f"{self._loads.seed}/{number}").getrandbits(load_options.SEED_BITS)
        closed, at_rate = (
            self._run(
                engine_spec.spec(
                    label=f"{letter}/{number}/{name}",
                    target=place.target,
                    requests=place.requests,
                    shape=shape,
                    stop=contract.DurationStopSpec(duration_s=measured_s),
                    options=replace(place.options, seed=drawn, speed_of_cores=self._cores_apart(place)),
                    threads_most=self._sites[FIRST].threads_most,
                    warm_up_s=warm_s,
                )
            )
            for name, shape, warm_s, measured_s in shapes
        )
        return closed, at_rate

    def _cores_apart(self, place: RunningServer) -> tuple[int, ...]:
        """The server's cores whose speed is read; none where that would delay requests or reflect the load.

        The engine needs cores of its own, so that no reading delays it. Two cores that share a physical one
        make each other slower, the more so the more threads a version has: that is the version's doing.
        """
        server, engine = self._sites[FIRST].server_cores, place.options.cores
        if not engine or set(server) & set(engine):
            return ()
        try:
            shared = [group for group in facts.physical_cores() if len({*group} & {*server, *engine}) > 1]
        except facts.UnreadError:
            shared = []
        return () if any({*group} & {*server} for group in shared) else server

    @property
    def _closed(self) -> contract.ClosedShapeSpec:
        return contract.ClosedShapeSpec(connections=self._loads.connections)

    def _calibrate(self, place: RunningServer, site: Site, letter: str) -> Calibrated:
        def run(spec: TrialSpec) -> TrialRecord:
            record = self._run(spec)
            self._check(record, place, f"{letter} was lost while it was calibrated", was_answered=False)
            return record

        return calibrating.calibrated(
            place,
            self._loads.connections,
            run,
            afresh=site.afresh,
            budget_s=self._loads.budget_s / len(self._sites),
            warm_up_s=self._loads.warm_up_s,
        )

    def _run(self, spec: TrialSpec) -> TrialRecord:
        return self._means.run(spec, self._means.watcher.progress)


def _worst(record: TrialRecord) -> str:
    outcome, number = max(record.outcomes.as_dict().items(), key=lambda each: each[1])
    return f"{number:,} of {record.scheduled:,} {outcome}"
