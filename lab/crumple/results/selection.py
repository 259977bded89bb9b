"""Which results and runs are meant: `last`, a number in `crumple list`, a name, `tag:TAG`, or a file."""

import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from crumple.errors import CrumpleError, NotFound, NotStored
from crumple.results import result_store
from crumple.results.result_store import LAST
from crumple.run.store import RunStore

TAG = "tag:"
RUN = "run"
# The kind of the JSON report of a run, as `crumple report` writes it.
REPORT = "report"


@dataclass(frozen=True)
class StoredEntry:
    """A result, or a run, that is stored. `written_ns`: when it was last written, since the epoch."""

    name: str
    path: Path
    written_ns: int
    is_run: bool = False
    is_file: bool = False
    """Whether it was named by its file, which anybody may have made."""

    def afresh(self) -> "StoredEntry":
        """Return the entry without the document that it may have read, which takes memory."""
        return replace(self)

    @cached_property
    def document(self) -> dict[str, Any]:
        """A result's document, or a run's run.json. Raises NotStored."""
        if not self.is_run:
            return result_store.read(self.path)
        try:
            found = json.loads(RunStore(self.path).read_run())
        except ValueError as error:
            raise NotStored(f"{self.path}/run.json is damaged: {error}", "remove the folder") from None
        if not isinstance(found, dict):
            raise NotStored(f"{self.path}/run.json is no run", "remove the folder")
        return found

    @property
    def tags(self) -> tuple[str, ...]:
        """The user's tags. Raises NotStored."""
        return () if self.is_run else tuple(self.document.get("tags") or ())

    @property
    def verb(self) -> str:
        """The command that measured it. Raises NotStored."""
        return RUN if self.is_run else str(self.document["kind"])


def of_document(document: dict[str, Any]) -> StoredEntry:
    """Return a result that is at hand, stored or not."""
    name = document.get("name") or document["kind"]
    entry = StoredEntry(name, result_store.folder() / f"{name}.json", 0)
    # What the cached property would read.
    vars(entry)["document"] = document
    return entry


def entries(runs: Path) -> list[StoredEntry]:
    """Return all results, and the runs in that folder, the latest first."""
    found = [StoredEntry(each.name, each.path, each.written_ns) for each in result_store.entries()]
    for file in runs.glob("*/run.json"):
        try:
            found.append(StoredEntry(file.parent.name, file.parent, file.stat().st_mtime_ns, is_run=True))
        except OSError:
            continue
    return sorted(found, key=lambda each: (each.written_ns, each.name), reverse=True)


def several(what: str, runs: Path) -> list[StoredEntry]:
    """Return the results that are meant, separated by commas. Raises NotFound, NotStored."""
    return [each for part in what.split(",") if part.strip() for each in _meant(part.strip(), runs)]


def one(what: str, runs: Path) -> StoredEntry:
    """Return the result that is meant, the latest of those with a tag. Raises NotFound, NotStored."""
    return _meant(what, runs)[0]


def _meant(what: str, runs: Path) -> list[StoredEntry]:
    known = entries(runs)
    if what.startswith(TAG):
        return _tagged(what.removeprefix(TAG), known)
    if what == LAST:
        # One that is damaged hides no other.
        found = next(_whole(known), None) or next(iter(known), None)
        if found is None:
            raise NotFound("there is no result last: nothing is stored yet", "see: crumple list")
        return [found]
    if what.isdecimal() and int(what) > 0:
        if int(what) > len(known):
            there = f"there are {len(known)}" if known else "nothing is stored yet"
            raise NotFound(f"there is no result {what}: {there}", "see: crumple list")
        return [known[int(what) - 1]]
    named = [each for each in known if each.name == what]
    return named[:1] or [_file(what, known)]


def _tagged(tag: str, known: Sequence[StoredEntry]) -> list[StoredEntry]:
    found = list(_whole(each for each in readable(known) if tag in each.tags))
    if not found:
        tags = {own for each in readable(known) for own in each.tags}
        raise NotFound(f"no result has the tag {tag}", near(tag, tags))
    return found


def _file(what: str, known: Sequence[StoredEntry]) -> StoredEntry:
    path = Path(what)
    if (path / "run.json").is_file():
        return StoredEntry(path.resolve().name, path, 0, is_run=True)
    if path.is_file():
        return StoredEntry(what, path, 0, is_file=True)
    names = [each.name for each in known]
    raise NotFound(f"no result or run is called {what}, and there is no such file", near(what, names))


def near(name: str, known: Collection[str]) -> str:
    """Return the remedy for an unknown name: the nearest known ones, if any is near."""
    found = difflib.get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(found)}?" if found else "see: crumple list"


@contextmanager
def whole(*entries: StoredEntry) -> Iterator[None]:
    """Turn errors into NotStored if a file may be why: anybody made it, and its parts may not agree."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        files = dict.fromkeys(each.name for each in entries if each.is_file)
        if not files:
            raise
        said = f"parts of {' and '.join(files)} contradict each other ({error!r})"
        raise NotStored(said, "take the file as crumple wrote it") from error


def _whole(known: Iterable[StoredEntry]) -> Iterator[StoredEntry]:
    """Yield those that this version of crumple reads as a whole."""
    # Imported here, as a name or a number needs none of it.
    from crumple.results import restored

    for each in readable(known):
        try:
            if not each.is_run and each.document["kind"] in restored.KINDS:
                restored.read(each.document, each.name)
        except NotStored:
            continue
        yield each


def readable(known: Iterable[StoredEntry]) -> Iterator[StoredEntry]:
    """Yield those whose document can be read."""
    for each in known:
        try:
            _ = each.document
        except CrumpleError:
            continue
        yield each
