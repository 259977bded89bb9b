"""Sessions of PostgreSQL, as pg_stat_activity and pg_blocking_pids list them → what they wait for. Pure."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from crumple.asked import statements
from crumple.asked.said import Points, Said, listed, several

NAME = "postgres"
SESSIONS_MOST = 2000
QUERY = (
    "SELECT pid, state, wait_event_type, wait_event,"
    " CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) END AS blocked_by,"
    " round(extract(epoch FROM clock_timestamp() - xact_start)::numeric, 3) AS xact_s,"
    " left(query, 300) AS query FROM pg_stat_activity"
    f" WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT {SESSIONS_MOST}"
)
# Of all sessions with work: one that waits may be on its way through.
QUEUE_MIN, QUEUE_SHARE = 2, 0.1
# Events of wait_event_type Lock for a row: its version, or the transaction that changed it.
_ROW = ("tuple", "transactionid")
Row = Mapping[str, str]


def read(text: str, command: str) -> Said:
    """What the sessions show; `text`: the rows of QUERY as CSV with a header."""
    header = text.find("pid,state,")
    rows = list(csv.DictReader(io.StringIO(text[max(0, header) :])))
    at_work = [row for row in rows if row["state"] not in ("idle", "")]
    blocked = [row for row in at_work if row["wait_event_type"] == "Lock"]
    queue = max(QUEUE_MIN, QUEUE_SHARE * len(at_work))
    shows = _sentence(rows, at_work)
    points: Points = "none"
    count = None
    if len(blocked) >= queue:
        events = Counter(row["wait_event"] for row in blocked)
        points = "row-lock" if events.most_common(1)[0][0] in _ROW else "gate"
        heads = _heads(blocked)
        count = len(heads) or None
        place = _most(blocked)
        return Said(NAME, command, shows, (*_held(heads, rows), *_groups(at_work)), points, count, place)
    held = [row for row in at_work if row["state"].startswith("idle in transaction")]
    active = [row for row in at_work if row["state"] == "active" and row["wait_event_type"] != "Client"]
    if len(at_work) == len(rows) and len(held) >= queue and len(held) > len(active):
        # No session is free, and most belong to requests that do something else meanwhile.
        points, count = "connection-pool", len(rows)
    elif len(active) >= queue:
        points = "dependency"
    place = _most(held if points == "connection-pool" else active)
    place = "" if points == "none" else place
    return Said(NAME, command, shows, tuple(_groups(at_work)), points, count, place)


def _sentence(rows: Sequence[Row], at_work: Sequence[Row]) -> str:
    waits = Counter(_wait(row) for row in at_work)
    shows = f"{len(at_work)} of {several(len(rows), 'session')} have a statement or a transaction"
    parts = [f"{count} {wait}" for wait, count in waits.most_common()]
    return f"{shows}: {listed(parts)}" if parts else shows


def _wait(row: Row) -> str:
    if row["state"] != "active":
        return row["state"]
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


def _pids(listed_pids: str) -> list[str]:
    return [pid for pid in listed_pids.strip("{}").split(",") if pid and pid != "0"]


def _held(heads: Counter[str], rows: Sequence[Row]) -> list[str]:
    known = {row["pid"]: row for row in rows}
    lines = []
    for pid, count in heads.most_common(2):
        what = f": {_described(known[pid])}" if pid in known else ""
        lines.append(f"session {pid} blocks {count}{what}")
    return lines


def _described(row: Row) -> str:
    since = f" for {row['xact_s']} s" if row["xact_s"] else ""
    return f"{_wait(row)}, in its transaction{since}: {statements.shown(row['query'])}"


def _groups(at_work: Sequence[Row]) -> list[str]:
    groups = Counter((_wait(row), statements.shown(row["query"])) for row in at_work)
    return [f"{count} × {wait}: {query}" for (wait, query), count in groups.most_common(4)]


def _most(rows: Sequence[Row]) -> str:
    queries = Counter(statements.shown(row["query"]) for row in rows)
    return queries.most_common(1)[0][0] if queries else ""
