"""A port that Docker's own program publishes: the real docker-proxy, without a daemon.

with published_port.published(link.addresses[1], 8080) as port: ...   # 127.0.0.1:port leads to the container
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import other_hosts
from crumple.machine import process_tree

PROGRAM = "docker-proxy"
# Debian's package; only this file of it is kept, where the launcher keeps what it fetches.
PACKAGE, IN_PACKAGE = "docker.io", f"./usr/sbin/{PROGRAM}"


def program() -> Path | None:
    """The program, installed or fetched; None: neither is possible."""
    kept = Path(__file__).parents[3] / ".bootstrap" / PROGRAM
    if installed := shutil.which(PROGRAM, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec/docker"):
        return Path(installed)
    if not kept.is_file():
        _fetch(kept)
    return kept if kept.is_file() else None


def why_not() -> str:
    """Why no port can be published here; empty if one can."""
    return other_hosts.why_not() or ("" if program() else f"no {PROGRAM}: apt-get download {PACKAGE} fails")


@contextmanager
def published(address: str, port: int) -> Iterator[int]:
    """Publish a port of a container at a free port of 127.0.0.1 until the `with` ends; yield that port."""
    found, free = program(), process_tree.free_port()
    assert found is not None
    words = ["-proto", "tcp", "-host-ip", "127.0.0.1", "-host-port", str(free)]
    words += ["-container-ip", address, "-container-port", str(port)]
    # It says on descriptor 3 when it listens.
    started = [*other_hosts.DIES_WITH_PARENT, "sh", "-c", 'exec "$0" "$@" 3>&1', str(found), *words]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.read(2) == "0\n"
            yield free
        finally:
            process.kill()


def _fetch(kept: Path) -> None:
    """Fetch the program from Debian's package, if apt-get and dpkg-deb are here and reach it."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        words = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", PACKAGE]
        subprocess.run(words, cwd=scratch, capture_output=True, timeout=300, check=False)
        for package in Path(scratch).glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, scratch], capture_output=True, check=False)
        unpacked = Path(scratch) / IN_PACKAGE
        if unpacked.is_file():
            unpacked.replace(kept)
