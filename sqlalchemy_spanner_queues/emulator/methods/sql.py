"""Serve ExecuteSql and ExecuteStreamingSql: queries and DML.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from .. import _protos as pb
from ..database import Database
from ..errors import invalid
from ..state import State
from ..text.assertions import Assertion
from ..text.functions import FunctionQuery
from . import asserting
from .calls import Call
from .chunks import whole
from .enlist import Enlisted
from .prepare import Prepared, prepare, queue_function, replace_sql
from .receive import receive
from .renew import renew


async def execute_sql(state: State, call: Call, raw: bytes) -> bytes:
    """Serve ExecuteSql."""
    request = pb.ExecuteSqlRequest.FromString(raw)
    database = state.database(request.session)
    query = await queue_function(database, request.sql)
    if query is not None:
        return await _execute_function(state, database, request, query)
    prepared = await prepare(state, database, request.sql)
    changed = replace_sql(request, prepared)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(request.SerializeToString() if changed else raw)
        enlisted.transaction.sent |= prepared.sent
        request.seqno = enlisted.sequence(request.seqno)
        await asserting.hold(database, enlisted, request, prepared.assertion)
        request.session = enlisted.session
        answer = await call.forward(request.SerializeToString())
        return _finish(enlisted, prepared, answer)


def _finish(enlisted: Enlisted, prepared: Prepared, answer: bytes) -> bytes:
    if not enlisted.learns_id and prepared.assertion is None:
        return answer
    result = pb.ResultSet.FromString(answer)
    if prepared.assertion is not None and result.stats.HasField("row_count_exact"):
        asserting.check(prepared.assertion, result.stats.row_count_exact)
    if enlisted.learns_id:
        enlisted.learn(result.metadata)
    return result.SerializeToString()


async def _execute_function(
    state: State, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> bytes:
    if query.function == "RECEIVE":
        raise invalid(f"{query.name} must be executed as a streaming query: use ExecuteStreamingSql")
    result = await renew(state, database, request, query)
    return result.SerializeToString()


async def execute_streaming_sql(state: State, call: Call, raw: bytes) -> AsyncIterator[bytes]:
    """Serve ExecuteStreamingSql, where RECEIVE lives."""
    request = pb.ExecuteSqlRequest.FromString(raw)
    database = state.database(request.session)
    query = await queue_function(database, request.sql)
    if query is None:
        chunks = _stream(state, call, database, request, raw)
    elif query.function == "RECEIVE":
        chunks = receive(state, call, database, request, query)
    else:
        yield whole(await renew(state, database, request, query))
        return
    async for chunk in chunks:
        yield chunk


async def _stream(
    state: State, call: Call, database: Database, request: pb.ExecuteSqlRequest, raw: bytes
) -> AsyncIterator[bytes]:
    prepared = await prepare(state, database, request.sql)
    changed = replace_sql(request, prepared)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is not None:
            enlisted.transaction.sent |= prepared.sent
            request.seqno = enlisted.sequence(request.seqno)
            await asserting.hold(database, enlisted, request, prepared.assertion)
            request.session = enlisted.session
        if enlisted.transaction is not None or changed:
            raw = request.SerializeToString()
        async for chunk in call.forward_stream(raw):
            if prepared.assertion is not None:
                _check_chunk(prepared.assertion, chunk)
            yield learn_from_chunk(enlisted, chunk)


def _check_chunk(assertion: Assertion, chunk: bytes) -> None:
    part = pb.PartialResultSet.FromString(chunk)
    if part.HasField("stats") and part.stats.HasField("row_count_exact"):
        asserting.check(assertion, part.stats.row_count_exact)


def learn_from_chunk(enlisted: Enlisted, chunk: bytes) -> bytes:
    """Take the id of a transaction that begins from the chunk of an answer."""
    if not enlisted.learns_id:
        return chunk
    part = pb.PartialResultSet.FromString(chunk)
    enlisted.learn(part.metadata)
    return part.SerializeToString()
