"""Execute runs together: first the blocks that each run must have, then those that decide claims fastest.

First come the runs that are judged only once, one after the other and the shortest first, so that an answer
comes soon. Then come the blocks that each other run must have, by their number: the first of each run before
the second of any.
A claim that needs r more blocks of c seconds each is decided at a rate of 1/(r·c). The next block is the one
with the highest sum of rates over its claims. It has only the servers whose trials undecided claims use. Of
a map, `map_course` chooses the points. The session ends when all claims are decided, when more blocks would
not help, or when the time is over. The seed fixes the plan. Which of the planned trials are run depends on
the results; run.json says why each was.
"""

import contextlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crumple import engine
from crumple.machine import capacity
from crumple.run import map_course, run_file, run_plan
from crumple.run.blocks import Begun, Blocks, Means, RunWatcher
from crumple.run.pace import TrialPace
from crumple.run.run_file import NO_BLOCK, TIME_OVER, ChosenBlock
from crumple.run.run_plan import Block
from crumple.run.store import TrialIdentity
from crumple.study.claim import ScaleName
from crumple.subject import database, workload
from crumple.verdict import verdict
from crumple.verdict.verdict import Standing


@dataclass(frozen=True)
class ExperimentPlace:
    """An experiment in one of the session's runs."""

    run: str
    experiment: str


@dataclass(frozen=True)
class Open:
    """A claim that is not decided."""

    claim: str
    places: tuple[ExperimentPlace, ...]
    blocks: int
    """How many blocks of each of `places` would decide it."""


@dataclass(frozen=True)
class Next:
    """The next block of an experiment."""

    done: int
    """How many blocks the experiment has had."""
    takes_s: float | None
    """How long it takes; None: no block is left."""


@dataclass(frozen=True)
class Choice:
    """Where the next block is run, and for which claims."""

    place: ExperimentPlace
    claims: tuple[str, ...]
    blocks: int
    """The fewest blocks that decide one of the claims."""

    def __str__(self) -> str:
        """Return the reason for run.json: "for IO-3 and IO-7, which take about 5 blocks"."""
        named = " and ".join(filter(None, (", ".join(self.claims[:-1]), self.claims[-1])))
        return f"for {named}, which take{'' if len(self.claims) > 1 else 's'} about {self.blocks} blocks"


def choose(claims: Sequence[Open], following: Mapping[ExperimentPlace, Next], left_s: float) -> Choice | None:
    """Choose the block with the highest sum of rates, counting claims whose next round fits into `left_s`.

    `following`: the next block of every experiment; on a tie the first of them wins. None: no block would
    decide anything in that time.
    """
    rates = dict.fromkeys(following, 0.0)
    wanted: dict[ExperimentPlace, list[Open]] = {place: [] for place in following}
    for claim in claims:
        behind = _behind(claim, following)
        round_s = sum(following[place].takes_s or 0.0 for place in behind)
        if not behind or round_s > left_s:
            continue
        rounds = max(1, claim.blocks - following[behind[0]].done)
        for place in behind:
            rates[place] += 1 / (rounds * max(round_s, 1e-9))
            wanted[place].append(claim)
    best = max(rates, key=rates.__getitem__, default=None)
    if best is None or not rates[best]:
        return None
    ids = tuple(dict.fromkeys(claim.claim for claim in wanted[best]))
    return Choice(best, ids, min(claim.blocks for claim in wanted[best]))


def _behind(claim: Open, following: Mapping[ExperimentPlace, Next]) -> list[ExperimentPlace]:
    """Return the claim's experiments that have had the fewest blocks; empty if one of these has none left."""
    if not claim.places:
        return []
    fewest = min(following[place].done for place in claim.places)
    behind = [place for place in claim.places if following[place].done == fewest]
    return behind if all(following[place].takes_s is not None for place in behind) else []


# Seconds that a session takes at most, from its first trial on. They leave up to a minute for the rest: tour
# ends within about five minutes, quick within a quarter of an hour, full within an hour.
BUDGETS_S: dict[ScaleName, float] = {"tour": 246.0, "quick": 870.0, "full": 3_540.0, "published": math.inf}


@dataclass(frozen=True)
class SessionOutlook:
    """What is left of a session."""

    blocks_s: float | None
    """Seconds for blocks that must be run; None: not known yet."""
    at_most_s: float
    """Seconds for everything, at most."""
    trials: int
    """How many trials are stored, `of` those that are stored or must be run."""
    of: int
    decided: int
    """How many claims are decided, of those `asked`; of maps, how many cells."""
    asked: int
    asked_what: str = "claims"


class Session:
    """Executes runs that exist on disk within one budget of time. `budget_s` None: that of their scale."""

    def __init__(self, runs: Sequence[Begun], root: Path, budget_s: float | None = None) -> None:
        self._begun, self._root, self._pace = runs, root, TrialPace()
        self.budget_s = max(BUDGETS_S[each.file.scale] for each in runs) if budget_s is None else budget_s
        self._runs: list[Blocks] = []
        self._standing: dict[str, list[Standing]] = {}
        self._map = map_course.MapStanding(0, 0)
        self._ends_s = math.inf
        self._looked_s = 0.0
        self._seen = SessionOutlook(None, math.inf, 0, 0, 0, 0)

    def conduct(self, watcher: RunWatcher, database_url: str | None = None) -> None:
        """Execute the runs. Each trial is stored when it ends; run.json says which blocks were run and why.

        `database_url`: the user's database, for trials that need one; None: a private one. Raises UsageError,
        also if another crumple executes one of the runs, StorageFull and NotWritable.
        """
        load = engine.load(self._root)
        # A new run has already raised the limit, when it read the machine's facts; a resumed one has not.
        capacity.raise_open_files()
        with contextlib.ExitStack() as held:
            for begun in self._begun:
                held.enter_context(begun.store.held())
            databases = held.enter_context(database.on_demand(database_url))
            means = Means(load, workload.find(self._root), databases, watcher, self._pace, self._look)
            self._runs = [self._blocks(each, means) for each in self._begun]
            for run in self._runs:
                run.make_ready()
            self._ends_s = time.monotonic() + self.budget_s
            self._look()
            self._first_blocks(watcher)
            self._further_blocks()
            for run in self._runs:
                self._end(run)

    def _blocks(self, begun: Begun, means: Means) -> Blocks:
        return Blocks(begun, self._root, means)

    @property
    def adapts(self) -> bool:
        """Whether the results of a run decide how many blocks it gets."""
        if any(begun.file.study.map is not None for begun in self._begun):
            return True
        scales = [
            each.scales[begun.file.scale]
            for begun in self._begun
            if begun.asked is None
            for each in begun.file.study.experiments.values()
        ]
        return any(each.least_blocks not in (None, each.blocks) for each in scales)

    @property
    def first_s(self) -> float | None:
        """Return how long the blocks that must be run take; None if a server's speed is not known yet."""
        return _in_sum(
            self._pace.left_s(begun.file.study, begun.file.scale, _first_trials(begun))
            for begun in self._begun
        )

    @property
    def outlook(self) -> SessionOutlook:
        """Return what was left when the last trial was stored, minus the time that has passed since."""
        seen, now_s = self._seen, time.monotonic()
        left_s = seen.blocks_s and max(0.0, seen.blocks_s - (now_s - self._looked_s))
        return replace(seen, blocks_s=left_s, at_most_s=max(0.0, self._ends_s - now_s))

    def _look(self) -> None:
        """Compute what is left, after each trial only: the view asks often, while the engine measures."""
        left = [(run, block) for run, block in self._first() if run.left_in(block)]
        standing = [each for standings in self._standing.values() for each in standings]
        trials = sum(len(run.stored) for run in self._runs)
        self._looked_s = time.monotonic()
        self._seen = SessionOutlook(
            blocks_s=_in_sum(self._takes_s(run, block) for run, block in left),
            at_most_s=self._ends_s,
            trials=trials,
            of=trials + sum(len(run.left_in(block)) for run, block in left),
            decided=sum(each.decided for each in standing) if standing else self._map.decided,
            asked=len(standing) or self._map.cells,
            asked_what="claims" if standing else "cells of the map",
        )

    def _first(self) -> list[tuple[Blocks, Block]]:
        """Return the blocks that must be run or were begun before."""
        return [(run, block) for run in self._runs for block in run.file.blocks if _is_first(run, block)]

    def _first_blocks(self, watcher: RunWatcher) -> None:
        once = [run for run in self._runs if not run.judges]
        for run in sorted(once, key=self._length):
            blocks = [block for block in run.file.blocks if _is_first(run, block)]
            self._must([(run, block) for block in blocks])
            if not any(map(run.left_in, blocks)):
                watcher.over(run.begun)
        self._must([each for each in self._first() if each[0].judges])

    def _length(self, run: Blocks) -> tuple[float, int]:
        """Return how long the run's first blocks take, infinite if not known yet, and their trials."""
        left = [block for block in run.file.blocks if _is_first(run, block)]
        takes_s = _in_sum(self._takes_s(run, block) for block in left)
        return math.inf if takes_s is None else takes_s, sum(len(run.left_in(block)) for block in left)

    def _must(self, blocks: Sequence[tuple[Blocks, Block]]) -> None:
        """Execute what is left of these blocks, as far as the time allows, in the order of their numbers."""
        for run, block in sorted(blocks, key=lambda each: each[1].number):
            if run.left_in(block) and (self._takes_s(run, block) or 0.0) <= self._left_s:
                self._do(run, [block])

    def _further_blocks(self) -> None:
        for run in self._runs:
            self._judge(run)
        while (choice := self._choice(self._left_s)) is not None:
            run = next(run for run in self._runs if run.file.id == choice.place.run)
            blocks, why = self._of_choice(run, choice), str(choice)
            run.note(chosen=(*run.file.chosen, *(_chosen(block, why) for block in blocks)))
            self._do(run, blocks, why)
            self._judge(run)
        for run in self._runs:
            if run.file.study.map is not None and run.begun.asked is None:
                map_course.conduct(run, lambda: self._left_s, self._note_map)

    def _note_map(self, standing: map_course.MapStanding) -> None:
        self._map = standing
        self._look()

    def _of_choice(self, run: Blocks, choice: Choice) -> list[Block]:
        """Return the blocks to be run next."""
        return [self._next(run)[choice.place.experiment]]

    def _choice(self, left_s: float) -> Choice | None:
        following, claims = dict[ExperimentPlace, Next](), list[Open]()
        for run in self._runs:
            upcoming = self._next(run)
            for name in run.file.study.experiments:
                block = upcoming.get(name)
                done = block.number - 1 if block else run.scale_of(name).blocks
                takes_s = (self._takes_s(run, block) or 0.0) if block else None
                following[ExperimentPlace(run.file.id, name)] = Next(done, takes_s)
            for each in self._standing.get(run.file.id, []):
                if each.open and each.blocks_needed is not None:
                    places = tuple(ExperimentPlace(run.file.id, name) for name in each.experiments)
                    claims.append(Open(each.claim_id, places, each.blocks_needed))
        return choose(claims, following, left_s)

    def _next(self, run: Blocks) -> dict[str, Block]:
        """Return experiment → its next block, with the servers whose trials undecided claims use.

        It is empty if the claims do not decide which blocks are run.
        """
        if not run.judges:
            return {}
        wanted: dict[str, set[str]] = {}
        for each in self._standing.get(run.file.id, []):
            for name, servers in each.servers.items() if each.open else ():
                wanted.setdefault(name, set()).update(servers)
        return _left_out(
            run,
            (
                block if run.file.must(block) else block.of(wanted.get(block.experiment, ()))
                for block in run.file.blocks
            ),
        )

    def _do(self, run: Blocks, blocks: Sequence[Block], why: str = "") -> None:
        for block in blocks:
            run.begin(block)
        self._look()
        if run.file.stopped or run.file.undecided:
            # A resumed run has the reasons why it stopped before; it goes on now, so they no longer hold.
            run.note(stopped={}, undecided={})
        run.do(blocks, why)

    def _judge(self, run: Blocks) -> None:
        if not run.judges:
            return
        known = [each for each in run.figures.values() if each is not None]
        facts = run.file.facts(run.skipped)
        found = verdict.standing(run.file.study, run.file.scale, known, run.failed, facts)
        self._standing[run.file.id] = [*found]

    def _end(self, run: Blocks) -> None:
        """Write to run.json why experiments and claims got no more blocks, and when the run ended."""
        left_out = _left_out(run, run.file.blocks)
        stopped, undecided = {name: self._why(run, name) for name in left_out}, self._undecided(run)
        kept = run.begun.store.ids()
        over = all(block.labels <= kept for block in run.file.blocks if run.file.must(block))
        if over and (run.has_done or run.file.ended is None):
            run.note(stopped=stopped, undecided=undecided, ended=run_file.now())
        elif (stopped, undecided) != (run.file.stopped, run.file.undecided):
            run.note(stopped=stopped, undecided=undecided)

    def _undecided(self, run: Blocks) -> dict[str, str]:
        """Return claim → why it was left undecided; empty if claims do not decide which blocks are run."""
        if not run.judges:
            return {}
        left = [each for each in self._standing.get(run.file.id, []) if not each.decided]
        return {each.claim_id: self._why_left(run, each) for each in left}

    def _why_left(self, run: Blocks, claim: Standing) -> str:
        if not claim.open:
            return claim.given_up or claim.why
        has_more = any(
            trial.server in claim.servers.get(block.experiment, ())
            for block in run.file.blocks
            for trial in run.left_in(block)
        )
        return TIME_OVER if has_more else NO_BLOCK

    def _why(self, run: Blocks, experiment: str) -> str:
        """Return why the experiment got no more blocks."""
        is_given = run.begun.asked is not None
        if any(run.left_in(block) for block in run.file.blocks if is_given or run.file.must(block)):
            return TIME_OVER
        concerned = [each for each in self._standing.get(run.file.id, []) if experiment in each.experiments]
        if not concerned:
            return "no claim of this scale rests on it"
        undecided = [each for each in concerned if not each.decided]
        if not undecided:
            return "the claims that rest on it are decided"
        if any(each.open for each in undecided):
            return TIME_OVER
        return f"{verdict.NO_HELP}: {'; '.join(each.why for each in undecided)}"

    def _takes_s(self, run: Blocks, block: Block) -> float | None:
        return self._pace.left_s(run.file.study, run.file.scale, run.left_in(block))

    @property
    def _left_s(self) -> float:
        return self._ends_s - time.monotonic()


def _is_first(run: Blocks, block: Block) -> bool:
    """Return whether the block must be run, or was begun before."""
    return run.file.must(block) or run.begun.asked is not None or run.has_begun(block)


def _chosen(block: Block, why: str) -> ChosenBlock:
    servers = tuple(dict.fromkeys(each.server for each in block.trials))
    return ChosenBlock(experiment=block.experiment, block=block.number, servers=servers, why=why)


def _in_sum(each_s: Iterable[float | None]) -> float | None:
    """Return the sum; None if one of the times is not known."""
    known = [*each_s]
    return None if None in known else sum(each for each in known if each is not None)


def _left_out(run: Blocks, blocks: Iterable[Block]) -> dict[str, Block]:
    """Return experiment → the first of these blocks of it in which a trial was not tried."""
    found: dict[str, Block] = {}
    for block in blocks:
        if block.experiment not in found and run.left_in(block):
            found[block.experiment] = block
    return found


def _first_trials(begun: Begun) -> list[TrialIdentity]:
    if begun.asked is not None:
        return [*begun.to_do]
    first = set(run_plan.first_trials(begun.file.study, begun.file.plan))
    return [each for each in begun.to_do if each in first]
