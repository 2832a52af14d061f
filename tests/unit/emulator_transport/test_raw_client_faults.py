"""Our server with clients that break a request, the protocol, or the connection's beginning."""

from __future__ import annotations

import gzip

import pytest

from sqlalchemy_spanner_queues.emulator.transport import Unary
from sqlalchemy_spanner_queues.emulator.transport.frames import frame, window_update
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
)

from .conftest import Run
from .exchanges import answer_of, in_step, request
from .peers import REQUEST, block, echo, message, raw_client, server


@pytest.mark.parametrize(
    ("data", "status"),
    [
        pytest.param(frame(DATA, END_STREAM, 1), b"13", id="no message"),
        pytest.param(frame(DATA, END_STREAM, 1, message(b"a") * 2), b"13", id="two messages"),
        pytest.param(frame(DATA, END_STREAM, 1, message(b"abc")[:-1]), b"13", id="a cut message"),
        pytest.param(
            frame(DATA, END_STREAM, 1, b"\x01" + message(b"a")[1:]), b"12", id="unknown compression"
        ),
    ],
)
def test_refuses_a_request_that_is_not_one_message(in_loop: Run, data: bytes, status: bytes) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port) as peer:
            peer.send(frame(HEADERS, END_HEADERS, 1, REQUEST) + data)
            _, flags, _, head = await peer.next(HEADERS)
            assert flags & END_STREAM
            assert block((b"grpc-status", status)) in head
            await in_step(peer)

    in_loop(work())


def test_an_early_refusal_breaks_the_request_off(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port) as peer:
            head = REQUEST + block((b"grpc-encoding", b"gzip"))
            peer.send(frame(HEADERS, END_HEADERS, 1, head) + frame(DATA, 0, 1, b"\x01\x00\x00\x00\x01x"))
            assert (await peer.next(HEADERS))[1] & END_STREAM
            assert (await peer.next(RST_STREAM))[2:] == (1, bytes(4))
            peer.send(frame(DATA, END_STREAM, 1, b"late") + frame(RST_STREAM, 0, 1, bytes(4)))
            data = gzip.compress(b"data")
            peer.send(frame(HEADERS, END_HEADERS, 3, head))
            peer.send(frame(DATA, END_STREAM, 3, b"\x01" + len(data).to_bytes(4, "big") + data))
            assert await answer_of(peer, 3) == b"data"

    in_loop(work())


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(frame(DATA, 0, 0, b"x"), ErrorCode.PROTOCOL_ERROR, id="data of no stream"),
        pytest.param(frame(DATA, 0, 5, b"x"), ErrorCode.PROTOCOL_ERROR, id="data of a stream to come"),
        pytest.param(frame(HEADERS, END_HEADERS, 2, REQUEST), ErrorCode.PROTOCOL_ERROR, id="an even stream"),
        pytest.param(frame(HEADERS, END_HEADERS, 0, REQUEST), ErrorCode.PROTOCOL_ERROR, id="stream 0"),
        pytest.param(
            frame(HEADERS, END_HEADERS, 1, b"\x80"), ErrorCode.COMPRESSION_ERROR, id="broken headers"
        ),
        pytest.param(
            frame(HEADERS, 0, 1) + frame(PING, 0, 0, bytes(8)), ErrorCode.PROTOCOL_ERROR, id="cut headers"
        ),
        pytest.param(
            frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 3), ErrorCode.PROTOCOL_ERROR, id="other headers"
        ),
        pytest.param(frame(CONTINUATION, 0, 1), ErrorCode.PROTOCOL_ERROR, id="a continuation of nothing"),
        pytest.param(frame(PUSH_PROMISE, 0, 1), ErrorCode.PROTOCOL_ERROR, id="a push"),
        pytest.param(frame(RST_STREAM, 0, 7, bytes(4)), ErrorCode.PROTOCOL_ERROR, id="a reset of nothing"),
        pytest.param(frame(PING, 0, 0, b"x"), ErrorCode.FRAME_SIZE_ERROR, id="a short ping"),
        pytest.param(frame(SETTINGS, 0, 0, b"x"), ErrorCode.FRAME_SIZE_ERROR, id="short settings"),
        pytest.param(
            frame(WINDOW_UPDATE, 0, 0, b"x"), ErrorCode.FRAME_SIZE_ERROR, id="a short window update"
        ),
        pytest.param(window_update(0, 0), ErrorCode.FLOW_CONTROL_ERROR, id="a window grown by nothing"),
        pytest.param(window_update(0, 2**31 - 1), ErrorCode.FLOW_CONTROL_ERROR, id="a window too large"),
        pytest.param(
            frame(SETTINGS, 0, 0, b"\x00\x04\xff\xff\xff\xff"),
            ErrorCode.FLOW_CONTROL_ERROR,
            id="windows too large",
        ),
        pytest.param(
            frame(SETTINGS, 0, 0, bytes((0, 5, 0, 0, 0, 1))), ErrorCode.PROTOCOL_ERROR, id="tiny frames"
        ),
        pytest.param(b"\xff" * 100, ErrorCode.FRAME_SIZE_ERROR, id="garbage"),
    ],
)
def test_says_goodbye_to_who_breaks_the_protocol(in_loop: Run, data: bytes, code: ErrorCode) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving:
            async with raw_client(serving.port) as peer:
                peer.send(data)
                _, _, _, payload = await peer.next(GOAWAY)
                assert int.from_bytes(payload[4:8], "big") == code
                await peer.closed()
            async with raw_client(serving.port) as peer:
                peer.send(request(1, b"others are served"))
                assert await answer_of(peer) == b"others are served"

    in_loop(work())


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", bytes(100)])
def test_closes_on_what_is_no_http2(in_loop: Run, garbage: bytes) -> None:
    async def work() -> None:
        async with server() as serving, raw_client(serving.port, greet=False) as peer:
            peer.send(garbage)
            await peer.closed()

    in_loop(work())


def test_a_header_block_without_end_is_cut_off(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving, raw_client(serving.port) as peer:
            peer.send(frame(HEADERS, 0, 1, bytes(16_384)))
            for _ in range(70):
                peer.send(frame(CONTINUATION, 0, 1, bytes(16_384)))
            _, _, _, payload = await peer.next(GOAWAY)
            assert int.from_bytes(payload[4:8], "big") == ErrorCode.ENHANCE_YOUR_CALM

    in_loop(work())
