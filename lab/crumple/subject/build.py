"""What a server needs installed, and its build.

A tool that a server needs is asked for its version; `installing` installs what is missing. A program is built
once for each content: the same files, commands and tools are never built twice. A build is made in a
temporary folder and renamed into place, so an interrupted build is never used.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from crumple import project
from crumple.errors import ServerFailed
from crumple.machine import guard
from crumple.machine.leftovers import ScratchFolder
from crumple.subject.server_toml import FILE, Requirement, ServerDescription, filled

# Seconds after which a tool that is asked for its version is given up.
ASK_S = 20.0
# Where ./crumple puts tools that the system lacks.
FETCHED = project.PACKAGE.parents[1] / ".bootstrap"

# The only variables of the user's that a server gets: a GOMAXPROCS or NODE_OPTIONS left in a shell would
# change what is measured. Version managers need theirs to find the runtime.
KEPT = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LD_LIBRARY_PATH",
    "JAVA_HOME",
    "GOROOT",
    "DOTNET_ROOT",
)
KEPT_OF_VERSION_MANAGERS = (
    "RUSTUP_HOME",
    "CARGO_HOME",
    "PYENV_ROOT",
    "ASDF_DATA_DIR",
    "SDKMAN_DIR",
    "NVM_DIR",
)


@dataclass(frozen=True)
class Installed:
    """All that the server needs is installed; `versions` as from `versions()`."""

    versions: dict[str, str]


@dataclass(frozen=True)
class Missing:
    """Why the server cannot run here, and what to do about it."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Lack:
    """One requirement that is not met, why, and the apt packages that provide it."""

    requirement: str
    reason: str
    apt: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """An executable found for a requirement; `version` None: it prints none."""

    path: str
    version: str | None

    def will_do(self, requirement: Requirement) -> bool:
        """Whether its version is known and new enough."""
        oldest = requirement.at_least
        return self.version is not None and (oldest is None or _parts(self.version) >= _parts(oldest))


def base_environment() -> dict[str, str]:
    """The environment that every server starts with; its own variables are added to it."""
    kept = {name: os.environ[name] for name in (*KEPT, *KEPT_OF_VERSION_MANAGERS) if name in os.environ}
    return {**kept, "PATH": search_path(), "LANG": "C.UTF-8"}


def search_path() -> str:
    """The user's PATH, and what the launcher had to fetch: a newer Rust comes before it, uv after it."""
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    after = (FETCHED / "venv" / "bin", cargo / "bin")
    return os.pathsep.join(
        [
            *(str(folder) for folder in (FETCHED / "tools",) if folder.is_dir()),
            os.environ.get("PATH", os.defpath),
            *(str(folder) for folder in after if folder.is_dir()),
        ]
    )


def readiness(description: ServerDescription) -> Installed | Missing:
    """Whether everything under [requires] is installed and new enough."""
    missing = lacks(description)
    if not missing:
        return Installed(versions(description))
    by_hand = [lack.requirement for lack in missing if not lack.apt]
    remedy = f"install {' and '.join(by_hand)}" if by_hand else f"run: crumple setup {description.name}"
    return Missing("; ".join(lack.reason for lack in missing), remedy)


def lacks(description: ServerDescription) -> list[Lack]:
    """Every requirement that is not met, in the order of the file."""
    found = []
    for name, requirement in description.requires.items():
        reason = _reason_against(name, requirement, _found(requirement, description.program_folder))
        if reason:
            found.append(Lack(name, reason, requirement.apt))
    return found


def versions(description: ServerDescription) -> dict[str, str]:
    """Requirement → version, the server's own runtime first.

    A requirement that is absent or does not print its version is left out; `readiness` reports it.
    """
    found = _all_found(description)
    return {name: each.version for name, each in found.items() if each.version}


def executables_found(description: ServerDescription) -> dict[str, str]:
    """Requirement → the path of the executable found for it; absent ones are left out."""
    return {name: each.path for name, each in _all_found(description).items()}


def _all_found(description: ServerDescription) -> dict[str, _Found]:
    every = {
        name: _found(requirement, description.program_folder)
        for name, requirement in description.requires.items()
    }
    return {name: found for name, found in every.items() if found}


def _reason_against(name: str, requirement: Requirement, found: _Found | None) -> str | None:
    if found is None:
        return f"{name} is not installed"
    if found.version is None:
        return f"{name} does not show its version: {' '.join(requirement.command)}"
    if not found.will_do(requirement):
        return f"{name} {found.version} is older than {requirement.at_least}"
    return None


def _found(requirement: Requirement, folder: Path) -> _Found | None:
    """The first executable that is new enough, else the first: the PATH's, then the newest of `also`."""
    in_path = shutil.which(requirement.command[0], path=search_path())
    first = [_Found(in_path, _version(requirement, folder, in_path))] if in_path else []
    if first and first[0].will_do(requirement):
        return first[0]
    paths = {str(path) for pattern in requirement.also for path in Path("/").glob(pattern[1:])}
    beside = [
        _Found(path, _version(requirement, folder, path))
        for path in sorted(paths)
        if os.access(path, os.X_OK)
    ]
    beside.sort(key=lambda found: _parts(found.version or ""), reverse=True)
    candidates = first + beside
    return next((each for each in candidates if each.will_do(requirement)), next(iter(candidates), None))


def _version(requirement: Requirement, folder: Path, path: str) -> str | None:
    # The time of the last change is part of the cache's key: setup may just have replaced the executable.
    changed_ns = Path(path).stat().st_mtime_ns
    found = re.search(requirement.version, _version_text(requirement.command, folder, path, changed_ns))
    return found[1] if found else None


def forget() -> None:
    """Ask every tool again from now on, as after an installation.

    The time of change is not enough: a shell that looks for a file stays the same executable.
    """
    _version_text.cache_clear()


@lru_cache(maxsize=256)
def _version_text(command: tuple[str, ...], folder: Path, path: str, changed_ns: int) -> str:
    """What the command prints to stdout and stderr; empty if it cannot run."""
    try:
        asked = subprocess.run(
            [path, *command[1:]],
            cwd=folder,  # files such as go.mod may choose the toolchain
            env=base_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.decode("utf-8", "replace")


def _parts(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in re.findall(r"\d+", version)]
    while parts and parts[-1] == 0:  # 20 and 20.0 are the same
        parts.pop()
    return tuple(parts)


# Seconds after which a command of a build is given up.
LIMIT_S = 900.0
# How often a build looks whether it is to stop, and the event of one that nothing stops.
LOOK_EVERY_S = 0.2
NEVER = threading.Event()
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
    return project.cache() / "servers"


def build(description: ServerDescription, stop: threading.Event = NEVER) -> Built:
    """The program, built now or before. Raises ServerFailed("build") with the end of the tools' output.

    Waits while another lab builds the same program. `stop` ends the build.
    """
    ready = readiness(description)
    if isinstance(ready, Missing):
        raise ServerFailed("build", ready.reason, remedy=ready.remedy)
    place = _place(description, ready.versions)
    executables = executables_found(description)
    done = Built(description, place, ready.versions, 0.0, executables)
    if place.is_dir():
        return done
    try:
        with _alone(place):
            if place.is_dir():
                return done
            began = time.monotonic()
            _build_into(place, description, executables, stop)
    except OSError as error:
        where = error.filename2 or error.filename or cache()
        message = f"cannot write {where}: {error.strerror or error}"
        remedy = "free some space, or name another place in XDG_CACHE_HOME"
        raise ServerFailed("build", message, remedy=remedy) from None
    return replace(done, build_s=time.monotonic() - began)


def is_built(description: ServerDescription) -> bool:
    """Whether the program is built already."""
    return _place(description, versions(description)).is_dir()


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
    digest = hashlib.sha256(content_hash(description, versions(description)).encode())
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


def _build_into(
    place: Path, description: ServerDescription, executables: Mapping[str, str], stop: threading.Event
) -> None:
    unfinished = f"{place.name}.building-"
    for stale in place.parent.glob(f"{unfinished}*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=unfinished, dir=place.parent))
    try:
        _copy(description.program_folder, folder)
        _make_writable(folder)
        for command in description.build.command:
            run(tuple(filled(part, executables) for part in command), folder, stop)
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


def run(command: tuple[str, ...], folder: Path, stop: threading.Event = NEVER) -> None:
    """Run one command of the build, with the user's environment, which may name proxies and certificates.

    The user's virtual environment is left out: otherwise a server's packages would be installed into it.
    """
    env = {name: value for name, value in os.environ.items() if name not in THEIR_ENVIRONMENT}
    env["PATH"] = search_path()
    scratch = ScratchFolder.made()
    guarded = guard.launch("build", command, cwd=folder, env=env, cores=(), scratch=scratch)
    try:
        ended = _ended(guarded, stop)
        tail = guarded.output_tail()
    finally:
        guarded.end()
    said = " ".join(command)
    if ended is None:
        why = "was interrupted" if stop.is_set() else f"did not end within {LIMIT_S:.0f} s"
        raise ServerFailed("build", f"`{said}` {why}", tail)
    if ended.exit != 0:
        raise ServerFailed("build", f"`{said}` {ended}", tail)


def _ended(guarded: guard.Guarded, stop: threading.Event) -> guard.CommandEnd | None:
    """How the command ended; None: it was to stop, or did not end within LIMIT_S."""
    deadline = time.monotonic() + LIMIT_S
    while (left_s := deadline - time.monotonic()) > 0 and not stop.is_set():
        if ended := guarded.ended(min(LOOK_EVERY_S, left_s)):
            return ended
    return None
