"""ASSERT_ROWS_MODIFIED in the PostgreSQL dialect, which the official emulator does not know there.

::

    find_assertion("DELETE FROM q WHERE id = 1 ASSERT_ROWS_MODIFIED 1", POSTGRESQL)
    # Assertion("DELETE FROM q WHERE id = 1 ", 1, "SELECT count(*) FROM q WHERE id = 1 ")

https://docs.cloud.google.com/spanner/docs/reference/postgresql/dml-syntax
"""

from __future__ import annotations

from dataclasses import dataclass

from .dialect import Dialect
from .inserts import query_of, rows_of_values, to_source
from .reading import Edits, Reader, SqlError, outer
from .tokens import Kind, Token, TokenError


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement without its assertion, the number of rows, and a query that counts them beforehand.

    ``count`` is empty for an INSERT with ON CONFLICT, whose rows cannot be counted before.
    """

    statement: str
    rows: int
    count: str


def find_assertion(sql: str, dialect: Dialect) -> Assertion | None:
    """Find the assertion of a DML statement; None when there is none, or upstream knows the word."""
    if dialect.name == "googlesql" or "assert_rows_modified" not in sql.lower():
        return None
    try:
        return _assertion(Reader(sql, dialect.tokenize(sql)))
    except (TokenError, SqlError):
        # Upstream refuses it with its own words.
        return None


def _assertion(reader: Reader) -> Assertion | None:
    for index, token in enumerate(reader.tokens[:-1]):
        number = reader.tokens[index + 1]
        if token.is_word("ASSERT_ROWS_MODIFIED") and number.kind is Kind.NUMBER and number.text.isdigit():
            edits = Edits(reader.sql)
            edits.replace(token.start, number.end, "")
            return Assertion(edits.apply(), int(number.text), _count(reader, index))
    return None


def _count(reader: Reader, end: int) -> str:
    """Write the query that counts the rows of a statement."""
    tokens = reader.tokens[:end]
    if reader.words("DELETE", "FROM"):
        return f"SELECT count(*) FROM {reader.text_of(tokens[reader.position :])}"
    if reader.words("INSERT"):
        return _count_inserted(reader, tokens)
    return _count_updated(reader, tokens) if reader.words("UPDATE") else ""


def _count_inserted(reader: Reader, tokens: list[Token]) -> str:
    if "CONFLICT" in [token.text.upper() for token in outer(tokens)]:
        return ""
    reader.position = 0
    to_source(reader)
    if reader.words("VALUES"):
        return f"SELECT {len(rows_of_values(reader))}"
    query = query_of(reader)
    return f"SELECT count(*) FROM ({reader.text_of(query)}) AS counted" if query else ""


def _count_updated(reader: Reader, tokens: list[Token]) -> str:
    rest = tokens[reader.position :]
    outside = outer(rest)
    begin = next((token for token in outside if token.is_word("SET")), None)
    where = next((token for token in outside if token.is_word("WHERE")), None)
    target = [token for token in rest if begin is None or token.start < begin.start]
    condition = reader.text_of([token for token in rest if where and token.start >= where.start])
    return f"SELECT count(*) FROM {reader.text_of(target)} {condition}".rstrip()
