"""What the mapper of a queue model does beyond that of a table; all hooks hang on QueueMessage itself."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnDefault, Table, event, inspect
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Mapper, Session, make_transient_to_detached, object_session, relationship
from sqlalchemy.orm.attributes import instance_state, set_committed_value

from .columns import Delay
from .definition import QueueDefinition, as_table, definition_of, find_definition
from .exc import DeliverTimeError, MessageImmutable, QueueDefinitionError

PARENT_RELATIONSHIP = "_queue_parent"
LEASE_ATTRIBUTE = "_queue_lease"
ACKNOWLEDGED = "spanner_queue_acknowledged"
_RECEIVED = "spanner_queue_values"


def listen(mixin: type[Any]) -> None:
    """Hang the hooks on the mixin, for the classes that are mapped with it."""
    event.listen(mixin, "before_mapper_configured", _order_after_parent, propagate=True)
    event.listen(mixin, "mapper_configured", _guard_attributes, propagate=True)
    event.listen(mixin, "before_insert", _before_insert, propagate=True)
    event.listen(mixin, "after_insert", _after_insert, propagate=True)
    event.listen(mixin, "before_update", _before_update, propagate=True)
    event.listen(mixin, "after_delete", _after_delete, propagate=True)
    event.listen(mixin, "expire", _restore_received, propagate=True)


def accept_deliver_arguments(cls: type[Any]) -> None:
    """Let a dataclass's constructor take ``delay`` and ``deliver_at``, which are no fields of it."""
    if "__dataclass_fields__" not in cls.__dict__:
        return
    generated = cls.__init__

    @functools.wraps(generated)
    def __init__(self: Any, *args: Any, delay: Any = None, deliver_at: Any = None, **kw: Any) -> None:
        generated(self, *args, **kw)
        self.delay = delay
        self.deliver_at = deliver_at

    cls.__init__ = __init__


def queue_table(mapper: Mapper[Any]) -> Table[Any]:
    table = as_table(mapper.local_table)
    if table is None or find_definition(table) is None:
        raise QueueDefinitionError(
            str(mapper.local_table.description),
            f"{mapper.class_.__name__} is a QueueMessage, but is not mapped to a queue",
            "map it to a Queue(...), or put QueueMessage first among its bases",
        )
    return table


def identity_twin(mapper: Mapper[Any], key: tuple[Any, ...]) -> Any:
    """Return a detached instance that has its primary key and nothing else.

    Deleting it in a Session leaves the user's own instance alone, readable whatever becomes of the
    transaction.
    """
    twin = mapper.class_manager.new_instance()
    for column, value in zip(mapper.primary_key, key, strict=True):
        set_committed_value(twin, mapper.get_property_by_column(column).key, value)
    make_transient_to_detached(twin)
    return twin


def planned(message: Any) -> Any:
    """Return the deliver time as it is set on a message: a datetime, a Delay, or None."""
    return message.__dict__.get(_deliver_key(inspect(message).mapper))


def plan(message: Any, value: Delay | datetime | None, kind: type[Any]) -> None:
    """Set a message's deliver time, or take it back if it is of that kind."""
    state = inspect(message)
    current = planned(message)
    if value is None and not isinstance(current, kind):
        return
    if state.key is not None:
        raise MessageImmutable(queue_table(state.mapper).name, _deliver_key(state.mapper))
    if value is not None and current is not None and not isinstance(current, kind):
        raise DeliverTimeError("give a message either delay= or deliver_at=, not both")
    setattr(message, _deliver_key(state.mapper), value)


def _order_after_parent(mapper: Mapper[Any], cls: type[Any]) -> None:
    """Add the relationship that makes a flush write parents first, and delete them last."""
    definition = definition_of(queue_table(mapper))
    if mapper.inherits is not None or definition.parent is None:
        return
    parent = _mapper_of(mapper, definition.parent)
    if parent is not None:
        # "__*" keeps quiet about the user's own relationship over the same columns. It has no public name
        # (read in SQLAlchemy 2.1.0 and 2.1.9).
        prop: Any = relationship(parent.class_, lazy="raise", overlaps="__*")
        mapper.add_property(PARENT_RELATIONSHIP, prop)


def _mapper_of(mapper: Mapper[Any], table: Table) -> Mapper[Any] | None:
    candidates = (other for other in mapper.registry.mappers if other.local_table is table)
    return next((other for other in candidates if other.inherits is None), None)


def _guard_attributes(mapper: Mapper[Any], cls: type[Any]) -> None:
    table = queue_table(mapper)
    for column in mapper.local_table.c:
        if column.table is table:
            attribute = getattr(cls, mapper.get_property_by_column(column).key)
            # The old value is needed for comparison; a deliver time may be known to the database alone.
            known = column is not definition_of(table).deliver_time
            event.listen(attribute, "set", _refuse_change, active_history=known)


def _refuse_change(target: Any, value: Any, oldvalue: Any, initiator: Any) -> None:
    state = inspect(target)
    if state.key is None or _same(oldvalue, value):
        return
    raise MessageImmutable(queue_table(state.mapper).name, f"{initiator.key} = {value!r}")


def _same(old: Any, new: Any) -> bool:
    return type(old) is type(new) and bool(old == new)


def _before_insert(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    _fill_key(mapper, target)
    session = object_session(target)
    if session is not None and _is_replaced(session, mapper, target):
        raise MessageImmutable(queue_table(mapper).name, "delete and add of one key in one flush")
    key = _deliver_key(mapper)
    if target.__dict__.get(key) is None:
        # Always written, so that messages with and without a delay are one statement and one batch.
        setattr(target, key, Delay.NONE)


def _fill_key(mapper: Mapper[Any], target: Any) -> None:
    """Make up missing keys now: the unit of work sends rows of unknown key one by one."""
    for column in mapper.primary_key:
        key, default = mapper.get_property_by_column(column).key, column.default
        if getattr(target, key) is not None or not isinstance(default, ColumnDefault):
            continue
        setattr(target, key, default.arg(None) if default.is_callable else default.arg)


def _is_replaced(session: Session, mapper: Mapper[Any], target: Any) -> bool:
    key = mapper.primary_key_from_instance(target)
    same = session.identity_map.get(mapper.identity_key_from_primary_key(tuple(key)))
    return same is not None and same in session.deleted


def _after_insert(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    # What the database made of it is loaded when it is asked for.
    key = _deliver_key(mapper)
    target.__dict__.pop(key, None)
    inspect(target).expired_attributes.add(key)


def _before_update(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    session = object_session(target)
    if session is not None and session.is_modified(target, include_collections=False):
        raise MessageImmutable(queue_table(mapper).name, "UPDATE")


def _after_delete(mapper: Mapper[Any], connection: Connection, target: Any) -> None:
    session = object_session(target)
    if session is not None:
        session.info.setdefault(ACKNOWLEDGED, set()).add(inspect(target).key)


def is_acknowledged(session: Session, message: Any) -> bool:
    """Return whether a message was deleted in the session's flushes, by whatever name that was asked for."""
    return inspect(message).key in session.info.get(ACKNOWLEDGED, ())


def received_values(message: Any) -> tuple[Any, datetime]:
    """Return the payload and the deliver time of a received message: the last of its values."""
    *_keys, payload, deliver_time = instance_state(message).info[_RECEIVED].values()
    return payload, deliver_time


def load_received(instance: Any, mapper: Mapper[Any], key: tuple[Any, ...], values: dict[str, Any]) -> None:
    """Make a new instance one that was loaded from the database and detached, with these values.

    They are kept aside too: what a Session expires is put back from there.
    """
    state = instance_state(instance)
    state.dict.update(values)
    state.key = mapper.identity_key_from_primary_key(key)
    state.info[_RECEIVED] = values


def _restore_received(target: Any, names: Any) -> None:
    if target is None:  # it is garbage by now
        return
    values: dict[str, Any] = inspect(target).info.get(_RECEIVED, {})
    for name, value in values.items():
        if names is None or name in names:
            set_committed_value(target, name, value)


def _deliver_key(mapper: Mapper[Any]) -> str:
    return mapper.get_property_by_column(_definition(mapper).deliver_time).key


def _definition(mapper: Mapper[Any]) -> QueueDefinition:
    return definition_of(queue_table(mapper))
