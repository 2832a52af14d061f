"""ASSERT_ROWS_MODIFIED in the PostgreSQL dialect, which the official emulator does not know there.

::

    find_assertion("DELETE FROM q WHERE id = 1 ASSERT_ROWS_MODIFIED 1", POSTGRESQL)
    # Assertion("DELETE FROM q WHERE id = 1 ", 1, "SELECT count(*) FROM q WHERE id = 1 ")

https://docs.cloud.google.com/spanner/docs/reference/postgresql/dml-syntax
"""

from __future__ import annotations

from dataclasses import dataclass

from .dialect import Dialect
from .reading import Edits, Reader, outer
from .tokens import Kind, Token, TokenError


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement without its assertion, the number of rows, and a query that counts them beforehand.

    ``count`` is empty for an INSERT, whose rows cannot be counted before.
    """

    statement: str
    rows: int
    count: str


def find_assertion(sql: str, dialect: Dialect) -> Assertion | None:
    """Find the assertion of a DML statement; None when there is none, or upstream knows the word."""
    if dialect.name == "googlesql" or "assert_rows_modified" not in sql.lower():
        return None
    try:
        reader = Reader(sql, dialect.tokenize(sql))
    except TokenError:
        return None
    for index, token in enumerate(reader.tokens[:-1]):
        number = reader.tokens[index + 1]
        if token.is_word("ASSERT_ROWS_MODIFIED") and number.kind is Kind.NUMBER and number.text.isdigit():
            edits = Edits(sql)
            edits.replace(token.start, number.end, "")
            return Assertion(edits.apply(), int(number.text), _count(reader, index))
    return None


def _count(reader: Reader, end: int) -> str:
    """Write the query that counts the rows of a DELETE or UPDATE."""
    tokens = reader.tokens[:end]
    target: list[Token] = []
    if reader.words("DELETE", "FROM"):
        target = tokens[reader.position :]
        return f"SELECT count(*) FROM {reader.text_of(target)}"
    if not reader.words("UPDATE"):
        return ""
    rest = tokens[reader.position :]
    outside = outer(rest)
    begin = next((token for token in outside if token.is_word("SET")), None)
    where = next((token for token in outside if token.is_word("WHERE")), None)
    target = [token for token in rest if begin is None or token.start < begin.start]
    condition = reader.sql[where.start : tokens[-1].end] if where else ""
    return f"SELECT count(*) FROM {reader.text_of(target)} {condition}"
