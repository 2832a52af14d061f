"""The gateway's gRPC server: every method of the official emulator, and what queues need on the way.

https://docs.cloud.google.com/spanner/docs/reference/rpc
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NoReturn

import grpc
import grpc.aio

from sqlalchemy_spanner_queues.exc import EmulatorError

from .. import _protos as pb
from .._grpc import Context, GenericHandler, Handler, make_server, streaming_handler, unary_handler
from ..errors import Refusal
from ..methods import batch_dml, commits, reads, schema, sessions, sql
from ..methods.calls import Call, trailing_of
from ..state import State
from ..upstream.api import CHANNEL_OPTIONS, CONTROL, DATABASE_ADMIN, SPANNER, UpstreamApi
from . import journal
from .control import serve_control
from .faulty import begin

Unary = Callable[[State, Call, bytes], Awaitable[bytes]]
Streaming = Callable[[State, Call, bytes], AsyncIterator[bytes]]


UNARY: Final[dict[str, Unary]] = {
    SPANNER + "ExecuteSql": sql.execute_sql,
    SPANNER + "ExecuteBatchDml": batch_dml.execute_batch_dml,
    SPANNER + "Read": reads.read,
    SPANNER + "BeginTransaction": commits.begin_transaction,
    SPANNER + "Commit": commits.commit,
    SPANNER + "Rollback": commits.rollback,
    SPANNER + "CreateSession": sessions.create_session,
    SPANNER + "DeleteSession": sessions.delete_session,
    DATABASE_ADMIN + "UpdateDatabaseDdl": schema.update_database_ddl,
    DATABASE_ADMIN + "CreateDatabase": schema.create_database,
    DATABASE_ADMIN + "GetDatabaseDdl": schema.get_database_ddl,
    DATABASE_ADMIN + "DropDatabase": schema.drop_database,
}
STREAMING: Final[dict[str, Streaming]] = {
    SPANNER + "ExecuteStreamingSql": sql.execute_streaming_sql,
    SPANNER + "StreamingRead": reads.streaming_read,
    SPANNER + "BatchWrite": commits.batch_write,
}
# Clients of some languages ping an idle stream often, which gRPC takes for an attack unless told otherwise.
SERVER_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
)

_RETRY_INFO: Final = "google.rpc.retryinfo-bin"
_RETRY_NANOSECONDS: Final = 10_000_000


async def pass_through(_: State, call: Call, raw: bytes) -> bytes:
    """Forward what the gateway knows nothing about."""
    return await call.forward(raw)


class Gateway(GenericHandler):
    """Serves every method there is."""

    def __init__(self, state: State) -> None:
        self._state = state

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler:
        """Return the handler of a method."""
        method = handler_call_details.method
        if method.startswith(CONTROL):
            return unary_handler(self._control(method.removeprefix(CONTROL)))
        if method in STREAMING:
            return streaming_handler(self._streaming(method, STREAMING[method]))
        return unary_handler(self._unary(method, UNARY.get(method, pass_through)))

    def _control(self, method: str) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def serve(raw: bytes, context: Context) -> bytes:
            try:
                return await serve_control(self._state, method, raw)
            except (Refusal, grpc.aio.AioRpcError) as error:
                return await _refuse(context, error)

        return serve

    def _unary(self, method: str, handle: Unary) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def serve(raw: bytes, context: Context) -> bytes:
            call = self._call(method, context)
            try:
                with journal.request(call.name, raw):
                    faulty = await begin(self._state, call, raw)
                    answer = await handle(self._state, call, raw)
                    if faulty is not None:
                        await faulty.end(answer)
            except (Refusal, grpc.aio.AioRpcError) as error:
                return await _refuse(context, error)
            return answer

        return serve

    def _streaming(self, method: str, handle: Streaming) -> Callable[[bytes, Context], AsyncIterator[bytes]]:
        async def serve(raw: bytes, context: Context) -> AsyncIterator[bytes]:
            call = self._call(method, context)
            try:
                with journal.request(call.name, raw):
                    faulty = await begin(self._state, call, raw)
                    chunks = handle(self._state, call, raw)
                    async for chunk in faulty.stream(chunks) if faulty else chunks:
                        yield chunk
            except (Refusal, grpc.aio.AioRpcError) as error:
                await _refuse(context, error)

        return serve

    def _call(self, method: str, context: Context) -> Call:
        call = Call(method, context, self._state.api)
        self._state.requests[call.name] += 1
        return call


async def _refuse(context: Context, error: Refusal | grpc.aio.AioRpcError) -> NoReturn:
    if isinstance(error, Refusal):
        await context.abort(error.code, error.details, _retry_soon(error))
    await context.abort(error.code(), error.details() or "", trailing_of(error))


def _retry_soon(refusal: Refusal) -> tuple[tuple[str, bytes], ...]:
    """Tell the client of an aborted transaction when to run it again; left alone it waits for seconds."""
    if refusal.code is not grpc.StatusCode.ABORTED:
        return ()
    soon = pb.RetryInfo()
    soon.retry_delay.nanos = _RETRY_NANOSECONDS
    return ((_RETRY_INFO, soon.SerializeToString()),)


class GatewayServer:
    """A running gateway in front of an address; ``port`` is the one that it listens on.

    Raises EmulatorError when the port is taken.
    """

    def __init__(self, upstream: str, host: str, port: int) -> None:
        self.state = State(UpstreamApi(upstream))
        self._server = make_server(Gateway(self.state), (*CHANNEL_OPTIONS, *SERVER_OPTIONS))
        try:
            self.port = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise EmulatorError(
                f"cannot listen on port {port} of {host}: choose another one, or 0 for a free one ({error})"
            ) from error

    async def start(self) -> None:
        """Start to serve."""
        await self._server.start()

    async def stop(self) -> None:
        """Stop at once: streams are cut."""
        await self._server.stop(0.2)
        await self.state.api.close()
