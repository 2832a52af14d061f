"""Our server with clients that do what few do, from cut header blocks to leaving in the middle of a call."""

from __future__ import annotations

import asyncio

import pytest
from hpack import Decoder, Encoder

from sqlalchemy_spanner_queues.emulator.transport import Context, Metadata, Unary
from sqlalchemy_spanner_queues.emulator.transport.frames import frame
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    SETTINGS,
    WITH_PRIORITY,
)

from .conftest import Run
from .exchanges import answer_of, request
from .peers import REQUEST, Hanging, block, echo, message, raw_client, server


def test_begins_with_settings_and_acknowledges(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving, raw_client(serving.port) as peer:
            assert (await peer.next())[:3] == (SETTINGS, 0, 0)
            assert (await peer.next(SETTINGS))[:3] == (SETTINGS, ACK, 0)

    in_loop(work())


def test_reads_what_comes_byte_by_byte(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port, greet=False) as peer:
            for octet in PREFACE + frame(SETTINGS, 0, 0) + request(1, b"data"):
                peer.send(bytes((octet,)))
                await asyncio.sleep(0)
            assert await answer_of(peer) == b"data"

    in_loop(work())


def test_reads_padding_priorities_and_cut_header_blocks(in_loop: Run) -> None:
    async def work() -> None:
        async with server(Method=Unary(echo)) as serving, raw_client(serving.port) as peer:
            head = b"\x03" + bytes(5) + REQUEST[:7] + bytes(3)
            peer.send(frame(PRIORITY, 0, 1, bytes(5)))
            peer.send(frame(HEADERS, PADDED | WITH_PRIORITY, 1, head))
            peer.send(frame(CONTINUATION, 0, 1, REQUEST[7:30]))
            peer.send(frame(CONTINUATION, END_HEADERS, 1, REQUEST[30:]))
            peer.send(frame(DATA, PADDED, 1, b"\x04" + message(b"data")[:6] + bytes(4)))
            peer.send(frame(0x77, 0xFF, 1, b"a frame of some extension"))
            peer.send(frame(DATA, 0, 1, message(b"data")[6:]))
            peer.send(frame(DATA, END_STREAM, 1))
            assert await answer_of(peer) == b"data"

    in_loop(work())


@pytest.mark.parametrize("huffman", [True, False])
def test_reads_header_tables_across_calls(in_loop: Run, huffman: bool) -> None:
    seen: list[Metadata] = []

    async def serve(data: bytes, context: Context) -> bytes:
        seen.append(context.metadata)
        return data

    async def work() -> None:
        encoder = Encoder()
        async with server(Method=Unary(serve)) as serving, raw_client(serving.port) as peer:
            for number in range(100):
                fields = [
                    (b":path", b"/test.Service/Method"),
                    (b"same", b"value"),
                    (b"id", b"%d" % number * 9),
                ]
                head = encoder.encode(fields, huffman=huffman)
                stream_id = 2 * number + 1
                peer.send(frame(HEADERS, END_HEADERS, stream_id, head))
                peer.send(frame(DATA, END_STREAM, stream_id, message(b"")))
                await answer_of(peer, stream_id)
                assert list(seen[-1]) == [("same", "value"), ("id", str(number) * 9)]

    in_loop(work())


def test_every_decoder_reads_its_header_blocks(in_loop: Run) -> None:
    async def serve(data: bytes, context: Context) -> bytes:
        context.initial = Metadata.of([("long", "x" * 50_000)])
        return data

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, raw_client(serving.port) as peer:
            peer.send(frame(SETTINGS, 0, 0, b"\x00\x01\x00\x00\x00\x00"))  # no table
            peer.send(request(1, b"data"))
            _, flags, _, head = await peer.next(HEADERS)
            while not flags & END_HEADERS:
                _, flags, _, rest = await peer.next()
                head += rest
            decoder = Decoder(max_header_list_size=1 << 20)
            decoder.max_allowed_table_size = 0
            fields = decoder.decode(head, raw=True)
            assert (b":status", b"200") in fields
            assert (b"long", b"x" * 50_000) in fields

    in_loop(work())


def test_answers_any_number_of_pings(in_loop: Run) -> None:
    async def work() -> None:
        async with server() as serving, raw_client(serving.port) as peer:
            for number in range(500):
                peer.send(frame(PING, 0, 0, number.to_bytes(8, "big")))
            for number in range(500):
                assert (await peer.next(PING))[1:] == (ACK, 0, number.to_bytes(8, "big"))

    in_loop(work())


@pytest.mark.parametrize("timeout", [b"50m", b"99999999H"])
def test_a_deadline_needs_no_client(in_loop: Run, timeout: bytes) -> None:
    stopped = asyncio.Event()

    async def serve(data: bytes, context: Context) -> bytes:
        if timeout.endswith(b"H"):
            return data
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, raw_client(serving.port) as peer:
            peer.send(frame(HEADERS, END_HEADERS, 1, REQUEST + block((b"grpc-timeout", timeout))))
            peer.send(frame(DATA, END_STREAM, 1, message(b"data")))
            if timeout.endswith(b"H"):
                assert await answer_of(peer) == b"data"
                return
            assert block((b"grpc-status", b"4")) in (await peer.next(HEADERS))[3]
            await stopped.wait()

    in_loop(work())


def test_a_connection_that_drops_stops_the_handlers(in_loop: Run) -> None:
    handler = Hanging()

    async def work() -> None:
        async with server(Method=Unary(handler.serve)) as serving, raw_client(serving.port) as peer:
            peer.send(request(1, b""))
            await handler.started.wait()
            peer.close()
            await handler.stopped.wait()

    in_loop(work())
