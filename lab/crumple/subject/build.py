"""Builds a server's program, once for each content: the same files, commands and tools are never built twice.

A build is made in a temporary folder and renamed into place, so an interrupted build is never used.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import platformdirs

from crumple.errors import ServerFailed
from crumple.machine import guard
from crumple.machine.leftovers import ScratchFolder
from crumple.subject import runtimes
from crumple.subject.server_toml import FILE, ServerDescription, filled

LIMIT_S = 900.0
# Variables that name the virtual environment the user works in.
THEIR_ENVIRONMENT = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")
# Files that the user's own builds or editors leave in the folder; not part of the program.
NOT_THE_PROGRAM = frozenset(
    {FILE, "node_modules", "target", "dist", "__pycache__", ".git", ".venv", ".ruff_cache", ".DS_Store"}
)


@dataclass(frozen=True)
class Built:
    """A program ready to start in `folder`. `build_s`: how long its build took; 0 if it was built before.

    `executables`: requirement → path of the executable that was found for it.
    """

    description: ServerDescription
    folder: Path
    versions: dict[str, str]
    build_s: float
    executables: dict[str, str] = field(default_factory=dict)


def cache() -> Path:
    """The folder in which built programs are stored."""
    return platformdirs.user_cache_path("crumple") / "servers"


def build(description: ServerDescription) -> Built:
    """The program, built now or before. Raises ServerFailed("build") with the end of the tools' output.

    Waits while another lab builds the same program.
    """
    ready = runtimes.readiness(description)
    if isinstance(ready, runtimes.Missing):
        raise ServerFailed("build", ready.reason, remedy=ready.remedy)
    place = _place(description, ready.versions)
    executables = runtimes.executables(description)
    done = Built(description, place, ready.versions, 0.0, executables)
    if place.is_dir():
        return done
    try:
        with _alone(place):
            if place.is_dir():
                return done
            began = time.monotonic()
            _build_into(place, description, executables)
    except OSError as error:
        where = error.filename2 or error.filename or cache()
        message = f"cannot write {where}: {error.strerror or error}"
        remedy = "free some space, or name another place in XDG_CACHE_HOME"
        raise ServerFailed("build", message, remedy=remedy) from None
    return replace(done, build_s=time.monotonic() - began)


def is_built(description: ServerDescription) -> bool:
    """Whether the program is built already."""
    return _place(description, runtimes.versions(description)).is_dir()


def content_hash(description: ServerDescription, versions: dict[str, str]) -> str:
    """A hash of all that goes into a build: the files, the commands, and the versions of the tools."""
    digest = hashlib.sha256()
    for path in _files(description.program_folder):
        name = path.relative_to(description.program_folder)
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        kind = "link" if path.is_symlink() else "executable" if os.access(path, os.X_OK) else "file"
        digest.update(f"{kind} {len(content)} {name}\n".encode())
        digest.update(content)
    digest.update(repr((description.build.command, sorted(versions.items()))).encode())
    return digest.hexdigest()[:16]


def program(description: ServerDescription) -> str:
    """A hash of the program that runs: its build, and its server.toml with start command and settings."""
    digest = hashlib.sha256(content_hash(description, runtimes.versions(description)).encode())
    digest.update((description.folder / FILE).read_bytes())
    return digest.hexdigest()[:16]


def _place(description: ServerDescription, versions: dict[str, str]) -> Path:
    return cache() / f"{description.program}-{content_hash(description, versions)}"


def _files(folder: Path) -> list[Path]:
    """Every file of the program, in the same order on every machine."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name in NOT_THE_PROGRAM:
            continue
        if path.is_dir() and not path.is_symlink():
            found += _files(path)
        else:
            found.append(path)
    return found


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the lock of one build; the kernel releases it when the process ends, so none is left behind."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(place: Path, description: ServerDescription, executables: Mapping[str, str]) -> None:
    unfinished = f"{place.name}.building-"
    for stale in place.parent.glob(f"{unfinished}*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=unfinished, dir=place.parent))
    try:
        _copy(description.program_folder, folder)
        _make_writable(folder)
        for command in description.build.command:
            _run(tuple(filled(part, executables) for part in command), folder)
        folder.chmod(0o755)  # with mkdtemp's 0o700 a server that runs as another user could not read it
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(program: Path, folder: Path) -> None:
    """Copy the files of the program. Raises the OSError of the first that cannot be copied."""
    # shutil.copytree goes on after an error, and in the end raises one with a list of all of them.
    for path in program.iterdir():
        if path.name in NOT_THE_PROGRAM:
            continue
        copy = folder / path.name
        if path.is_dir() and not path.is_symlink():
            copy.mkdir()
            _copy(path, copy)
        else:
            shutil.copy2(path, copy, follow_symlinks=False)


def _make_writable(folder: Path) -> None:
    """Make the copy writable, as its sources may be read-only when they are installed."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def _run(command: tuple[str, ...], folder: Path) -> None:
    """Run one command of the build, with the user's environment, which may name proxies and certificates.

    The user's virtual environment is left out: otherwise a server's packages would be installed into it.
    """
    env = {name: value for name, value in os.environ.items() if name not in THEIR_ENVIRONMENT}
    env["PATH"] = runtimes.search_path()
    scratch = ScratchFolder.made()
    guarded = guard.launch("build", command, cwd=folder, env=env, cores=(), scratch=scratch)
    try:
        ended = guarded.ended(LIMIT_S)
        tail = guarded.output_tail()
    finally:
        guarded.end()
    said = " ".join(command)
    if ended is None:
        raise ServerFailed("build", f"`{said}` did not end within {LIMIT_S:.0f} s", tail)
    if ended.exit != 0:
        raise ServerFailed("build", f"`{said}` {ended}", tail)
