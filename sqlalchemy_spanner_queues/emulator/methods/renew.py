"""Serve RENEWLEASE: longer leases under new tokens.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from typing import Final

from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Value

from .. import _protos as pb
from ..database import Database
from ..delivery.clock import format_timestamp
from ..delivery.queue import Queue
from ..errors import invalid, not_found
from ..state import State
from ..text import queries
from ..text.arguments import lease_tokens
from ..text.definition import LEASE_EXPIRATION
from ..text.reading import SqlError
from ..text.statements import FunctionQuery, plain_columns
from ..upstream.api import SPANNER
from .receive import RENEWAL_FIELDS, bind_structs, copy_parameters

OLD_TOKEN: Final = "SpannerOldLeaseToken"
NEW_TOKEN: Final = "SpannerNewLeaseToken"
RENEWAL_COLUMNS: Final = (OLD_TOKEN, NEW_TOKEN, LEASE_EXPIRATION)
_TYPES: Final = {OLD_TOKEN: 6, NEW_TOKEN: 6, LEASE_EXPIRATION: 4}
_PLAN: Final = 1

Outcomes = list[list[Value]]


async def renew(
    state: State, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> pb.ResultSet:
    """Renew leases and return the rows that the query asks for."""
    name = f"RENEWLEASE_{query.queue.name}"
    if request.transaction.id or request.transaction.HasField("begin"):
        raise invalid(f"{name} must run in a single-use read-only transaction")
    try:
        tokens = lease_tokens(query.arguments, request.params, name)
    except SqlError as error:
        raise invalid(str(error)) from error
    queue = await database.queue(query.queue.name)
    if queue is None:
        raise not_found(f"Queue not found: {query.queue.name}")
    planned = request.query_mode == _PLAN
    outcomes = [] if planned else await _renew_all(queue, tokens, state)
    columns = None if query.where else plain_columns(query, RENEWAL_COLUMNS)
    if columns is None:
        return await _compute(database, request, query, outcomes)
    result = pb.ResultSet()
    for column in columns:
        field = result.metadata.row_type.fields.add()
        field.name = column.name
        field.type_.code = _TYPES[column.source]
    places = [RENEWAL_COLUMNS.index(column.source) for column in columns]
    result.rows.extend(ListValue(values=[row[place] for place in places]) for row in outcomes)
    return result


async def _renew_all(queue: Queue, tokens: list[str], state: State) -> Outcomes:
    now = state.clock.now()
    held = {token: lease for token in tokens if (lease := queue.leases.running(token, now)) is not None}
    existing = await queue.existing(list(held.values())) if held else set[str]()
    outcomes: Outcomes = []
    for token, lease in held.items():
        if lease.message_id not in existing:
            null = Value(null_value=NULL_VALUE)
            outcomes.append([Value(string_value=token), null, null])
        elif queue.leases.renew(token, state.clock.now()) is not None:
            expires = Value(string_value=format_timestamp(lease.expires))
            outcomes.append([Value(string_value=token), Value(string_value=lease.token), expires])
    return outcomes


async def _compute(
    database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery, outcomes: Outcomes
) -> pb.ResultSet:
    own = pb.ExecuteSqlRequest()
    copy_parameters(request, own)
    own.session = await database.reading_session()
    own.sql = query.over(queries.renewed_rows(), with_where=True)
    own.query_mode = request.query_mode
    bind_structs(own, outcomes, RENEWAL_FIELDS)
    rows = await database.api.stream(SPANNER + "ExecuteStreamingSql", own)
    result = pb.ResultSet()
    result.metadata.CopyFrom(rows.metadata)
    result.rows.extend(ListValue(values=row) for row in rows.rows)
    return result
