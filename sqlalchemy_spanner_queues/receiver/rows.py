"""Make mapped messages of received rows: detached, fully loaded, of the right class."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, and_, inspect
from sqlalchemy.orm import Mapper

from .. import _mapping
from ..definition import definition_of
from ..message import Lease
from ..orm import QueueMessage
from .transport import ReceivedRow


class MessageFactory:
    """Turn rows of one queue into instances of the classes that are mapped to it."""

    def __init__(self, model: type[QueueMessage]) -> None:
        mapper: Mapper[Any] = inspect(model)
        mapper.registry.configure(cascade=True)
        self.mapper = mapper
        self.queue = _mapping.queue_table(mapper)
        definition = definition_of(self.queue)
        self._columns: list[Column[Any]] = [*definition.keys, definition.payload, definition.deliver_time]
        self._key_names = [column.key for column in definition.keys]
        self._key_count = len(definition.keys)
        places = [self._position(column) for column in mapper.primary_key]
        self._key_places = [at for at in places if at is not None]
        self._discriminator = self._position(mapper.polymorphic_on)
        self._attributes = {mapper: self._names(mapper)}
        self.payload_name = self._attributes[mapper][self._key_count]

    def only(self, where: ColumnElement[bool] | None) -> ColumnElement[bool] | None:
        """Return the filter for the messages of the model, which may be one class of several in the queue."""
        column = self.mapper.polymorphic_on
        if self.mapper.inherits is None or column is None:
            return where
        kinds = [mapper.polymorphic_identity for mapper in self.mapper.self_and_descendants]
        ours = column.in_(kinds)
        return ours if where is None else and_(ours, where)

    def __call__(self, row: ReceivedRow) -> QueueMessage:
        mapper = self._mapper_for(row)
        instance: QueueMessage = mapper.class_manager.new_instance()
        values = dict(zip(self._attributes[mapper], row.values, strict=True))
        key = tuple(row.values[at] for at in self._key_places)
        _mapping.load_received(instance, mapper, key, values)
        keys = dict(zip(self._key_names, row.values[: self._key_count], strict=True))
        instance.__dict__[_mapping.LEASE_ATTRIBUTE] = Lease(self.queue.name, keys, row.token, row.expires_at)
        return instance

    def _mapper_for(self, row: ReceivedRow) -> Mapper[Any]:
        if self._discriminator is None:
            return self.mapper
        mapper = self.mapper.polymorphic_map.get(row.values[self._discriminator], self.mapper)
        if mapper not in self._attributes:
            self._attributes[mapper] = self._names(mapper)
        return mapper

    def _names(self, mapper: Mapper[Any]) -> list[str]:
        return [mapper.get_property_by_column(column).key for column in self._columns]

    def _position(self, column: Any) -> int | None:
        return next((at for at, ours in enumerate(self._columns) if ours is column), None)
