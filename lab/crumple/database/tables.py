"""The two tables that workloads query: put into a database that lacks them, and checked where they are there.

Nothing here removes or changes what it finds.
"""

from typing import NamedTuple

import pymysql
from pymysql.connections import Connection
from pymysql.converters import escape_item

from crumple.errors import UsageError
from crumple.workload import books, wp_options

SCHEMA = "crumple"
NO_SUCH_TABLE = 1146


class Table(NamedTuple):
    """One table; `rows` in the order of `columns`, by the first of them."""

    name: str
    create: str
    columns: tuple[str, ...]
    rows: tuple[tuple[int | str, ...], ...]


def tables() -> tuple[Table, ...]:
    """Both."""
    return tuple(Table(each.TABLE, each.CREATE, each.COLUMNS, each.rows()) for each in (wp_options, books))


def statements() -> list[str]:
    """What makes the private database's schema, with both tables in it."""
    made = [f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4", f"USE {SCHEMA}"]
    for table in tables():
        made.append(" ".join(table.create.split()))
        for row in table.rows:
            values = ", ".join(str(escape_item(value, "utf8mb4")) for value in row)
            made.append(f"INSERT INTO {table.name} VALUES ({values})")
    return made


def see_to(connection: Connection, place: str) -> None:
    """Make each table that is absent; raise UsageError for one of the same name that holds something else.

    `place`: what to call the database. Raises pymysql.Error where the user may not do that.
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


def _found(connection: Connection, table: Table) -> tuple[tuple[object, ...], ...] | None:
    """Its rows, one more than right at most; empty if its columns are others; None if there is none."""
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


def _make(connection: Connection, table: Table) -> None:
    places = ", ".join(["%s"] * len(table.columns))
    insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})"
    with connection.cursor() as cursor:
        cursor.execute(table.create)
        cursor.executemany(insert, table.rows)
    connection.commit()
