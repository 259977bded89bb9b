"""Runs crumple with the arguments of the action, and tells later steps where its files are.

Arguments are split as a shell splits them, and nothing in them is expanded or executed.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

# Commands that write a page themselves, and one whose page another command writes.
WITH_PAGE = ("load", "find", "diagnose", "versus")
RUN = "run"
USAGE = 2
REMEDY = "write what follows crumple, such as: load http://…"


def main() -> int:
    """Run crumple; return its exit code."""
    try:
        words = shlex.split(os.environ["ARGUMENTS"])
    except ValueError as error:
        print(f"arguments: {error}; {REMEDY}", file=sys.stderr)
        return USAGE
    if not words:
        print(f"arguments: is empty; {REMEDY}", file=sys.stderr)
        return USAGE
    verb, *rest = words
    folder = Path(os.environ["FOLDER"])
    folder.mkdir(parents=True, exist_ok=True)
    page, junit = folder / "page.html", folder / "junit.xml"
    flags = [
        word for line in os.environ["FAIL_IF"].splitlines() if line.strip() for word in ("--fail-if", line)
    ]
    if verb in (*WITH_PAGE, RUN):
        flags += ["--junit", str(junit)]
    if verb in WITH_PAGE:
        flags += ["--html", str(page)]
    # Right after the command, since what follows -- is a server's own.
    code = subprocess.run(["crumple", verb, *flags, *rest], check=False).returncode
    if verb == RUN:
        # Without a run that was begun there is no page.
        subprocess.run(["crumple", "report", "--format", "html", "--out", str(page)], check=False)
    _tell({"code": str(code), "page": _if_there(page), "junit": _if_there(junit)})
    return code


def _if_there(file: Path) -> str:
    return str(file) if file.is_file() else ""


def _tell(outputs: dict[str, str]) -> None:
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        for name, value in outputs.items():
            # A value of several lines could set another output.
            file.write(f"{name}={value.splitlines()[0] if value else ''}\n")


if __name__ == "__main__":
    sys.exit(main())
