"""Results on disk: a JSON file each, named as the result is. A file is complete or absent; none ever changes.

The latest are the files that were written last. The store keeps at most RESULTS_MAX results and BYTES_MAX
bytes that have neither a name nor a tag of the user's; beyond that the oldest of these are removed.
"""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crumple.documents import result
from crumple.drawing import page_document
from crumple.errors import NotStored, NotWritable, StorageFull, UsageError

# The most results without a name that the store keeps, and the most bytes of them all, so that it does not
# grow with every command.
RESULTS_MAX, BYTES_MAX = 500, 512 * 2**20
# The most characters of a name, which is also that of a file.
NAME_MAX = 100
LAST = "last"
NO_RESULT = "write it with: crumple load URL --json, or crumple report RUN --format json"
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_MAX - 1}}}")
# The name that a result gets if the user gives it none.
_UNNAMED = re.compile(r"[a-z]+-\d{8}-\d{6}(-\d+)?")
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Only the owner can read a result (mode 0600), because it may hold the beginning of an answer.
_MODE = 0o600


@dataclass(frozen=True)
class Stored:
    """A file of the store. `written_ns`: when it was written, since the epoch."""

    path: Path
    written_ns: int
    size_bytes: int

    @property
    def name(self) -> str:
        """The result's name."""
        return self.path.stem

    @property
    def is_named(self) -> bool:
        """Whether the user gave it its name."""
        return _UNNAMED.fullmatch(self.name) is None

    def read(self) -> dict[str, Any]:
        """Return the document. Raises NotStored if it is damaged or is no result."""
        return read(self.path)


def folder() -> Path:
    """Return where results are stored: `results` in $CRUMPLE_RUNS, else in the user's data folder."""
    if named := os.environ.get("CRUMPLE_RUNS"):
        return Path(named) / "results"
    return _user_data() / "crumple" / "results"


def _user_data() -> Path:
    """Return the user's data folder, by the XDG Base Directory Specification: a relative path is ignored."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".local" / "share"


def check_name(name: str, flag: str = "--name") -> None:
    """Raise UsageError unless a new result can have that name."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{flag} {name}: that is no name", f"write letters, digits, . _ or -, {NAME_MAX} at most"
        )
    if name == LAST or name.isdecimal():
        raise UsageError(f"{flag} {name}: that means another result", "choose another name")
    path = folder() / f"{name}.json"
    if path.exists():
        raise UsageError(f"there is a result called {name}", f"choose another name, or remove {path}")


def check_tag(tag: str) -> None:
    """Raise UsageError unless a result can be tagged so."""
    if _NAME.fullmatch(tag) is None:
        raise UsageError(f"--tag {tag}: that is no tag", "write letters, digits, . _ or -")


def keep(document: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Store a result, and return its document with the name that it got. `name` None: by kind and time.

    Raises StorageFull and NotWritable.
    """
    here = folder()
    try:
        here.mkdir(parents=True, exist_ok=True, mode=0o700)
        for wanted in _names(document, name):
            named = {**document, "name": wanted}
            if _written(here / f"{wanted}.json", result.text(named)):
                return named
    except OSError as error:
        raise _refused(error, here) from None
    raise AssertionError("there is always another name")


def _names(document: Mapping[str, Any], name: str | None) -> Iterator[str]:
    """Yield the name to use, then others for when it is taken."""
    began = datetime.fromisoformat(document["began"]).astimezone(UTC)
    first = name or f"{document['kind']}-{began:%Y%m%d-%H%M%S}"
    yield first
    number = 2
    while True:
        yield f"{first}-{number}"
        number += 1


def _written(path: Path, text: str) -> bool:
    """Write a file as a whole; return False if there is one already. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # Take the name first: renaming would replace another result of that name.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, _MODE))
        beside.replace(path)
    except FileExistsError:
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True


def _refused(error: OSError, place: Path) -> StorageFull | NotWritable:
    if error.errno in _FULL:
        return StorageFull(
            f"no space left for {place}: this result is not stored",
            "free some space: crumple list --prune 20",
        )
    return NotWritable(
        f"cannot write {place}: {error.strerror}: this result is not stored",
        "name another place in CRUMPLE_RUNS, or say --no-store",
    )


def entries() -> list[Stored]:
    """Return all files of the store, the latest first."""
    found = []
    for path in folder().glob("*.json"):
        if not path.name.startswith("."):
            try:
                seen = path.stat()
            except OSError:
                continue
            found.append(Stored(path, seen.st_mtime_ns, seen.st_size))
    return sorted(found, key=lambda each: (each.written_ns, each.name), reverse=True)


def read(path: Path) -> dict[str, Any]:
    """Return the document in a JSON file or a page. Raises NotStored if it is damaged or is no result."""
    try:
        document = _page_of(path) if is_page(path) else json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotStored(f"cannot read {path}: {error.strerror}", "is it the right file?") from None
    except (ValueError, RecursionError) as error:
        remedy = "remove it" if path.parent == folder() else f"remove it, or {NO_RESULT}"
        raise NotStored(f"{path} is not JSON, or is damaged: {error}", remedy) from None
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise NotStored(f"{path} is no result of crumple", NO_RESULT)
    return document


def is_page(path: Path) -> bool:
    """Return whether the file is a page. Raises OSError."""
    with path.open("rb") as file:
        return page_document.is_page(file.read(100))


def _page_of(path: Path) -> Any:
    """Return the document in a page. Raises NotStored, OSError."""
    if path.stat().st_size > page_document.PAGE_MAX:
        raise NotStored(f"{path} is larger than the pages of crumple", page_document.REMEDY)
    return page_document.read(path.read_text(encoding="utf-8", errors="replace"), str(path))


def prune(keep: int = RESULTS_MAX, most_bytes: int = BYTES_MAX) -> list[str]:
    """Remove the oldest results that have neither name nor tag beyond `keep` of them, or `most_bytes`.

    Return the names of those that were removed. A file that cannot be read or removed stays.
    """
    mine = [each for each in entries() if not each.is_named]
    removed, kept, bytes_ = [], 0, 0
    for each in mine:
        if kept < keep and bytes_ + each.size_bytes <= most_bytes:
            kept, bytes_ = kept + 1, bytes_ + each.size_bytes
        elif not _is_tagged(each) and _removed(each.path):
            removed.append(each.name)
    return removed


def _is_tagged(each: Stored) -> bool:
    """Whether the result has a tag; one that cannot be read may have."""
    try:
        return bool(each.read().get("tags"))
    except NotStored:
        return True


def _removed(path: Path) -> bool:
    try:
        path.unlink()
        path.with_suffix(".html").unlink(missing_ok=True)
    except OSError:
        return False
    return True
