"""Getting ready: installs what the servers need, after showing it and asking, and builds every server.

What cannot be had here is a reason, not an end: the other servers are made ready all the same.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crumple import build, runtimes
from crumple.errors import CrumpleError, ServerFailed
from crumple.runtimes import Lack
from crumple.server import ServerDescription

INSTALL_S = 1800.0
TAIL_LINES = 8

Say = Callable[[str], None]
Ask = Callable[[str], bool]


@dataclass(frozen=True)
class Prepared:
    """What became of one server. `reason`: why it is not ready, or None; `build_s`: 0 if built before."""

    name: str
    reason: str | None
    remedy: str
    versions: dict[str, str]
    build_s: float

    @property
    def ready(self) -> bool:
        """Whether it can be started."""
        return self.reason is None


@dataclass(frozen=True)
class Package:
    """One package to install, and what for."""

    name: str
    because: str


def prepare(
    descriptions: Sequence[ServerDescription], *, yes: bool, say: Say, ask: Ask
) -> tuple[Prepared, ...]:
    """Install and build what `descriptions` need; `say` shows a line, `ask` gets a yes or no unless `yes`."""
    missing = [lack for description in descriptions for lack in runtimes.lacks(description)]
    wanted = packages(missing)
    if wanted:
        _install(wanted, yes=yes, say=say, ask=ask)
    return tuple(_build(description, say) for description in descriptions)


def packages(missing: Sequence[Lack]) -> tuple[Package, ...]:
    """The apt packages that bring what is missing, each once."""
    found: dict[str, Package] = {}
    for lack in missing:
        for name in lack.apt:
            found.setdefault(name, Package(name, lack.reason))
    return tuple(found.values())


def commands(wanted: Sequence[Package]) -> tuple[list[str], list[str]] | None:
    """What refreshes the package lists and what installs; None if this user cannot install here."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        first = []
    elif shutil.which("sudo"):
        first = ["sudo"]
    else:
        return None
    apt = [*first, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    return [*apt, "update"], [
        *apt,
        "install",
        "--no-install-recommends",
        *(package.name for package in wanted),
    ]


def _install(wanted: Sequence[Package], *, yes: bool, say: Say, ask: Ask) -> None:
    for package in wanted:
        say(f"needs {package.name}: {package.because}")
    names = " ".join(package.name for package in wanted)
    both = commands(wanted)
    if both is None and shutil.which("apt-get") is None:
        say(f"no apt-get here; install with your system's own packages what answers to: {names}")
        return
    if both is None:
        say(f"installing needs root and there is no sudo; ask for: apt-get install {names}")
        return
    update, install = both
    say(f"will run: {shlex.join(update)}")
    say(f"          {shlex.join(install)}")
    if not yes and not ask("Install these?"):
        say("installed nothing")
        return
    say("refreshing the package lists …")
    _run(update, say)
    say(f"installing {names} …")
    if _run(install, say) or len(wanted) == 1:
        return
    # One package that is not to be had must not keep out the others.
    for package in wanted:
        say(f"installing {package.name} …")
        _run([*install[: -len(wanted)], package.name], say)


def _run(command: list[str], say: Say) -> bool:
    """Whether the command succeeded; if not, its last lines are shown."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"  failed: {error}")
        return False
    if done.returncode == 0:
        return True
    say(f"  failed with code {done.returncode}:")
    for line in done.stdout.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]:
        say(f"  {line}")
    return False


def _build(description: ServerDescription, say: Say) -> Prepared:
    name = description.name
    ready = runtimes.readiness(description)
    if isinstance(ready, runtimes.Missing):
        say(f"{name}: skipped, {ready.reason}; {ready.remedy}")
        return Prepared(name, ready.reason, ready.remedy, runtimes.versions(description), 0.0)
    if not build.is_built(description):
        say(f"{name}: building …")
    try:
        built = build.build(description)
    except CrumpleError as error:
        say(f"{name}: not ready, {error}")
        for line in error.output_tail if isinstance(error, ServerFailed) else ():
            say(f"  {line}")
        return Prepared(name, error.message, error.remedy, ready.versions, 0.0)
    took = f", built in {built.build_s:.1f} s" if built.build_s else ""
    say(f"{name}: ready{took}")
    return Prepared(name, None, "", built.versions, built.build_s)
