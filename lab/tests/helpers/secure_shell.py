"""A real sshd on another host of a test, with keys of its own, and an `ssh` that reaches it.

with secure_shell.serving(loader, link.addresses[1], tmp_path) as shell:
    monkeypatch.setenv("PATH", shell.path)
    subprocess.run(["ssh", "loader", "true"])

OpenSSH takes the user's home from the list of users and not from HOME. So the configuration is given by an
`ssh` of the test's own, which is found first and calls the system's.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from other_hosts import Host

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
PORT = 22
# On the other host. sshd insists on /run/sshd, which is empty.
FOLDER, EMPTY = "/run/of-a-test", "/run/sshd"
SERVER = f"""
HostKey {FOLDER}/host_key
AuthorizedKeysFile {FOLDER}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
"""
CLIENT = """
Host {name}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {folder}/key
    UserKnownHostsFile {folder}/known_hosts
Host *
    IdentitiesOnly yes
    IdentityAgent none
    BatchMode yes
    GlobalKnownHostsFile /dev/null
"""
OWN_SSH = """#!/bin/sh
exec {ssh} -F {folder}/config "$@"
"""


def why_not() -> str:
    """Why no sshd can be started here; empty if one can."""
    missing = [each for each in ("ssh", "ssh-keygen") if not shutil.which(each)]
    missing += [] if SSHD else ["sshd"]
    return f"not installed: {', '.join(missing)} (apt-get install openssh-server)" if missing else ""


@dataclass(frozen=True)
class Shell:
    """What reaches an sshd. `name`: the destination; `folder`: config, key and known_hosts of the client.

    `path`: a PATH in which `ssh` is that of the test.
    """

    name: str
    folder: Path
    path: str
    process: subprocess.Popen[str]

    def change_host_key(self) -> None:
        """Let the client know another key of the host than it has."""
        known = self.folder / "known_hosts"
        address = known.read_text().split()[0]
        _make_key(self.folder / "other")
        known.write_text(f"{address} {(self.folder / 'other.pub').read_text()}")


@contextmanager
def serving(host: Host, address: str, folder: Path, *, user: str = "root") -> Iterator[Shell]:
    """Run sshd on a host, at an address, until the `with` ends. `folder`: of the client, here."""
    folder = folder / f"ssh-{host.name}"
    (folder / "bin").mkdir(parents=True)
    for name in ("key", "host_key"):
        _make_key(folder / name)
    for name, content in (
        ("host_key", (folder / "host_key").read_text()),
        ("authorized_keys", (folder / "key.pub").read_text()),
        ("sshd_config", f"ListenAddress {address}:{PORT}\n{SERVER}"),
    ):
        host.write(f"{FOLDER}/{name}", content)
    host.run("chmod", "-R", "go+rX", FOLDER)
    host.run("chmod", "600", f"{FOLDER}/host_key")
    host.run("mkdir", "-p", "-m", "755", EMPTY)
    own_key = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"{address} {own_key}")
    (folder / "config").write_text(
        CLIENT.format(name=host.name, address=address, port=PORT, user=user, folder=folder)
    )
    own = folder / "bin" / "ssh"
    own.write_text(OWN_SSH.format(ssh=shutil.which("ssh"), folder=folder))
    own.chmod(0o755)
    assert SSHD is not None
    log = (folder / "sshd.log").open("w", encoding="utf-8")
    with log, host.running(SSHD, "-D", "-e", "-f", f"{FOLDER}/sshd_config", stderr=log) as process:
        _await(address, process, folder / "sshd.log")
        yield Shell(host.name, folder, f"{folder / 'bin'}:{os.environ['PATH']}", process)


def _make_key(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)


def _await(address: str, process: subprocess.Popen[str], log: Path) -> None:
    over_s = time.monotonic() + 20.0
    while time.monotonic() < over_s and process.poll() is None:
        try:
            socket.create_connection((address, PORT), timeout=1.0).close()
            return
        except OSError:
            time.sleep(0.01)
    raise AssertionError(f"sshd does not answer at {address}:{PORT}: {log.read_text()}")
