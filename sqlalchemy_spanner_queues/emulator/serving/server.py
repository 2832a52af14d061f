"""The gateway's gRPC server: every method of the official emulator, and what queues need on the way.

https://docs.cloud.google.com/spanner/docs/reference/rpc
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final

import grpc
from google.protobuf.message import DecodeError

from sqlalchemy_spanner_queues.exc import EmulatorError

from .. import transport
from .._grpc import CONTROL
from ..methods import batch_dml, commits, reads, schema, sessions, sql
from ..methods.calls import Call
from ..state import State
from ..transport import Context, Handler, RpcError
from ..upstream.api import DATABASE_ADMIN, SPANNER, UpstreamApi
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
    SPANNER + "BatchCreateSessions": sessions.batch_create_sessions,
    SPANNER + "ListSessions": sessions.list_sessions,
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


async def pass_through(_: State, call: Call, raw: bytes) -> bytes:
    """Forward what the gateway knows nothing about."""
    return await call.forward(raw)


class Gateway:
    """Serves every method there is."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._handlers: dict[str, Handler] = {}

    def find(self, method: str) -> Handler:
        """Return the handler of a method."""
        handler = self._handlers.get(method)
        if handler is None:
            handler = self._handlers[method] = self._make(method)
        return handler

    def _make(self, method: str) -> Handler:
        if method.startswith(CONTROL):
            return transport.Unary(self._control(method.removeprefix(CONTROL)))
        if method in STREAMING:
            return transport.Streaming(self._streaming(method, STREAMING[method]))
        return transport.Unary(self._unary(method, UNARY.get(method, pass_through)))

    def _control(self, method: str) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def serve(raw: bytes, _: Context) -> bytes:
            return await serve_control(self._state, method, raw)

        return serve

    def _unary(self, method: str, handle: Unary) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def serve(raw: bytes, context: Context) -> bytes:
            call = self._call(method, context)
            with journal.request(call.name, raw), _readable():
                faulty = await begin(self._state, call, raw)
                answer = await handle(self._state, call, raw)
                if faulty is not None:
                    await faulty.end(answer)
            return answer

        return serve

    def _streaming(self, method: str, handle: Streaming) -> Callable[[bytes, Context], AsyncIterator[bytes]]:
        async def serve(raw: bytes, context: Context) -> AsyncIterator[bytes]:
            call = self._call(method, context)
            with journal.request(call.name, raw), _readable():
                faulty = await begin(self._state, call, raw)
                chunks = handle(self._state, call, raw)
                async for chunk in faulty.stream(chunks) if faulty else chunks:
                    yield chunk

        return serve

    def _call(self, method: str, context: Context) -> Call:
        call = Call(method, context, self._state.api)
        self._state.requests[call.name] += 1
        return call


@contextmanager
def _readable() -> Generator[None]:
    """Answer a request that is no message of its method as gRPC's own servers do."""
    try:
        yield
    except DecodeError as error:
        raise RpcError(grpc.StatusCode.INTERNAL) from error


class GatewayServer:
    """A gateway in front of an address; ``port`` is the one that it listens on once it has started."""

    def __init__(self, upstream: str, host: str, port: int) -> None:
        self.state = State(UpstreamApi(upstream))
        self._server = transport.Server(Gateway(self.state).find, host.strip("[]"), port)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.port

    async def start(self) -> None:
        """Start to serve.

        Raises EmulatorError when the port is taken.
        """
        try:
            await self._server.start()
        except OSError as error:
            raise EmulatorError(
                f"cannot listen on port {self.port} of {self._server.host}:"
                f" choose another one, or 0 for a free one ({error})"
            ) from error

    async def stop(self) -> None:
        """Stop at once: streams are cut."""
        await self._server.stop(0.2)
        await self.state.api.close()
