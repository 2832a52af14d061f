"""Carry out row deletion policies when a test has moved the clock past them.

https://docs.cloud.google.com/spanner/docs/ttl
"""

from __future__ import annotations

from .. import _protos as pb
from ..log import LOGGER
from ..text.dialect import Dialect
from ..text.policies import Policy
from ..transport import RpcError
from ..upstream.api import SPANNER, UpstreamApi
from .transactions import Transactions


async def delete_expired(
    api: UpstreamApi,
    transactions: Transactions,
    session: str,
    policy: Policy,
    dialect: Dialect,
    offset: float,
) -> None:
    """Delete the rows of a table that are too old by a clock that is ``offset`` seconds ahead.

    Rows that upstream refuses to delete, such as parents of rows that stay, are left as they are, as Spanner
    leaves them.
    """
    async with transactions.exclusive():
        try:
            await _run(api, session, policy.delete(dialect, offset))
        except RpcError as error:
            LOGGER.warning("row deletion policy of %s not carried out: %s", policy.table, error.details)


async def _run(api: UpstreamApi, session: str, sql: str) -> None:
    begin = pb.BeginTransactionRequest()
    begin.session = session
    begin.options.read_write.SetInParent()
    began = pb.Transaction.FromString(await api.unary(SPANNER + "BeginTransaction", begin))
    request = pb.ExecuteSqlRequest()
    request.session, request.sql = session, sql
    request.transaction.id = began.id
    commit = pb.CommitRequest()
    commit.session, commit.transaction_id = session, began.id
    try:
        await api.unary(SPANNER + "ExecuteSql", request)
    except RpcError:
        rollback = pb.RollbackRequest()
        rollback.session, rollback.transaction_id = session, began.id
        await api.unary(SPANNER + "Rollback", rollback)
        raise
    await api.unary(SPANNER + "Commit", commit)
