"""Serve the ends and explicit beginnings of transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc

from .. import _protos as pb
from ..database import Database
from ..errors import code_number, in_use
from ..state import State
from ..transport import RpcError
from ..upstream.api import SPANNER
from ..writing.mutations import names_queue_operation, translate_mutations
from ..writing.transactions import ID_PREFIX, WriteTransaction
from .calls import Call
from .enlist import begun


async def begin_transaction(state: State, call: Call, raw: bytes) -> bytes:
    """Serve BeginTransaction: those that write get a session and an id of the gateway."""
    request = pb.BeginTransactionRequest.FromString(raw)
    partitioned = request.options.HasField("partitioned_dml")
    if not partitioned and not request.options.HasField("read_write"):
        return await call.forward(raw)
    database = state.database(request.session)
    transactions = database.transactions
    if not partitioned:
        transaction = await begun(database, request.session, request.options)
    elif await database.sessions.exists(request.session):
        transaction = await transactions.start(request.session, partitioned=True)
    else:
        transaction = None
    if transaction is None:
        return await call.forward(raw)
    request.session = transaction.session
    try:
        answer = pb.Transaction.FromString(await call.forward(request.SerializeToString()))
    except BaseException:
        transactions.end(transaction, "ended", clean=False)
        raise
    transaction.upstream_id = answer.id
    transactions.touch(transaction)
    answer.id = transaction.id
    return answer.SerializeToString()


async def rollback(state: State, call: Call, raw: bytes) -> bytes:
    """Serve Rollback."""
    request = pb.RollbackRequest.FromString(raw)
    if not request.transaction_id.startswith(ID_PREFIX):
        return await call.forward(raw)
    transactions = state.database(request.session).transactions
    outcome = transactions.outcome(request.transaction_id)
    if isinstance(outcome, bytes):
        raise in_use("Cannot rollback a transaction after it has been committed.")
    if outcome is not None:
        return b""
    transaction = transactions.find(request.transaction_id, request.session)
    if transaction is None:
        return await call.forward(raw)
    request.session, request.transaction_id = transaction.session, transaction.upstream_id
    return await _finish(state.database(request.session), transaction, call, request.SerializeToString())


async def commit(state: State, call: Call, raw: bytes) -> bytes:
    """Serve Commit: queue mutations are translated, and receivers of what was sent are woken."""
    request = pb.CommitRequest.FromString(raw)
    database = state.database(request.session)
    outcome = database.transactions.outcome(request.transaction_id)
    if isinstance(outcome, bytes):
        # A client that did not hear the answer asks again, and gets the same one.
        return outcome
    if outcome == "rolled back":
        raise in_use("Cannot commit a transaction after it has been rolled back.")
    sent = await _translate(state, database, request.mutations)
    transaction = await _committed(database, request)
    if transaction is None:
        return await call.forward(raw)
    if request.transaction_id:
        request.transaction_id = transaction.upstream_id
    transaction.sent |= sent
    request.session = transaction.session
    return await _finish(database, transaction, call, request.SerializeToString(), committing=True)


async def _committed(database: Database, request: pb.CommitRequest) -> WriteTransaction | None:
    """Return the transaction that a request commits; None when it is nothing that the gateway knows."""
    if request.transaction_id.startswith(ID_PREFIX):
        return database.transactions.find(request.transaction_id, request.session)
    single = request.HasField("single_use_transaction")
    if single and await database.sessions.exists(request.session):
        return await database.transactions.start(request.session)
    return None


async def _translate(state: State, database: Database, mutations: pb.MutationList) -> set[str]:
    queues = names_queue_operation(mutations)
    if not len(mutations) or (queues and await state.queues_are_native()):
        return set()
    translated, sent = translate_mutations(mutations, await database.definitions(), state.clock.now())
    if queues:
        del mutations[:]
        mutations.extend(translated)
    return sent


async def _finish(
    database: Database, transaction: WriteTransaction, call: Call, request: bytes, *, committing: bool = False
) -> bytes:
    """Send the last request of a transaction; it runs to its end even when the client is gone."""
    if transaction.ending is None:
        transaction.running += 1
        last = _last_request(database, transaction, call, request, committing=committing)
        transaction.ending = asyncio.create_task(last)
    return await asyncio.shield(transaction.ending)


async def _last_request(
    database: Database, transaction: WriteTransaction, call: Call, request: bytes, *, committing: bool
) -> bytes:
    transactions = database.transactions
    try:
        answer = await call.forward(request, to_the_end=True)
    except RpcError as error:
        lost = error.code is grpc.StatusCode.ABORTED
        transactions.end(transaction, "aborted" if lost else error, clean=False)
        raise
    except BaseException:
        transactions.end(transaction, "ended", clean=False)
        raise
    transactions.end(transaction, answer if committing else "rolled back", clean=True)
    if committing:
        database.sent(transaction.sent)
    return answer


async def batch_write(state: State, call: Call, raw: bytes) -> AsyncIterator[bytes]:
    """Serve BatchWrite, which the official emulator does not: each group is a transaction of its own."""
    request = pb.BatchWriteRequest.FromString(raw)
    for index, group in enumerate(request.mutation_groups):
        single = pb.CommitRequest()
        single.session = request.session
        single.single_use_transaction.read_write.SetInParent()
        single.mutations.extend(group.mutations)
        response = pb.BatchWriteResponse()
        response.indexes.append(index)
        try:
            answer = await commit(state, call.to(SPANNER + "Commit"), single.SerializeToString())
        except RpcError as error:
            response.status.code, response.status.message = code_number(error.code), error.details
        else:
            response.commit_timestamp.CopyFrom(pb.CommitResponse.FromString(answer).commit_timestamp)
        yield response.SerializeToString()
