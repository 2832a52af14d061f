"""Serve RENEWLEASE: longer leases under new tokens.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Value

from .. import _protos as pb
from ..database import Database
from ..delivery.clock import format_timestamp
from ..delivery.queue import Queue
from ..errors import invalid, not_found, refusal_of
from ..state import State
from ..text.arguments import lease_tokens
from ..text.functions import FunctionQuery
from ..text.reading import SqlError
from .projection import PLAN, Projection

Outcomes = list[list[Value]]


async def renew(
    state: State, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> pb.ResultSet:
    """Renew leases and return the rows that the query asks for."""
    if request.transaction.id or request.transaction.HasField("begin"):
        raise invalid(f"{query.name} must run in a single-use read-only transaction")
    try:
        tokens = lease_tokens(query.arguments, request.params, query.name)
    except SqlError as error:
        raise refusal_of(error) from error
    queue = await database.queue(query.queue.name)
    if queue is None:
        raise not_found(f"Queue not found: {query.queue.name}")
    shape = await queue.shape("RENEWLEASE")
    projection = Projection(database, query, request, shape, state.clock.offset)
    result = pb.ResultSet()
    result.metadata.CopyFrom(await projection.prepare())
    if request.query_mode != PLAN:
        outcomes = await _renew_all(queue, tokens, state)
        rows = await projection.rows(outcomes, with_where=True)
        result.rows.extend(ListValue(values=row) for row in rows)
    return result


async def _renew_all(queue: Queue, tokens: list[str], state: State) -> Outcomes:
    now = state.clock.now()
    held = {token: lease for token in tokens if (lease := queue.leases.running(token, now)) is not None}
    existing = await queue.existing(list(held.values())) if held else set[bytes]()
    outcomes: Outcomes = []
    for token, lease in held.items():
        if lease.message_id not in existing:
            null = Value(null_value=NULL_VALUE)
            outcomes.append([Value(string_value=token), null, null])
        elif queue.leases.renew(token, state.clock.now()) is not None:
            expires = Value(string_value=format_timestamp(lease.expires))
            outcomes.append([Value(string_value=token), Value(string_value=lease.token), expires])
    return outcomes
