"""Our server with peers that do what no good client does, or what few do."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest
from hpack import Decoder, Encoder

from sqlalchemy_spanner_queues.emulator.transport import Context, Metadata, Streaming, Unary
from sqlalchemy_spanner_queues.emulator.transport.frames import frame, window_update
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    WITH_PRIORITY,
    ErrorCode,
)

from .conftest import Run
from .peers import REQUEST, RawPeer, block, message, raw_client, server


async def echo(request: bytes, context: Context) -> bytes:
    return request


async def answer_of(peer: RawPeer, stream_id: int = 1) -> bytes:
    """Read a whole answer; it must have ended with the status OK."""
    kind, _, found, _ = await peer.next(HEADERS)
    assert (kind, found) == (HEADERS, stream_id)
    body = b""
    while (arrived := await peer.next(DATA, HEADERS))[0] == DATA:
        body += arrived[3]
    assert b"grpc-status\x010" in arrived[3]
    assert arrived[1] & END_STREAM
    return body[5:]


def request(stream_id: int, data: bytes) -> bytes:
    return frame(HEADERS, END_HEADERS, stream_id, REQUEST) + frame(DATA, END_STREAM, stream_id, message(data))


async def in_step(peer: RawPeer) -> None:
    """Wait until everything that was sent before has been read and acted on."""
    peer.send(frame(PING, 0, 0, b"in step?"))
    assert (await peer.next(PING))[1:] == (ACK, 0, b"in step?")


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
    started, stopped = asyncio.Event(), asyncio.Event()

    async def serve(data: bytes, context: Context) -> bytes:
        started.set()
        try:
            return await asyncio.Future()
        finally:
            stopped.set()

    async def work() -> None:
        async with server(Method=Unary(serve)) as serving, raw_client(serving.port) as peer:
            peer.send(request(1, b""))
            await started.wait()
            peer.close()
            await stopped.wait()

    in_loop(work())
