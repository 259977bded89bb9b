"""The output of commands: results on stdout, as tables, text or JSON; messages on stderr; and files.

All output goes through this module, which escapes control characters, so that text from a server or a file
cannot control the terminal (`drawing.terminal`).
"""

import codecs
import errno
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from crumple.drawing import fitting, terminal
from crumple.drawing.fitting import TextColumn
from crumple.drawing.report_parts import Report
from crumple.drawing.terminal import Terminal, shown_json, shown_text
from crumple.errors import CrumpleError
from crumple.machine import leftovers

if TYPE_CHECKING:
    from pydantic import BaseModel

# Blanks between the columns of a table of a command. One, since its columns are many and its words short.
GAP = 1
facts = Terminal(soft_wrap=False)
words = Terminal(stderr=True, highlight=False)


def as_json(data: Any) -> None:
    """Print one JSON document on stdout."""
    document(json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n")


def models(found: "BaseModel | Sequence[BaseModel]") -> None:
    """Print a document of a published class on stdout, or a list of such."""
    if isinstance(found, Sequence):
        as_json([each.model_dump(mode="json") for each in found])
    else:
        as_json(found.model_dump(mode="json"))


def document(text: str) -> None:
    """Print JSON on stdout. Characters that its encoding lacks become JSON escapes, so no data are lost."""
    encoding = sys.stdout.encoding or "utf-8"
    # As an escape of JSON, since the data must stay: a runner of CI would take this for a command.
    text = text.replace("##[", "#\\u0023[")
    sys.stdout.write(shown_json(text).encode(encoding, "crumple-json").decode(encoding))


def drawn(text: str) -> None:
    """Print on stdout what `drawing.terminal` drew, with its styles."""
    sys.stdout.write(for_runner(text))


def plain(text: str) -> None:
    """Print any other text on stdout."""
    sys.stdout.write(for_runner(shown_text(text)))


def is_github() -> bool:
    """Return whether this is a job of GitHub Actions, whose runner reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def for_runner(text: str) -> str:
    """Return a text in which the runner of a CI job finds no command that a server might have sent."""
    if not is_github():
        return text
    # Imported here because only a job of CI needs it.
    from crumple.gate import annotations

    return annotations.defused(text)


def write(file: Path, text: str) -> None:
    """Write a text, a page or a document to a file. Raises OSError."""
    file.write_text(shown_text(text), encoding="utf-8")


def save(file: Path, text: str) -> None:
    """Write a file that a flag names. Raises CrumpleError."""
    try:
        write(file, text)
    except OSError as error:
        raise CrumpleError(f"cannot write {file}: {error.strerror}", "name another file") from None


def as_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    left_out_first: Sequence[str] = (),
    on_one_line: Sequence[str] = (),
) -> None:
    """Print a plain table. Cells wrap between words, never within one.

    `left_out_first`: the columns to leave out if the terminal is too narrow, in this order; if that is not
    enough, lines are longer than the terminal is wide. `on_one_line`: columns whose cells do not wrap.
    """
    # As Text, so that "[" in a name or reason is not read as markup. Escaping control characters changes the
    # width of a cell, so it comes before the widths are measured.
    cells = [
        [terminal.harmless(cell if isinstance(cell, Text) else Text(cell)) for cell in row] for row in rows
    ]
    columns = [
        TextColumn(heading, [row[at] for row in cells], heading in on_one_line)
        for at, heading in enumerate(headings)
    ]
    kept = fitting.fitted(columns, facts.width, GAP, left_out_first=left_out_first)
    width = max(facts.width, fitting.least(kept, GAP))
    # The last column has a gap too, which is cut off.
    drawn(terminal.printed(fitting.table(kept, width, GAP, heading_style="bold"), width + GAP))
    if gone := fitting.left_out(columns, kept, facts.width):
        say(gone)


def say(line: str) -> None:
    """Print one line to the user, on stderr, behind what stdout has: both may go to one file."""
    sys.stdout.flush()
    words.print(Text(for_runner(shown_text(line))), soft_wrap=True)


def annotate(lines: Iterable[str]) -> None:
    """Print commands to the runner of a CI job.

    On stderr, which it reads too, so that the document of --json is alone on stdout.
    """
    sys.stdout.flush()
    for line in lines:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def say_disturbed() -> None:
    """Warn the user that another crumple measures at the same time."""
    say("another crumple measures on this machine now, and each disturbs the other; wait until it has ended")


def say_alone() -> None:
    """Say what is sent before or after a load."""
    say("a few requests, one at a time …")


def say_not_kept(cache: Path) -> None:
    """Warn the user if the cache cannot be written."""
    if why := _refusal(cache):
        measured = "the engine's ceiling is measured anew each time"
        say(f"cannot write {cache}: {why}; {measured}, unless XDG_CACHE_HOME names another place")


def save_page(file: Path, report: Report, document: Mapping[str, Any]) -> None:
    """Write the page of a report, which holds the document, to a file that a flag names.

    Raises CrumpleError.
    """
    # Imported here because its templates take a tenth of a second, and belong to an extra.
    from crumple.drawing import report_page

    save(file, report_page.html(report, document))


def open_page(path: Path) -> None:
    """Say where a page is, and open it in a browser."""
    # Imported here because few commands open one.
    import webbrowser

    say(f"page: {path}")
    webbrowser.open(path.resolve().as_uri())


def _refusal(folder: Path) -> str:
    """Why a folder, which need not exist yet, cannot be written to; empty if it can."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR)
    if os.access(there, os.W_OK | os.X_OK):
        return ""
    read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES)


def ask(question: str) -> bool:
    """Ask the user yes or no. Return False if stderr is not a terminal or stdin has ended."""
    if not words.is_terminal:
        say(f"{question} There is no terminal to answer on; add --yes.")
        return False
    words.print(Text(f"{shown_text(question)} [y/N] "), end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _as_escapes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("crumple-json", _as_escapes)


def end_leftovers() -> None:
    """End the processes and remove the files that an earlier crumple left behind, and say so."""
    if ended := leftovers.end_all():
        say(str(ended))
