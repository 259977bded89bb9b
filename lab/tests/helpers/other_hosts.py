"""Other hosts for tests and benches: processes in namespaces of their own, joined by links that can be cut.

with other_hosts.started("loader") as loader, other_hosts.joined(None, loader) as link:
    loader.run("ping", "-c1", link.addresses[0])

A host has a network, a process tree, a table of mounts and a name of its own. Nothing of it has a name in a
file system: its first process ends when the one that started it does, however that ends, and takes with it
all its processes, mounts and links.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Folders that are empty on each host, and its own. The others it shares with this one.
OWN_FOLDERS = ("/run", "/tmp")
# On a host that serves nothing and only sends requests, the user's home is its own, too.
WITH_HOME = (*OWN_FOLDERS, str(Path.home()))
# The first process: it waits for the end of its input, and the kernel reaps whoever loses its parent.
FIRST = """
mount --make-rprivate / && hostname "$1" && shift && ip link set lo up || exit
for folder; do mount -t tmpfs -o mode=1777 tmpfs "$folder" || exit; done
echo $$ && exec env --ignore-signal=CHLD cat
"""
WAYS_IN = ("--net", "--pid", "--mount", "--uts", "--")
DIES_WITH_PARENT = ("setpriv", "--pdeathsig=KILL", "--")
# Pairs in 10.213.0.0/16: private, so that crumple loads them unasked, and hardly used anywhere.
PAIRS, FIRST_ADDRESS = 1 << 15, (10 << 24) + (213 << 16)
# Frames to it reach the other end of a link, which is another, and are dropped there.
NOBODY = "02:00:00:00:00:01"
_numbers = itertools.count()


def why_not() -> str:
    """Why no host can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "only root makes other hosts, in network namespaces"
    if missing := [each for each in ("unshare", "nsenter", "setpriv", "ip") if not shutil.which(each)]:
        return f"not installed: {', '.join(missing)}"
    made = subprocess.run(["unshare", "-nmpu", "--fork", "true"], capture_output=True, text=True, check=False)
    return "" if made.returncode == 0 else f"no namespace may be made here: {made.stderr.strip()}"


@dataclass(frozen=True)
class Host:
    """A host. `pid`: its first process, as it is called here."""

    name: str
    pid: int

    def words(self, *command: str | Path) -> list[str]:
        """The words that run a command there. It is killed when the process that they start ends."""
        return [*("nsenter", f"--target={self.pid}", *WAYS_IN), *DIES_WITH_PARENT, *map(str, command)]

    def run(self, *command: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run a command there to its end; by default it must succeed."""
        settings: dict[str, Any] = {"check": True, "capture_output": True, "text": True, **how}
        return subprocess.run(self.words(*command), **settings)

    @contextmanager
    def running(self, *command: str | Path, **how: Any) -> Iterator[subprocess.Popen[str]]:
        """Run a command there until the `with` ends. What it started itself goes with the host."""
        with subprocess.Popen(self.words(*command), text=True, **how) as process:
            try:
                yield process
            finally:
                there = _children(process.pid)
                process.kill()
                process.wait()
                # If it had only begun, it was not yet told to die with its parent.
                for pid in there:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                assert ended(there)

    def write(self, file: str, content: str) -> None:
        """Write a file there, which only its owner can read."""
        self.run("sh", "-c", 'umask 077; mkdir -p "${1%/*}"; cat > "$1"', "sh", file, input=content)

    def processes(self) -> dict[int, str]:
        """Its processes but for the first: the pid of each here, and its command."""
        inside = _namespace(self.pid)
        assert inside, f"{self.name} has ended"
        found = {int(each.name): each for each in Path("/proc").iterdir() if each.name.isdigit()}
        return {pid: _command(pid) for pid in found if pid != self.pid and _namespace(pid) == inside}

    def listeners(self) -> set[str]:
        """Where somebody listens there: "address:port", TCP and UDP."""
        said = self.run("ss", "-Hltun").stdout
        return {line.split()[4] for line in said.splitlines()}


@contextmanager
def started(name: str, own_folders: Sequence[str] = OWN_FOLDERS) -> Iterator[Host]:
    """Make a host until the `with` ends. `name`: what it calls itself."""
    words = ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "--mount-proc", "--kill-child=KILL"]
    words += ["sh", "-c", FIRST, "sh", name, *own_folders]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "1\n"
            yield Host(name, child(process))
        finally:
            process.kill()


@dataclass(frozen=True)
class Link:
    """A link between two hosts; None is this one. `addresses`, `devices`: of the first and of the second."""

    ends: tuple[Host | None, Host | None]
    addresses: tuple[str, str]
    devices: tuple[str, str]

    def cut(self) -> None:
        """From now on whatever either end sends is lost, and neither is told."""
        for end, device, far in self._ways():
            _ip(end, "neigh", "replace", far, "lladdr", NOBODY, "dev", device, "nud", "permanent")

    def mend(self) -> None:
        """Pass on again what is sent."""
        for end, device, far in self._ways():
            _ip(end, "neigh", "del", far, "dev", device)

    def _ways(self) -> Iterator[tuple[Host | None, str, str]]:
        return zip(self.ends, self.devices, reversed(self.addresses), strict=True)


@contextmanager
def joined(one: Host | None, other: Host | None) -> Iterator[Link]:
    """Join two hosts by a link until the `with` ends. None: this one."""
    number = next(_numbers)
    devices = tuple(f"ct{os.getpid():x}{side}{number}" for side in "ab")
    addresses = _free_pair()
    link = Link((one, other), addresses, (devices[0], devices[1]))
    made = ("link", "add", devices[0], *_in(one), "type", "veth", "peer", "name", devices[1], *_in(other))
    _ip(None, *made)
    try:
        for end, device, address in zip(link.ends, link.devices, link.addresses, strict=True):
            _ip(end, "addr", "add", f"{address}/31", "dev", device)
            _ip(end, "link", "set", device, "up")
        yield link
    finally:
        _ip(one, "link", "del", devices[0], check=False)


def child(process: subprocess.Popen[str]) -> int:
    """The pid, as it is here, of the one child of a process: of a command that runs on another host."""
    assert at_last(lambda: _children(process.pid) != [])
    return _children(process.pid)[0]


def ended(pids: Sequence[int]) -> bool:
    """Whether all of these processes have ended, at the latest after a while."""
    return at_last(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def at_last(what: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Whether it is so, at the latest after that time."""
    over_s = time.monotonic() + within_s
    while not (found := what()) and time.monotonic() < over_s:
        time.sleep(0.01)
    return found


def _in(host: Host | None) -> tuple[str, ...]:
    return ("netns", str(host.pid if host else os.getpid()))


def _ip(host: Host | None, *words: str, check: bool = True) -> None:
    before = [] if host is None else ["nsenter", f"--target={host.pid}", "--net", "--"]
    subprocess.run([*before, "ip", *words], check=check, capture_output=True)


def _free_pair() -> tuple[str, str]:
    """Two addresses that no other link of this host has."""
    taken = subprocess.run(["ip", "-4", "-o", "addr"], capture_output=True, text=True, check=True).stdout
    while True:
        first = FIRST_ADDRESS + 2 * random.SystemRandom().randrange(PAIRS)
        one, other = (".".join(map(str, (first + each).to_bytes(4))) for each in (0, 1))
        if f" {one}/" not in taken and f" {other}/" not in taken:
            return one, other


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""
