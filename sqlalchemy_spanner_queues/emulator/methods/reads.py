"""Serve Read and StreamingRead, which only have to be carried into their transaction.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from .. import _protos as pb
from ..state import State
from .calls import Call
from .enlist import Enlisted
from .sql import learn_from_chunk


async def read(state: State, call: Call, raw: bytes) -> bytes:
    """Serve Read."""
    request = pb.ReadRequest.FromString(raw)
    database = state.database(request.session)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(raw)
        request.session = enlisted.session
        answer = await call.forward(request.SerializeToString())
        if not enlisted.learns_id:
            return answer
        result = pb.ResultSet.FromString(answer)
        enlisted.learn(result.metadata)
        return result.SerializeToString()


async def streaming_read(state: State, call: Call, raw: bytes) -> AsyncIterator[bytes]:
    """Serve StreamingRead."""
    request = pb.ReadRequest.FromString(raw)
    database = state.database(request.session)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is not None:
            request.session = enlisted.session
            raw = request.SerializeToString()
        async for chunk in call.forward_stream(raw):
            yield learn_from_chunk(enlisted, chunk)
