"""Draws the screen of a stored result, as a terminal shows it.

    .venv/bin/python docs/images/screen.py NAME "crumple diagnose localhost:8102" --out diagnose.svg

NAME is that of a stored result, as `crumple list` shows it. The picture of the README is of a diagnosis of
four_workers.py by its URL.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from crumple.drawing import terminal
from rich.text import Text

COLUMNS = 100


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("title", help="the command, for the top of the window")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    shown = subprocess.run(
        [sys.executable, "-m", "crumple", "show", asked.name],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)},
        capture_output=True,
        text=True,
        check=True,
    )
    picture = terminal.picture(Text.from_ansi(shown.stdout), COLUMNS, asked.title)
    asked.out.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
