"""How many claims does a tour decide, and do tours agree? `crumple run --all --scale tour`, several times.

    python bench/tours.py --rounds 5 --results calm.jsonl
    python bench/disturbed.py one -- python bench/tours.py --rounds 5 --against calm.jsonl --least 20

A claim is decided if it is supported or contradicted. With --against, a claim that most of those tours
decided one way and a tour of these the other way is a contradiction, of which there may be none. Exits 1 if
there is one, or if a tour decides fewer claims than --least. A tour takes four minutes.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import load
import options
import terminal
from bounds import Bounds, run

DECIDED = ("supported", "contradicted")
# What is said of claims that the scale is not meant to answer, which are not counted.
TOO_SHORT = "is too short to answer this"
# The shortest form measures one server only.
SERVER = "node-http"

# Claim → its answer in one tour.
Answers = dict[str, str]


def main() -> None:
    """Take tour after tour, and judge them."""
    arguments = parse()
    bounds = Bounds(judging=not arguments.shortest)
    expected = majority(read(arguments.against)) if arguments.against else {}
    for number in range(arguments.rounds):
        code, answers = toured(
            number + 1, ("todo-json", "--servers", SERVER) if arguments.shortest else ("--all",)
        )
        if arguments.results:
            with arguments.results.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(answers) + "\n")
        decided = sum(each in DECIDED for each in answers.values())
        against = [name for name, answer in answers.items() if contradicts(answer, expected.get(name, ""))]
        print(f"{number + 1:4}  {decided} of {len(answers)} decided, exit code {code}", end="")
        print(f"; another answer than before: {', '.join(against)}" if against else "", flush=True)
        if against:
            bounds.miss("agreement")
        if decided < arguments.least:
            bounds.miss(f"at least {arguments.least} decided")
        if code:
            bounds.miss("exit code 0")
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    options.rounds(parser, 1)
    parser.add_argument("--results", type=Path, help="append the answers of each tour to this file")
    parser.add_argument("--against", type=Path, help="the answers of earlier tours")
    parser.add_argument("--least", type=int, default=0, help="how many claims a tour must decide")
    return options.parse(parser)


def toured(seed: int, studies: Sequence[str]) -> tuple[int, Answers]:
    """Take a tour of these studies; return its exit code and answers. Raises LoadError if it gave none."""
    said = terminal.call("run", *studies, "--scale", "tour", "--seed", str(seed), "--json")
    if not said.answer:
        raise load.LoadError(f"crumple run ended with {said.code}: {said.screen[-300:].strip()}")
    runs = json.loads(said.answer)
    claims = (claim for each in (runs if isinstance(runs, list) else [runs]) for claim in each["claims"])
    asked = (each for each in claims if TOO_SHORT not in each["sentence"])
    return said.code, {each["id"]: each["answer"] for each in asked}


def read(file: Path) -> list[Answers]:
    """The answers of earlier tours."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def majority(tours: Iterable[Answers]) -> Answers:
    """Claim → the answer that more tours decided for than for the other one."""
    counted: dict[str, Counter[str]] = {}
    for answers in tours:
        for name, answer in answers.items():
            if answer in DECIDED:
                counted.setdefault(name, Counter())[answer] += 1
    found = {}
    for name, counts in counted.items():
        (first, times), *others = counts.most_common()
        if not others or others[0][1] < times:
            found[name] = first
    return found


def contradicts(answer: str, expected: str) -> bool:
    """Whether one is decided and the other is, too, the other way."""
    return answer in DECIDED and expected in DECIDED and answer != expected


if __name__ == "__main__":
    run(main)
