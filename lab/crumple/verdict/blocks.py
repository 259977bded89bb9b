"""Which experiments a claim rests on, how many blocks these have, and after which it is judged. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crumple.record.figures import Figures
from crumple.stats.looks import ONCE, Look, Looks
from crumple.study.claim import Claim, GrowthClaim, ModelClaim, OrderClaim, RatioClaim, ScaleName
from crumple.study.study import Study
from crumple.verdict.evidence import block_of, placed


@dataclass(frozen=True)
class Blocks:
    """What a claim has: `done` blocks in all of its `experiments`, judged at these `looks`."""

    experiments: tuple[str, ...]
    done: int
    looks: Looks

    @property
    def early(self) -> bool:
        """Fewer blocks than the first look has."""
        return not self.looks.once and self.done < self.looks.least


def looks_of(study: Study, scale: ScaleName) -> dict[str, Looks]:
    """Experiment → when a run of that scale looks at what it has; where it does so once, at the end, too."""
    scales = {name: each.scales[scale] for name, each in study.experiments.items() if scale in each.scales}
    return {name: Looks(each.least_blocks or each.blocks, each.blocks) for name, each in scales.items()}


def blocks_of(
    claim: Claim, figures: Sequence[Figures], failed: Mapping[str, str], looks: Mapping[str, Looks]
) -> Blocks:
    """Those of the claim. A block counts when any trial of it was done, whatever became of it."""
    names = experiments_of(claim)
    done = min((_done(name, figures, failed) for name in names), default=0)
    together = ONCE if isinstance(claim, ModelClaim) else _together([looks.get(name, ONCE) for name in names])
    return Blocks(names, done if together.once else min(done, together.most), together)


def experiments_of(claim: Claim) -> tuple[str, ...]:
    """Those it rests on; of a cost of the machine none."""
    return tuple(sorted({name for name in _experiments(claim) if name}))


def within(
    blocks: int | None, experiments: Iterable[str], figures: Sequence[Figures], failed: Mapping[str, str]
) -> tuple[tuple[Figures, ...], Mapping[str, str]]:
    """Figures and failures of the first so many blocks of these experiments; None: of all blocks."""
    names = set(experiments)
    seen = tuple(each for each in figures if each.experiment in names)
    if blocks is None:
        return seen, failed
    first = tuple(each for each in seen if each.block <= blocks)
    return first, {key: why for key, why in failed.items() if block_of(key) <= blocks}


def last_look(
    figures: Sequence[Figures], experiment: str, looks: Mapping[str, Looks], overall: float
) -> Look:
    """That of an experiment's noise."""
    return Look(overall, _done(experiment, figures, {}), looks.get(experiment, ONCE))


def _done(experiment: str, figures: Sequence[Figures], failed: Mapping[str, str]) -> int:
    measured = (each.block for each in figures if each.experiment == experiment)
    return max([0, *measured, *(block_of(key) for key in failed if key.startswith(f"{experiment}/"))])


def _together(looks: Sequence[Looks]) -> Looks:
    """The looks at what several experiments have in common. Those of a fixed design only limit the blocks."""
    several = [each for each in looks if not each.once]
    if not several:
        return ONCE
    most = min(each.most for each in looks if each is not ONCE)
    return Looks(min(most, max(each.least for each in several)), most)


def _experiments(claim: Claim) -> Iterator[str]:
    own = getattr(claim, "experiment", None) or ""
    for field in ("against", "alone"):
        yield getattr(claim, field, None) or ""
    if isinstance(claim, GrowthClaim) and claim.experiments:
        yield from claim.experiments
        return
    for name in _servers(claim):
        yield placed(name, own).experiment


def _servers(claim: Claim) -> Iterator[str]:
    if isinstance(claim, OrderClaim):
        yield from (name for tier in claim.tiers for name in tier)
    elif isinstance(claim, RatioClaim):
        yield from (name for pair in claim.pairs for name in (pair.of, pair.to))
    else:
        yield from claim.servers or ()
