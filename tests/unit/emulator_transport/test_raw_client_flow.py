"""Our server with clients that grant little, read nothing, or send more than they may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sqlalchemy_spanner_queues.emulator.transport import Context, Streaming, Unary
from sqlalchemy_spanner_queues.emulator.transport.frames import frame, window_update
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
)

from .conftest import Run
from .exchanges import answer_of, in_step, request
from .peers import REQUEST, echo, message, raw_client, server


@pytest.mark.parametrize("streaming", [False, True])
def test_sends_no_more_than_the_client_grants(in_loop: Run, streaming: bool) -> None:
    made = 0

    async def serve(data: bytes, context: Context) -> bytes:
        return bytes(300_000)

    async def serve_many(data: bytes, context: Context) -> AsyncIterator[bytes]:
        nonlocal made
        for _ in range(300):
            made += 1
            yield bytes(1000)

    async def work() -> None:
        handler = Streaming(serve_many) if streaming else Unary(serve)
        total = 300 * 1005 if streaming else 300_005
        async with server(Method=handler) as serving, raw_client(serving.port) as peer:
            await peer.next(SETTINGS)
            peer.send(request(1, b""))
            got = 0
            while got < DEFAULT_WINDOW:
                got += len((await peer.next(DATA))[3])
            assert got == DEFAULT_WINDOW
            await in_step(peer)
            if streaming:
                assert made == DEFAULT_WINDOW // 1005 + 1
            peer.send(window_update(1, total))
            await in_step(peer)  # the connection grants nothing yet: a DATA frame would come before
            peer.send(window_update(0, total))
            while got < total:
                got += len((await peer.next(DATA, PING))[3])
            assert got == total
            assert (await peer.next(HEADERS))[1] & END_STREAM

    in_loop(work())


def test_makes_no_more_than_fits_into_the_sockets_when_nobody_reads(in_loop: Run) -> None:
    total, made = 200, 0

    async def serve(data: bytes, context: Context) -> AsyncIterator[bytes]:
        nonlocal made
        for _ in range(total):
            made += 1
            yield bytes(1 << 20)

    async def work() -> None:
        handlers = {"Method": Streaming(serve), "Other": Unary(echo)}
        async with server(**handlers) as serving, raw_client(serving.port) as peer:
            peer.send(frame(SETTINGS, 0, 0, b"\x00\x04\x7f\xff\xff\xff") + window_update(0, 1 << 30))
            peer.send(request(1, b""))
            async with raw_client(serving.port) as other:
                before = -1
                while made > before or not made:  # until 50 other exchanges pass without another message
                    before = made
                    for _ in range(50):
                        await in_step(other)
            assert made < total / 2
            assert len((await peer.next(DATA))[3]) == 16_384

    in_loop(work())


def test_a_smaller_window_counts_for_streams_that_are_open(in_loop: Run) -> None:
    release = asyncio.Event()

    async def serve(data: bytes, context: Context) -> bytes:
        await release.wait()
        return bytes(1000)

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, raw_client(serving.port) as peer:
            peer.send(request(1, b""))
            await in_step(peer)
            peer.send(frame(SETTINGS, 0, 0, b"\x00\x04\x00\x00\x00\x0a"))
            await in_step(peer)
            release.set()
            assert len((await peer.next(DATA))[3]) == 10
            peer.send(window_update(1, 995))
            assert len((await peer.next(DATA))[3]) == 995

    in_loop(work())


def test_cancelling_while_the_answer_waits_for_room(in_loop: Run) -> None:
    closed = asyncio.Event()

    async def serve(data: bytes, context: Context) -> AsyncIterator[bytes]:
        try:
            yield bytes(300_000)
        finally:
            closed.set()

    async def work() -> None:
        async with server(Method=Streaming(serve)) as serving, raw_client(serving.port) as peer:
            peer.send(request(1, b""))
            await peer.next(DATA)
            await in_step(peer)
            peer.send(frame(RST_STREAM, 0, 1, bytes((0, 0, 0, ErrorCode.CANCEL))))
            await closed.wait()
            await in_step(peer)

    in_loop(work())


def test_lets_in_a_large_request_and_no_more_than_it_granted(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port) as peer:
            data = message(bytes(3 << 20))
            peer.send(frame(HEADERS, END_HEADERS, 1, REQUEST))
            granted, sent = 1 << 20, 0
            while sent < len(data):
                if sent + 16_384 > granted:
                    _, _, stream_id, payload = await peer.next(WINDOW_UPDATE)
                    granted += int.from_bytes(payload, "big") if stream_id == 1 else 0
                    continue
                peer.send(frame(DATA, 0, 1, data[sent : sent + 16_384]))
                sent += 16_384
            peer.send(window_update(0, 4 << 20) + window_update(1, 4 << 20) + frame(DATA, END_STREAM, 1))
            assert len(await answer_of(peer)) == 3 << 20

    in_loop(work())


def test_a_client_that_sends_more_than_it_may_is_sent_away(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port) as peer:
            peer.send(frame(HEADERS, END_HEADERS, 1, REQUEST))
            data = 3 * message(bytes(1 << 20))
            for at in range(0, len(data), 16_384):
                peer.send(frame(DATA, 0, 1, data[at : at + 16_384]))
            _, _, _, payload = await peer.next(GOAWAY)
            assert int.from_bytes(payload[4:8], "big") == ErrorCode.FLOW_CONTROL_ERROR

    in_loop(work())
