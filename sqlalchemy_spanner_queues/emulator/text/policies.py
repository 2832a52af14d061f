"""Read row deletion policies from a schema, and write the statements that carry them out.

::

    policies(statements, GOOGLESQL)     # ... ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 7 DAY))
    # [Policy("t", "At", 7 * 24)]

https://docs.cloud.google.com/spanner/docs/ttl
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .dialect import Dialect
from .reading import Reader, SqlError
from .tokens import Kind, TokenError


@dataclass(frozen=True, slots=True)
class Policy:
    """Rows of a table (as text of the dialect) whose column is older than so many hours are deleted."""

    table: str
    column: str
    hours: int

    def delete(self, dialect: Dialect, offset: float) -> str:
        """Write the DELETE by a clock that is some seconds ahead."""
        oldest = dialect.hours_ago(self.hours, offset)
        return f"DELETE FROM {self.table} WHERE {dialect.quote_name(self.column)} < {oldest}"


def policies(statements: Iterable[str], dialect: Dialect) -> list[Policy]:
    """Find the row deletion policies of the tables of a schema, as upstream prints it."""
    found = (_policy(statement, dialect) for statement in statements)
    return [policy for policy in found if policy is not None]


def _policy(statement: str, dialect: Dialect) -> Policy | None:
    if "DELETION" not in statement.upper() and "TTL" not in statement.upper():
        return None
    try:
        reader = Reader(statement, dialect.tokenize(statement))
        if not reader.words("CREATE", "TABLE"):
            return None
        start = reader.position
        reader.path()
        table = reader.text_since(start)
        reader.group()
        return _clause(reader, table)
    except (TokenError, SqlError, ValueError, StopIteration):
        # Upstream printed it in a way that is not known here: such a table keeps its rows.
        return None


def _clause(reader: Reader, table: str) -> Policy | None:
    while not reader.done:
        if reader.words("ROW", "DELETION", "POLICY"):
            inner = reader.group()
            column = next(token.name for token in inner[2:] if token.is_name)
            days = next(token.text for token in inner if token.kind is Kind.NUMBER)
            return Policy(table, column, 24 * int(days))
        if reader.words("TTL", "INTERVAL"):
            hours = _hours(reader.next().content)
            reader.expect_words("ON")
            return Policy(table, reader.path()[-1], hours)
        reader.next()
    return None


def _hours(interval: str) -> int:
    """Read ``3 days`` or ``36 hours``."""
    number, unit = interval.split()[:2]
    return int(number) * (1 if unit.lower().startswith("hour") else 24)
