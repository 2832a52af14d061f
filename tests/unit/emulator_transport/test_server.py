"""Our server with gRPC's own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from sqlalchemy_spanner_queues.emulator.transport import Context, Metadata, RpcError, Streaming, Unary

from .conftest import Run
from .peers import METHOD, OTHER, grpc_client, server

MEGABYTE = 1 << 20


async def echo(request: bytes, context: Context) -> bytes:
    return request


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


@pytest.mark.parametrize("method", [METHOD, OTHER])
def test_ends_a_call_with_a_status(in_loop: Run, method: str) -> None:
    trailing = Metadata.of([("grpc-status-details-bin", b"\x08\x05\xff"), ("why", "so")])

    async def serve(request: bytes, context: Context) -> bytes:
        context.abort(grpc.StatusCode.NOT_FOUND, "no täble: 100 %\n", trailing)

    async def serve_many(request: bytes, context: Context) -> AsyncIterator[bytes]:
        context.initial = Metadata.of([("first", "1")])
        raise RpcError(grpc.StatusCode.NOT_FOUND, "no täble: 100 %\n", trailing)
        yield b""

    async def work() -> None:
        handlers = {"Method": Unary(serve), "Other": Streaming(serve_many)}
        async with server(**handlers) as serving, grpc_client(serving.port) as client:
            call = client.unary_unary(method)(b"")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
            assert caught.value.details() == "no täble: 100 %\n"
            assert dict(caught.value.trailing_metadata()) == dict(trailing)
            first = {} if method == METHOD else {"first": "1"}
            assert dict(await call.initial_metadata()) == first

    in_loop(work())


def test_ends_a_stream_with_a_status_after_messages(in_loop: Run) -> None:
    async def serve(request: bytes, context: Context) -> AsyncIterator[bytes]:
        yield b"one"
        context.abort(grpc.StatusCode.ABORTED, "again")

    async def work() -> None:
        async with server(Other=Streaming(serve)) as serving, grpc_client(serving.port) as client:
            call = client.unary_stream(OTHER)(b"")
            assert await call.read() == b"one"
            with pytest.raises(grpc.aio.AioRpcError, match="again"):
                await call.read()

    in_loop(work())


def test_an_unknown_method_is_unimplemented(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving, grpc_client(serving.port) as client:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.unary_unary(METHOD)(b"")
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    in_loop(work())


def test_a_handler_that_fails_is_logged_and_told(in_loop: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def serve(request: bytes, context: Context) -> bytes:
        raise ZeroDivisionError("by nothing")

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            with pytest.raises(grpc.aio.AioRpcError, match="by nothing") as caught:
                await client.unary_unary(METHOD)(b"")
            assert caught.value.code() is grpc.StatusCode.UNKNOWN

    in_loop(work())
    assert "ZeroDivisionError" in caplog.text


def test_a_client_that_cancels_stops_the_handler(in_loop: Run) -> None:
    started, stopped, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def serve(request: bytes, context: Context) -> bytes:
        started.set()
        try:
            return await asyncio.Future()
        finally:
            assert not context.is_active
            stopped.set()

    async def serve_many(request: bytes, context: Context) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"one"
                await asyncio.Future()
        finally:
            closed.set()

    async def work() -> None:
        handlers = {"Method": Unary(serve), "Other": Streaming(serve_many)}
        async with server(**handlers) as serving, grpc_client(serving.port) as client:
            call = client.unary_unary(METHOD)(b"")
            await started.wait()
            call.cancel()
            await stopped.wait()
            stream = client.unary_stream(OTHER)(b"")
            await stream.read()
            stream.cancel()
            await closed.wait()

    in_loop(work())


def test_a_client_that_is_gone_stops_the_handler(in_loop: Run) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def serve(request: bytes, context: Context) -> bytes:
        started.set()
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving:
            async with grpc_client(serving.port) as client:
                call = client.unary_unary(METHOD)(b"")
                await started.wait()
            await stopped.wait()
            del call

    in_loop(work())


def test_a_deadline_stops_the_handler(in_loop: Run) -> None:
    stopped = asyncio.Event()

    async def serve(request: bytes, context: Context) -> bytes:
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.unary_unary(METHOD)(b"", timeout=0.1)
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await stopped.wait()

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


def test_stopping_lets_calls_end(in_loop: Run) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def serve(request: bytes, context: Context) -> bytes:
        started.set()
        await release.wait()
        return b"done"

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            call = asyncio.ensure_future(client.unary_unary(METHOD)(b""))
            await started.wait()
            stopping = asyncio.create_task(serving.stop(grace=30))
            release.set()
            assert await call == b"done"
            await stopping

    in_loop(work())


def test_stopping_cancels_what_does_not_end(in_loop: Run) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def serve(request: bytes, context: Context) -> bytes:
        started.set()
        try:
            return await asyncio.Future()
        finally:
            await asyncio.sleep(0)
            stopped.set()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, grpc_client(serving.port) as client:
            call = client.unary_unary(METHOD)(b"")
            await started.wait()
            await serving.stop(grace=0.01)
            assert stopped.is_set()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    in_loop(work())


def test_a_port_that_is_taken_is_an_error(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving:
            with pytest.raises(OSError, match="in use"):
                await type(serving)(lambda method: None, "localhost", serving.port).start()

    in_loop(work())
