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


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    for case in confusion.wanted(
        argparse.Namespace(**vars(parser.parse_args()), half=None, models=False, causes=False)
    ):
        try:
            with case.running() as words:
                print(f"### {case.name}\n\n```\n{screen(words)}\n```\n", flush=True)
        except corpus.Skipped as skipped:
            print(f"{case.name} is left out: {skipped}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
