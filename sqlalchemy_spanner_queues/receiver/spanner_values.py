"""Write query parameters as the protobuf values of Spanner's protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from google.cloud.spanner_v1.data_types import JsonObject
from google.protobuf.struct_pb2 import ListValue, NullValue, Value

from .spanner_untyped import to_rfc3339


def value_pb(value: Any) -> Value:
    """Return the protobuf value of a parameter; raise TypeError for a type that Spanner does not take."""
    if value is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return Value(list_value=ListValue(values=[value_pb(item) for item in items]))
    if isinstance(value, float) and math.isfinite(value):
        return Value(number_value=value)
    return Value(string_value=_text(value))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):  # base64 by now: the column types encode
        return value.decode("ascii")
    if isinstance(value, datetime):
        return to_rfc3339(value, ignore_zone=value.tzinfo is None)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, JsonObject):
        return str(cast(Any, value).serialize())
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, int | Decimal | UUID):
        return str(value)
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be sent to Spanner")
