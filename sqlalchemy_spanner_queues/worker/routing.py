"""Find the handler for a message: by its class, or by a type in its key or payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Table, inspect

from .. import _mapping
from ..exc import HandlerError, UnknownMessageType
from ..orm import QueueMessage
from .handler import Discriminator, Handler


class Routes:
    """The handlers of one queue.

    Raises HandlerError for handlers that contradict each other.
    """

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self.handlers = list(handlers)
        first = handlers[0]
        self.queue: Table = _mapping.queue_table(inspect(first.model))
        self.model = _common_model([handler.model for handler in handlers])
        self._by = first.by
        self._handlers: dict[tuple[type[Any], object], Handler] = {}
        for handler in handlers:
            self._add(handler)

    def __call__(self, message: QueueMessage) -> Handler:
        """Return the handler; raises UnknownMessageType, or what a discriminator function raises."""
        kind = None if self._by is None else _read(self._by, message)
        for cls in type(message).__mro__:
            for wanted in (kind, None):
                found = self._handlers.get((cls, wanted))
                if found is not None:
                    return found
        known = [kind for _cls, kind in self._handlers if kind is not None]
        classes = [cls.__name__ for cls, kind in self._handlers if kind is None]
        shown = type(message).__name__ if self._by is None else kind
        raise UnknownMessageType(self.queue.name, message.lease.keys, shown, known or classes)

    def for_undecodable(self) -> Handler:
        """Return the handler whose dead letters take a message that nobody can read."""
        return next((one for one in self.handlers if one.dead_letter is not None), self.handlers[0])

    def _add(self, handler: Handler) -> None:
        if handler.by != self._by:
            raise HandlerError(
                handler.name,
                f"the handlers of {self.queue.name!r} tell types by {self._by!r} and by {handler.by!r}",
                "give all of them the same by=",
            )
        place = (handler.model, handler.kind)
        if place in self._handlers:
            other = self._handlers[place].name
            raise HandlerError(
                handler.name,
                f"{other!r} takes the same messages of {self.queue.name!r}",
                "give each of them a type= of its own, or declare them on different workers",
            )
        self._handlers[place] = handler


def _common_model(models: Sequence[type[QueueMessage]]) -> type[QueueMessage]:
    """Return the class that all models of a queue inherit from, which may be one of them."""
    if len(set(models)) == 1:
        return models[0]
    base: type[QueueMessage] = inspect(models[0]).base_mapper.class_
    return base


def _read(by: Discriminator, message: QueueMessage) -> object:
    if callable(by):
        return by(message)
    value: Any = message
    for name in by.split("."):
        value = _part(value, name)
    return value


def _part(whole: Any, name: str) -> Any:
    if not isinstance(whole, Mapping):
        return getattr(whole, name)
    return cast("Mapping[str, Any]", whole)[name]
