"""Select the trials that count for a claim, and say why others do not.

Only trials of the same block are compared, and only if both were measured and are valid. The rules in
kinds.py and along_load.py draw conclusions from the values.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crumple.record import failures, undisturbed
from crumple.record.figures import Figures
from crumple.record.metrics import DISTURBED, LATE, UNREACHED, Metric
from crumple.record.undisturbed import Factors
from crumple.stats.interval import SEVERAL
from crumple.study import claim
from crumple.verdict.effect import Limit
from crumple.verdict.verdict_sentences import enumerate_parts

# The fewest ended requests of which a share is computed. Of fewer, chance decides the share.
ENDED_MIN = 10
# The most reasons for missing values that a verdict names.
REASONS_MAX = 3
# The number of blocks without a valid trial after which more blocks would not help.
NONE_VALID_MOST = 4
SPEED = "requests/s"
FAILS = "and a server that fails is not ranked by its speed"
CALMER = "run it again on a quieter machine: --resume with --retry-failed"
NO_PART = ("had no part", "no open claim used it")


@dataclass(frozen=True)
class Selected:
    """The blocks that count."""

    trials: tuple[str, ...] = ()
    """Ids of the trials behind the values."""
    untestable: str = ""
    """Why no comparison is made, or empty."""
    left_out: str = ""
    """Why some blocks are missing although enough are left, or empty."""
    limit: Limit = ""
    """The figure is only a bound, because the engine was the limit of some trials."""
    refused: bool = False
    """The comparison is untestable because a server failed too much.

    Or too many of its trials have no figure.
    """
    more_may_help: bool = False
    """Whether more blocks may make it testable."""


@dataclass(frozen=True)
class ServerPair(Selected):
    """Values of two servers, block by block."""

    of_values: tuple[float, ...] = ()
    to_values: tuple[float, ...] = ()
    factors: tuple[Factors, ...] = ()
    """How far the ratio of a calm machine may lie."""
    blocks: tuple[int, ...] = ()
    """The number of each block."""
    hosts: tuple[str, ...] = ()
    """The host of each block, which measured both: blocks that are compared are of one host."""


@dataclass(frozen=True)
class OneServer(Selected):
    """Values of one server, one for each block."""

    values: tuple[float, ...] = ()
    factors: tuple[Factors, ...] = ()
    """How far that of a calm machine may lie."""
    figures: tuple[Figures, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host of each value."""
        return tuple(trial.host for trial in self.figures)


@dataclass(frozen=True)
class ServerPlace:
    """A server in an experiment."""

    experiment: str
    server: str


@dataclass(frozen=True)
class Evidence:
    """A run in one metric."""

    experiment: str
    """The one to which names without an experiment belong."""
    metric: Metric
    trials: tuple[Figures, ...]
    failed: Mapping[str, str]
    """Id of each trial that failed → why."""
    against: str | None = None
    """Each value is divided by that of the same server in the same block of this experiment."""
    skipped: Collection[str] = ()
    """The failed trials that could not be tried on this machine."""
    unused: Collection[str] = ()
    """Ids of trials that were left out of their block, because no open claim used them."""

    def place(self, name: str) -> ServerPlace:
        """Return the place that a claim means by that name."""
        return place_of(name, self.experiment)

    @property
    def phrase(self) -> str:
        """The metric as named in a sentence, with the two experiments if it is a change."""
        if self.against is None:
            return self.metric.phrase
        return f"change of {self.metric.phrase} from {self.against} to {self.experiment}"

    def paired(self, of: str, to: str) -> ServerPair:
        """Return the values of `of` and `to` in the blocks where both count."""
        one, other = self.place(of), self.place(to)
        refused = "; ".join(dict.fromkeys(filter(None, map(self._refused, (one, other)))))
        more = self._more_may_help(one) and self._more_may_help(other)
        if refused:
            return ServerPair(untestable=refused, refused=True, more_may_help=more)
        ours, theirs = self._by_block(one), self._by_block(other)
        common = [
            block for block in ours
            if block in theirs and ours[block].host == theirs[block].host
            and not self._mute(ours[block], above_0=True) and not self._mute(theirs[block], above_0=True)
        ]  # fmt: skip
        absent = "; ".join(dict.fromkeys([*self._absences(one, True), *self._absences(other, True)]))
        if len(common) < SEVERAL:
            few = _too_few("both have a valid trial", len(common), absent)
            return ServerPair(untestable=few, more_may_help=more)
        limited = [any(not each[block].valid for block in common) for each in (ours, theirs)]
        if self._measures_speed and all(limited):
            why = f"the engine was the limit of both {of} and {to}, so that only their lower bounds are known"
            return ServerPair(untestable=why)
        ids = [key for block in common for key in (*self._ids(ours[block]), *self._ids(theirs[block]))]
        return ServerPair(
            trials=tuple(dict.fromkeys(ids)),
            left_out=absent,
            limit=_limit(*limited) if self._measures_speed else "",
            of_values=tuple(self._value(ours[block]) or 0.0 for block in common),
            to_values=tuple(self._value(theirs[block]) or 0.0 for block in common),
            factors=tuple(
                undisturbed.ratio(self._factors(ours[block]), self._factors(theirs[block]))
                for block in common
            ),
            blocks=tuple(common),
            hosts=tuple(ours[block].host for block in common),
        )

    def alone(self, name: str, *, above_0: bool = False) -> OneServer:
        """Return the values of one server in the blocks where it counts; `above_0`: only values above 0."""
        place = self.place(name)
        refused, more = self._refused(place), self._more_may_help(place)
        if refused:
            return OneServer(untestable=refused, refused=True, more_may_help=more)
        trials = [trial for trial in self._by_block(place).values() if not self._mute(trial, above_0=above_0)]
        absent = "; ".join(self._absences(place, above_0))
        if not trials and absent:
            return OneServer(untestable=absent, more_may_help=more)
        if len(trials) < SEVERAL:
            few = _too_few("it has a valid trial", len(trials), absent)
            return OneServer(untestable=few, more_may_help=more)
        limited = self._measures_speed and not all(trial.valid for trial in trials)
        return OneServer(
            trials=tuple(key for trial in trials for key in self._ids(trial)),
            left_out=absent,
            limit="at least" if limited else "",
            values=tuple(self._value(trial) or 0.0 for trial in trials),
            factors=tuple(self._factors(trial) for trial in trials),
            figures=tuple(trials),
        )

    def rows(self, experiment: str) -> dict[tuple[str, bool], dict[int, float]]:
        """Return the logarithms of the values of each server and twin, by block; they show the noise.

        Trials that are not valid, and those that failed more than 1 % of their requests, are left out.
        """
        return self._rows.get(experiment, {})

    @cached_property
    def _rows(self) -> dict[str, dict[tuple[str, bool], dict[int, float]]]:
        found: dict[str, dict[tuple[str, bool], dict[int, float]]] = {}
        for trial in self.trials:
            if trial.valid and not self._fails(trial) and self._mute(trial, above_0=True) is None:
                of_server = found.setdefault(trial.experiment, {}).setdefault((trial.server, trial.twin), {})
                of_server[trial.block] = math.log(self._value(trial) or 1.0)
        return found

    def _by_block(self, place: ServerPlace, *, twin: bool = False) -> dict[int, Figures]:
        return self._places_by_block.get((place.experiment, place.server, twin), {})

    @cached_property
    def _places_by_block(self) -> dict[tuple[str, str, bool], dict[int, Figures]]:
        found: dict[tuple[str, str, bool], dict[int, Figures]] = {}
        for trial in sorted(self.trials, key=lambda trial: trial.block):
            found.setdefault((trial.experiment, trial.server, trial.twin), {})[trial.block] = trial
        return found

    def _partner(self, trial: Figures) -> Figures | None:
        """Return the trial of the same server, block and host in `against`; None if there is none."""
        assert self.against is not None
        there = self._by_block(ServerPlace(self.against, trial.server), twin=trial.twin).get(trial.block)
        return there if there and there.host == trial.host else None

    def _ids(self, trial: Figures) -> list[str]:
        partner = self._partner(trial) if self.against else None
        return [trial.trial_id, partner.trial_id] if partner else [trial.trial_id]

    def _value(self, trial: Figures) -> float | None:
        value = self.metric.of(trial)
        if self.against is None or value is None:
            return value
        partner = self._partner(trial)
        base = self.metric.of(partner) if partner else None
        return value / base if base else None

    def _factors(self, trial: Figures) -> Factors:
        """Return how far the value of a calm machine may lie from that of the trial."""
        own, partner = self.metric.undisturbed(trial), self._partner(trial) if self.against else None
        return undisturbed.ratio(own, self.metric.undisturbed(partner)) if partner else own

    def _mute(self, trial: Figures, *, above_0: bool) -> tuple[str, str] | None:
        """Return why a measured trial has no value to compare, in short and in detail; None if it has one."""
        if not trial.valid and not self._failed_wholly(trial) and not self._is_lower_bound(trial):
            return "was not valid", ", ".join(trial.problems)
        if self.against:
            partner = self._partner(trial)
            if partner is None:
                return f"was not measured in {self.against}", ""
            if not partner.valid:
                return f"was not valid in {self.against}", ", ".join(partner.problems)
        value = self._value(trial)
        if value is None or not math.isfinite(value):
            return f"has no figure for the {self.phrase}", self._why_none(trial)
        if self._is_disturbed(trial):
            return f"has no figure for the {self.phrase}", DISTURBED
        if above_0 and value <= 0:
            return f"had a {self.phrase} of 0", "zero has no ratio"
        return None

    def _is_disturbed(self, trial: Figures) -> bool:
        partner = self._partner(trial) if self.against else None
        return any(each is not None and self.metric.is_disturbed(each) for each in (trial, partner))

    def _why_none(self, trial: Figures) -> str:
        """Return why there is no value: because of the trial, or of its partner in `against`."""
        partner = self._partner(trial) if self.against and self.metric.of(trial) is not None else None
        return self.metric.reason(partner or trial)

    def _failed_wholly(self, trial: Figures) -> bool:
        """Whether the metric is a share of failures and the server answered nothing, with nothing else amiss.

        The record of such a trial is not valid. But the server caused the failures, so their share counts.
        """
        share = self.metric.unit == "share" and self.metric.despite_failures
        # It is not known how requests would have ended that had not ended when the window closed.
        ended = trial.ended >= max(ENDED_MIN, trial.unfinished)
        return share and ended and trial.throughput_per_s == 0 and len(trial.problems) == 1

    @property
    def _measures_speed(self) -> bool:
        return self.metric.unit == SPEED and self.against is None

    def _is_lower_bound(self, trial: Figures) -> bool:
        """Whether the throughput is a lower bound, because the engine was the limit.

        Without such trials only a server's slow starts would count.
        """
        return self._measures_speed and trial.engine_limited

    def failing(self, name: str) -> str:
        """Return why a server fails too much for its other trials to count; or empty."""
        return self._failing(self.place(name))

    def _failing(self, place: ServerPlace) -> str:
        return next(filter(None, map(self._marked, self._places(place))), "") or self._mostly_failed(place)

    def _places(self, place: ServerPlace) -> list[ServerPlace]:
        """Return the place, and the same server's place in `against` if there is one."""
        return [place, ServerPlace(self.against, place.server)] if self.against else [place]

    def _refused(self, place: ServerPlace) -> str:
        """Return why no trial of a server counts, not even those with a value; or empty."""
        return self._failing(place) or self._mostly_unread(place)

    def _is_marked(self, trial: Figures) -> bool:
        return not self.metric.despite_failures and trial.failed_share > failures.SHARE_MAX

    def _fails(self, trial: Figures) -> bool:
        """Whether the trial, or its partner in `against`, failed too many requests to count."""
        partner = self._partner(trial) if self.against else None
        return self._is_marked(trial) or (partner is not None and self._is_marked(partner))

    def _marked(self, place: ServerPlace) -> str:
        marked = [t for t in self._by_block(place).values() if t.valid and self._is_marked(t)]
        if not marked:
            return ""
        most = max(trial.failed_share for trial in marked)
        where = self._named([trial.block for trial in marked], place.experiment)
        limit = f"{failures.SHARE_MAX * 100:g} %"
        return (
            f"{place.server} failed more than {limit} of its requests in {where} "
            f"(up to {most * 100:.2g} %), {FAILS}"
        )

    def _mostly_failed(self, place: ServerPlace) -> str:
        """Return why a server does not count if half of its starts or more failed; or empty.

        The remaining starts would be a biased sample: those that happened to survive.
        """
        blocks, lived = self.blocks(place.experiment), self._by_block(place)
        tried = self.failed.keys() - {*self.skipped}
        failed = [block for block in blocks if _id(place, block) in tried]
        if not lived or len(failed) < max(1, len(lived)):
            return ""
        why = self.failed.get(_id(place, failed[0]))
        where = self._named(failed, place.experiment)
        return f"{place.server} failed in {where} ({why}), {FAILS}"

    def _mostly_unread(self, place: ServerPlace) -> str:
        """Return why a server does not count if half of its valid trials or more have no figure; or empty.

        The remaining trials would be a biased sample. A quarter is enough where the time itself decides: how
        late the engine may be depends on it, so short times lose their figure first; and long ones do where
        requests were without an answer at the end. Empty, too, if no valid trial has a figure.
        """
        valid = [trial for trial in self._by_block(place).values() if trial.valid]
        unread = [trial for trial in valid if self._value(trial) is None]
        biased = [trial for trial in unread if self._why_none(trial) in (LATE, UNREACHED)]
        too_many = 2 * len(unread) >= len(valid) or (biased and 4 * len(biased) >= len(valid))
        if not unread or len(unread) == len(valid) or not too_many:
            return ""
        where = self._named([trial.block for trial in unread], place.experiment)
        why = "; ".join(dict.fromkeys(map(self._why_none, unread)))
        return (
            f"{place.server} has no figure for the {self.phrase} in {where} ({why}), "
            "and the others are those that happened to have one"
        )

    def _more_may_help(self, place: ServerPlace) -> bool:
        """Whether more blocks may give the server values.

        They do not if it is missing, fails, or has no figure. They may if trials were not valid, as long as
        there are fewer than NONE_VALID_MOST blocks.
        """
        trials = [*self._by_block(place).values()]
        if not trials or any(self._marked(each) for each in self._places(place)):
            return False
        if any(self._mute(trial, above_0=False) is None for trial in trials):
            return True
        partners = [self._partner(trial) if self.against else trial for trial in trials]
        invalid = any(partner is not None and not partner.valid for partner in (*trials, *partners))
        may_be_over = invalid or any(map(self._is_disturbed, trials))
        return may_be_over and len(self.blocks(place.experiment)) < NONE_VALID_MOST

    def blocks(self, experiment: str) -> list[int]:
        """Return every block of an experiment in which a trial was measured or failed."""
        if experiment not in self._blocks:
            seen = {trial.block for trial in self.trials if trial.experiment == experiment}
            tried = {block_of(key) for key in self.failed if key.startswith(f"{experiment}/")}
            self._blocks[experiment] = sorted(seen | tried)
        return self._blocks[experiment]

    @cached_property
    def _blocks(self) -> dict[str, list[int]]:
        return {}

    def _absences(self, place: ServerPlace, above_0: bool) -> list[str]:
        """Return one clause per reason for a missing value, with the blocks it holds for."""
        present, blocks_of = self._by_block(place), dict[tuple[str, str], list[int]]()
        if present and all(map(self._is_disturbed, present.values())):
            of, all_of = f"of {place.server}", len(present)
            were = f"all {all_of} trials {of} were" if all_of > 1 else f"the only trial {of} was"
            return [f"{were} disturbed", CALMER]
        for block in self.blocks(place.experiment):
            seen, trial_id = present.get(block), _id(place, block)
            if why := self._mute(seen, above_0=above_0) if seen else self._unmeasured(trial_id):
                blocks_of.setdefault(why, []).append(block)
        clauses = [*self._clauses(place, blocks_of)]
        return clauses or ([] if present else [f"{place.server} was not measured"])

    def _unmeasured(self, trial_id: str) -> tuple[str, str]:
        """Return why there is no measured trial of that id, in short and in detail."""
        failure = self.failed.get(trial_id)
        if failure is not None:
            return "was skipped" if trial_id in self.skipped else "failed", failure
        return NO_PART if trial_id in self.unused else ("was not measured", "")

    def _clauses(self, place: ServerPlace, blocks_of: Mapping[tuple[str, str], list[int]]) -> Iterator[str]:
        server, every = place.server, self.blocks(place.experiment)
        if list(blocks_of.values()) == [every] and ("was not measured", "") in blocks_of:
            yield f"{server} was not measured"
            return
        for (did, particulars), blocks in list(blocks_of.items())[:REASONS_MAX]:
            clause = f"{server} {did} in {self._named(blocks, place.experiment)}"
            yield f"{clause} ({particulars})" if particulars else clause
        if len(blocks_of) > REASONS_MAX:
            rest = sorted(block for blocks in list(blocks_of.values())[REASONS_MAX:] for block in blocks)
            yield f"{server} likewise in {self._named(rest, place.experiment)}"

    def _named(self, blocks: Sequence[int], experiment: str) -> str:
        if len(blocks) > 1 and list(blocks) == self.blocks(experiment):
            return f"all {len(blocks)} blocks"
        return f"block{'s' if len(blocks) > 1 else ''} {enumerate_parts([str(block) for block in blocks])}"


def _id(place: ServerPlace, block: int) -> str:
    """Return the id of a server's trial."""
    return f"{place.experiment}/b{block:02}/{place.server}"


def place_of(name: str, experiment: str) -> ServerPlace:
    """Return the place that "server" or "experiment:server" names; "server" alone is in `experiment`."""
    own, server = claim.split_place(name)
    return ServerPlace(experiment if own is None else own, server)


def _limit(of: bool, to: bool) -> Limit:
    return "at least" if of else "at most" if to else ""


def _too_few(in_which: str, found: int, absent: str) -> str:
    clause = f"it takes {SEVERAL} blocks in which {in_which}, and there is {'1' if found else 'none'}"
    return f"{clause}: {absent}" if absent else clause


def block_of(trial_id: str) -> int:
    """Return the number of the trial's block: "shared/b02/go" → 2; 0 if the id names none."""
    found = re.search(r"/b(\d+)/", trial_id)
    return int(found[1]) if found else 0
