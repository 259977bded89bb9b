"""The two tables that workloads query, and the check that each answer queried the database once.

A database that lacks the tables gets them; where they exist they are checked. Nothing is removed or changed.
The check of queries is pure: from a load's record and the counters before and after it to what is wrong.
"""

from dataclasses import dataclass

import pymysql
from pymysql.connections import Connection
from pymysql.converters import escape_item

from crumple.contract import TrialRecord
from crumple.errors import UsageError
from crumple.subject.table_rows import TableRows, books, wp_options
from crumple.subject.workload import Query


@dataclass(frozen=True)
class Counters:
    """What a database has answered since it started. `rows_read`: of one table; None if not counted."""

    selects: int
    rows_read: int | None


def queries_between(query: Query, before: Counters, after: Counters) -> int:
    """Queries between both readings, from the rows they read; if rows are not counted, all SELECTs."""
    if before.rows_read is None or after.rows_read is None:
        return after.selects - before.selects
    return (after.rows_read - before.rows_read) // query.rows


def problems(
    record: TrialRecord, query: Query, before: Counters, after: Counters, beside: int = 0
) -> tuple[str, ...]:
    """A sentence if there were fewer queries than right answers, or more than requests; else empty.

    `beside`: requests that others than the engine's load sent to the server between the two.
    """
    answered = record.outcomes.ok + record.warm_up.outcomes.ok
    sent = record.scheduled + record.warm_up.scheduled + record.retried + beside
    sent -= record.outcomes.not_sent + record.warm_up.outcomes.not_sent
    selects, queries = after.selects - before.selects, queries_between(query, before, after)
    if min(selects, queries) < answered:
        return (
            f"the database was asked {min(selects, queries):,} times for {answered:,} right answers; "
            "the server answers without asking, or keeps what the database answered",
        )
    counted = before.rows_read is not None and after.rows_read is not None
    # Drivers send SELECTs of their own when they connect, so only the rows can show that there were too many.
    if counted and queries > sent:
        return (
            f"the database was asked {queries:,} times for {sent:,} requests; the server asks more than "
            "once, or somebody else asks the same database",
        )
    return ()


SCHEMA = "crumple"
# The error code of MySQL and MariaDB for a table that does not exist (ER_NO_SUCH_TABLE).
NO_SUCH_TABLE = 1146


def tables() -> tuple[TableRows, ...]:
    """Both tables."""
    return wp_options(), books()


def statements() -> list[str]:
    """The statements that create the private database's schema with both tables and their rows."""
    made = [f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4", f"USE {SCHEMA}"]
    for table in tables():
        made.append(" ".join(table.create.split()))
        for row in table.rows:
            values = ", ".join(str(escape_item(value, "utf8mb4")) for value in row)
            made.append(f"INSERT INTO {table.name} VALUES ({values})")
    return made


def see_to(connection: Connection, place: str) -> None:
    """Create each table that is absent. Raises UsageError if one of the same name holds something else.

    `place`: the database's name in messages. Raises pymysql.Error if the user may not create tables.
    """
    for table in tables():
        found = _found(connection, table)
        if found is None:
            _make(connection, table)
        elif found != table.rows:
            held = f"holds a table {table.name} that is not crumple's"
            raise UsageError(
                f"{place} {held}", "name an empty database: crumple changes no table that it finds"
            )


def _found(connection: Connection, table: TableRows) -> tuple[tuple[object, ...], ...] | None:
    """The table's rows, at most one too many; empty: it has other columns. None: there is no such table."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"SHOW COLUMNS FROM {table.name}")
        except pymysql.ProgrammingError as error:
            if error.args[0] == NO_SUCH_TABLE:
                return None
            raise
        if tuple(column[0] for column in cursor.fetchall()) != table.columns:
            return ()
        listed = ", ".join(table.columns)
        limit = len(table.rows) + 1
        cursor.execute(f"SELECT {listed} FROM {table.name} ORDER BY {table.columns[0]} LIMIT {limit}")
        return tuple(cursor.fetchall())


def _make(connection: Connection, table: TableRows) -> None:
    places = ", ".join(["%s"] * len(table.columns))
    insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})"
    with connection.cursor() as cursor:
        cursor.execute(table.create)
        cursor.executemany(insert, table.rows)
    connection.commit()
