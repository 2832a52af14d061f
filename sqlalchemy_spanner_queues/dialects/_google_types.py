"""Column types of GoogleSQL databases that return what was written.

Spanner carries BYTES as base64 text and the client leaves that to its caller; its driver encodes on the way
in only. JSON comes back as a dict subclass even for a list or a number. These types undo both.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from sqlalchemy import JSON, TIMESTAMP, LargeBinary
from sqlalchemy.engine import Dialect
from sqlalchemy.types import UserDefinedType


class _JsonObject(Protocol):
    def serialize(self) -> str | None: ...


class UntypedBytes(bytes):
    """Base64 text that is sent without a type, so that Spanner takes the column's own."""


def encode_bytes(value: bytes | None) -> bytes | None:
    return None if value is None else base64.b64encode(value)


def _encode_untyped(value: bytes | None) -> bytes | None:
    return None if value is None else UntypedBytes(base64.b64encode(value))


def decode_bytes(value: bytes | str | None) -> bytes | None:
    return None if value is None else base64.b64decode(value)


def decode_json(value: object) -> object:
    """Return plain JSON values for what the client made of a JSON column."""
    if value is None or isinstance(value, str):
        return None if value is None else json.loads(value)
    text = cast(_JsonObject, value).serialize()
    return None if text is None else json.loads(text)


def decode_timestamp(value: datetime | None) -> datetime | None:
    """Return a plain aware datetime; nanoseconds are cut off, never rounded up."""
    if value is None:
        return None
    return datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond,
        UTC,
    )  # fmt: skip


class GoogleBytes(LargeBinary):
    """BYTES, encoded on the way in and decoded on the way out."""

    def bind_processor(self, dialect: Dialect) -> Any:
        return encode_bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return decode_bytes


class GoogleJson(JSON):
    """JSON as plain Python values; on the way in the dialect's own serializer is right."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return decode_json


class GoogleProto(UserDefinedType[bytes]):
    """A proto column: serialized bytes in Python, the message type's name in DDL."""

    cache_ok = True

    def __init__(self, proto_name: str) -> None:
        self.proto_name = proto_name

    def get_col_spec(self, **kw: Any) -> str:
        return self.proto_name

    def bind_processor(self, dialect: Dialect) -> Any:
        return _encode_untyped


class GoogleTimestamp(TIMESTAMP):
    """TIMESTAMP that comes back as a plain aware datetime in UTC."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return decode_timestamp
