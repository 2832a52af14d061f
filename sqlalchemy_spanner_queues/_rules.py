"""The rules of CREATE QUEUE, each checked where a queue is declared, each with its way out.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NoReturn, cast

from sqlalchemy import (
    ARRAY,
    JSON,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Table,
    UniqueConstraint,
)
from sqlalchemy.schema import DefaultClause, SchemaItem
from sqlalchemy.types import TypeDecorator, TypeEngine

from .definition import PAYLOAD, SYSTEM_NAMES, Interleave, QueueDefinition, columns_in, find_definition
from .dialects.base import Alteration
from .exc import QueueDefinitionError
from .payload import PayloadType

ON_DELETE: Final = ("CASCADE", "NO ACTION")
OPTIONS: Final = ("receive_mode", "disable_send", "disable_delivery", "locality_group")


def check_items(name: str, schema: str | None, items: list[SchemaItem]) -> None:
    """Check what stands in a declaration before its columns are sorted into key and payload."""
    if schema is not None:
        _fail(name, f"a queue cannot stand in a named schema ({schema!r})", "declare it without schema=")
    for column in columns_in(items):
        _check_column(name, column)
    for item in items:
        check_constraint(name, item)


def check_constraint(name: str, item: object) -> None:
    """Refuse the constraints and indexes that a table may have and a queue may not."""
    if isinstance(item, CheckConstraint | UniqueConstraint):
        _fail(name, f"a queue takes no {type(item).__name__}", "check the payload where it is sent")
    if isinstance(item, ForeignKeyConstraint):
        _fail(name, "a queue takes no FOREIGN KEY", "use interleave_in= for the parent")
    if isinstance(item, Index):
        _fail(name, f"the index {item.name!r} is not possible", "queues have no secondary indexes")


def check_payload(name: str, columns: list[Column[Any]]) -> Column[Any]:
    """Return the one payload column."""
    payloads = [column for column in columns if isinstance(column.type, PayloadType) or _is_payload(column)]
    if len(payloads) != 1:
        _fail(
            name,
            f"a queue has exactly one payload column, not {len(payloads)}",
            "add payload_column(Json(...)), or payload=Json() for Queue(...)",
        )
    payload = payloads[0]
    if not _is_payload(payload):
        _fail(name, f"the payload column is named Payload, not {payload.name!r}", "use payload_column(...)")
    if not isinstance(payload.type, PayloadType):
        _fail(name, f"the payload is no {payload.type!r}", "use Bytes(), Text(), Json(...) or Proto(...)")
    if payload.primary_key:
        _fail(name, "the payload cannot be part of the key", "take primary_key=True from it")
    if payload.computed is not None:
        _fail(name, "the payload cannot be generated", "take Computed(...) from it")
    if payload.nullable:
        _fail(name, "the payload is NOT NULL", "take nullable=True from it")
    return payload


def check_keys(name: str, columns: list[Column[Any]]) -> tuple[Column[Any], ...]:
    """Return the key columns: all columns but the payload."""
    for column in columns:
        if not column.primary_key:
            _fail(
                name,
                f"the column {column.name!r} is neither key nor payload",
                "put it into the payload, or make it a key column with primary_key=True",
            )
        if column.name.lower().startswith("spanner_"):
            _fail(name, f"the key column {column.name!r} starts with 'spanner_'", "rename it")
        kind: TypeEngine[Any] = column.type
        if isinstance(kind, JSON | ARRAY):
            _fail(name, f"a key column cannot be of type {column.type}", "put it into the payload")
        if column.computed is not None and not column.computed.persisted:
            _fail(
                name,
                f"the generated key column {column.name!r} is not STORED",
                "use Computed(..., persisted=True)",
            )
    if not columns:
        _fail(name, "a queue has at least one key column", "add e.g. message_key('MessageId')")
    return tuple(columns)


def check_details(queue: QueueDefinition) -> None:
    """Check the clauses that follow the key."""
    named = {column.name: column for column in queue.keys}
    for where in ("descending", "commit_timestamps", "hidden"):
        allowed = {*named, PAYLOAD} if where == "hidden" else set(named)
        for column in sorted(getattr(queue, where) - allowed):
            _fail(
                queue.name,
                f"{where} names {column!r}, which is no key column",
                f"use one of {sorted(allowed)}",
            )
    for column in sorted(queue.commit_timestamps):
        if not _is_timestamp(named[column]):
            _fail(
                queue.name,
                f"commit_timestamps names {column!r}, which is no timestamp",
                "use a DateTime key column",
            )
    _check_interleave(queue)
    _check_row_deletion(queue, named)
    _check_options(queue)


def check_change(queue: QueueDefinition, change: Alteration) -> None:
    """Check the clauses of a queue as they would be after a change."""
    interleave = change.interleave
    if interleave is None and change.on_delete is not None:
        parent = queue.interleave.parent if queue.interleave is not None else "?"
        interleave = Interleave(parent, on_delete=change.on_delete)
    check_details(
        replace(
            queue,
            interleave=interleave or queue.interleave,
            row_deletion=change.add_row_deletion or change.replace_row_deletion or queue.row_deletion,
            options=change.options or queue.options,
        )
    )


def check_parent(queue: QueueDefinition, parent: Table) -> None:
    """Check that the key begins with the parent's key, column by column."""
    theirs = list(parent.primary_key.columns)
    fix = f"begin the key with {', '.join(column.name for column in theirs)}, declared as in {parent.name!r}"
    if not theirs or len(queue.keys) < len(theirs):
        _fail(queue.name, f"the key does not begin with the key of {parent.name!r}", fix)
    above = find_definition(parent)
    for ours, expected in zip(queue.keys, theirs, strict=False):
        problems = list(_differences(ours, expected))
        if above is not None and (ours.name in queue.descending) != (expected.name in above.descending):
            problems.append("direction")
        for problem in problems:
            rule = f"key column {ours.name!r} differs from {parent.name}.{expected.name} in its {problem}"
            _fail(queue.name, rule, fix)


def _differences(ours: Column[Any], expected: Column[Any]) -> Iterator[str]:
    if ours.name != expected.name:
        yield "name"
    if ours.nullable != expected.nullable:
        yield "nullability"
    our_type, their_type = _stored(ours.type), _stored(expected.type)
    if not _is_same_kind(our_type, their_type):
        yield f"type ({ours.type!r} for {expected.type!r})"
    elif getattr(our_type, "length", None) != getattr(their_type, "length", None):
        yield f"length ({ours.type!r} for {expected.type!r})"


def _stored(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type that a TypeDecorator stores its values as."""
    while isinstance(kind, TypeDecorator):
        kind = cast("TypeEngine[Any]", kind.impl)
    return kind


def _is_same_kind(ours: TypeEngine[Any], theirs: TypeEngine[Any]) -> bool:
    related = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))
    return related or ours.python_type is theirs.python_type


def _is_timestamp(column: Column[Any]) -> bool:
    return isinstance(_stored(column.type), DateTime)


def _check_column(name: str, column: Column[Any]) -> None:
    if column.name.lower() in SYSTEM_NAMES:
        if column.primary_key:
            _fail(
                name, f"the system column {column.name!r} cannot be part of the key", "rename the key column"
            )
        return
    if column.server_default is not None and isinstance(column.server_default, DefaultClause):
        _fail(name, f"the column {column.name!r} has a DEFAULT", "use default=, which Python computes")
    if column.identity is not None or column.autoincrement is True:
        _fail(name, f"the column {column.name!r} is an IDENTITY column", "give the key a value when sending")
    if column.foreign_keys:
        _fail(name, f"the column {column.name!r} has a FOREIGN KEY", "use interleave_in= for the parent")
    if column.unique or column.index:
        _fail(name, f"the column {column.name!r} wants an index", "queues have no secondary indexes")


def _is_payload(column: Column[Any]) -> bool:
    return column.name.lower() == PAYLOAD


def _check_interleave(queue: QueueDefinition) -> None:
    interleave = queue.interleave
    if interleave is None:
        return
    if interleave.parent == queue.name:
        _fail(queue.name, f"{queue.name!r} cannot be interleaved in itself", "name another table")
    if not interleave.parent:
        _fail(queue.name, "on_delete is about a parent row, and there is no parent", "add interleave_in=")
    if interleave.on_delete not in (None, *ON_DELETE):
        _fail(queue.name, f"on_delete={interleave.on_delete!r} is unknown", "use 'CASCADE' or 'NO ACTION'")


def _check_row_deletion(queue: QueueDefinition, named: dict[str, Column[Any]]) -> None:
    policy = queue.row_deletion
    if policy is None:
        return
    column = named.get(policy.column)
    if column is None or not _is_timestamp(column):
        _fail(
            queue.name,
            f"row_deletion names {policy.column!r}, which is no timestamp key column",
            "name a declared DateTime/TIMESTAMP column of the key",
        )
    if policy.age % timedelta(days=1) or policy.age < timedelta(0):
        _fail(queue.name, f"row_deletion counts whole days, not {policy.age}", "use timedelta(days=...)")


def _check_options(queue: QueueDefinition) -> None:
    for option, value in queue.options.items():
        if option not in OPTIONS:
            _fail(queue.name, f"the option {option!r} is unknown", f"use one of {', '.join(OPTIONS)}")
        if option == "locality_group" and not isinstance(value, str | None):
            _fail(queue.name, f"locality_group is a name, not {value!r}", "give its name as text")
        if option.startswith("disable_") and not isinstance(value, bool | None):
            _fail(queue.name, f"the option {option!r} is true or false, not {value!r}", "use True or False")
    if queue.options.get("receive_mode", "PULL") != "PULL":
        _fail(queue.name, "the only receive_mode is 'PULL'", "leave it out")


def _fail(name: str, rule: str, fix: str) -> NoReturn:
    raise QueueDefinitionError(name, rule, fix)
