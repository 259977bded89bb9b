"""Prints what the screen shows of diagnoses, as Markdown.

    python corpus/screens.py NAME…                    # diagnose these servers now
    python corpus/screens.py --stored DIR NAME…       # from answers that confusion.py has stored

NAME: a server of servers/, or of the corpus. One whose runtime is missing is left out, and named on stderr.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import answers
import confusion
from crumple.diagnose.report import diagnose_report
from crumple.diagnose.report.diagnose_document import DiagnoseDocument
from crumple.drawing import report_text

import corpus

COLUMNS = 100


def screen(words: list[str]) -> str:
    """Run `crumple diagnose`; return what it shows."""
    ran = confusion.diagnosed(words, COLUMNS=str(COLUMNS))
    return ran.stdout.strip() or ran.stderr.strip()


def made(names: list[str]) -> Iterator[tuple[str, str]]:
    """Diagnose each; yield its name and its screen."""
    for case in confusion.wanted(names):
        try:
            with case.running() as words:
                yield case.name, screen(words)
        except corpus.Skipped as skipped:
            print(f"{case.name} is left out: {skipped}", file=sys.stderr)


def stored(folder: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each name and the screen of its stored answer; raise SystemExit for one that is missing."""
    kept = {answer.name: answer.said for answer in answers.read(folder) if answer.said is not None}
    for name in names:
        if name not in kept:
            sys.exit(f"{folder} has no answer of {name}")
        document = DiagnoseDocument.model_validate_json(json.dumps(kept[name]))
        yield name, report_text.text(diagnose_report.report(document), COLUMNS, styled=False).strip()


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--stored", type=Path, metavar="DIR", help="take the answers that are stored there")
    asked = parser.parse_args()
    for name, shown in stored(asked.stored, asked.names) if asked.stored else made(asked.names):
        print(f"### {name}\n\n```\n{shown}\n```\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
