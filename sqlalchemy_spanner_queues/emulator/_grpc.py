"""gRPC's calls with bytes in and bytes out, typed: the stubs of gRPC know no such thing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc
import grpc.aio

UnaryMethod: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]"
StreamingMethod: TypeAlias = "grpc.aio.UnaryStreamMultiCallable[bytes, bytes]"
BlockingMethod: TypeAlias = "grpc.UnaryUnaryMultiCallable[bytes, bytes]"
Handler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

if TYPE_CHECKING:
    GenericHandler = grpc.GenericRpcHandler[bytes, bytes]
else:
    GenericHandler = grpc.GenericRpcHandler

_grpc: Any = grpc


def unary_method(channel: Any, method: str) -> UnaryMethod:
    """Make the callable of a method that answers once."""
    call: UnaryMethod = channel.unary_unary(method, None, None)
    return call


def streaming_method(channel: Any, method: str) -> StreamingMethod:
    """Make the callable of a method that answers with a stream."""
    call: StreamingMethod = channel.unary_stream(method, None, None)
    return call


def blocking_method(channel: Any, method: str) -> BlockingMethod:
    """Make the callable of a method that answers once, for a thread that waits."""
    call: BlockingMethod = channel.unary_unary(method, None, None)
    return call


def unary_handler(serve: Callable[[bytes, Context], Awaitable[bytes]]) -> Handler:
    """Make the handler of a method that answers once."""
    handler: Handler = _grpc.unary_unary_rpc_method_handler(serve)
    return handler


def streaming_handler(serve: Callable[[bytes, Context], AsyncIterator[bytes]]) -> Handler:
    """Make the handler of a method that answers with a stream."""
    handler: Handler = _grpc.unary_stream_rpc_method_handler(serve)
    return handler


def make_server(handler: GenericHandler, options: tuple[tuple[str, int], ...]) -> grpc.aio.Server:
    """Make a server that has one handler for everything."""
    server: grpc.aio.Server = _grpc.aio.server(handlers=(handler,), options=options)
    return server
