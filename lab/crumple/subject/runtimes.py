"""What a server needs installed: whether it is there, in which version, and which packages provide it.

The tools themselves are asked for their versions. `installing` installs what is missing.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from crumple import project
from crumple.subject.server_toml import Requirement, ServerDescription

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
class Ready:
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


def environment() -> dict[str, str]:
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


def readiness(description: ServerDescription) -> Ready | Missing:
    """Whether everything under [requires] is installed and new enough."""
    missing = lacks(description)
    if not missing:
        return Ready(versions(description))
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


def executables(description: ServerDescription) -> dict[str, str]:
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
        return f"{name} does not tell its version: {' '.join(requirement.command)}"
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
    found = re.search(requirement.version, _told(requirement.command, folder, path, changed_ns))
    return found[1] if found else None


def forget() -> None:
    """Ask every tool again from now on, as after an installation.

    The time of change is not enough: a shell that looks for a file stays the same executable.
    """
    _told.cache_clear()


@lru_cache(maxsize=256)
def _told(command: tuple[str, ...], folder: Path, path: str, changed_ns: int) -> str:
    """What the command prints to stdout and stderr; empty if it cannot run."""
    try:
        asked = subprocess.run(
            [path, *command[1:]],
            cwd=folder,  # files such as go.mod may choose the toolchain
            env=environment(),
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
