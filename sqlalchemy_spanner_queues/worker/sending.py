"""A hook on the other side: what is done to every message before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Mapper

from ..orm import QueueMessage

HookT = TypeVar("HookT", bound=Callable[[Any], object])


def on_send(model: type[QueueMessage]) -> Callable[[HookT], HookT]:
    """Call a function with each message of a model right before a flush sends it.

    It may set the payload; what it raises keeps the message, and the transaction, from being sent. ::

        @on_send(WelcomeEmail)
        def stamp(message: WelcomeEmail) -> None:
            message.payload.trace = current_trace_id()

    Subclasses of the model are included. Nothing is called for messages that are sent by Core statements.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """

    def register(function: HookT) -> HookT:
        def before_insert(_mapper: Mapper[Any], _connection: Connection, target: Any) -> None:
            function(target)

        event.listen(model, "before_insert", before_insert, propagate=True)
        return function

    return register
