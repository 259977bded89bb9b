#!/usr/bin/env python3
"""Does a run err more often because its time ends it? A simulation of experiments that share a budget.

    .venv/bin/python bench/simulate_budgets.py --studies 600

Which experiment has the next block depends on the results so far, and so does which experiments are still
waiting when the time is over. Each study has three experiments of five servers, with 5 % of noise per start
and 10 % per block. A claim about two servers that are alike is neither true nor false, so each decision about
it is an error. The table shows what the looks alone decide, and what they decide if the last look before the
end of the time has all of the error that is left.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import options
from crumple.run import session
from crumple.run.session import ExperimentPlace, Next, Open
from crumple.stats import estimate, moderated
from crumple.stats.estimate import Estimate
from crumple.stats.question import LookQuestion
from crumple.stats.sequential import Look, Looks
from crumple.study.study_load import Scale, Until
from crumple.verdict import opinions, verdict
from crumple.verdict.effect import Effect, Opinion
from crumple.verdict.verdict import DECIDED, Verdict
from numpy.random import Generator
from simulate_studies import SWING, named

SPREAD, SERVERS, EXPERIMENTS = 0.05, 5, 3
DESIGNS = (Looks(2, 5), Looks(2, 12), Looks(3, 6), Looks(3, 10))
# The servers of each claim. In APART the second server of each pair is faster by the factor FASTER.
ALIKE, APART = ((0, 1), (3, 4)), ((0, 2),)
FASTER = 1.1
BLOCK_S = (5.0, 30.0)
# Shares of the time that all blocks take beyond those that each experiment must have.
BUDGETS = (0.1, 0.3, 0.6)


@dataclass
class Made:
    """One experiment: its rows by server, and the estimates that were made of its first blocks."""

    rows: list[list[float]]
    block_s: float
    done: int
    known: dict[tuple[tuple[int, int], int], Estimate] = field(default_factory=dict)

    def estimate(self, pair: tuple[int, int], blocks: int) -> Estimate:
        """The ratio of the second server of a pair to the first."""
        if (pair, blocks) not in self.known:
            prior = moderated.prior([dict(enumerate(row[:blocks])) for row in self.rows])
            of_two = moderated.of_two(prior, prior)
            for one, other in (*ALIKE, *APART):
                logs = [b - a for a, b in zip(self.rows[one][:blocks], self.rows[other], strict=False)]
                self.known[(one, other), blocks] = estimate.of_values(logs, of_two)
        return self.known[pair, blocks]

    def opinion(self, pair: tuple[int, int], blocks: int, looks: Looks) -> tuple[LookQuestion, Opinion]:
        """What a look after `blocks` blocks says."""
        seen = LookQuestion(self.estimate(pair, blocks), Look(0.95, blocks, looks))
        return seen, opinions.judge_order(seen, higher_is_better=True)

    def decided(self, pair: tuple[int, int], looks: Looks) -> bool:
        """Whether any look so far has decided."""
        several = range(looks.least, self.done + 1)
        return any(self.opinion(pair, blocks, looks)[1].answer in DECIDED for blocks in several)


def study(random: Generator, looks: Looks, share: float) -> tuple[list[Made], set[int]]:
    """Conducts a run like run/session.py, within a budget. Also returns which experiments the time ended."""
    made = [_made(random, looks) for _ in range(EXPERIMENTS)]
    left_s = share * sum((looks.most - looks.least) * each.block_s for each in made)
    while True:
        standing = {
            ExperimentPlace("run", str(index)): [*_open(each, looks)] for index, each in enumerate(made)
        }
        following = {
            ExperimentPlace("run", str(index)): Next(
                each.done, each.block_s if each.done < looks.most else None
            )
            for index, each in enumerate(made)
        }
        claims = [Open(f"{place}", (place,), needed) for place, of in standing.items() for needed in of]
        choice = session.choose(claims, following, left_s)
        if choice is None:
            goes_on = (place for place, each in following.items() if each.takes_s is not None)
            return made, {int(place.experiment) for place in goes_on if standing[place]}
        chosen = made[int(choice.place.experiment)]
        chosen.done += 1
        left_s -= chosen.block_s


def _made(random: Generator, looks: Looks) -> Made:
    swing = random.normal(0, SWING, looks.most)
    rows = [swing + random.normal(0, SPREAD, looks.most) for _ in range(SERVERS)]
    for _, faster in APART:
        rows[faster] += np.log(FASTER)
    return Made([row.tolist() for row in rows], random.uniform(*BLOCK_S), looks.least)


def _open(made: Made, looks: Looks) -> Iterator[int]:
    """With how many blocks each open claim would be decided, of those that more blocks would help."""
    scales = {"e": Scale(blocks=looks.most, stop=Until(duration_s=1))}
    for pair in (*ALIKE, *APART):
        if made.decided(pair, looks):
            continue
        seen, opinion = made.opinion(pair, made.done, looks)
        effect = Effect(
            label="", of="e:a", to="e:b", ratio=seen.printed, answer=opinion.answer, reason="", what="",
            blocks_needed=opinion.blocks_needed, blocks_hoped=opinion.blocks_hoped,
        )  # fmt: skip
        said = Verdict("", "", "order", opinion.answer, False, (effect,), "", ())
        needed = verdict.outlook(said, made.done, scales).needed
        if needed is not None:
            yield needed


def table(studies: int) -> Iterator[tuple[str, ...]]:
    """A row for each design and budget."""
    yield (
        "blocks", "budget", "ended by time", "wrong by the looks", "wrong with the rest",
        "a tenth seen by the looks", "seen with the rest", "blocks used",
    )  # fmt: skip
    for looks in DESIGNS:
        for share in BUDGETS:
            random = np.random.default_rng([looks.least, looks.most, round(100 * share)])
            wrong, seen, over, used = [], [], [], []
            for _ in range(studies):
                made, ended = study(random, looks, share)
                for index, each in enumerate(made):
                    final = replace(looks, ended=each.done) if index in ended else looks
                    wrong += [[each.decided(pair, kind) for kind in (looks, final)] for pair in ALIKE]
                    seen += [[each.decided(pair, kind) for kind in (looks, final)] for pair in APART]
                    over.append(index in ended)
                    used.append(each.done)
            shares = (np.mean(over), *np.mean(wrong, axis=0), *np.mean(seen, axis=0))
            percents = (f"{100 * each:.1f} %" for each in shares)
            yield (named(looks), f"{share:.0%}", *percents, f"{np.mean(used):.1f}")


def main() -> None:
    """Print the table."""
    for index, row in enumerate(table(parse().studies)):
        print(f"| {' | '.join(row)} |", flush=True)
        if not index:
            print("|" + "---|" * len(row))


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--studies", type=int, default=600)
    return options.parse(parser, studies=1)


if __name__ == "__main__":
    main()
