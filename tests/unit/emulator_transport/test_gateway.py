"""gRPC's client, our server, our channel, gRPC's server: what goes in comes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from .conftest import Run
from .peers import METHOD, OTHER, gateway, grpc_client, grpc_server

MEGABYTE = 1 << 20


async def echo(request: bytes, context: Any) -> bytes:
    return request


def test_passes_a_call_on_with_its_metadata(in_loop: Run) -> None:
    sent = (("key", "value"), ("key-bin", bytes(range(256))))

    async def serve(request: bytes, context: Any) -> bytes:
        assert set(sent) <= set(context.invocation_metadata())
        assert 20 < context.time_remaining() < 31
        await context.send_initial_metadata((("first", "1"),))
        context.set_trailing_metadata((("last-bin", b"\x00"),))
        return request

    async def work() -> None:
        async with (
            grpc_server(serve) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):
            call = client.unary_unary(METHOD)(b"request", timeout=30, metadata=sent)
            assert await call == b"request"
            assert dict(await call.initial_metadata()) == {"first": "1"}
            assert dict(await call.trailing_metadata()) == {"last-bin": b"\x00"}

    in_loop(work())


def test_passes_errors_on(in_loop: Run) -> None:
    async def serve(request: bytes, context: Any) -> bytes:
        await context.abort(
            grpc.StatusCode.ABORTED, "again, später", (("grpc-status-details-bin", b"\x08\x0a"),)
        )
        raise AssertionError

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"one"
        await serve(request, context)

    async def work() -> None:
        async with (
            grpc_server(serve, serve_many) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):
            stream = client.unary_stream(OTHER)(b"")
            assert await stream.read() == b"one"
            for failing in (client.unary_unary(METHOD)(b""), stream.read()):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await failing
                assert caught.value.code() is grpc.StatusCode.ABORTED
                assert caught.value.details() == "again, später"
                assert dict(caught.value.trailing_metadata()) == {"grpc-status-details-bin": b"\x08\x0a"}

    in_loop(work())


def test_a_slow_reader_slows_the_other_end(in_loop: Run) -> None:
    total, size = 1000, 100_000
    made = 0

    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        nonlocal made
        for number in range(total):
            made += 1
            yield number.to_bytes(4, "big") + bytes(size)

    async def work() -> None:
        async with (
            grpc_server(echo, serve_many) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):
            stream = client.unary_stream(OTHER)(b"")
            assert (await stream.read())[:4] == bytes(4)
            before = -1
            while made > before:  # until 50 other calls pass without another message
                before = made
                for _ in range(50):
                    assert await client.unary_unary(METHOD)(b"other") == b"other"
            assert made < total / 2
            for number in range(1, total):
                assert (await stream.read())[:4] == number.to_bytes(4, "big")
            assert await stream.read() is grpc.aio.EOF

    in_loop(work())


def test_cancelling_and_deadlines_go_through(in_loop: Run) -> None:
    started: asyncio.Queue[None] = asyncio.Queue()
    stopped: asyncio.Queue[None] = asyncio.Queue()

    async def hang(request: bytes, context: Any) -> bytes:
        started.put_nowait(None)
        try:
            return await asyncio.Future()
        finally:
            stopped.put_nowait(None)

    async def hang_after_one(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"one"
        yield await hang(request, context)

    async def work() -> None:
        async with (
            grpc_server(hang, hang_after_one) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):
            call = client.unary_unary(METHOD)(b"")
            await started.get()
            call.cancel()
            await stopped.get()
            stream = client.unary_stream(OTHER)(b"")
            await stream.read()
            await started.get()
            stream.cancel()
            await stopped.get()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.unary_unary(METHOD)(b"", timeout=0.2)
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await stopped.get()

    in_loop(work())


def test_passes_much_on_at_a_time(in_loop: Run) -> None:
    async def serve_many(request: bytes, context: Any) -> AsyncIterator[bytes]:
        for _ in range(20):
            yield request

    async def work() -> None:
        async with (
            grpc_server(echo, serve_many) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):

            async def read(number: int) -> None:
                data = number.to_bytes(4, "big") * 25_000
                assert await client.unary_unary(METHOD)(data) == data
                assert [message async for message in client.unary_stream(OTHER)(data)] == 20 * [data]

            async with asyncio.TaskGroup() as group:
                for number in range(40):
                    group.create_task(read(number))

    in_loop(work())


def test_passes_large_messages_on(in_loop: Run) -> None:
    async def work() -> None:
        data = bytes(range(256)) * (10 * MEGABYTE // 256)
        async with (
            grpc_server(echo) as upstream,
            gateway(upstream) as port,
            grpc_client(port) as client,
        ):
            assert await client.unary_unary(METHOD)(data) == data

    in_loop(work())
