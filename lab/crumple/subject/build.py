"""Building a server's program, once for each content: same files, commands and tools are never built twice.

A build is made beside its place and renamed into it; an interrupted one is never taken for a finished one.
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
# What names the virtual environment that somebody works in.
THEIR_ENVIRONMENT = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")
# Left in a folder by its user's own builds, or by editors; no part of the program.
NOT_THE_PROGRAM = frozenset(
    {FILE, "node_modules", "target", "dist", "__pycache__", ".git", ".venv", ".ruff_cache", ".DS_Store"}
)


@dataclass(frozen=True)
class Built:
    """A program ready to start in `folder`. `build_s`: how long that took, 0 if it lay there already.

    `executables`: requirement → what was found for it.
    """

    description: ServerDescription
    folder: Path
    versions: dict[str, str]
    build_s: float
    executables: dict[str, str] = field(default_factory=dict)


def cache() -> Path:
    """Where built programs lie."""
    return platformdirs.user_cache_path("crumple") / "servers"


def build(description: ServerDescription) -> Built:
    """The program, built now or before. Raises ServerFailed("build") with what the tools wrote.

    Waits while another lab builds the same.
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
    """Whether `build` would find it done."""
    return _place(description, runtimes.versions(description)).is_dir()


def content_hash(description: ServerDescription, versions: dict[str, str]) -> str:
    """Names a build by all that goes into it: the files, the commands, and the versions of the tools."""
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
    """Names what runs: its build, and how it is started and set."""
    digest = hashlib.sha256(content_hash(description, runtimes.versions(description)).encode())
    digest.update((description.folder / FILE).read_bytes())
    return digest.hexdigest()[:16]


def _place(description: ServerDescription, versions: dict[str, str]) -> Path:
    return cache() / f"{description.program}-{content_hash(description, versions)}"


def _files(folder: Path) -> list[Path]:
    """Every file of the program, in an order that does not depend on the machine."""
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
    """Hold the lock of one build; it goes with the process, so none is ever left behind."""
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
        folder.chmod(0o755)  # mkdtemp's 0o700 would keep out a server that runs as another user
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(program: Path, folder: Path) -> None:
    """All that belongs to the program. Raises the OSError of the first that cannot be copied."""
    # shutil.copytree goes on to the last, and then its error is a list of all of them.
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
    """The copy is there to be built in, also where its sources are read-only, as installed ones may be."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def _run(command: tuple[str, ...], folder: Path) -> None:
    """One command of the build, with the user's environment: proxies and certificates live there.

    But not the virtual environment that they work in: a server's packages would go there.
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
