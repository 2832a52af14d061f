"""Queues as tables: declared, created, dropped, selected, inserted and mapped like any other.

::

    tasks = Queue(
        "UserTasks", metadata,
        Column("UserId", BigInteger, primary_key=True),
        Column("TaskId", String(36), primary_key=True),
        payload=Json(),
        interleave_in="Users", on_delete="CASCADE",
    )
    metadata.create_all(engine)          # parents first, whatever the order of declaration
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Column, ColumnClause, Delete, Insert, MetaData, Table, Update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem

from . import _rules
from ._interleave import interleave_with, make_keys_exact
from .columns import DeliverTimeColumn
from .ddl import CreateQueue, DropQueue, queue_of
from .definition import (
    PAYLOAD,
    SYSTEM_NAMES,
    Interleave,
    OptionValue,
    QueueDefinition,
    RowDeletion,
    columns_in,
    find_definition,
    underlying_table,
)
from .exc import MessageImmutable, QueueDefinitionError
from .payload import PayloadType
from .statements import QueueDelete, QueueInsert


class Queue(Table):
    """Declare a Spanner queue.

    Positional arguments are those of Table: the name, the MetaData, the key columns (``primary_key=True``).

    - ``payload``: a payload type; or give a column named ``payload`` yourself.
    - ``interleave_in``: the parent's table, mapped class or table name (which may be declared later).
    - ``in_parent``: False for INTERLEAVE IN without PARENT.
    - ``on_delete``: "CASCADE" or "NO ACTION", what happens to messages when the parent row goes.
    - ``row_deletion``: a pair of a timestamp key column's name and a timedelta of whole days.
    - ``options``: receive_mode, disable_send, disable_delivery, locality_group.
    - ``descending``, ``hidden``, ``commit_timestamps``: names of columns (GoogleSQL).

    ::

        Queue("Jobs", metadata, Column("JobKey", String(64), primary_key=True), payload=Bytes())

    ``queue.c.payload`` and ``queue.c.deliver_time`` are the payload and the system column. ``queue.insert()``
    sends, ``queue.delete()`` acknowledges by full key, UPDATE is refused with MessageImmutable.

    Raises QueueDefinitionError, which names the broken rule and the fix.

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    inherit_cache = True

    def __init__(
        self,
        name: str,
        metadata: MetaData,
        *args: SchemaItem,
        payload: PayloadType[Any] | None = None,
        interleave_in: Any = None,
        in_parent: bool = True,
        on_delete: str | None = None,
        row_deletion: tuple[str, timedelta] | None = None,
        options: Mapping[str, OptionValue] | None = None,
        descending: Collection[str] = (),
        hidden: Collection[str] = (),
        commit_timestamps: Collection[str] = (),
        schema: str | None = None,
        _no_init: bool = True,
        **kw: Any,
    ) -> None:
        if _no_init:  # Table.__new__ calls __init__ at the right moment
            return
        items = list(args)
        _rules.check_items(name, schema or metadata.schema, items)
        if payload is not None:
            items.append(Column(PAYLOAD, payload, nullable=False))
        declared = [column for column in columns_in(items) if not _is_system(column)]
        found = _rules.check_payload(name, declared)
        keys = _rules.check_keys(name, [column for column in declared if column is not found])
        deliver_time = _deliver_time(items)
        definition = QueueDefinition(
            name=name,
            keys=keys,
            payload=found,
            deliver_time=deliver_time,
            descending=_names(descending),
            hidden=_names(hidden),
            commit_timestamps=_names(commit_timestamps),
            interleave=_interleave(interleave_in, in_parent, on_delete),
            row_deletion=RowDeletion(*row_deletion) if row_deletion else None,
            options=dict(options or {}),
        )
        _rules.check_details(definition)
        found.name = PAYLOAD
        others = [item for item in items if not isinstance(item, Column)]
        for key in keys:
            key.autoincrement = False
        kw.setdefault("implicit_returning", any(key.computed is not None for key in keys))
        super().__init__(name, metadata, *keys, found, deliver_time, *others, _no_init=False, **kw)
        for constraint in self.constraints:
            _rules.check_constraint(name, constraint)
        definition.attach(self)
        self.set_creator_ddl(CreateQueue(self))
        self.set_dropper_ddl(DropQueue(self))
        if definition.interleave is not None:
            parent = None if isinstance(interleave_in, str) else queue_of(interleave_in)
            interleave_with(self, definition, parent)
        else:
            make_keys_exact(definition)

    def append_column(self, column: ColumnClause[Any], *, replace_existing: bool = False) -> None:
        """Raise QueueDefinitionError: a queue's columns are final, in Spanner too.

        Example: what a message is to carry besides goes into its payload.
        """
        raise QueueDefinitionError(
            self.name,
            f"the column {column.name!r} cannot be added to a declared queue",
            "put it into the payload, or declare it with the queue",
        )

    def insert(self) -> Insert:
        """Return the INSERT that sends messages; see QueueInsert."""
        return QueueInsert(self)

    def delete(self) -> Delete:
        """Return the guarded DELETE that acknowledges one message by its full key; see QueueDelete."""
        return QueueDelete(self)


@compiles(Queue)
def _compile_queue(element: Queue, compiler: Any, **kw: Any) -> str:
    # Every UPDATE of the queue comes by here before it has a text, whoever wrote it.
    if kw.get("asfrom") and _is_updated(element, compiler):
        raise MessageImmutable(element.name, "UPDATE")
    return str(compiler.visit_table(element, **kw))


def _is_updated(queue: Queue, compiler: Any) -> bool:
    statement = compiler.stack[-1]["selectable"] if getattr(compiler, "stack", None) else None
    if not isinstance(statement, Update):
        return False
    return find_definition(underlying_table(statement.table)) is find_definition(queue)


def _names(given: Collection[str]) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)


def _is_system(column: Column[Any]) -> bool:
    return column.name.lower() in SYSTEM_NAMES


def _deliver_time(items: list[SchemaItem]) -> Column[Any]:
    """Return the system column: a fresh one, or the declared one turned into it."""
    for column in columns_in(items):
        if _is_system(column):
            return DeliverTimeColumn.adopt(column)
    return DeliverTimeColumn.make()


def _interleave(target: Any, in_parent: bool, on_delete: str | None) -> Interleave | None:
    if target is None:
        return None if on_delete is None else Interleave("", in_parent, on_delete)
    return Interleave(target if isinstance(target, str) else queue_of(target).name, in_parent, on_delete)
