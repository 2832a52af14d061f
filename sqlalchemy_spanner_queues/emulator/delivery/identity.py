"""What tells one message from another: its key and its deliver time, as bytes."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.struct_pb2 import ListValue, Value


def identity_of(values: Sequence[Value]) -> bytes:
    """Make the identity of a message from its key, in the order of the key, and its deliver time."""
    return ListValue(values=values).SerializeToString(deterministic=True)


def key_of(identity: bytes) -> ListValue:
    """Return the key of a message."""
    values = ListValue.FromString(identity)
    del values.values[-1]
    return values
