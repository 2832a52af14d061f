"""What a queue is, as the gateway keeps it, and the table that stands for it upstream.

The official emulator knows tables only. A queue becomes a table of the same name with two more columns: the
deliver time, and a hidden identity that makes a key which is deleted and sent again a new message. The
queue's own DDL text rests inside the DEFAULT expression of the hidden column, so that a gateway that starts
in front of a running emulator finds its queues again.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .tokens import quote_name, quote_string

PAYLOAD: Final = "Payload"
DELIVER_TIME: Final = "DeliverTime"
MESSAGE_ID: Final = "SpannerQueuesMessageId"
"""The hidden column that gives every message its identity."""

LEASE_EXPIRATION: Final = "SpannerLeaseExpirationTimestamp"
LEASE_TOKEN: Final = "SpannerLeaseToken"
LAST_IN_BATCH: Final = "SpannerLastBatchMessage"


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: its name, and its definition as it was written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """A queue: columns, key, and clauses, each as text of the dialect.

    ``interleave`` reads like ``IN PARENT Users``, ``on_delete`` like ``CASCADE``, ``row_deletion`` like
    ``(OLDER_THAN(CreatedAt, INTERVAL 7 DAY))``; empty when the queue has none.
    """

    name: str
    keys: tuple[Column, ...]
    payload: Column
    key_parts: tuple[str, ...]
    key_order: tuple[str, ...]
    interleave: str = ""
    on_delete: str = ""
    row_deletion: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a reader sees, in order; the leases' own columns come after them."""
        return (*(key.name for key in self.keys), self.payload.name, DELIVER_TIME)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The key columns in the order of the primary key."""
        return self.key_order

    def enabled(self, option: str) -> bool:
        """Tell whether a boolean option is set to true."""
        return self.options.get(option, "").lower() == "true"

    def create_queue(self) -> str:
        """Write the CREATE QUEUE statement, laid out as Spanner prints a schema."""
        columns = "".join(f"  {column.text},\n" for column in (*self.keys, self.payload))
        return f"CREATE QUEUE {quote_if_needed(self.name)} (\n{columns}) {self._tail(upstream=False)}"

    def create_table(self, *, if_not_exists: bool = False) -> str:
        """Write the CREATE TABLE statement that stands for the queue upstream."""
        columns = [column.text for column in (*self.keys, self.payload)]
        columns.append(f"{DELIVER_TIME} TIMESTAMP NOT NULL DEFAULT (CURRENT_TIMESTAMP())")
        columns.append(f"{MESSAGE_ID} STRING(36) NOT NULL DEFAULT ({self.identity()}) HIDDEN")
        guard = "IF NOT EXISTS " if if_not_exists else ""
        body = ",\n  ".join(columns)
        return f"CREATE TABLE {guard}{quote_name(self.name)} (\n  {body}\n) {self._tail(upstream=True)}"

    def identity(self) -> str:
        """Write the expression that makes a message's identity, and carries the queue's definition."""
        return f"IF({quote_string(self.create_queue())} IS NULL, '', GENERATE_UUID())"

    def _tail(self, *, upstream: bool) -> str:
        clauses = [f"PRIMARY KEY({', '.join(self.key_parts)})"]
        # The official emulator knows no INTERLEAVE IN without PARENT; it would enforce nothing either.
        if self.interleave and (not upstream or self.interleave.upper().startswith("IN PARENT")):
            on_delete = f" ON DELETE {self.on_delete}" if self.on_delete else ""
            clauses.append(f"INTERLEAVE {self.interleave}{on_delete}")
        if self.row_deletion:
            clauses.append(f"ROW DELETION POLICY {self.row_deletion}")
        if self.options and not upstream:
            clauses.append(
                f"OPTIONS ({', '.join(f'{name} = {text}' for name, text in self.options.items())})"
            )
        return ",\n  ".join(clauses)


def quote_if_needed(name: str) -> str:
    """Quote an identifier unless it is a plain word."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in RESERVED
    return name if plain else quote_name(name)


_RESERVED_WORDS: Final = """
    ALL AND ANY ARRAY AS ASC ASSERT_ROWS_MODIFIED AT BETWEEN BY CASE CAST COLLATE CONTAINS CREATE
    CROSS CUBE CURRENT DEFAULT DEFINE DESC DISTINCT ELSE END ENUM ESCAPE EXCEPT EXCLUDE EXISTS
    EXTRACT FALSE FETCH FOLLOWING FOR FROM FULL GROUP GROUPING GROUPS HASH HAVING IF IGNORE IN INNER
    INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT LOOKUP MERGE NATURAL NEW NO NOT NULL
    NULLS OF ON OR ORDER OUTER OVER PARTITION PRECEDING PROTO RANGE RECURSIVE RESPECT RIGHT ROLLUP
    ROWS SELECT SET SOME STRUCT TABLESAMPLE THEN TO TREAT TRUE UNBOUNDED UNION UNNEST USING WHEN
    WHERE WINDOW WITH WITHIN
"""
RESERVED: Final = frozenset(_RESERVED_WORDS.split())
