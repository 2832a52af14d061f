"""The definition of a queue as data: what CREATE QUEUE needs to know, in no dialect's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Alias, Column, Table

PAYLOAD: Final = "payload"
DELIVER_TIME: Final = "DeliverTime"
SYSTEM_NAMES: Final = frozenset({"delivertime", "deliver_time"})

_INFO_KEY: Final = "spanner_queue"

OptionValue = str | bool | None


@dataclass(frozen=True)
class Interleave:
    """The table that a queue is interleaved in, by name, and what happens when its row goes."""

    parent: str
    in_parent: bool = True
    on_delete: str | None = None


@dataclass(frozen=True)
class RowDeletion:
    """Messages older than ``days`` days by the timestamp key column ``column`` are deleted."""

    column: str
    age: timedelta

    @property
    def days(self) -> int:
        return self.age.days


@dataclass
class QueueDefinition:
    """Hold what a queue is made of.

    ``keys`` are the key columns in order; ``descending``, ``hidden`` and ``commit_timestamps`` are names of
    columns among them. ``parent`` is the parent's table once it is known.
    """

    name: str
    keys: tuple[Column[Any], ...]
    payload: Column[Any]
    deliver_time: Column[Any]
    descending: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    commit_timestamps: frozenset[str] = frozenset()
    interleave: Interleave | None = None
    row_deletion: RowDeletion | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    parent: Table | None = None

    def attach(self, table: Table) -> None:
        """Make this the definition of the table."""
        table.info[_INFO_KEY] = self


def as_table(thing: object) -> Table[Any] | None:
    """Return a thing that is a Table as one, with its types; None for anything else."""
    table: Any = thing
    return table if isinstance(thing, Table) else None


def columns_in(items: Iterable[object]) -> list[Column[Any]]:
    """Return the columns among the items of a declaration."""
    columns: list[Column[Any]] = [item for item in items if isinstance(item, Column)]
    return columns


def underlying_table(selectable: Any) -> Any:
    """Return the table behind any aliases of it; what is no alias is returned as it is."""
    while _is_alias(selectable):
        selectable = selectable.element
    return selectable


def _is_alias(thing: object) -> bool:
    return isinstance(thing, Alias)


def find_definition(thing: object) -> QueueDefinition | None:
    """Return the definition behind a table, or None where the thing is no queue."""
    table = as_table(thing)
    if table is None:
        return None
    found = table.info.get(_INFO_KEY)
    return found if isinstance(found, QueueDefinition) else None


def definition_of(table: object) -> QueueDefinition:
    """Return the definition behind a queue; a TypeError says what was given instead."""
    found = find_definition(table)
    if found is None:
        raise TypeError(f"{table!r} is not a queue; declare one with Queue(...) or QueueMessage")
    return found
