"""Serve the requests that read and write: queries, DML, reads.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from .. import _protos as pb
from ..database import Database
from ..errors import invalid
from ..state import State
from ..text.definition import QueueDefinition
from ..text.reading import SqlError
from ..text.statements import Dml, FunctionQuery, at_moved_clock, find_dml, find_function
from ..writing.mutations import check_send
from .calls import Call
from .enlist import Enlisted
from .receive import receive
from .renew import renew


async def execute_sql(state: State, call: Call, raw: bytes) -> bytes:
    """Serve ExecuteSql."""
    request = pb.ExecuteSqlRequest.FromString(raw)
    database = state.database(request.session)
    query = await _function(database, request.sql)
    if query is not None:
        return await _execute_function(state, database, request, query)
    sent = await _prepare(state, database, request)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(raw)
        enlisted.transaction.sent |= sent
        request.session = enlisted.session
        answer = await call.forward(request.SerializeToString())
        return _learn_from_result_set(enlisted, answer)


async def execute_streaming_sql(state: State, call: Call, raw: bytes) -> AsyncIterator[bytes]:
    """Serve ExecuteStreamingSql, where RECEIVE lives."""
    request = pb.ExecuteSqlRequest.FromString(raw)
    database = state.database(request.session)
    query = await _function(database, request.sql)
    if query is not None and query.function == "RECEIVE":
        chunks = receive(state, call, database, request, query)
    elif query is not None:
        chunks = _once(await renew(state, database, request, query))
    else:
        sent = await _prepare(state, database, request)
        chunks = _stream_in_transaction(call, database, request, raw, sent)
    async for chunk in chunks:
        yield chunk


async def _once(result: pb.ResultSet) -> AsyncIterator[bytes]:
    part = pb.PartialResultSet()
    part.metadata.CopyFrom(result.metadata)
    for row in result.rows:
        part.values.extend(row.values)
    yield part.SerializeToString()


async def _stream_in_transaction(
    call: Call, database: Database, request: pb.ExecuteSqlRequest, raw: bytes, sent: set[str]
) -> AsyncIterator[bytes]:
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is not None:
            enlisted.transaction.sent |= sent
            request.session = enlisted.session
            raw = request.SerializeToString()
        async for chunk in call.forward_stream(raw):
            yield _learn_from_chunk(enlisted, chunk)


async def _execute_function(
    state: State, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> bytes:
    if query.function == "RECEIVE":
        raise invalid(
            f"RECEIVE_{query.queue.name} must be executed as a streaming query: use ExecuteStreamingSql"
        )
    result = await renew(state, database, request, query)
    return result.SerializeToString()


async def execute_batch_dml(state: State, call: Call, raw: bytes) -> bytes:
    """Serve ExecuteBatchDml."""
    request = pb.ExecuteBatchDmlRequest.FromString(raw)
    database = state.database(request.session)
    sent: set[str] = set()
    for statement in request.statements:
        statement.sql, queues = await _prepare_dml(state, database, statement.sql)
        sent |= queues
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(raw)
        enlisted.transaction.sent |= sent
        request.session = enlisted.session
        answer = await call.forward(request.SerializeToString())
        if not enlisted.learns_id:
            return answer
        response = pb.ExecuteBatchDmlResponse.FromString(answer)
        for result in response.result_sets:
            enlisted.learn(result.metadata)
        return response.SerializeToString()


async def read(state: State, call: Call, raw: bytes) -> bytes:
    """Serve Read."""
    request = pb.ReadRequest.FromString(raw)
    database = state.database(request.session)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(raw)
        request.session = enlisted.session
        return _learn_from_result_set(enlisted, await call.forward(request.SerializeToString()))


async def streaming_read(state: State, call: Call, raw: bytes) -> AsyncIterator[bytes]:
    """Serve StreamingRead."""
    request = pb.ReadRequest.FromString(raw)
    database = state.database(request.session)
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is not None:
            request.session = enlisted.session
            raw = request.SerializeToString()
        async for chunk in call.forward_stream(raw):
            yield _learn_from_chunk(enlisted, chunk)


def _learn_from_result_set(enlisted: Enlisted, answer: bytes) -> bytes:
    if not enlisted.learns_id:
        return answer
    result = pb.ResultSet.FromString(answer)
    enlisted.learn(result.metadata)
    return result.SerializeToString()


def _learn_from_chunk(enlisted: Enlisted, chunk: bytes) -> bytes:
    if not enlisted.learns_id:
        return chunk
    part = pb.PartialResultSet.FromString(chunk)
    enlisted.learn(part.metadata)
    return part.SerializeToString()


async def _function(database: Database, sql: str) -> FunctionQuery | None:
    lowered = sql.lower()
    if "receive_" not in lowered and "renewlease_" not in lowered:
        return None
    try:
        return find_function(sql, await database.definitions())
    except SqlError as error:
        raise invalid(str(error)) from error


async def _prepare(state: State, database: Database, request: pb.ExecuteSqlRequest) -> set[str]:
    request.sql, sent = await _prepare_dml(state, database, request.sql)
    return sent


async def _prepare_dml(state: State, database: Database, sql: str) -> tuple[str, set[str]]:
    """Check a statement against the queue that it changes; return its text and the queue it sends to."""
    lowered = sql.lower()
    if "insert" not in lowered and "update" not in lowered:
        return sql, set()
    dml = find_dml(sql)
    queue = await _changed_queue(database, dml)
    if dml is None or queue is None or dml.verb == "DELETE":
        return sql, set()
    if dml.verb != "INSERT":
        raise invalid(f"{dml.verb} is not supported on queue {queue.name}")
    check_send(queue)
    return at_moved_clock(sql, state.clock.offset), {queue.name.lower()}


async def _changed_queue(database: Database, dml: Dml | None) -> QueueDefinition | None:
    if dml is None:
        return None
    definitions: Mapping[str, QueueDefinition] = await database.definitions()
    return definitions.get(dml.table.lower())
