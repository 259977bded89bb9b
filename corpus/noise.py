"""How steady first findings are: judges stored answers again, with noise on what was observed.

    python corpus/noise.py DIR… [--rounds N]

DIR: where confusion.py stored answers. Rates, times, CPU time and the requests at each stage get errors of
2 to 5 % (standard deviation), disk and run queue 10 %, and up to a quarter of the threads have no place. A
finding that such noise changes must not be *shown*. Prints those whose cause stays in fewer than nine of ten
rounds.
"""

import argparse
import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import answers
from answers import Answer
from crumple.cause import judged
from crumple.limit.finding import Finding
from crumple.observation.at_load import Stage, Threads
from crumple.observation.server_facts import ServerFacts

ROUNDS = 60
STEADY = 0.9
# Standard deviations, as shares, and the largest share of threads without a place.
RATE, TIME, SEVERAL, RARE, UNNAMED_MAX = 0.02, 0.03, 0.05, 0.1, 0.25


@dataclass(frozen=True)
class Steadiness:
    """The first finding of an answer, and what came instead under noise, with how often; `same`: 0..1."""

    name: str
    cause: str
    sure: str
    same: float
    instead: Counter[str]


def first(facts: ServerFacts) -> tuple[str, str]:
    """Cause and certainty of the first finding; "cannot tell" if there is none."""
    found = next((each for each in judged.judged(facts) if isinstance(each, Finding)), None)
    return (found.cause, found.sure) if found else (answers.CANNOT_TELL, "")


def steadiness(answer: Answer, rounds: int) -> Steadiness | None:
    """Judge an answer as it is and with noise; None: it has nothing to judge."""
    facts = answers.facts_of(answer)
    if facts is None:
        return None
    cause, sure = first(facts)
    drawn = random.Random(answer.name)
    causes = Counter(first(noisy(facts, drawn))[0] for _ in range(rounds))
    same = causes.pop(cause, 0) / rounds
    return Steadiness(answer.name, cause, sure, same, causes)


def noisy(facts: ServerFacts, drawn: random.Random) -> ServerFacts:
    """The facts as another diagnosis might have observed them."""
    about, load = partial(_about, drawn), facts.beyond
    changed = replace(
        load,
        per_s=about(load.per_s, RATE),
        rates=load.rates and (about(load.rates[0], TIME), about(load.rates[1], TIME)),
        cores=load.cores and about(load.cores, TIME),
        threads=load.threads and _noisy_threads(load.threads, drawn),
        stage=load.stage and _noisy_stage(load.stage, drawn),
        peers=load.peers
        and tuple(replace(each, waiting=about(each.waiting, SEVERAL)) for each in load.peers),
    )
    return replace(facts, beyond=changed, alone_s=facts.alone_s and about(facts.alone_s, TIME))


def _about(drawn: random.Random, number: float, share: float) -> float:
    """A number with an error. `share`: its standard deviation, as a share of the number."""
    return number * max(0.5, drawn.gauss(1.0, share))


def _noisy_threads(threads: Threads, drawn: random.Random) -> Threads:
    about = partial(_about, drawn)
    named = 1.0 - drawn.uniform(0.0, UNNAMED_MAX)
    places = {place: share * named for place, share in threads.places.items() if place}
    if places:
        places[""] = sum(threads.places.values()) - sum(places.values())
    return replace(
        threads,
        places=places or threads.places,
        disk=about(threads.disk, RARE),
        runnable=about(threads.runnable, RARE),
        sharing=threads.sharing and about(threads.sharing, SEVERAL),
    )


def _noisy_stage(stage: Stage, drawn: random.Random) -> Stage:
    """Requests at each stage, as many as before in all."""
    before = (stage.not_accepted, stage.unread, stage.inside, stage.other)
    after = [_about(drawn, each, SEVERAL) for each in before]
    whole = sum(before) / sum(after) if sum(after) else 1.0
    return Stage(*(each * whole for each in after))


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="where answers are stored")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"judge so often ({ROUNDS})")
    arguments = parser.parse_args()
    read = [answer for folder in arguments.folders for answer in answers.read(folder)]
    found = [each for answer in read if (each := steadiness(answer, arguments.rounds)) is not None]
    for each in sorted(found, key=lambda each: each.same):
        if each.same < STEADY:
            instead = ", ".join(f"{cause} {number}" for cause, number in each.instead.most_common())
            print(f"{each.name:24} {each.cause} {each.sure:10} {each.same:5.0%}   instead: {instead}")
    for sure in ("shown", "consistent"):
        of = [each.same for each in found if each.sure == sure]
        if of:
            print(
                f"{sure}: {len(of)} first findings, the same cause in {sum(of) / len(of):.1%} of the rounds"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
