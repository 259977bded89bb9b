"""Builds a site: reads what is new, draws what changed, and lets the whole take the place of the old site."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crumple import release
from crumple.project import PACKAGE
from crumple.results.selection import StoredEntry
from crumple.run.store import RunStore
from crumple.site import series, site_files, site_pages
from crumple.site.site_entry import SiteEntry, SiteRecord
from crumple.site.site_files import RECORD

# What pages are drawn by, beside the results.
DRAWS = ("*.py", "*.j2", "*.css", "*.js", "*.toml")
DIGITS = 12

Progress = Callable[[str, int, int], None]
"""Takes what is being done, how many are done, and of how many."""


@dataclass(frozen=True)
class SiteBuilt:
    """What came of building a site."""

    index: Path
    results: int
    drawn: int
    kept: int
    unreadable: tuple[SiteEntry, ...]
    """What is listed with a reason only."""


def build(folder: Path, stored: Sequence[StoredEntry], progress: Progress) -> SiteBuilt:
    """Build the site of all results and runs in `folder`. Raises UsageError, StorageFull and NotWritable.

    Whatever happens, the site that was there stays until the new one is whole.
    """
    made_by = _made_by()
    with site_files.new_site(folder) as new:
        known = new.old.entries if new.old is not None and new.old.made_by == made_by else ()
        site = _entries(stored, known, progress)
        entries = [entry for entry, _ in site]
        pages = list(site_pages.pages(site, series.series_of(entries), f"crumple {release.VERSION}"))
        old = new.old.pages if known and new.old is not None else {}
        drawn = 0
        for number, page in enumerate(pages):
            progress("drawing", number, len(pages))
            if old.get(page.file) != page.digest or not new.keep(page.file):
                new.write(page.file, page.html())
                drawn += 1
        record = SiteRecord(
            made_by=made_by, entries=tuple(entries), pages={page.file: page.digest for page in pages}
        )
        new.write(RECORD, record.model_dump_json(indent=1))
        new.publish()
        unreadable = tuple(entry for entry in entries if not entry.file)
        return SiteBuilt(new.folder / site_pages.INDEX, len(entries), drawn, len(pages) - drawn, unreadable)


def _entries(
    stored: Sequence[StoredEntry], known: Sequence[SiteEntry], progress: Progress
) -> list[tuple[SiteEntry, StoredEntry]]:
    """Return what is stored with its entry, the latest first; read is only what is not known yet."""
    by_digest = {(entry.row.name, entry.digest): entry for entry in known}
    found = []
    for number, each in enumerate(stored):
        progress("reading", number, len(stored))
        try:
            digest = _digest(each)
        except OSError as error:
            # Reading it says the same, in words.
            digest = str(error.strerror)
        found.append((by_digest.get((each.name, digest)) or _read(each, digest), each))
    return found


def _read(stored: StoredEntry, digest: str) -> SiteEntry:
    # Imported here because it takes a third of a second, and most results of a site are known.
    from crumple.site import site_reading

    return site_reading.entry_of(stored, digest)


def _digest(entry: StoredEntry) -> str:
    """Return a digest of what is stored, by which a change of it shows. Raises OSError."""
    if not entry.is_run:
        return hashlib.sha256(entry.path.read_bytes()).hexdigest()
    store = RunStore(entry.path)
    found = hashlib.sha256(store.run_file.read_bytes())
    # A trial's file never changes once it is complete, and thousands of them would take long to read.
    for file in sorted((entry.path / "trials").glob("*.json")):
        seen = file.stat()
        found.update(f"{file.name} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return found.hexdigest()


@cache
def _made_by() -> str:
    """Return the version of crumple, and a digest of all that may change how a page looks."""
    found = hashlib.sha256()
    for kind in DRAWS:
        for file in sorted(PACKAGE.rglob(kind)):
            if "carried" not in file.parts:
                found.update(f"{file.relative_to(PACKAGE)}\n".encode())
                found.update(file.read_bytes())
    return f"{release.VERSION} {found.hexdigest()[:DIGITS]}"
