"""Our channel with servers that set limits: to streams, to bytes, by refusals and by goodbyes."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from sqlalchemy_spanner_queues.emulator.transport import RpcError
from sqlalchemy_spanner_queues.emulator.transport.frames import frame, window_update
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    ACK,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
)

from .conftest import Run
from .exchanges import answer, end, head, number
from .peers import METHOD, RawPeer, channel, message, raw_server

WINDOW = 1 << 20


async def in_step(peer: RawPeer, *, leaving_out: int = 0) -> list[int]:
    """Wait until everything that was sent before has been read; return what streams were granted by then."""
    peer.send(frame(PING, 0, 0, b"in step?"))
    granted: list[int] = []
    while (arrived := await peer.next(PING, WINDOW_UPDATE))[0] != PING:
        if arrived[2]:
            granted.append(int.from_bytes(arrived[3], "big"))
    assert arrived[1] == ACK
    return granted


def test_a_goodbye_lets_old_calls_end_and_new_ones_go_elsewhere(in_loop: Run) -> None:
    connections: list[RawPeer] = []
    said, closed = asyncio.Event(), asyncio.Event()

    async def serve(peer: RawPeer) -> None:
        connections.append(peer)
        await peer.next(DATA)
        if len(connections) == 1:
            peer.send(frame(GOAWAY, 0, 0, number(1) + number(0)))
            await in_step(peer)
            said.set()
        else:
            peer.send(answer(1, b"second"))
            await in_step(peer)
            connections[0].send(answer(1, b"first"))
            await connections[0].closed()
            closed.set()

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            first = asyncio.create_task(client.unary(METHOD, b""))
            await said.wait()
            assert (await client.unary(METHOD, b"")).message == b"second"
            assert (await first).message == b"first"
            await closed.wait()

    in_loop(work())


def test_keeps_to_the_servers_limit_of_streams(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        peer.send(frame(SETTINGS, 0, 0, bytes((0, 3, 0, 0, 0, 3))))
        await peer.next(DATA)
        await in_step(peer)
        peer.send(answer(1, b"the limit is known"))
        for first in range(3, 20, 6):
            for stream_id in range(first, first + 6, 2):
                assert (await peer.next(DATA, RST_STREAM))[::2] == (DATA, stream_id)
            await in_step(peer)  # nothing else comes
            for stream_id in range(first, first + 6, 2):
                peer.send(answer(stream_id, b"done"))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            await client.unary(METHOD, b"")
            answers = await asyncio.gather(*(client.unary(METHOD, b"", timeout=30) for _ in range(9)))
            assert [found.message for found in answers] == 9 * [b"done"]

    in_loop(work())


REFUSALS = {
    "refused": frame(RST_STREAM, 0, 1, number(ErrorCode.REFUSED_STREAM)),
    "goodbye": frame(GOAWAY, 0, 0, bytes(8)),
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_call_that_the_server_did_not_look_at_is_made_again(
    in_loop: Run, refusal: str, streaming: bool
) -> None:
    refused = False

    async def serve(peer: RawPeer) -> None:
        nonlocal refused
        _, _, stream_id, _ = await peer.next(DATA)
        if not refused:
            refused = True
            peer.send(REFUSALS[refusal])
            _, _, stream_id, _ = await peer.next(DATA)
        peer.send(answer(stream_id, b"done"))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            if streaming:
                call = client.stream(METHOD, b"", timeout=30)
                assert [found async for found in call] == [b"done"]
            else:
                assert (await client.unary(METHOD, b"", timeout=30)).message == b"done"
            assert refused

    in_loop(work())


@pytest.mark.parametrize("streaming", [False, True])
def test_a_call_that_is_refused_again_and_again_fails(in_loop: Run, streaming: bool) -> None:
    async def serve(peer: RawPeer) -> None:
        while True:
            _, _, stream_id, _ = await peer.next(DATA)
            peer.send(frame(RST_STREAM, 0, stream_id, number(ErrorCode.REFUSED_STREAM)))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            call = anext(client.stream(METHOD, b"")) if streaming else client.unary(METHOD, b"")
            with pytest.raises(RpcError, match="again and again") as caught:
                await call
            assert caught.value.code is grpc.StatusCode.UNAVAILABLE

    in_loop(work())


def test_answers_pings(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        for _ in range(100):
            await in_step(peer)
        peer.send(answer(1, b"done"))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            assert (await client.unary(METHOD, b"")).message == b"done"

    in_loop(work())


def test_sends_no_more_of_a_request_than_the_server_grants(in_loop: Run) -> None:
    async def serve(peer: RawPeer) -> None:
        await peer.next(HEADERS)
        got = 0
        while got < 65_535:
            got += len((await peer.next(DATA))[3])
        await in_step(peer)
        assert got == 65_535
        peer.send(window_update(0, 1 << 20) + window_update(1, 1 << 20))
        while got < 200_005:
            got += len((await peer.next(DATA))[3])
        peer.send(answer(1, b"all"))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            assert (await client.unary(METHOD, bytes(200_000))).message == b"all"

    in_loop(work())


def test_a_reader_that_is_slow_slows_the_server(in_loop: Run) -> None:
    read_all = asyncio.Event()
    full = asyncio.Event()
    size = 1 << 16

    async def serve(peer: RawPeer) -> None:
        await peer.next(DATA)
        peer.send(head(1) + frame(DATA, 0, 1, message(b"first")))
        granted, sent = WINDOW - 10, 0
        while True:
            while granted - sent >= size + 5:
                data = message(bytes(size))
                for at in range(0, len(data), 16_384):
                    peer.send(frame(DATA, 0, 1, data[at : at + 16_384]))
                sent += len(data)
            more = await in_step(peer)
            if not more:
                break
            granted += sum(more)
        assert WINDOW <= sent <= 3 * WINDOW
        full.set()
        while not more:
            more = await in_step(peer)
        peer.send(end(1))

    async def work() -> None:
        async with raw_server(serve) as port, channel(port) as client:
            call = client.stream(METHOD, b"")
            assert await anext(call) == b"first"
            await full.wait()
            count = len([message async for message in call])
            assert WINDOW // size <= count <= 3 * WINDOW // size
            read_all.set()

    in_loop(work())
