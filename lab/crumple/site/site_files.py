"""The folder of a site: a new one is made beside the old one, and takes its place once it is whole.

Both change places in one step where the file system can do that, so that a reader never finds half a site; a
kill or a full disk leaves the old one as it was. Pages that have not changed are the same files in both.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from crumple.errors import NotWritable, StorageFull, UsageError
from crumple.site.site_entry import SiteRecord

RECORD = "site.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)
# From linux/fcntl.h and linux/fs.h: a path is relative to the working directory; two names change places.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_LIBC = ctypes.CDLL(None, use_errno=True)
ANOTHER = "name another folder with --site"


class NewSite:
    """A site that is being made beside the one that is there."""

    def __init__(self, folder: Path, beside: Path, old: SiteRecord | None) -> None:
        self.folder = folder
        self.old = old
        """What the site that is there was made of; None: there is none."""
        self._beside = beside

    def keep(self, file: str) -> bool:
        """Take a page over from the old site, as it is; return False if it has none."""
        target = self._place(file)
        try:
            os.link(self.folder / file, target)
        except OSError:
            # A file system without hard links.
            try:
                shutil.copy2(self.folder / file, target)
            except FileNotFoundError:
                return False
        return True

    def write(self, file: str, text: str) -> None:
        """Write a page, so that it is on the disk before the site takes the old one's place."""
        with self._place(file).open(
            "w" if file == RECORD else "x", encoding="utf-8", errors="replace"
        ) as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())

    def publish(self) -> None:
        """Let the new site take the place of the old one."""
        if not self.folder.exists():
            self._beside.rename(self.folder)
        elif not _exchanged(self._beside, self.folder):
            # For a moment there is none. If this process ends just then, the next one begins with this step.
            gone = _gone(self.folder)
            self.folder.rename(gone)
            self._beside.rename(self.folder)
            _remove(gone)
        _sync(self.folder.parent)

    def _place(self, file: str) -> Path:
        found = self._beside / file
        found.parent.mkdir(exist_ok=True)
        return found


@contextlib.contextmanager
def new_site(folder: Path) -> Iterator[NewSite]:
    """Make a site in `folder`, which is as before unless `publish` was called.

    Raises UsageError if the folder has other files, or another crumple writes it; StorageFull; NotWritable.
    """
    try:
        folder = folder.resolve()
        if not folder.name:
            raise UsageError(f"{folder} cannot be a site", ANOTHER)
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = folder.with_name(f".{folder.name}.new")
        with _held(folder):
            _restore(folder)
            old = _old(folder)
            # What a killed process left.
            _remove_ours(beside)
            beside.mkdir()
            try:
                new = NewSite(folder, beside, old)
                # Tells the next process that what is left here is ours, should this one be killed.
                new.write(RECORD, SiteRecord(made_by="", entries=(), pages={}).model_dump_json())
                yield new
            finally:
                _remove(beside)
    except OSError as error:
        raise _refused(error, folder) from None


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock the site for this process."""
    path = folder.with_name(f".{folder.name}.lock")
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The one that held it before may have removed the file after it was opened here.
            is_mine = path.stat().st_ino == os.fstat(lock.fileno()).st_ino
        except (BlockingIOError, FileNotFoundError):
            is_mine = False
        if not is_mine:
            raise UsageError(f"another crumple writes {folder}", "wait until it has ended")
        if os.fstat(lock.fileno()).st_size:
            raise UsageError(f"{path} is not of crumple", f"move it, or {ANOTHER}")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _restore(folder: Path) -> None:
    """Put a site back that was moved away just when the process ended."""
    gone = _gone(folder)
    if gone.exists() and not folder.exists() and _is_ours(gone):
        gone.rename(folder)
    _remove_ours(gone)


def _remove_ours(folder: Path) -> None:
    """Remove what another process left. Raises UsageError if it is not of crumple."""
    if folder.is_symlink() or folder.exists():
        if not _is_ours(folder):
            raise UsageError(f"{folder} is not of crumple, which needs the name", f"move it, or {ANOTHER}")
        _remove(folder)


def _is_ours(folder: Path) -> bool:
    """Whether a folder beside a site is one of ours, whole or not, or empty."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    if not any(folder.iterdir()):
        return True
    try:
        SiteRecord.model_validate_json((folder / RECORD).read_bytes())
    except (ValueError, FileNotFoundError):
        return False
    return True


def _remove(folder: Path) -> None:
    """Remove a folder of ours, its record last, which tells that it is."""
    with contextlib.suppress(FileNotFoundError):
        for found in folder.iterdir():
            if found.name != RECORD:
                shutil.rmtree(found, ignore_errors=True) if found.is_dir() else found.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _gone(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _old(folder: Path) -> SiteRecord | None:
    """Return the record of the site that is there. Raises UsageError if other files are."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file", ANOTHER)
    try:
        record = SiteRecord.model_validate_json((folder / RECORD).read_bytes())
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise UsageError(f"{folder} has files that are no site of crumple", ANOTHER) from None
        return None
    except ValidationError:
        raise UsageError(f"{folder / RECORD} is damaged, or of another version of crumple", ANOTHER) from None
    known = {RECORD, *record.pages}
    for found in folder.rglob("*"):
        name = str(found.relative_to(folder))
        if not found.is_dir() and name not in known:
            raise UsageError(f"{folder} has a file that is not of the site: {name}", f"move it, or {ANOTHER}")
    return record


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return whether the file system could."""
    names = (os.fsencode(one), os.fsencode(other))
    return not _LIBC.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)


def _sync(folder: Path) -> None:
    """Let names reach the disk. If that fails they do so later, and the site is whole either way."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(opened)
    finally:
        os.close(opened)


def _refused(error: OSError, folder: Path) -> StorageFull | NotWritable:
    unchanged = "the site is as it was" if folder.exists() else "there is no site yet"
    if error.errno in _FULL:
        return StorageFull(f"no space left for {folder}: {unchanged}", "free some space")
    return NotWritable(f"cannot write {folder}: {error.strerror}: {unchanged}", ANOTHER)
