"""Tie a queue to its interleave parent: order of creation, joins and relationships follow from it.

The tie is a ForeignKeyConstraint in SQLAlchemy's model that no DDL shows. Where the parent is named before
it is declared, the tie is made when the parent's table appears.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from sqlalchemy import DateTime, ForeignKeyConstraint, LargeBinary, MetaData, Table, event

from . import _rules
from .columns import ExactBytes, Instant
from .definition import QueueDefinition, definition_of, find_definition

# How sqlalchemy-spanner's tables name their own parent.
_TABLE_PARENT = "spanner_interleave_in"

_waiting: WeakSet[Table] = WeakSet()


def interleave_with(queue: Table, definition: QueueDefinition, parent: Table | None) -> None:
    """Tie the queue to its parent now, or as soon as a table of that name is declared."""
    if not _tie(queue, definition, parent):
        _wait(queue)


def _tie(queue: Table, definition: QueueDefinition, parent: Table | None = None) -> bool:
    """Tie what can be tied; return whether all tables above the queue are known."""
    assert definition.interleave is not None
    if definition.parent is not None:
        return _order_ancestors(definition.parent)
    if parent is None:
        parent = queue.metadata.tables.get(definition.interleave.parent)
    if parent is None:
        return False
    _rules.check_parent(definition, parent)
    definition.parent = parent
    make_keys_exact(definition)
    theirs = list(parent.primary_key.columns)
    ours = [queue.c[column.key] for column in definition.keys[: len(theirs)]]
    queue.append_constraint(ForeignKeyConstraint(ours, theirs, info={"interleave": True}))
    return _order_ancestors(parent)


def make_keys_exact(definition: QueueDefinition) -> None:
    """Let bytes in the key, and aware timestamps that no parent stores, be the same in every engine."""
    shared = 0 if definition.parent is None else len(definition.parent.primary_key.columns)
    for at, column in enumerate(definition.keys):
        if isinstance(column.type, LargeBinary):
            column.type = ExactBytes(column.type.length)
        elif at >= shared and isinstance(column.type, DateTime) and column.type.timezone:
            column.type = Instant()


def _order_ancestors(table: Table) -> bool:
    """Order the interleaved tables above a queue too, which SQLAlchemy does not know of."""
    seen = {table}
    while (named := _table_parent(table)) is not None:
        ancestor = table.metadata.tables.get(named)
        if ancestor is None:
            return False
        if ancestor in seen:
            return True
        seen.add(ancestor)
        table.add_is_dependent_on(ancestor)
        table = ancestor
    return True


def _table_parent(table: Table) -> str | None:
    if find_definition(table) is not None:
        return None
    named: Any = table.kwargs.get(_TABLE_PARENT)
    return str(named).strip("`") if named else None


def _wait(queue: Table) -> None:
    # SQLAlchemy has no event of one MetaData for a table that joins it, so this listens to all of them, from
    # the first queue on whose parent is not there yet.
    _waiting.add(queue)
    if not event.contains(Table, "after_parent_attach", _table_declared):
        event.listen(Table, "after_parent_attach", _table_declared)


def _table_declared(_table: Table, metadata: MetaData) -> None:
    for queue in [queue for queue in _waiting if queue.metadata is metadata]:
        if _tie(queue, definition_of(queue)):
            _waiting.discard(queue)
