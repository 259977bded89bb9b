"""What `crumple cluster up` keeps of its cluster, for this user alone: where it is, and the key to it.

Scheduler, workers and clients have one certificate, made for the cluster, and each demands it of the others.
So whoever holds it may run programs on all hosts, and nobody else can connect. On the hosts it is in no file
that stays.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Security

from crumple import project
from crumple.contract_base import Frozen
from crumple.errors import UsageError

ROLES = ("client", "scheduler", "worker")
# Seconds between two looks at whether a cluster has ended.
POLL_S = 0.1


class Pass(Frozen):
    """The certificate and its key, as PEM."""

    certificate: str
    key: str

    @classmethod
    def made(cls) -> "Pass":
        """Make a new one, which is valid for a year."""
        made = Security.temporary()
        return cls(certificate=made.tls_ca_file, key=made.tls_client_key)

    @property
    def security(self) -> Security:
        """As Dask takes it: all connections are encrypted, and both ends show the certificate."""
        parts = {f"tls_{role}_cert": self.certificate for role in ROLES}
        parts |= {f"tls_{role}_key": self.key for role in ROLES}
        return Security(require_encryption=True, tls_ca_file=self.certificate, **parts)


class ClusterFile(Frozen):
    """A cluster that is up. `keeper`: the process that is its scheduler and holds its hosts."""

    address: str
    """Of its scheduler, as --cluster names it."""
    keeper: int
    key_to_it: Pass


def path() -> Path:
    """Return where it is kept."""
    return project.cache() / "cluster.json"


def read() -> ClusterFile | None:
    """Return the cluster of this user that is up; None: none is. A keeper that was killed has no lock."""
    with contextlib.suppress(FileNotFoundError), path().open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return ClusterFile.model_validate_json(file.read())
    return None


@contextmanager
def only_one(within_s: float = 0.0) -> Iterator[None]:
    """Let no other cluster of this user come up until the context ends.

    Raises UsageError if one is up or comes up, and has not ended within that time; OSError.
    """
    path().parent.mkdir(parents=True, exist_ok=True)
    by_s = time.monotonic() + within_s
    # It is another file, which stays: whoever found a new one in its place would lock that.
    with path().with_suffix(".lock").open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= by_s:
                    remedy = "end it: crumple cluster down, or Ctrl-C where it comes up"
                    raise UsageError("a cluster is up, or comes up", remedy) from None
                time.sleep(POLL_S)
        yield


@contextmanager
def kept(up: ClusterFile) -> Iterator[None]:
    """Keep it, readable by this user alone and locked, until the context ends, as the only one.

    Raises OSError.
    """
    path().unlink(missing_ok=True)
    file = os.open(path(), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, up.model_dump_json().encode())
        yield
    finally:
        path().unlink(missing_ok=True)
        os.close(file)


def refuse_without_tls(address: str) -> None:
    """Raise UsageError for the address of a scheduler that asks for no certificate."""
    if not address.startswith("tls://"):
        raise UsageError(
            f"{address} is no address with TLS: whoever reached the hosts could run programs there",
            "write tls://ADDRESS:PORT, and start a scheduler of yours with --protocol tls",
        )


def refuse_without_certificate(address: str, known: Security, role: str) -> None:
    """Raise UsageError if this user has no certificate for the cluster at an address, in that role."""
    if known.get_connection_args(role).get("ssl_context") is None:
        raise UsageError(
            f"no cluster of this user is up at {address}",
            "start one: crumple cluster up HOST…; name the certificates of another in Dask's settings",
        )


def security(address: str) -> Security:
    """Return what opens the cluster at an address; for one that somebody else started, as Dask is set."""
    up = read()
    return up.key_to_it.security if up and up.address == address else of_dask()


def of_dask() -> Security:
    """Return the certificates that Dask's settings name. Nothing is sent or taken without TLS."""
    return Security(require_encryption=True)
