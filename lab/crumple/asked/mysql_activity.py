"""Connections of MySQL and MariaDB as their process list has them, and lock waits of InnoDB. Pure."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from crumple.asked import statements
from crumple.asked.said import Points, Said, listed, several

NAME = "mysql"
# One that waits may be on its way through; fewer than a tenth are found at a lock that limits nothing.
QUEUE_MIN, QUEUE_SHARE = 2, 0.1
# States of a wait for a lock that is no row's: of a table, of its definition, of the user (GET_LOCK).
_GATES = ("Waiting for table", "Waiting for global", "Waiting for backup", "User lock")
Row = Mapping[str, Any]


def read(text: str, command: str) -> Said:
    """What the connections show; `text`: JSON with `processes`, `waits` and `held`.

    `waits`: which connection waits for which. None: this could not be read.
    """
    found = json.loads(text)
    rows: list[Row] = found["processes"]
    waits: list[tuple[int, int]] | None = found["waits"]
    at_work = [row for row in rows if row["command"] not in ("Sleep", "Daemon", "Binlog Dump")]
    waiting = {each for each, _ in waits or []}
    gated = [row for row in at_work if str(row["state"] or "").startswith(_GATES)]
    running = [row for row in at_work if row["id"] not in waiting and row not in gated]
    queue = max(QUEUE_MIN, QUEUE_SHARE * len(at_work))
    evidence = _groups(at_work, waiting)
    points: Points = "none"
    count, place = None, ""
    if len(waiting) >= queue:
        heads = _heads(waits or [])
        points, count = "row-lock", len(heads) or None
        place = _most([row for row in rows if row["id"] in waiting])
        evidence = [*_held(heads, rows, {**found["held"]}), *evidence]
    elif len(gated) >= queue:
        points, place = "gate", _most(gated)
    elif len(running) >= queue:
        points, place = "dependency", _most(running)
    shows = f"{len(at_work)} of {several(len(rows), 'connection')} have a statement"
    parts = {"wait for a row": len(waiting), "wait for another lock": len(gated), "run": len(running)}
    present = [f"{number} {what}" for what, number in parts.items() if number]
    shows += f": {listed(present)}" if present else ""
    shows += "; lock waits could not be read" if waits is None else ""
    return Said(NAME, command, shows, tuple(evidence), points, count, place)


def _heads(waits: Sequence[tuple[int, int]]) -> Counter[int]:
    """Connections that others wait for and that wait for none, each with how many wait for it."""
    waiting = {each for each, _ in waits}
    pairs = {(each, other) for each, other in waits if other not in waiting}
    return Counter(other for _, other in pairs)


def _held(heads: Counter[int], rows: Sequence[Row], since: Mapping[str, Any]) -> list[str]:
    known = {row["id"]: row for row in rows}
    lines = []
    for which, count in heads.most_common(2):
        row = known.get(which)
        what = f": {row['command']}, {statements.shown(row['info'] or 'no statement', True)}" if row else ""
        held = since.get(str(which))
        began = f", in its transaction for {held} s" if held is not None else ""
        lines.append(f"connection {which} blocks {count}{began}{what}")
    return lines


def _groups(at_work: Sequence[Row], waiting: set[int]) -> list[str]:
    groups = Counter(
        (
            "waits for a row" if row["id"] in waiting else str(row["state"] or row["command"]),
            statements.shown(row["info"] or "", True),
        )
        for row in at_work
    )
    return [f"{count} × {state}: {query}" for (state, query), count in groups.most_common(4)]


def _most(rows: Sequence[Row]) -> str:
    queries = Counter(statements.shown(row["info"] or "", True) for row in rows)
    return queries.most_common(1)[0][0] if queries else ""
