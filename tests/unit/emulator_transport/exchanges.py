"""What raw peers say: whole requests, whole answers, and pings to learn that all has been read."""

from __future__ import annotations

from sqlalchemy_spanner_queues.emulator.transport.frames import frame
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
)

from .peers import REQUEST, RESPONSE, STATUS_OK, RawPeer, message


def request(stream_id: int, data: bytes) -> bytes:
    return frame(HEADERS, END_HEADERS, stream_id, REQUEST) + frame(DATA, END_STREAM, stream_id, message(data))


async def answer_of(peer: RawPeer, stream_id: int = 1) -> bytes:
    """Read a whole answer; it must have ended with the status OK."""
    kind, _, found, _ = await peer.next(HEADERS)
    assert (kind, found) == (HEADERS, stream_id)
    body = b""
    while (arrived := await peer.next(DATA, HEADERS))[0] == DATA:
        body += arrived[3]
    assert b"grpc-status\x010" in arrived[3]
    assert arrived[1] & END_STREAM
    return body[5:]


async def in_step(peer: RawPeer) -> None:
    """Wait until everything that was sent before has been read and acted on."""
    peer.send(frame(PING, 0, 0, b"in step?"))
    assert (await peer.next(PING))[1:] == (ACK, 0, b"in step?")


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def head(stream_id: int) -> bytes:
    return frame(HEADERS, END_HEADERS, stream_id, RESPONSE)


def end(stream_id: int, status: bytes = STATUS_OK) -> bytes:
    return frame(HEADERS, END_HEADERS | END_STREAM, stream_id, status)


def answer(stream_id: int, data: bytes) -> bytes:
    return head(stream_id) + frame(DATA, 0, stream_id, message(data)) + end(stream_id)
