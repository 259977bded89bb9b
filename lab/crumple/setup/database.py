"""The database among what is set up: whether it is there, which packages bring it, and that it runs.

No server lists it: that a workload asks a database is the workload's to say.
"""

from crumple.database import database, files
from crumple.errors import DatabaseFailed, DatabaseMissing
from crumple.server.runtimes import Lack
from crumple.setup.packages import Say

# Older Ubuntus have only the name with the version.
APT = (f"{files.APT} | {files.APT}-10.6",)


def lacks() -> list[Lack]:
    """What is missing for the private database."""
    try:
        files.programs()
    except DatabaseMissing as missing:
        return [Lack("database", missing.message, APT)]
    return []


def prepare(say: Say) -> None:
    """Start the private database once, which fills it: the first trial need not wait for that."""
    try:
        with database.private(()) as started:
            say(f"database: ready, {started.version}")
    except (DatabaseMissing, DatabaseFailed) as error:
        say(f"database: not ready, {error}")
        say("  workloads that ask one cannot be run; all others can")
