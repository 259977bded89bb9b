"""Statements of SQL as they may be shown: on one line, without values, which may be secrets. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_SPACE = re.compile(r"\s+")
# Strings, also those that the database has cut before their end, in quotes or dollars; then numbers.
# A backslash escapes in MySQL, and in PostgreSQL in strings that begin with E.
_STRINGS = re.compile(
    r"\bE'(?:[^'\\]|\\.|'')*(?:'|\\?$)|'(?:[^']|'')*(?:'|$)|\$(\w*)\$.*?(?:\$\1\$|$)",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPED = re.compile(r"'(?:[^'\\]|\\.|'')*(?:'|\\?$)", re.DOTALL)
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.|"")*(?:"|\\?$)', re.DOTALL)
_NUMBERS = re.compile(r"(?<![\w$])[+-]?\d[\w.]*")
_SECRET = re.compile(r"\b(password|identified|secret)\b.*", re.IGNORECASE | re.DOTALL)
# The most characters of a statement that are shown.
SHOWN_MOST = 100


def without_values(statement: str, strings_in_double_quotes: bool = False) -> str:
    """Return the statement with ? for each value; a statement that sets a password ends before it.

    `strings_in_double_quotes`: as in MySQL; in PostgreSQL they are names.
    """
    if strings_in_double_quotes:
        text = _DOUBLE.sub("?", _ESCAPED.sub("?", statement))
    else:
        text = _STRINGS.sub("?", statement)
    text = _SECRET.sub(r"\1 …", _SPACE.sub(" ", _NUMBERS.sub("?", text)).strip())
    return text if len(text) <= SHOWN_MOST else f"{text[: SHOWN_MOST - 1]}…"


def most(rows: Sequence[Mapping[str, Any]], strings_in_double_quotes: bool = False) -> str:
    """Return the statement, in the field `query`, that most of these rows have; "none" if they have none."""
    counted = Counter(without_values(str(row["query"] or "none"), strings_in_double_quotes) for row in rows)
    return counted.most_common(1)[0][0] if counted else "none"
