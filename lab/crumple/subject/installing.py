"""Installs packages and the database, after showing them and asking, and builds every server.

Packages come from apt, and their services are not started. If something cannot be installed here, the reason
is shown and the other servers are prepared all the same.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from crumple.errors import CrumpleError, DatabaseFailed, DatabaseMissing, ServerFailed
from crumple.interrupt import held_back
from crumple.machine import engine_build
from crumple.subject import build, database, database_process
from crumple.subject.build import Lack
from crumple.subject.server_toml import ServerDescription
from crumple.subject.workload import Workload

# Seconds after which a command that installs is given up.
INSTALL_S = 1800.0
# Set by the launcher if it has just refreshed the package lists.
FRESH = "CRUMPLE_LISTS_ARE_FRESH"
# How long apt-get waits for another one that installs at the same time; by itself it would fail at once.
OTHERS_S = 600
# The most lines of a failed command that are shown: its last ones.
TAIL_LINES = 8
# Seconds between two lines that say that something still goes on.
SAY_EVERY_S = 10.0

# Debian runs this program to ask whether a package may start its service; exit code 101 means no.
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = (
    "#!/bin/sh\n# crumple setup: for as long as it installs, packages start no services.\nexit 101\n"
)

Say = Callable[[str], None]
Ask = Callable[[str], bool]


@dataclass(frozen=True)
class Package:
    """A package to install, and why. Of alternatives, "a | b", the first that is available is installed."""

    name: str
    because: str

    def chosen(self) -> str:
        """The first alternative that apt offers here; if it offers none, the first of all."""
        names = [name.strip() for name in self.name.split("|")]
        return next((name for name in names if len(names) > 1 and is_offered(name)), names[0])


def packages(missing: Sequence[Lack]) -> tuple[Package, ...]:
    """The apt packages that provide what is missing, each once."""
    found: dict[str, Package] = {}
    for lack in missing:
        for name in lack.apt:
            found.setdefault(name, Package(name, lack.reason))
    return tuple(found.values())


def commands(names: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The commands that refresh the package lists and install; None if this user cannot install here."""
    first = as_root()
    if first is None or shutil.which("apt-get") is None:
        return None
    apt = [*first, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    # --no-remove: only the user may remove packages that are installed.
    options = ["--no-remove", "--no-install-recommends", "-o", f"DPkg::Lock::Timeout={OTHERS_S}"]
    return [*apt, "update"], [*apt, "install", *options, *names]


def as_root() -> list[str] | None:
    """What to put before a command to run it as root; None if this user cannot."""
    if os.geteuid() == 0:
        return []
    return ["sudo"] if shutil.which("sudo") else None


def is_offered(name: str) -> bool:
    """Whether apt has a version of that package to install."""
    try:
        listed = subprocess.run(
            ["apt-cache", "policy", name],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return re.search(r"^ *Candidate: \d", listed.stdout, re.MULTILINE) is not None


def install(wanted: Sequence[Package], *, yes: bool, say: Say, ask: Ask) -> None:
    """Show what is wanted, ask unless `yes`, and install it; a failure is shown and raises nothing."""
    for package in wanted:
        say(f"needs {package.name}: {package.because}")
    names = [package.chosen() for package in wanted]
    both = commands(names)
    if both is None and shutil.which("apt-get") is None:
        say(f"no apt-get here; install with your system's own packages what answers to: {' '.join(names)}")
        return
    if both is None:
        say(f"installing needs root and there is no sudo; ask for: apt-get install {' '.join(names)}")
        return
    todo = both[1:] if os.environ.get(FRESH) else both
    for which, command in zip(("will run:", "         "), todo, strict=False):
        say(f"{which} {shlex.join(command)}")
    if not POLICY.exists():
        say(f"until that is done, {POLICY} keeps packages from starting services")
    if not yes and not ask("Install these?"):
        say("installed nothing")
        return
    if len(todo) == len(both):
        say("refreshing the package lists …")
        _run(both[0], say)
    # Choose again: package lists that were never refreshed offered no alternatives.
    _install([package.chosen() for package in wanted], say)


def _install(names: Sequence[str], say: Say) -> None:
    with no_services(say):
        say(f"installing {' '.join(names)} …")
        if _installs(names, say) or len(names) == 1:
            return
        # One by one: a package that is not available must not prevent the others.
        for name in names:
            say(f"installing {name} …")
            _installs([name], say)


def _installs(names: Sequence[str], say: Say) -> bool:
    both = commands(names)
    return both is not None and _run(both[1], say)


@contextlib.contextmanager
def no_services(say: Say) -> Iterator[None]:
    """Inside, packages start no services. An existing policy file that is not crumple's stays as it is."""
    ours = not POLICY.exists() or _text(POLICY) == POLICY_TEXT
    first = as_root()
    if not ours or first is None:
        yield
        return
    try:
        with tempfile.NamedTemporaryFile("w", prefix="crumple-") as written:
            written.write(POLICY_TEXT)
            written.flush()
            _run([*first, "install", "-m", "755", written.name, str(POLICY)], say)
        yield
    finally:
        _run([*first, "rm", "-f", str(POLICY)], say)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@contextlib.contextmanager
def still_at_it(what: str, say: Say) -> Iterator[None]:
    """Inside, show every SAY_EVERY_S seconds that `what` goes on."""
    over = threading.Event()
    began = time.monotonic()

    def report() -> None:
        while not over.wait(SAY_EVERY_S):
            say(f"  still {what}, {time.monotonic() - began:.0f} s")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()


def _run(command: list[str], say: Say) -> bool:
    """Whether the command succeeded; if not, its last lines are shown."""
    try:
        with still_at_it("at it", say):
            code, output = _ended(command, say)
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"  failed: {error}")
        return False
    if code == 0:
        return True
    say(f"  failed with code {code}:")
    for line in output.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]:
        say(f"  {line}")
    return False


def _ended(command: list[str], say: Say) -> tuple[int, bytes]:
    """Exit code and output. An interruption is raised only after the command has ended.

    Raises OSError, TimeoutExpired.
    """
    with (
        held_back() as let_through,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child,
    ):
        try:
            let_through()
            output, _ = child.communicate(timeout=INSTALL_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        except KeyboardInterrupt:
            # apt-get receives ctrl-C itself and stops between packages. Killed, it leaves one half unpacked.
            say("finishing what is at hand …")
            child.communicate()
            raise
    return child.returncode, output


# Older releases of Ubuntu have only the name with the version.
APT = (f"{database_process.APT} | {database_process.APT}-10.6",)


def lacks() -> list[Lack]:
    """What is missing for the private database."""
    try:
        database_process.programs()
    except DatabaseMissing as missing:
        return [Lack("database", missing.message, APT)]
    return []


def prepare_database(say: Say) -> None:
    """Start the private database once, which creates its files, so that no trial has to wait for that."""
    try:
        with database.private(()) as started:
            say(f"database: ready, {started.version}")
    except (DatabaseMissing, DatabaseFailed) as error:
        say(f"database: not ready, {error}")
        say("  workloads that ask one cannot be run; all others can")


@dataclass(frozen=True)
class Prepared:
    """One server after `prepare`. `reason`: why it is not ready, or None; `build_s`: 0 if built before."""

    name: str
    reason: str | None
    remedy: str
    versions: dict[str, str]
    build_s: float

    @property
    def ready(self) -> bool:
        """Whether it can be started."""
        return self.reason is None


def prepare(
    descriptions: Sequence[ServerDescription],
    workloads: Mapping[str, Workload],
    *,
    yes: bool,
    say: Say,
    ask: Ask,
) -> tuple[Prepared, ...]:
    """Install and build what `descriptions` need; `say` shows a line, `ask` gets a yes or no unless `yes`.

    A database is installed if one of the workloads that they serve queries one. The engine is built beside
    the installation, if it has to be. Raises CrumpleError if it cannot be built.
    """
    began = time.monotonic()
    with engine_build.beside() as engine_built:
        missing = [lack for description in descriptions for lack in build.lacks(description)]
        queried = any(needs_database(description, workloads) for description in descriptions)
        wanted = packages([*missing, *(lacks() if queried else ())])
        if wanted:
            install(wanted, yes=yes, say=say, ask=ask)
            build.forget()
        # From here on it is needed: everything is started under its guard.
        with still_at_it("building the engine", say):
            engine_built()
    prepared = _side_by_side(descriptions, queried, say)
    ready = sum(each.ready for each in prepared)
    say(f"{ready} of {len(prepared)} servers ready, {time.monotonic() - began:.0f} s")
    return prepared


def _side_by_side(descriptions: Sequence[ServerDescription], queried: bool, say: Say) -> tuple[Prepared, ...]:
    """Build the servers, one for each core at a time, and create the database's files beside them.

    An interruption ends what is being built.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            every = [
                pool.submit(_build, description, f"{number} of {len(descriptions)}", say, stop)
                for number, description in enumerate(descriptions, 1)
            ]
            # In this thread, in which an interruption is raised.
            if queried:
                prepare_database(say)
            return tuple(each.result() for each in every)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def needs_database(description: ServerDescription, workloads: Mapping[str, Workload]) -> bool:
    """Whether any workload that the server answers queries a database."""
    return any(name in workloads and workloads[name].database for name in description.workloads)


def _build(description: ServerDescription, which: str, say: Say, stop: threading.Event) -> Prepared:
    name = description.name
    ready = build.readiness(description)
    if isinstance(ready, build.Missing):
        say(f"{name}: skipped, {ready.reason}; {ready.remedy}")
        return Prepared(name, ready.reason, ready.remedy, build.versions(description), 0.0)
    is_built = build.is_built(description)
    if not is_built:
        say(f"{name}: building, {which} …")
    try:
        with nullcontext() if is_built else still_at_it(f"building {name}", say):
            built = build.build(description, stop)
    except CrumpleError as error:
        say(f"{name}: not ready, {error}")
        for line in error.output_tail if isinstance(error, ServerFailed) else ():
            say(f"  {line}")
        return Prepared(name, error.message, error.remedy, ready.versions, 0.0)
    took = f", built in {built.build_s:.1f} s" if built.build_s else ""
    say(f"{name}: ready{took}")
    return Prepared(name, None, "", built.versions, built.build_s)
