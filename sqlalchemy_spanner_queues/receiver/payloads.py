"""Decode a stored payload; one that cannot be decoded becomes a value that says so."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from .._wire import JsonText
from ..definition import QueueDefinition
from ..exc import PayloadError
from ..message import UndecodablePayload
from ..payload import PayloadType


def payload_type_of(queue: QueueDefinition) -> PayloadType[Any]:
    """Return the payload type of a queue; its declaration has made sure of it."""
    found = queue.payload.type
    if not isinstance(found, PayloadType):
        raise TypeError(f"the payload of {queue.name!r} has the type {found!r}")
    return found


def decode_payload(payload: PayloadType[Any], stored: Any) -> Any:
    """Return the payload for its stored form, where JSON is still text."""
    try:
        return payload.decode(JsonText(stored) if payload.wire.kind == "json" else stored)
    except PayloadError as error:
        return UndecodablePayload(error)


def decode_wire(payload: PayloadType[Any], text: str) -> Any:
    """Return the payload for the text that Spanner's protocol carries: bytes are base64 there."""
    if payload.wire.kind not in ("bytes", "proto"):
        return decode_payload(payload, text)
    try:
        stored = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        problem = PayloadError(f"the stored payload is no base64: {error}", raw=text, codec=repr(payload))
        problem.__cause__ = error
        return UndecodablePayload(problem)
    return decode_payload(payload, stored)
