"""The statements that the gateway itself runs against the tables behind queues.

Values are never written into the text: a function that takes ``bind`` calls it with each value and gets the
placeholder to write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from google.protobuf.struct_pb2 import Value

from .definition import QueueDefinition
from .dialect import Dialect

Bind = Callable[[Value, str], str]
"""Binds a value of the type that a column has, by the column's name; returns the placeholder."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The messages of a queue as a filter names them: by an alias, columns perhaps ``renamed``."""

    queue: QueueDefinition
    dialect: Dialect
    alias: str
    renamed: tuple[str, ...] = ()

    def select(self, where: str, limit: int, after: Sequence[Value], bind: Bind) -> str:
        """Select key and deliver time of the messages that satisfy a filter, the earliest first.

        ``after`` is the key and deliver time of the last message of the page before.
        """
        names = self.queue.identity_columns
        columns = [self._column(name) for name in names]
        order = [columns[-1], *columns[:-1]]
        conditions = [f"({where}\n)"] if where else []
        if after:
            values = [after[-1], *after[:-1]]
            conditions.append(_later(order, values, [names[-1], *names[:-1]], self.dialect, bind))
        clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return (
            f"SELECT {', '.join(columns)} FROM {self._source()}{clause}"
            f" ORDER BY {', '.join(order)} LIMIT {limit}"
        )

    def _column(self, name: str) -> str:
        place = [column.lower() for column in self.queue.columns].index(name.lower())
        called = self.renamed[place] if place < len(self.renamed) else name
        return f"{self.dialect.quote_name(self.alias)}.{self.dialect.quote_name(called)}"

    def _source(self) -> str:
        quote = self.dialect.quote_name
        # The leases' own columns, which come last, are no columns of the table.
        renamed = ", ".join(quote(name) for name in self.renamed[: len(self.queue.columns)])
        names = f" ({renamed})" if renamed else ""
        return f"{quote(self.queue.name)} AS {quote(self.alias)}{names}"


def _later(
    columns: Sequence[str], values: Sequence[Value], names: Sequence[str], dialect: Dialect, bind: Bind
) -> str:
    """Write that a row comes after these values in the order of the columns, where NULL has a place too."""
    alternatives: list[str] = []
    equal: list[str] = []
    for column, value, name in zip(columns, values, names, strict=True):
        if value.HasField("null_value"):
            same = f"{column} IS NULL"
            greater = f"{column} IS NOT NULL" if dialect.nulls_first else ""
        else:
            placeholder = bind(value, name)
            same = f"{column} = {placeholder}"
            greater = f"{column} > {placeholder}"
            if not dialect.nulls_first:
                greater = f"({greater} OR {column} IS NULL)"
        if greater:
            alternatives.append(" AND ".join([*equal, greater]))
        equal.append(same)
    return f"(({') OR ('.join(alternatives)}))"


def no_rows(queue: QueueDefinition, dialect: Dialect, received: bool) -> str:
    """Select nothing, with the columns of RECEIVE or of RENEWLEASE and their types."""
    own = [dialect.quote_name(column) for column in queue.columns] if received else []
    added = queue.names.lease_columns if received else queue.names.renewal_columns
    columns = [*own, *(f"{dialect.null(column)} AS {dialect.quote_name(column)}" for column in added)]
    return f"SELECT {', '.join(columns)} FROM {dialect.quote_name(queue.name)} WHERE FALSE"


def given_rows(names: Sequence[str], rows: Sequence[Sequence[Value]], dialect: Dialect, bind: Bind) -> str:
    """Select rows that are at hand."""
    selects: list[str] = []
    for row in rows:
        items = [bind(value, name) for value, name in zip(row, names, strict=True)]
        if not selects:
            items = [f"{item} AS {dialect.quote_name(name)}" for item, name in zip(items, names, strict=True)]
        selects.append(f"SELECT {', '.join(items)}")
    return " UNION ALL ".join(selects)


def all_identities(queue: QueueDefinition, dialect: Dialect) -> str:
    """Select the key and deliver time of every message."""
    columns = ", ".join(dialect.quote_name(column) for column in queue.identity_columns)
    return f"SELECT {columns} FROM {dialect.quote_name(queue.name)}"
