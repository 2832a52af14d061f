"""The other ends: gRPC's own client and server, and peers that send any bytes one likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from sqlalchemy_spanner_queues.emulator.transport import Channel, Context, Handler, Server, Streaming, Unary
from sqlalchemy_spanner_queues.emulator.transport.frames import Frame, FrameReader, frame
from sqlalchemy_spanner_queues.emulator.transport.metadata import literal
from sqlalchemy_spanner_queues.emulator.transport.protocol import PREFACE, SETTINGS

UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
METHOD = "/test.Service/Method"
OTHER = "/test.Service/Other"

Serve = Callable[[bytes, Any], Awaitable[bytes]]
ServeMany = Callable[[bytes, Any], AsyncIterator[bytes]]


async def echo(request: bytes, context: Context) -> bytes:
    return request


class Hanging:
    """A handler that runs until it is cancelled, and tells when it does and did."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()

    async def serve(self, request: bytes, context: Any) -> bytes:
        self.started.set()
        try:
            return await asyncio.Future()
        finally:
            # Whoever cancels it has to wait for what it does then.
            await asyncio.sleep(0)
            self.stopped.set()


@asynccontextmanager
async def server(**handlers: Handler) -> AsyncIterator[Server]:
    """Our server; ``Method`` and ``Other`` are the names of its methods."""
    serving = Server(lambda method: handlers.get(method.rpartition("/")[2]), "localhost")
    await serving.start()
    try:
        yield serving
    finally:
        await serving.stop()


@asynccontextmanager
async def channel(port: int) -> AsyncIterator[Channel]:
    """Our client."""
    opened = Channel(f"localhost:{port}")
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def grpc_client(port: int, **options: Any) -> AsyncIterator[Any]:
    """The client of gRPC."""
    async with grpc.aio.insecure_channel(f"localhost:{port}", options=UNLIMITED, **options) as opened:
        yield opened


class GrpcService(grpc.GenericRpcHandler):
    """Any methods for the server of gRPC."""

    def __init__(self, unary: Serve | None, streaming: ServeMany | None) -> None:
        self._unary = unary
        self._streaming = streaming

    def service(self, details: Any) -> Any:
        if details.method == OTHER:
            return self._streaming and grpc.unary_stream_rpc_method_handler(self._streaming)
        return self._unary and grpc.unary_unary_rpc_method_handler(self._unary)


@asynccontextmanager
async def grpc_server(
    unary: Serve | None = None, streaming: ServeMany | None = None, port: int = 0, **options: int
) -> AsyncIterator[int]:
    """The server of gRPC: ``unary`` is at METHOD, ``streaming`` at OTHER; gives its port."""
    channel_options = (*UNLIMITED, *((f"grpc.{name}", value) for name, value in options.items()))
    serving = grpc.aio.server(handlers=(GrpcService(unary, streaming),), options=channel_options)
    port = serving.add_insecure_port(f"localhost:{port}")
    await serving.start()
    try:
        yield port
    finally:
        await serving.stop(0)


@asynccontextmanager
async def gateway(upstream: int) -> AsyncIterator[int]:
    """Our server in front of our client: passes METHOD and OTHER on; gives its port."""
    async with channel(upstream) as opened:

        async def forward(request: bytes, context: Context) -> bytes:
            answer = await opened.unary(
                context.method, request, timeout=context.time_remaining(), metadata=context.metadata
            )
            context.initial, context.trailing = answer.initial, answer.trailing
            return answer.message

        async def forward_stream(request: bytes, context: Context) -> AsyncIterator[bytes]:
            call = opened.stream(
                context.method, request, timeout=context.time_remaining(), metadata=context.metadata
            )
            try:
                async for message in call:
                    context.initial = call.initial
                    yield message
                context.trailing = call.trailing
            finally:
                call.cancel()

        async with server(Method=Unary(forward), Other=Streaming(forward_stream)) as serving:
            yield serving.port


class RawPeer:
    """A peer that reads frames and writes whatever it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, preface: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader(preface=preface)
        self._arrived: list[Frame] = []

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def next(self, *kinds: int) -> Frame:
        """Return the next frame of these kinds, leaving out the others."""
        while True:
            while not self._arrived:
                data = await self._reader.read(1 << 16)
                if not data:
                    raise EOFError("the connection was closed")
                self._arrived += self._frames.feed(data)
            found = self._arrived.pop(0)
            if not kinds or found[0] in kinds:
                return found

    async def closed(self) -> None:
        """Wait until the other end closes."""
        try:
            while await self._reader.read(1 << 16):
                pass
        except ConnectionResetError:
            pass

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def raw_client(port: int, *, greet: bool = True) -> AsyncIterator[RawPeer]:
    """A peer that connects."""
    reader, writer = await asyncio.open_connection("localhost", port)
    peer = RawPeer(reader, writer, preface=False)
    if greet:
        peer.send(PREFACE + frame(SETTINGS, 0, 0))
    try:
        yield peer
    finally:
        peer.close()


@asynccontextmanager
async def raw_server(serve: Callable[[RawPeer], Awaitable[None]]) -> AsyncIterator[int]:
    """A peer that is connected to; gives its port."""
    tasks: list[asyncio.Task[None]] = []

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = RawPeer(reader, writer, preface=True)
        peer.send(frame(SETTINGS, 0, 0))
        await serve(peer)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve_one(reader, writer)))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def block(*fields: tuple[bytes, bytes]) -> bytes:
    return b"".join(literal(name, value) for name, value in fields)


REQUEST = block(
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", METHOD.encode()),
    (b":authority", b"localhost"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
)
RESPONSE = block((b":status", b"200"), (b"content-type", b"application/grpc"))
STATUS_OK = block((b"grpc-status", b"0"))


def message(data: bytes) -> bytes:
    return b"\x00" + len(data).to_bytes(4, "big") + data
