"""Our channel with gRPC's own server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import grpc.aio
import pytest

from sqlalchemy_spanner_queues.emulator.transport import Metadata, RpcError

from .conftest import Run
from .peers import METHOD, OTHER, channel, grpc_server

MEGABYTE = 1 << 20


async def echo(request: bytes, context: Any) -> bytes:
    return request


def test_makes_a_call_that_answers_once(in_loop: Run) -> None:
    async def serve(request: bytes, context: Any) -> bytes:
        assert ("key", "value") in context.invocation_metadata()
        assert ("key-bin", b"\x00\x01") in context.invocation_metadata()
        assert 20 < context.time_remaining() <= 31
        await context.send_initial_metadata((("first", "1"),))
        context.set_trailing_metadata((("last-bin", b"\x02"),))
        return request

    async def work() -> None:
        async with grpc_server(serve) as port, channel(port) as client:
            metadata = Metadata.of([("key", "value"), ("key-bin", b"\x00\x01")])
            answer = await client.unary(METHOD, b"request", timeout=30, metadata=metadata)
            assert answer.message == b"request"
            assert list(answer.initial) == [("first", "1")]
            assert list(answer.trailing) == [("last-bin", b"\x02")]

    in_loop(work())


def test_reads_a_stream(in_loop: Run) -> None:
    async def serve(request: bytes, context: Any) -> AsyncIterator[bytes]:
        await context.send_initial_metadata((("first", "1"),))
        for number in range(int(request)):
            yield b"%d" % number
        context.set_trailing_metadata((("last", "2"),))

    async def work() -> None:
        async with grpc_server(streaming=serve) as port, channel(port) as client:
            for count in (0, 1, 1000):
                call = client.stream(OTHER, b"%d" % count)
                assert [message async for message in call] == [b"%d" % number for number in range(count)]
                assert list(call.trailing) == [("last", "2")]
                assert list(call.initial) == [("first", "1")]

    in_loop(work())


def test_sends_and_reads_large_messages(in_loop: Run) -> None:
    async def serve(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield request
        yield request[::-1]

    async def work() -> None:
        data = bytes(range(256)) * (10 * MEGABYTE // 256)
        async with grpc_server(echo, serve) as port, channel(port) as client:
            assert (await client.unary(METHOD, data)).message == data
            assert [message async for message in client.stream(OTHER, data)] == [data, data[::-1]]

    in_loop(work())


def test_raises_a_status(in_loop: Run) -> None:
    async def serve(request: bytes, context: Any) -> bytes:
        trailing = (("grpc-status-details-bin", b"\x08\x05"), ("why", "so"))
        await context.abort(grpc.StatusCode.NOT_FOUND, "no täble: 100 %", trailing)
        raise AssertionError

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"one"
        await context.abort(grpc.StatusCode.ABORTED, "again")

    async def work() -> None:
        async with grpc_server(serve, serve_many) as port, channel(port) as client:
            with pytest.raises(RpcError) as caught:
                await client.unary(METHOD, b"")
            assert caught.value.code is grpc.StatusCode.NOT_FOUND
            assert caught.value.details == "no täble: 100 %"
            assert dict(caught.value.trailing) == {"grpc-status-details-bin": b"\x08\x05", "why": "so"}
            call = client.stream(OTHER, b"")
            assert await anext(call) == b"one"
            with pytest.raises(RpcError, match="ABORTED: again"):
                await anext(call)

    in_loop(work())


def test_a_deadline_ends_a_call(in_loop: Run) -> None:
    stopped: list[asyncio.Event] = []

    async def serve(request: bytes, context: Any) -> bytes:
        stopped.append(asyncio.Event())
        try:
            return await asyncio.Future()
        finally:
            stopped[-1].set()

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield await serve(request, context)

    async def work() -> None:
        async with grpc_server(serve, serve_many) as port, channel(port) as client:
            with pytest.raises(RpcError) as caught:
                await client.unary(METHOD, b"", timeout=0.2)
            assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
            with pytest.raises(RpcError) as caught:
                await anext(client.stream(OTHER, b"", timeout=0.2))
            assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
            for event in stopped:
                await event.wait()

    in_loop(work())


def test_cancelling_stops_the_server(in_loop: Run) -> None:
    started, stopped, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def serve(request: bytes, context: Any) -> bytes:
        started.set()
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            yield b"one"
            await asyncio.Future()
        finally:
            closed.set()

    async def work() -> None:
        async with grpc_server(serve, serve_many) as port, channel(port) as client:
            task = asyncio.create_task(client.unary(METHOD, b""))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await stopped.wait()
            call = client.stream(OTHER, b"")
            assert await anext(call) == b"one"
            call.cancel()
            call.cancel()
            await closed.wait()
            with pytest.raises(RpcError, match="CANCELLED"):
                await anext(call)

    in_loop(work())


def test_a_call_that_is_cancelled_before_it_is_made_ends(in_loop: Run) -> None:
    async def work() -> None:
        async with grpc_server() as port, channel(port) as client:
            call = client.stream(OTHER, b"")
            call.cancel()
            assert list(call.initial) == list(call.trailing) == []
            with pytest.raises(RpcError, match="CANCELLED"):
                await anext(call)

    in_loop(work())


def test_makes_many_calls_at_a_time(in_loop: Run) -> None:
    release = asyncio.Event()

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"started"
        await release.wait()
        yield request

    async def work() -> None:
        async with grpc_server(echo, serve_many) as port, channel(port) as client:
            streams = [client.stream(OTHER, b"%d" % number) for number in range(300)]
            assert {await anext(stream) for stream in streams} == {b"started"}
            numbers = [b"%d" % number for number in range(50)]
            answers = await asyncio.gather(*(client.unary(METHOD, number) for number in numbers))
            assert [answer.message for answer in answers] == numbers
            release.set()
            assert [await anext(stream) for stream in streams] == [b"%d" % number for number in range(300)]

    in_loop(work())


def test_a_deadline_counts_while_it_waits_for_a_stream(in_loop: Run) -> None:
    started = asyncio.Event()

    async def serve(request: bytes, context: Any) -> bytes:
        if request:
            started.set()
            return await asyncio.Future()
        return b""

    async def work() -> None:
        async with grpc_server(serve, max_concurrent_streams=1) as port, channel(port) as client:
            await client.unary(METHOD, b"")
            task = asyncio.create_task(client.unary(METHOD, b"hang"))
            await started.wait()
            with pytest.raises(RpcError) as caught:
                await client.unary(METHOD, b"", timeout=0.1)
            assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
            task.cancel()
            assert (await client.unary(METHOD, b"")).message == b""

    in_loop(work())


def test_nobody_listens(in_loop: Run) -> None:
    async def work() -> None:
        async with grpc_server() as port:
            pass
        async with channel(port) as client:
            calls = [client.unary(METHOD, b"") for _ in range(3)]
            errors = await asyncio.gather(*calls, return_exceptions=True)
            for error in errors:
                assert isinstance(error, RpcError)
                assert error.code is grpc.StatusCode.UNAVAILABLE
                assert f"failed to connect to localhost:{port}" in error.details

    in_loop(work())


def test_connects_again_after_the_server_restarts(in_loop: Run) -> None:
    started = asyncio.Event()

    async def hang(request: bytes, context: Any) -> bytes:
        started.set()
        return await asyncio.Future()

    async def work() -> None:
        async with AsyncExitStack() as second:
            async with grpc_server(hang) as port:
                client = await second.enter_async_context(channel(port))
                task = asyncio.create_task(client.unary(METHOD, b""))
                await started.wait()
            with pytest.raises(RpcError) as caught:
                await task
            assert caught.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
            await second.enter_async_context(grpc_server(echo, port=port))
            assert (await client.unary(METHOD, b"again")).message == b"again"

    in_loop(work())


def test_a_closed_channel_makes_no_calls(in_loop: Run) -> None:
    async def work() -> None:
        async with grpc_server(echo) as port, channel(port) as client:
            await client.unary(METHOD, b"")
            await client.close()
            with pytest.raises(RpcError, match="closed"):
                await client.unary(METHOD, b"")

    in_loop(work())
