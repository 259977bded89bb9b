"""Diagnoses servers whose truth is known, and prints what it takes for what.

    python corpus/confusion.py [NAME…] [--own|--tune|--kept] [--plain] [--causes] [--rounds N] [--out DIR]
    python corpus/confusion.py [NAME…] --by url|load|first-look [--lot N] [--tune|--kept] [--rounds N]
    python corpus/confusion.py --tables DIR [--again]

--own: the servers of servers/, of which the I/O model is declared. --tune, --kept: a half of the corpus.
--plain: servers without a planted cause; --causes: those with one; neither: both. --by: what is asked
instead, of the planted causes only: a diagnosis with the work's URL alone, which is what users have, a load
that watches the server, or crumple URL. --lot: so
many of them, drawn with a fixed seed. Each answer is stored as a JSON file of its own, and one that is stored
is not made again: an interrupted run goes on where it was.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import answers
import check
import confusion_tables
from answers import Answer, Kind, Truth
from crumple import project
from crumple.commands.project_files import Project
from crumple.errors import CrumpleError
from crumple.subject import build
from crumple.subject.server_toml import ServerDescription

import corpus

OUT = Path(".crumple-confusion")
# Longer than any diagnosis takes.
LIMIT_S = 300.0
SLOW, HEAVY = "/wait?ms=100", "/compute?ms=20"
# What can be asked, and how it is typed.
DIAGNOSE, URL, LOAD, FIRST_LOOK = "diagnose", "url", "load", "first-look"
TYPED = {DIAGNOSE: ["diagnose"], URL: ["diagnose"], LOAD: ["load"], FIRST_LOOK: []}
# A load that is not valid, or of which all requests fail, says what limits the server as well.
CODES = {DIAGNOSE: (0,), URL: (0,), LOAD: (0, 1, 3), FIRST_LOOK: (0, 1, 3)}
LOT_SEED = 37


@dataclass(frozen=True)
class Case:
    """A server to be diagnosed. `running` starts it, unless `crumple diagnose` does that itself, and returns
    the words that name it there; it raises Skipped. `by`: what is asked, a key of TYPED.
    """

    name: str
    kind: Kind
    truth: Truth
    own: bool
    running: Callable[[], AbstractContextManager[list[str]]]
    by: str = DIAGNOSE


def of_own(described: ServerDescription) -> Case:
    """A server of the project."""

    @contextmanager
    def running() -> Iterator[list[str]]:
        if missing := build.lacks(described):
            raise corpus.Skipped("; ".join(each.reason for each in missing))
        yield [described.name]

    return Case(described.name, "plain", answers.truth_of_own(described), True, running)


def of_corpus(entry: corpus.Entry, entries: dict[str, corpus.Entry], by: str = DIAGNOSE) -> Case:
    """A server of the corpus: its /work, if a cause is planted there, otherwise its root."""

    @contextmanager
    def running() -> Iterator[list[str]]:
        with corpus.running(entry, entries) as subject, check.idle(subject.address, entry.idle):
            path = "/work" if entry.cause else "/"
            # Who types no more than a URL names no process either.
            watch = ["--watch", str(subject.pids[0])] if by not in (URL, FIRST_LOOK) else []
            beside = ["--light", "/", "--slow", SLOW, "--heavy", HEAVY] if by == DIAGNOSE else []
            yield [f"http://{subject.address}{path}", *beside, *watch]

    kind: Kind = "cause" if entry.cause else "plain"
    return Case(entry.name, kind, answers.truth_of(entry), False, running, by)


def diagnosed(
    words: Sequence[str], by: str = DIAGNOSE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `crumple diagnose`, or what is asked instead, stored nowhere. Raises TimeoutExpired."""
    program = [Path(sys.executable).parent / "crumple", *TYPED[by], "--quiet", "--no-store"]
    return subprocess.run(
        [*program, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=project.root(),
        env={**os.environ, **environment},
    )


def _asked(words: Sequence[str], by: str) -> tuple[str, str]:
    """Run it; return what it printed as JSON, or nothing, and what went wrong."""
    ran = diagnosed(["--json", *words], by)
    if ran.stdout and ran.returncode in CODES[by]:
        return ran.stdout, ""
    return "", ran.stderr.strip() or f"code {ran.returncode}"


def made(case: Case, round_: int, more: list[str]) -> Answer:
    """Ask once. Raises Skipped."""
    took_s = 0.0
    try:
        with case.running() as words:
            began_s = time.monotonic()
            printed, error = _asked([*words, *more], case.by)
            took_s = time.monotonic() - began_s
    except (CrumpleError, OSError, subprocess.TimeoutExpired) as failed:
        printed, error = "", str(failed)
    said = json.loads(printed) if printed else None
    return Answer(case.name, case.kind, round_, case.truth, said, error, took_s, case.own)


def cases(names: Collection[str], half: str | None, part: str | None, by: str = DIAGNOSE) -> Iterator[Case]:
    """The servers of a half and a part; where there are names, the project's own, too."""
    if by == DIAGNOSE and (half in (None, "own") or names):
        yield from map(of_own, Project.here().servers.values())
    if half != "own" or names:
        entries = corpus.read()
        for entry in entries.values():
            if corpus.is_asked(entry, half, part):
                yield of_corpus(entry, entries, by)


def wanted(
    names: Collection[str],
    half: str | None = None,
    part: str | None = None,
    *,
    plain: bool = False,
    causes: bool = False,
    by: str = DIAGNOSE,
) -> list[Case]:
    """The cases of the names, or of the half, the part and the kinds. Raises SystemExit for another name."""
    found = list(cases(names, half, part, by))
    if unknown := set(names) - {case.name for case in found}:
        sys.exit(f"no server is called {', '.join(sorted(unknown))}")
    kinds = {kind for kind, is_asked in (("plain", plain), ("cause", causes or by != DIAGNOSE)) if is_asked}
    return [case for case in found if (not names or case.name in names) and (not kinds or case.kind in kinds)]


def run(asked: Sequence[Case], rounds: int, out: Path, more: list[str]) -> None:
    """Ask for the answers that are not stored yet, a line for each."""
    out.mkdir(parents=True, exist_ok=True)
    for round_ in range(1, rounds + 1):
        for case in asked:
            if answers.file_of(out, case.kind, case.name, round_).exists():
                continue
            try:
                answer = made(case, round_, more)
            except corpus.Skipped as skipped:
                print(f"{case.name:24} skipped    {skipped}", flush=True)
                continue
            answers.store(out, answer)
            print(confusion_tables.line(answer), flush=True)


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="servers; none: all")
    corpus.add_halves(parser)
    parser.add_argument("--plain", action="store_true", help="servers without a planted cause")
    parser.add_argument("--causes", action="store_true", help="servers with a planted cause")
    parser.add_argument(
        "--by", choices=[*TYPED], default=DIAGNOSE, help="what is asked (default: a diagnosis)"
    )
    parser.add_argument("--lot", type=int, metavar="N", help="so many servers, drawn with a fixed seed")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="diagnose each so many times")
    parser.add_argument(
        "--search", action="store_true", help="search breaking points, too (30 s more for each)"
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help=f"where answers are stored ({OUT})"
    )
    parser.add_argument("--tables", type=Path, metavar="DIR", help="print the tables of stored answers only")
    parser.add_argument(
        "--again", action="store_true", help="judge what was observed by the rules as they are now"
    )
    arguments = parser.parse_args()
    folder = arguments.tables or arguments.out
    if arguments.tables is None:
        asked = wanted(
            arguments.names,
            arguments.half,
            arguments.part,
            plain=arguments.plain,
            causes=arguments.causes,
            by=arguments.by,
        )
        if arguments.lot is not None:
            asked = random.Random(LOT_SEED).sample(asked, min(arguments.lot, len(asked)))
        more = ["--no-search"] if arguments.by in (DIAGNOSE, URL) and not arguments.search else []
        run(asked, arguments.rounds, folder, more)
    found = answers.read(folder)
    print(confusion_tables.tables([answers.again(each) for each in found] if arguments.again else found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
