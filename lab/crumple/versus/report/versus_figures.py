"""A comparison as a reader meets it: its figures by version, and what there is to note. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import geometric_mean

from crumple.contract import HistogramRecord
from crumple.record import histogram
from crumple.versus import equal_speed, turn
from crumple.versus.calibrating import SampleAnswer, differences
from crumple.versus.lengths import Loads
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.standing import Figure, LikenessWord, LookResult, Ratio, Rows
from crumple.versus.turn import KEPT_UP_SHARE, Turn, VersusBlock
from crumple.versus.versus_course import VersionComparison

# The number of letters at their beginning by which sentences are of one kind: enough for three words, so that
# those that give another number or another remedy for the same are of one.
KIND_LETTERS = 15
# The least change of a ratio with which it is called corrected, as a share.
CORRECTED_MIN = 0.01
_PARENTHESES = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class VersusFigures:
    """What reports show of a comparison of versions, computed of its document."""

    document: VersusDocument
    looks: tuple[LookResult, ...] = ()
    """What each look saw, which a document does not have; empty: only what all looks came to is known."""

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Letter → label."""
        return {each.letter: each.label for each in self.document.versions}

    @property
    def same(self) -> tuple[str, ...]:
        """The letters of versions that are the same thing as A."""
        return tuple(each.letter for each in self.document.versions if each.same_as_first)

    @property
    def loads(self) -> Loads:
        """How the versions were loaded, as it was asked for."""
        return self.document.loads

    @property
    def afresh(self) -> Mapping[str, bool]:
        """Letter → whether each turn was a new process, where that is known."""
        versions = self.document.versions
        return {each.letter: each.fresh_starts for each in versions if each.fresh_starts is not None}

    @cached_property
    def compared(self) -> VersionComparison:
        """The comparison as it was when it was over."""
        document = self.document
        ratios = tuple(each.as_ratio for each in document.ratios)
        in_all = (LookResult(ratios, len(document.blocks)),) if ratios else ()
        return VersionComparison(
            ending=document.ending,
            known={each.letter: each.calibrated for each in document.versions if each.calibrated is not None},
            rate_per_s=document.rate_per_s,
            rule=document.rule,
            lengths=document.lengths,
            blocks=tuple(VersusBlock(tuple(each.turn for each in turns)) for turns in document.blocks),
            seen=self.looks or in_all,
            took_s=document.took_s,
            gone=document.gone or "",
        )

    @property
    def others(self) -> tuple[str, ...]:
        """The letters of all versions but the first."""
        return tuple(letter for letter in self.labels if letter != FIRST)

    @cached_property
    def rows(self) -> Rows:
        """The figures that count."""
        return turn.rows(self.compared.blocks)

    @cached_property
    def speeds(self) -> Rows:
        """How fast the server's cores were in each turn."""
        return turn.speeds(self.compared.blocks)

    @property
    def speeds_by_load(self) -> list[list[float]]:
        """The speeds in all loads that showed a figure, for each figure of which there are any."""
        every = (
            [value for row in of_figure.values() for value in row.values()]
            for of_figure in self.speeds.values()
        )
        return [each for each in every if each]

    @property
    def is_corrected(self) -> bool:
        """Whether the ratio of some block is another at equal speed."""
        return any(
            abs(math.log(value / self.by_block(letter, figure, as_measured=True)[block])) > CORRECTED_MIN
            for letter in self.others
            for figure in self.rows
            for block, value in self.by_block(letter, figure).items()
        )

    def ratios(self, letter: str) -> tuple[Ratio, ...]:
        """What the comparisons of a version came to."""
        return tuple(each for each in self.compared.ratios if each.letter == letter)

    def answered(self, letter: str, answer: LikenessWord) -> list[Ratio]:
        """The comparisons of a version that have this answer."""
        return [each for each in self.ratios(letter) if each.answer == answer]

    def value(self, letter: str, figure: Figure) -> float | None:
        """The geometric mean over blocks; None: none counts. Of A, with its twin's."""
        own = (FIRST, TWIN) if letter == FIRST else (letter,)
        found = [value for name in own for value in self.rows.get(figure, {}).get(name, {}).values()]
        return geometric_mean(found) if found else None

    def by_block(self, letter: str, figure: Figure, *, as_measured: bool = False) -> dict[int, float]:
        """Block → its ratio to A and its twin, at equal speed of the cores unless `as_measured`."""
        logs, speeds = (equal_speed.logarithms(rows.get(figure, {})) for rows in (self.rows, self.speeds))
        found = equal_speed.to_both(logs, {} if as_measured else speeds, letter)
        return {block: math.exp(found[block]) for block in sorted(found)}

    def as_measured(self, ratio: Ratio) -> float | None:
        """The same ratio as measured, of the same blocks; None: it takes two blocks that count."""
        if ratio.interval is None:
            return None
        rows = self.by_block(ratio.letter, ratio.figure, as_measured=True)
        found = [value for block, value in rows.items() if block <= ratio.blocks]
        return geometric_mean(found) if found else None

    def turns(self, letter: str) -> list[Turn]:
        """The turns of a version that stand, its twin's included."""
        names = (FIRST, TWIN) if letter == FIRST else (letter,)
        found = (block.by_letter.get(name) for block in self.compared.blocks for name in names)
        return [each for each in found if each is not None]

    def times(self, letter: str) -> HistogramRecord | None:
        """All response times at the rate that count; None: none does."""
        counting = [each.at_rate.times for each in self.turns(letter) if each.at_rate.counts]
        return histogram.join(counting) if counting else None

    @property
    def against(self) -> list[tuple[str, int]]:
        """Why turns that stand do not count: an example of each kind, and of how many turns it is true."""
        every = (each for letter in self.labels for each in self.turns(letter))
        kinds = [{_kind(why): why for why in each.against} for each in every]
        examples = {kind: why for each in reversed(kinds) for kind, why in each.items()}
        return [(examples[kind], number) for kind, number in _counted(kinds)]

    @property
    def failing(self) -> dict[str, float]:
        """Letter → the largest share of the requests of one load that failed, where any did."""
        worst = {
            letter: max(
                (load.failed_share for each in self.turns(letter) for load in each.loads), default=0.0
            )
            for letter in self.labels
        }
        return {letter: share for letter, share in worst.items() if share}

    @property
    def behind(self) -> tuple[str, ...]:
        """The letters of versions that cannot keep up with the rate, in half of their turns or more."""
        behind = []
        for letter in self.labels:
            late = [each.at_rate.answered_share < KEPT_UP_SHARE for each in self.turns(letter)]
            if late and 2 * sum(late) >= len(late):
                behind.append(letter)
        return tuple(behind)

    @property
    def warnings(self) -> list[tuple[str, int]]:
        """The warnings of the loads that count, one of each kind, with the number of loads that have it.

        The most frequent first; of each kind that of the load which others slowed most.
        """
        loads = [load for letter in self.labels for each in self.turns(letter) for load in each.loads]
        slowest_last = sorted((load for load in loads if load.counts), key=lambda load: load.slowdown)
        kinds = [{_kind(said): said for said in load.warnings} for load in slowest_last]
        last = {kind: said for each in kinds for kind, said in each.items()}
        return [(last[kind], number) for kind, number in _counted(kinds)]

    @property
    def differing(self) -> dict[str, list[tuple[SampleAnswer, SampleAnswer]]]:
        """Letter → the answers that differ from those of A."""
        known = self.compared.known
        first = known[FIRST].answers if FIRST in known else ()
        pairs = {
            letter: differences(first, known[letter].answers) for letter in self.others if letter in known
        }
        return {letter: found for letter, found in pairs.items() if found}


def _kind(said: str) -> str:
    """Return the first words of a sentence, without numbers and parentheses: those of a kind share them."""
    while (shorter := _PARENTHESES.sub("", said)) != said:
        said = shorter
    return "".join(letter for letter in said if letter.isalpha())[:KIND_LETTERS]


def _counted(kinds: Iterable[Iterable[str]]) -> list[tuple[str, int]]:
    """Return each kind with how many have it, the most frequent first."""
    return Counter(kind for each in kinds for kind in each).most_common()
