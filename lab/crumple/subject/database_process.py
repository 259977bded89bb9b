"""One private mariadbd: its data directory, made once and then copied, and its process under the guard.

The data directory is stored in the user's cache. No database of the system is touched. `database` queries the
process.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pymysql
from pymysql.connections import Connection

from crumple import project
from crumple.errors import DatabaseFailed, DatabaseMissing, ServerFailed
from crumple.machine import capacity, guard, load_machine, process_tree
from crumple.machine.guard import Guarded
from crumple.machine.leftovers import ScratchFolder
from crumple.subject import build, tables
from crumple.subject.tables import SCHEMA

APT = "mariadb-server-core"
# Searched besides the PATH, which has no sbin for most users.
PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
# The statements that create the system tables; folder and name depend on version and distribution.
SYSTEM_TABLES = tuple(
    Path(folder) / f"{name}_system_tables.sql"
    for folder in ("/usr/share/mysql", "/usr/share/mariadb", "/usr/local/mysql/share")
    for name in ("mysql", "mariadb")
)
UNPRIVILEGED = ("mysql", "nobody")
# Seconds after which the making of the files of a database is given up.
MAKE_S = 120.0
REDO_LOG = "--innodb-log-file-size=8M"
# One command under the guard, so that a lab that is killed while it runs leaves nothing behind.
MAKE = 'server="$1"; into="$2"; shift 2; "$server" "$@" < statements.sql && cp -R data/. "$into"'


@dataclass(frozen=True)
class DatabasePrograms:
    """The server's executable and system tables. `user`: runs the database if the lab runs as root."""

    server: str
    system_tables: Path
    version: str
    user: str | None


def programs() -> DatabasePrograms:
    """The programs that the private database needs. Raises DatabaseMissing, which names the package."""
    path = os.pathsep.join([build.search_path(), *PLACES])
    server = shutil.which("mariadbd", path=path)
    system_tables = next((file for file in SYSTEM_TABLES if file.is_file()), None)
    if server is None or system_tables is None:
        lacking = "is not installed" if server is None else "lacks its system tables"
        raise DatabaseMissing(f"mariadbd {lacking}", f"install it with: apt-get install {APT}")
    answer = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=20, check=False)
    user = _unprivileged() if os.geteuid() == 0 else None
    return DatabasePrograms(server, system_tables, answer.stdout.strip(), user)


def handed_over(folder: Path, user: str | None) -> None:
    """Give `folder`, with all in it, to the user that runs the database; no other user may read it."""
    folder.chmod(0o700)
    if user is None:
        return
    who = pwd.getpwnam(user)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)


def filled(found: DatabasePrograms) -> Path:
    """The data directory with crumple's tables, made if this user has none of this version yet.

    Raises DatabaseFailed.
    """
    content = repr([found.version, tables.statements()])
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    place = project.cache() / "database" / key
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f"{key}.lock").open("w") as lock:
            # Another lab may be making it at this moment.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                _make(found, place)
    except OSError as error:
        message = f"cannot keep the database's files in {place.parent}: {error.strerror}"
        raise DatabaseFailed(message, remedy="free some space, or let us write there") from None
    return place


def _make(found: DatabasePrograms, place: Path) -> None:
    prefix = f"{place.name}.making-"
    for stale in place.parent.glob(f"{prefix}*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
    try:
        _fill(found, folder)
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(found: DatabasePrograms, folder: Path) -> None:
    """Create the system tables, as mariadb-install-db does, and crumple's tables.

    mariadb-install-db itself needs the client's package as well. The files are made in a scratch folder
    first, because the user that runs the database may not be able to reach the lab's cache.
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
    env = build.base_environment()
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


SERVERS_USER = "crumple"
LAB_USER = "crumple_lab"
# How many ports are tried, since another program may take one after it was found free.
PORTS_TRIED = 3
# Seconds within which a database must accept a connection.
LIMIT_S = 60.0
# Seconds between two attempts to connect to it.
POLL_S = 0.02

# Small buffers for small tables, no query cache, and nothing that wakes up by itself while a load runs.
SETTINGS = (
    "--bind-address=127.0.0.1",
    "--socket=db.sock",  # relative to the data directory: an absolute path may be too long for a socket
    "--skip-log-bin",
    "--skip-name-resolve",
    "--skip-slave-start",
    "--max-connections=2000",
    "--back-log=4096",
    "--max-connect-errors=1000000000",
    "--thread-cache-size=256",
    "--table-open-cache=4000",
    "--query-cache-type=0",
    "--query-cache-size=0",
    "--innodb-buffer-pool-size=32M",
    REDO_LOG,
    "--innodb-flush-log-at-trx-commit=2",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=8M",
    "--performance-schema=0",
    "--userstat=1",
    "--local-infile=0",
    "--character-set-server=utf8mb4",
)


@dataclass(frozen=True)
class DatabaseProcess:
    """A mariadbd that answers on `port`.

    `password`: of SERVERS_USER, who may only read. `opened` opens a connection of LAB_USER.
    """

    guarded: Guarded
    port: int
    password: str
    opened: Callable[[], Connection]


@contextmanager
def running(found: DatabasePrograms, *, cores: tuple[int, ...], data: Path) -> Iterator[DatabaseProcess]:
    """Run a mariadbd on a copy of `data` until the block ends. Raises DatabaseFailed."""
    capacity.raise_open_files()  # each of its connections is an open file, and it inherits the limit
    process = _launched(found, cores, data)
    try:
        yield process
    finally:
        _end(process.guarded)


def _launched(found: DatabasePrograms, cores: tuple[int, ...], data: Path) -> DatabaseProcess:
    for attempt in range(1, PORTS_TRIED + 1):
        port = process_tree.free_port()
        passwords = (secrets.token_hex(16), secrets.token_hex(16))
        guarded = _started(found, cores, data, port, passwords)
        try:
            opened = partial(_opened, port, passwords[1])
            _await(guarded, opened)
            return DatabaseProcess(guarded, port, passwords[0], opened)
        except BaseException as error:
            _end(guarded)
            # Another program may have taken the port after it was found free.
            taken = isinstance(error, DatabaseFailed) and process_tree.is_taken(port)
            if not taken or attempt == PORTS_TRIED:
                raise
    raise AssertionError("the last attempt returns or raises")


def _started(
    found: DatabasePrograms,
    cores: tuple[int, ...],
    data: Path,
    port: int,
    passwords: tuple[str, str],
) -> Guarded:
    try:
        held = ScratchFolder.made()
        scratch = held.path
        try:
            _furnish(scratch, found, data, passwords)
        except BaseException:
            held.remove()
            raise
    except OSError as error:
        message = f"no room for the database: {error.filename or 'its scratch folder'}: {error.strerror}"
        remedy = "free some space, or name another place in TMPDIR"
        raise DatabaseFailed(message, remedy=remedy) from None
    command = [
        found.server,
        "--no-defaults",
        f"--datadir={scratch / 'data'}",
        f"--tmpdir={scratch}",
        f"--pid-file={scratch / 'pid'}",
        f"--init-file={scratch / 'accounts.sql'}",
        f"--port={port}",
        *([f"--user={found.user}"] if found.user else []),
        *SETTINGS,
    ]
    try:
        env = build.base_environment()
        return guard.launch("start", command, cwd=scratch, env=env, cores=cores, scratch=held)
    except ServerFailed as error:
        raise DatabaseFailed(f"the database: {error.message}", error.output_tail, error.remedy) from None


def _furnish(scratch: Path, found: DatabasePrograms, data: Path, passwords: tuple[str, str]) -> None:
    """Put the data directory and the accounts there; only the database's user may read them."""
    shutil.copytree(data, scratch / "data")
    accounts = scratch / "accounts.sql"
    with os.fdopen(os.open(accounts, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.writelines(f"{line};\n" for line in _accounts(*passwords))
    handed_over(scratch, found.user)


def _accounts(servers: str, lab: str) -> Sequence[str]:
    """Statements that it runs before it listens: they leave two accounts, with passwords of this run."""
    return (
        "DELETE FROM mysql.global_priv WHERE user <> 'mariadb.sys'",
        "DELETE FROM mysql.db",
        "FLUSH PRIVILEGES",
        f"CREATE USER {SERVERS_USER}@127.0.0.1 IDENTIFIED BY '{servers}'",
        f"GRANT SELECT ON {SCHEMA}.* TO {SERVERS_USER}@127.0.0.1",
        f"CREATE USER {LAB_USER}@127.0.0.1 IDENTIFIED BY '{lab}'",
        f"GRANT ALL ON *.* TO {LAB_USER}@127.0.0.1 WITH GRANT OPTION",
    )


def _opened(port: int, password: str) -> Connection:
    return pymysql.connect(
        host=load_machine.HOST,
        port=port,
        user=LAB_USER,
        password=password,
        database=SCHEMA,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=5,
        read_timeout=30,
        ssl_disabled=True,  # the connection stays on this machine, and a TLS context takes 20 ms
    )


def _await(guarded: Guarded, opened: Callable[[], Connection]) -> None:
    """Return as soon as it accepts a connection. Raises DatabaseFailed."""
    deadline = time.monotonic() + LIMIT_S
    said = "it does not listen"
    while time.monotonic() < deadline:
        try:
            opened().close()
            return
        except pymysql.Error as error:
            said = str(error.args[-1])
        ended = guarded.ended(POLL_S)
        if ended:
            raise DatabaseFailed(f"the database {ended} as it started", guarded.output_tail())
    message = f"the database took no connection within {LIMIT_S:.0f} s: {said}"
    raise DatabaseFailed(message, guarded.output_tail())


def _end(guarded: Guarded) -> None:
    try:
        guarded.end()
    except ServerFailed as error:
        raise DatabaseFailed(f"the database {error.message}", error.output_tail, error.remedy) from None
