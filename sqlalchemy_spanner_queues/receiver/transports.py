"""Choose the transport for an engine; what speaks gRPC is imported only for Spanner."""

from __future__ import annotations

from sqlalchemy import Table
from sqlalchemy.engine import Engine

from ..definition import definition_of
from ..dialects import for_dialect
from .transport import Transport


def transport_for(engine: Engine, queue: Table, spanner_database: str | None) -> Transport:
    """Return the way to a queue; ``spanner_database`` is a full path where the engine does not tell it."""
    if for_dialect(engine.dialect, "receiving messages").ENGINE == "sqlite":
        from .sqlite import SqliteTransport

        return SqliteTransport(engine, definition_of(queue))
    from .spanner import SpannerTransport

    return SpannerTransport(engine, queue, spanner_database)
