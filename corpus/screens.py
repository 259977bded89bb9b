"""Diagnoses servers, and prints what each diagnosis shows on the screen, as Markdown.

    python corpus/screens.py NAME… > screens.md

NAME: a server of servers/, or of the corpus. One whose runtime is missing is left out, and named on stderr.
"""

import argparse
import sys

import confusion

import corpus

COLUMNS = 100


def screen(words: list[str]) -> str:
    """Run `crumple diagnose`; return what it shows."""
    ran = confusion.diagnosed(words, COLUMNS=str(COLUMNS))
    return ran.stdout.strip() or ran.stderr.strip()


def named(names: list[str]) -> list[confusion.Case]:
    """Return the servers of these names; raise SystemExit for one that there is not."""
    every = {"half": None, "part": None, "models": False, "causes": False}
    return list(confusion.wanted(argparse.Namespace(names=names, **every)))


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    for case in named(parser.parse_args().names):
        try:
            with case.running() as words:
                print(f"### {case.name}\n\n```\n{screen(words)}\n```\n", flush=True)
        except corpus.Skipped as skipped:
            print(f"{case.name} is left out: {skipped}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
