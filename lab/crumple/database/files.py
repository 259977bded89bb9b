"""The data directory of the private database: made and filled once, kept in the user's cache, then copied.

One that listens and is asked is started by `process`.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from crumple.database import tables
from crumple.errors import DatabaseFailed, DatabaseMissing
from crumple.processes import guard
from crumple.processes.scratch_folder import ScratchFolder
from crumple.server import runtimes

APT = "mariadb-server-core"
# Beside the PATH, which leaves out sbin for most users.
PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
# The statements that make them; folder and name differ from one version and distribution to the next.
SYSTEM_TABLES = tuple(
    Path(folder) / f"{name}_system_tables.sql"
    for folder in ("/usr/share/mysql", "/usr/share/mariadb", "/usr/local/mysql/share")
    for name in ("mysql", "mariadb")
)
UNPRIVILEGED = ("mysql", "nobody")
MAKE_S = 120.0
REDO_LOG = "--innodb-log-file-size=8M"
# As one command under the guard, so that a lab that is killed meanwhile leaves nothing.
MAKE = 'server="$1"; into="$2"; shift 2; "$server" "$@" < statements.sql && cp -R data/. "$into"'


@dataclass(frozen=True)
class Programs:
    """Where they are. `user`: whom the database runs as, if we are root."""

    server: str
    system_tables: Path
    version: str
    user: str | None


def programs() -> Programs:
    """What the private database needs. Raises DatabaseMissing, which names the package."""
    path = os.pathsep.join([runtimes.search_path(), *PLACES])
    server = shutil.which("mariadbd", path=path)
    system_tables = next((file for file in SYSTEM_TABLES if file.is_file()), None)
    if server is None or system_tables is None:
        lacking = "is not installed" if server is None else "lacks its system tables"
        raise DatabaseMissing(f"mariadbd {lacking}", f"install it with: apt-get install {APT}")
    told = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=20, check=False)
    user = _unprivileged() if os.geteuid() == 0 else None
    return Programs(server, system_tables, told.stdout.strip(), user)


def handed_over(folder: Path, user: str | None) -> None:
    """Give `folder`, with all in it, to the user the database runs as; nobody else may look into it."""
    folder.chmod(0o700)
    if user is None:
        return
    who = pwd.getpwnam(user)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)


def filled(found: Programs) -> Path:
    """The data directory that holds our tables, made if this user has none of this version as yet.

    Raises DatabaseFailed.
    """
    content = repr([found.version, tables.statements()])
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    place = platformdirs.user_cache_path("crumple") / "database" / key
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f"{key}.lock").open("w") as lock:
            # Another lab may be making it.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                _make(found, place)
    except OSError as error:
        message = f"cannot keep the database's files in {place.parent}: {error.strerror}"
        raise DatabaseFailed(message, remedy="free some space, or let us write there") from None
    return place


def _make(found: Programs, place: Path) -> None:
    prefix = f"{place.name}.making-"
    for stale in place.parent.glob(f"{prefix}*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
    try:
        _fill(found, folder)
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(found: Programs, folder: Path) -> None:
    """What mariadb-install-db does, which needs the client's package as well, and then our tables.

    In a scratch folder first: whom the database runs as may not reach the user's cache.
    """
    held = ScratchFolder.made()
    scratch = held.path
    (scratch / "data").mkdir()
    system = found.system_tables.read_text()
    ours = tables.statements()
    lines = ["CREATE DATABASE mysql;", "USE mysql;", system, *(f"{statement};" for statement in ours)]
    (scratch / "statements.sql").write_text("\n".join(lines) + "\n")
    handed_over(scratch, found.user)
    arguments = ["--no-defaults", "--bootstrap", f"--datadir={scratch / 'data'}", "--log-warnings=0"]
    as_user = [f"--user={found.user}"] if found.user else []
    command = ["sh", "-c", MAKE, "sh", found.server, str(folder), *arguments, *as_user, REDO_LOG]
    env = runtimes.environment()
    guarded = guard.launch("start", command, cwd=scratch, env=env, cores=(), scratch=held)
    try:
        ended = guarded.ended(MAKE_S)
        if ended is None or ended.exit != 0:
            how = str(ended) if ended else f"did not end within {MAKE_S:.0f} s"
            raise DatabaseFailed(f"making the database's files {how}", guarded.output_tail())
    finally:
        guarded.end()


def _unprivileged() -> str:
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise DatabaseMissing(
        f"there is no user {' or '.join(UNPRIVILEGED)} to run mariadbd as", "make one, or do not be root"
    )
