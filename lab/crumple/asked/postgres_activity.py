"""Sessions of PostgreSQL, as pg_stat_activity and pg_blocking_pids list them → what they wait for. Pure."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from crumple.asked import statements
from crumple.asked.found import SourceFinding
from crumple.drawing import numerals
from crumple.observation.answers import AskedPart

# The most sessions that are listed, which bounds what the query costs the database.
SESSIONS_MOST = 2000
QUERY = (
    "SELECT pid, state, wait_event_type, wait_event,"
    " CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) END AS blocked_by,"
    " round(extract(epoch FROM clock_timestamp() - xact_start)::numeric, 3) AS xact_s,"
    " left(query, 300) AS query FROM pg_stat_activity"
    f" WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT {SESSIONS_MOST}"
)
Row = Mapping[str, str]


def read(text: str) -> SourceFinding:
    """Return what the sessions show; `text`: the rows of QUERY as CSV with a header."""
    header = text.find("pid,state,")
    rows = list(csv.DictReader(io.StringIO(text[max(0, header) :])))
    at_work = [row for row in rows if row["state"] not in ("idle", "")]
    blocked = [row for row in at_work if row["wait_event_type"] == "Lock"]
    held = [row for row in at_work if row["state"].startswith("idle in transaction")]
    runs = [row for row in at_work if row["state"] == "active" and row not in blocked]
    waits = Counter(_wait(row) for row in at_work)
    shows = f"{len(at_work)} of {numerals.count(len(rows), 'session')} have a statement or a transaction"
    counts = ", ".join(f"{count} {wait}" for wait, count in waits.most_common())
    shows += f": {counts}" if counts else ""
    heads = _heads(blocked)
    parts = {
        "held_up": AskedPart(
            len(blocked), len(at_work), f"sessions wait for a lock: {statements.most(blocked)}"
        ),
        "runs": AskedPart(len(runs), len(rows), f"sessions run: {statements.most(runs)}"),
        "held": AskedPart(
            len(held), len(rows), f"sessions are idle in a transaction; the last: {statements.most(held)}"
        ),
    }
    return SourceFinding(shows, parts, tuple(_held(heads, rows)))


def _wait(row: Row) -> str:
    if row["state"] != "active":
        return f"are {row['state']}"
    if not row["wait_event_type"]:
        return "run"
    if row["wait_event_type"] == "Lock":
        return f"wait for a lock ({row['wait_event']})"
    return f"wait for {row['wait_event_type']}:{row['wait_event']}"


def _heads(blocked: Sequence[Row]) -> Counter[str]:
    """Sessions that block others and are not blocked themselves, each with how many wait for it."""
    blockers = {row["pid"]: _pids(row["blocked_by"]) for row in blocked}
    heads = Counter[str]()
    for pid in blockers:
        seen: set[str] = set()
        following = [pid]
        while following:
            each = following.pop()
            if each not in seen:
                seen.add(each)
                following += blockers.get(each, [])
        heads.update(seen - set(blockers))
    return heads


def _pids(printed: str) -> list[str]:
    return [pid for pid in printed.strip("{}").split(",") if pid and pid != "0"]


def _held(heads: Counter[str], rows: Sequence[Row]) -> list[str]:
    known = {row["pid"]: row for row in rows}
    return [
        f"session {pid} blocks {count}{_described(known[pid]) if pid in known else ''}"
        for pid, count in heads.most_common(2)
    ]


def _described(row: Row) -> str:
    since = f" for {row['xact_s']} s" if row["xact_s"] else ""
    return f", in its transaction{since}: {statements.without_values(row['query'])}"
