"""Our channel with servers whose answers are odd, broken, early, late, or none."""

from __future__ import annotations

import asyncio
import gzip

import grpc
import pytest

from sqlalchemy_spanner_queues.emulator.transport import RpcError
from sqlalchemy_spanner_queues.emulator.transport.frames import frame
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    RST_STREAM,
    ErrorCode,
)

from .conftest import Run
from .exchanges import answer, end, head, number
from .peers import METHOD, RESPONSE, RawPeer, block, channel, message, raw_server


def test_reads_compressed_answers_and_informational_ones(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(HEADERS)
        data = gzip.compress(b"data")
        peer.send(frame(HEADERS, END_HEADERS, 1, block((b":status", b"103"))))
        peer.send(frame(HEADERS, END_HEADERS, 1, RESPONSE + block((b"grpc-encoding", b"gzip"))))
        peer.send(frame(DATA, 0, 1, b"\x01" + number(len(data)) + data) + end(1))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            assert (await client.unary(METHOD, b"")).message == b"data"

    in_loop(work())


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(head(1) + end(1), grpc.StatusCode.INTERNAL, id="no message"),
        pytest.param(
            head(1) + frame(DATA, 0, 1, message(b"a") * 2), grpc.StatusCode.INTERNAL, id="two messages"
        ),
        pytest.param(
            head(1) + frame(DATA, 0, 1, message(b"a")[:-1]) + end(1), grpc.StatusCode.INTERNAL, id="cut"
        ),
        pytest.param(
            head(1) + frame(DATA, END_STREAM, 1, message(b"a")), grpc.StatusCode.INTERNAL, id="no status"
        ),
        pytest.param(
            head(1) + frame(DATA, 0, 1, b"\x01" + bytes(4)), grpc.StatusCode.UNIMPLEMENTED, id="encoding"
        ),
        pytest.param(end(1, block((b":status", b"503"))), grpc.StatusCode.UNAVAILABLE, id="no gRPC"),
        pytest.param(frame(RST_STREAM, 0, 1, number(2)), grpc.StatusCode.INTERNAL, id="broken off"),
        pytest.param(
            frame(HEADERS, END_HEADERS, 1, b"\x80"), grpc.StatusCode.UNAVAILABLE, id="broken headers"
        ),
        pytest.param(
            frame(HEADERS, END_HEADERS, 2, RESPONSE), grpc.StatusCode.UNAVAILABLE, id="a stream of its own"
        ),
        pytest.param(b"\xff" * 100, grpc.StatusCode.UNAVAILABLE, id="garbage"),
    ],
)
def test_a_broken_answer_ends_the_call(in_loop: Run, data: bytes, code: grpc.StatusCode) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        peer.send(data)

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            with pytest.raises(RpcError) as caught:
                await client.unary(METHOD, b"")
            assert caught.value.code is code

    in_loop(work())


def test_a_stream_that_ends_within_a_message_is_an_error(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        peer.send(head(1) + frame(DATA, 0, 1, message(b"one") + message(b"two")[:-1]) + end(1))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            call = client.stream(METHOD, b"")
            assert await anext(call) == b"one"
            with pytest.raises(RpcError, match="INTERNAL: the stream ended within a message"):
                await anext(call)

    in_loop(work())


def test_an_answer_before_the_request_is_sent_ends_the_call(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(HEADERS)
        peer.send(end(1, RESPONSE + block((b"grpc-status", b"8"), (b"grpc-message", b"too much"))))
        assert (await peer.next(RST_STREAM))[2] == 1

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            with pytest.raises(RpcError, match="RESOURCE_EXHAUSTED: too much"):
                await client.unary(METHOD, bytes(200_000))

    in_loop(work())


def test_a_deadline_needs_no_server(in_loop: Run) -> None:
    told = asyncio.Event()

    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        assert (await peer.next(RST_STREAM))[2:] == (1, number(ErrorCode.CANCEL))
        told.set()

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            with pytest.raises(RpcError, match="DEADLINE_EXCEEDED"):
                await client.unary(METHOD, b"", timeout=0.05)
            await told.wait()

    in_loop(work())


def test_cancelling_breaks_the_stream_off(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        peer.send(head(1) + frame(DATA, 0, 1, message(b"one")))
        assert (await peer.next(RST_STREAM))[2:] == (1, number(ErrorCode.CANCEL))
        peer.send(frame(DATA, 0, 1, message(b"late")) + end(1))
        await peer.next(DATA)
        peer.send(answer(3, b"next"))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            call = client.stream(METHOD, b"")
            assert await anext(call) == b"one"
            call.cancel()
            assert (await client.unary(METHOD, b"")).message == b"next"

    in_loop(work())


def test_a_connection_that_drops_ends_its_calls(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        await peer.next(DATA)
        peer.close()

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            calls = [client.unary(METHOD, b""), anext(client.stream(METHOD, b""))]
            errors = await asyncio.gather(*calls, return_exceptions=True)
            assert [error.code for error in errors if isinstance(error, RpcError)] == 2 * [
                grpc.StatusCode.UNAVAILABLE
            ]

    in_loop(work())
