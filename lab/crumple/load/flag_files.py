"""Files that flags name: those that are read, and the places of those that are to be written."""

import os
from collections.abc import Hashable, Iterable
from pathlib import Path

from crumple.errors import Mistakes, UsageError

Named = tuple[str, Path | None]


def read(shown: str, file: str, remedy: str = "check the path") -> bytes:
    """Return what a file holds. Raises UsageError, whose message begins with `shown`."""
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{shown}: {why}", remedy) from None


def check(outputs: Iterable[Named], mistakes: Mistakes, read: Iterable[Named] = ()) -> None:
    """Record what is wrong with the files. `outputs`, `read`: a flag, or what else names the file, and it."""
    taken: dict[Hashable, str] = {}
    kept = {_place(file): name for name, file in read if file is not None and file.is_file()}
    for flag, file in outputs:
        if file is None:
            continue
        if str(file) == "-":
            mistakes.add(f"{flag} -: stdout is for the summary, or for --json", "name a file")
            continue
        _check_place(flag, file, mistakes)
        place = _place(file)
        if place in kept:
            mistakes.add(f"{flag} {file}: that is the file {kept[place]}, which is read", "name another file")
        if place in taken:
            mistakes.add(f"{taken[place]} and {flag} name the same file", "give each its own")
        taken[place] = flag


def refuse(outputs: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """Return if nothing is wrong with the files. Raises UsageError with every mistake."""
    mistakes = Mistakes()
    check(outputs, mistakes, read)
    mistakes.none()


def refuse_replacing(flag: str, file: Path) -> None:
    """Return if there is no such file: what users edit is not replaced. Raises UsageError."""
    if file.is_file():
        remedy = "name another file, or remove it first"
        raise UsageError(f"{flag} {file}: there is such a file already", remedy)


def _check_place(flag: str, file: Path, mistakes: Mistakes) -> None:
    folder = file.parent
    if not folder.is_dir():
        mistakes.add(f"{flag} {file}: there is no folder {folder}", "make it first")
    elif file.is_dir():
        mistakes.add(f"{flag} {file}: that is a folder", "name a file in it")
    elif not os.access(file if file.exists() else folder, os.W_OK):
        mistakes.add(f"{flag} {file}: cannot be written", "choose a place where you may write")


def _place(file: Path) -> Hashable:
    """Return what is the same for all names of a file, also for links to it."""
    try:
        found = file.stat()
    except OSError:
        return os.path.realpath(file)
    return found.st_dev, found.st_ino
