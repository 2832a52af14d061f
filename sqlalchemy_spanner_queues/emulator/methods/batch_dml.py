"""Serve ExecuteBatchDml.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1
"""

from __future__ import annotations

from .. import _protos as pb
from ..database import Database
from ..errors import Refusal, code_number
from ..state import State
from . import asserting
from .calls import Call
from .enlist import Enlisted
from .prepare import Prepared, prepare


async def execute_batch_dml(state: State, call: Call, raw: bytes) -> bytes:
    """Serve ExecuteBatchDml; statements with an assertion that upstream does not know go one by one."""
    request = pb.ExecuteBatchDmlRequest.FromString(raw)
    database = state.database(request.session)
    prepared = [await prepare(state, database, statement.sql) for statement in request.statements]
    for statement, ready in zip(request.statements, prepared, strict=True):
        statement.sql = ready.sql
    async with Enlisted(database, request.session, request.transaction) as enlisted:
        if enlisted.transaction is None:
            return await call.forward(raw)
        request.session = enlisted.session
        for ready in prepared:
            enlisted.transaction.sent |= ready.sent
        if any(ready.assertion for ready in prepared):
            enlisted.transaction.extra[request.seqno] = len(prepared) - 1
            request.seqno = enlisted.sequence(request.seqno)
            response = await _one_by_one(database, call, enlisted, request, prepared)
        else:
            request.seqno = enlisted.sequence(request.seqno)
            answer = await call.forward(request.SerializeToString())
            if not enlisted.learns_id:
                return answer
            response = pb.ExecuteBatchDmlResponse.FromString(answer)
            _learn(enlisted, response)
        return response.SerializeToString()


def _learn(enlisted: Enlisted, response: pb.ExecuteBatchDmlResponse) -> None:
    for result in response.result_sets:
        if enlisted.learns_id:
            enlisted.learn(result.metadata)


async def _one_by_one(
    database: Database,
    call: Call,
    enlisted: Enlisted,
    request: pb.ExecuteBatchDmlRequest,
    prepared: list[Prepared],
) -> pb.ExecuteBatchDmlResponse:
    whole = pb.ExecuteBatchDmlResponse()
    single = pb.ExecuteBatchDmlRequest()
    single.CopyFrom(request)
    for number, (statement, ready) in enumerate(zip(request.statements, prepared, strict=True)):
        del single.statements[:]
        single.statements.append(statement)
        single.seqno = request.seqno + number
        try:
            await asserting.hold(database, enlisted, _as_query(single, statement), ready.assertion)
            if enlisted.transaction is not None and enlisted.transaction.upstream_id:
                single.transaction.id = enlisted.transaction.upstream_id
            answer = await call.forward(single.SerializeToString())
            part = pb.ExecuteBatchDmlResponse.FromString(answer)
            _learn(enlisted, part)
            for result in part.result_sets:
                if ready.assertion is not None:
                    asserting.check(ready.assertion, result.stats.row_count_exact)
        except Refusal as refusal:
            whole.status.code, whole.status.message = code_number(refusal.code), refusal.details
            break
        whole.result_sets.extend(part.result_sets)
        whole.status.CopyFrom(part.status)
        if part.status.code:
            break
    return whole


def _as_query(
    batch: pb.ExecuteBatchDmlRequest, statement: pb.ExecuteBatchDmlRequest.Statement
) -> pb.ExecuteSqlRequest:
    query = pb.ExecuteSqlRequest()
    query.transaction.CopyFrom(batch.transaction)
    query.seqno = batch.seqno
    query.params.CopyFrom(statement.params)
    for name in statement.param_types:
        query.param_types[name].CopyFrom(statement.param_types[name])
    return query
