"""Our server with gRPC's own client: what it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from sqlalchemy_spanner_queues.emulator.transport import Context, Metadata, Streaming, Unary

from .conftest import Run
from .peers import METHOD, OTHER, echo, grpc_client, server

MEGABYTE = 1 << 20


def test_serves_a_call_that_answers_once(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, grpc_client(serving.port) as client:
            call = client.unary_unary(METHOD)
            assert [await call(data) for data in (b"", b"a", b"b" * 1000)] == [b"", b"a", b"b" * 1000]

    in_loop(work())


def test_tells_the_handler_about_the_call(in_loop: Run) -> None:
    seen: list[Context] = []

    async def serve(request: bytes, context: Context) -> bytes:
        seen.append(context)
        remaining = context.time_remaining()
        assert remaining is not None
        assert 20 < remaining < 31
        assert context.is_active
        context.initial = Metadata.of([("first", "1"), ("first-bin", b"\x00\xff")])
        context.trailing = Metadata.of([("last", "2"), ("last-bin", b"\xff\x00")])
        return b""

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            metadata = (("key", "value"), ("key", "again"), ("key-bin", b"\x00\x01"))
            call = client.unary_unary(METHOD)(b"", timeout=30, metadata=metadata)
            await call
            first, last = dict(await call.initial_metadata()), dict(await call.trailing_metadata())
            assert first == {"first": "1", "first-bin": b"\x00\xff"}
            assert last == {"last": "2", "last-bin": b"\xff\x00"}
            assert list(seen[0].metadata) == list(metadata)
            assert seen[0].method == METHOD
            assert seen[0].peer.startswith(("ipv4:127.0.0.1:", "ipv6:[::1]:"))
            assert not seen[0].is_active

    in_loop(work())


def test_a_call_without_a_deadline_has_no_time_remaining(in_loop: Run) -> None:
    async def serve(request: bytes, context: Context) -> bytes:
        return repr(context.time_remaining()).encode()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            assert await client.unary_unary(METHOD)(b"") == b"None"

    in_loop(work())


def test_serves_a_stream(in_loop: Run) -> None:
    async def serve(request: bytes, context: Context) -> AsyncIterator[bytes]:
        for number in range(int(request)):
            yield b"%d" % number
        context.trailing = Metadata.of([("last", "2")])

    async def work() -> None:
        async with server(Other=Streaming(serve)) as serving, grpc_client(serving.port) as client:
            for count in (0, 1, 1000):
                call = client.unary_stream(OTHER)(b"%d" % count)
                assert [message async for message in call] == [b"%d" % number for number in range(count)]
                assert dict(await call.trailing_metadata()) == {"last": "2"}

    in_loop(work())


def test_serves_large_messages(in_loop: Run) -> None:
    async def serve(request: bytes, context: Context) -> AsyncIterator[bytes]:
        yield request
        yield request[::-1]

    async def work() -> None:
        data = bytes(range(256)) * (10 * MEGABYTE // 256)
        handlers = {"Method": Unary(echo), "Other": Streaming(serve)}
        async with server(**handlers) as serving, grpc_client(serving.port) as client:
            assert await client.unary_unary(METHOD)(data) == data
            assert [message async for message in client.unary_stream(OTHER)(data)] == [data, data[::-1]]

    in_loop(work())


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_reads_compressed_requests(in_loop: Run, compression: grpc.Compression) -> None:
    async def work() -> None:
        async with (
            server(Method=Unary(echo)) as serving,
            grpc_client(serving.port, compression=compression) as client,
        ):
            assert await client.unary_unary(METHOD)(b"a" * 10_000) == b"a" * 10_000

    in_loop(work())


def test_serves_many_calls_at_a_time(in_loop: Run) -> None:
    waiting = 0
    release = asyncio.Event()

    async def serve_many(request: bytes, context: Context) -> AsyncIterator[bytes]:
        nonlocal waiting
        waiting += 1
        yield b"started"
        await release.wait()
        yield request

    async def work() -> None:
        handlers = {"Method": Unary(echo), "Other": Streaming(serve_many)}
        async with server(**handlers) as serving, grpc_client(serving.port) as client:
            streams = [client.unary_stream(OTHER)(b"%d" % number) for number in range(300)]
            assert {await stream.read() for stream in streams} == {b"started"}
            assert waiting == 300
            call = client.unary_unary(METHOD)
            numbers = [b"%d" % number for number in range(50)]
            assert await asyncio.gather(*map(call, numbers)) == numbers
            release.set()
            assert [await stream.read() for stream in streams] == [b"%d" % number for number in range(300)]

    in_loop(work())


def test_a_port_that_is_taken_is_an_error(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving:
            with pytest.raises(OSError, match="in use"):
                await type(serving)(lambda method: None, "localhost", serving.port).start()

    in_loop(work())
