"""What a server needs installed: whether it is there, in which version, and what would bring it.

Asks the tools themselves for their versions. Installing is `setup`.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from crumple.server import Requirement, ServerDescription

ASK_S = 20.0

# A server runs with these of the user's variables and no others: a GOMAXPROCS or NODE_OPTIONS left in a shell
# would change what is measured. Version managers need theirs to find the runtime.
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
    """All that the server needs is there; `versions` as from `versions()`."""

    versions: dict[str, str]


@dataclass(frozen=True)
class Missing:
    """Why the server cannot run here, and what to do about it."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Lack:
    """One requirement that is not met. `reason` in a few words."""

    requirement: str
    reason: str
    apt: tuple[str, ...]


def environment() -> dict[str, str]:
    """The variables a server is started with, before its own."""
    kept = {name: os.environ[name] for name in (*KEPT, *KEPT_OF_VERSION_MANAGERS) if name in os.environ}
    return {**kept, "LANG": "C.UTF-8"}


def readiness(description: ServerDescription) -> Ready | Missing:
    """Whether everything under [requires] is there and new enough."""
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
        reason = _reason_against(name, requirement, description.program_folder)
        if reason:
            found.append(Lack(name, reason, requirement.apt))
    return found


def versions(description: ServerDescription) -> dict[str, str]:
    """Requirement → version, the server's own runtime first.

    A requirement that is absent or does not tell its version is left out, and `readiness` says why.
    """
    told = {
        name: _version(requirement, description.program_folder)
        for name, requirement in description.requires.items()
    }
    return {name: version for name, version in told.items() if version}


def _reason_against(name: str, requirement: Requirement, folder: Path) -> str | None:
    if shutil.which(requirement.command[0]) is None:
        return f"{name} is not installed"
    version = _version(requirement, folder)
    if version is None:
        return f"{name} does not tell its version: {' '.join(requirement.command)}"
    if requirement.at_least and _parts(version) < _parts(requirement.at_least):
        return f"{name} {version} is older than {requirement.at_least}"
    return None


def _version(requirement: Requirement, folder: Path) -> str | None:
    path = shutil.which(requirement.command[0])
    if path is None:
        return None
    # Asked again once the executable is another one: setup may have just replaced it.
    changed_ns = Path(path).stat().st_mtime_ns
    found = re.search(requirement.version, _told(requirement.command, folder, path, changed_ns))
    return found[1] if found else None


@lru_cache(maxsize=256)
def _told(command: tuple[str, ...], folder: Path, path: str, changed_ns: int) -> str:
    """What the command prints, on both streams; empty if it cannot be run."""
    try:
        asked = subprocess.run(
            [path, *command[1:]],
            cwd=folder,  # go.mod and the like may choose the toolchain
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
