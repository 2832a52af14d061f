"""What happens to a payload on its way into a database and back, without the database."""

from __future__ import annotations

import base64
from typing import Any

from google.cloud.spanner_v1.data_types import JsonObject
from google.cloud.sqlalchemy_spanner.sqlalchemy_spanner import SpannerDialect
from sqlalchemy import create_engine
from sqlalchemy.dialects.postgresql.base import PGDialect

# PostgreSQL without a driver: the drivers do what the processors of this dialect do.
DIALECTS = [SpannerDialect(), PGDialect(), create_engine("sqlite://").dialect]


def bound(payload_type: Any, value: Any, dialect: Any) -> Any:
    """Return what the driver gets for a value."""
    process = payload_type.dialect_impl(dialect).bind_processor(dialect)
    return process(value) if process is not None else value


def loaded(payload_type: Any, stored: Any, dialect: Any) -> Any:
    """Return the value for what the driver gives."""
    process = payload_type.dialect_impl(dialect).result_processor(dialect, None)
    return process(stored) if process is not None else stored


def there_and_back(payload_type: Any, value: Any, dialect: Any) -> Any:
    stored = bound(payload_type, value, dialect)
    if isinstance(stored, JsonObject):
        stored = JsonObject.from_str(stored.serialize())
    elif payload_type.wire.kind == "proto" and dialect.name == "spanner+spanner":
        stored = base64.b64decode(stored)  # the client decodes proto columns by itself
    return loaded(payload_type, stored, dialect)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, with everything inside them of the same type."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, dict):
        # The order of the keys is the database's own.
        return all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return all(same(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    return repr(one) == repr(other)
