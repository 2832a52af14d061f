"""Our server with gRPC's own client: how calls end, by a status, a client, a deadline, or a stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from sqlalchemy_spanner_queues.emulator.transport import Context, Metadata, RpcError, Streaming, Unary

from .conftest import Run
from .peers import METHOD, OTHER, Hanging, grpc_client, server


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
    handler = Hanging()

    async def work() -> None:
        async with server(Method=Unary(handler.serve)) as serving:
            async with grpc_client(serving.port) as client:
                call = client.unary_unary(METHOD)(b"")
                await handler.started.wait()
            await handler.stopped.wait()
            del call

    in_loop(work())


def test_a_deadline_stops_the_handler(in_loop: Run) -> None:
    handler = Hanging()

    async def work() -> None:
        async with server(Method=Unary(handler.serve)) as serving, grpc_client(serving.port) as client:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await client.unary_unary(METHOD)(b"", timeout=0.1)
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await handler.stopped.wait()

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
    handler = Hanging()

    async def work() -> None:
        async with server(Method=Unary(handler.serve)) as serving, grpc_client(serving.port) as client:
            call = client.unary_unary(METHOD)(b"")
            await handler.started.wait()
            await serving.stop(grace=0.01)
            assert handler.stopped.is_set()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    in_loop(work())
