"""End the transactions of requests that were made to fail, where the failure means that they are over.

A transaction that its client has given up, or never heard of, would keep its turn until another one waits.
"""

from __future__ import annotations

from typing import Final

import grpc

from .. import _protos as pb
from ..state import State
from .calls import Call

# After these the official clients ask once more, in the same transaction.
_REPEATED: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


def lose(state: State, call: Call, raw: bytes, code: grpc.StatusCode, answer: bytes = b"") -> None:
    """End the transaction of a request that fails with a code, if the client does not go on in it.

    ``answer`` is what the client does not get to hear: the transaction that begins with it is over.
    """
    session, ours = _transaction_of(call, raw)
    if not session:
        return
    transactions = state.database(session).transactions
    begun = transactions.open(_begun_by(call, answer)) if answer else None
    if begun is not None:
        transactions.end(begun, "ended", clean=False)
    transaction = transactions.open(ours)
    if transaction is None:
        return
    if code is grpc.StatusCode.ABORTED:
        transactions.end(transaction, "aborted", clean=False)
    elif call.name in ("Commit", "Rollback") and code not in _REPEATED:
        transactions.end(transaction, "ended", clean=False)


def _transaction_of(call: Call, raw: bytes) -> tuple[str, bytes]:
    """Return the session of a request and the id of the transaction that it is in; empty without one."""
    match call.name:
        case "Commit":
            commit = pb.CommitRequest.FromString(raw)
            return commit.session, commit.transaction_id
        case "Rollback":
            rollback = pb.RollbackRequest.FromString(raw)
            return rollback.session, rollback.transaction_id
        case "BeginTransaction":
            return pb.BeginTransactionRequest.FromString(raw).session, b""
        case "ExecuteBatchDml":
            batch = pb.ExecuteBatchDmlRequest.FromString(raw)
            return batch.session, batch.transaction.id
        case "ExecuteSql" | "ExecuteStreamingSql":
            statement = pb.ExecuteSqlRequest.FromString(raw)
            return statement.session, statement.transaction.id
        case "Read" | "StreamingRead":
            read = pb.ReadRequest.FromString(raw)
            return read.session, read.transaction.id
        case _:
            return "", b""


def _begun_by(call: Call, answer: bytes) -> bytes:
    """Return the id of the transaction that begins with an answer, or with the first part of one."""
    match call.name:
        case "BeginTransaction":
            return pb.Transaction.FromString(answer).id
        case "ExecuteBatchDml":
            results = pb.ExecuteBatchDmlResponse.FromString(answer).result_sets
            return results[0].metadata.transaction.id if len(results) else b""
        case "ExecuteSql" | "Read":
            return pb.ResultSet.FromString(answer).metadata.transaction.id
        case "ExecuteStreamingSql" | "StreamingRead":
            return pb.PartialResultSet.FromString(answer).metadata.transaction.id
        case _:
            return b""
