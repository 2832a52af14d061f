"""Decode a stored payload; one that cannot be decoded becomes a value that says so."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import Any

from .._wire import JsonText
from ..definition import QueueDefinition
from ..exc import PayloadError
from ..message import UndecodablePayload
from ..payload import PayloadType

log = logging.getLogger("sqlalchemy_spanner_queues.receiver")


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
    except Exception as error:
        # The application's own classes run in there; none of them may end the stream.
        log.warning("a stored payload cannot be decoded by %r", payload, exc_info=True)
        return _undecodable(payload, stored, error)


def decode_wire(payload: PayloadType[Any], text: str) -> tuple[bytes | str, Any]:
    """Return what is stored, and the payload, for the text that Spanner's protocol carries.

    Bytes are base64 there.
    """
    if payload.wire.kind not in ("bytes", "proto"):
        return text, decode_payload(payload, text)
    try:
        stored = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        return text, _undecodable(payload, text, error)
    return stored, decode_payload(payload, stored)


def _undecodable(payload: PayloadType[Any], stored: Any, cause: Exception) -> UndecodablePayload:
    problem = f"the stored payload cannot be decoded: {cause!r}"
    error = PayloadError(problem, raw=stored, codec=repr(payload))
    error.__cause__ = cause
    return UndecodablePayload(error)
