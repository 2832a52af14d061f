"""Serve RECEIVE: a stream of leased messages that stays open until its time is over.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from google.protobuf.struct_pb2 import ListValue, Struct, Value

from .. import _protos as pb
from ..database import Database
from ..delivery.clock import Clock, format_timestamp
from ..delivery.feed import Filter
from ..delivery.leases import Lease
from ..delivery.queue import Queue
from ..errors import Refusal, invalid, not_found
from ..state import State
from ..text import queries
from ..text.arguments import receive_arguments
from ..text.definition import LAST_IN_BATCH, LEASE_EXPIRATION, LEASE_TOKEN, QueueDefinition
from ..text.reading import SqlError
from ..text.statements import FunctionQuery, OutputColumn, at_moved_clock, plain_columns
from ..upstream.api import SPANNER, Rows
from .calls import Call

LEASE_COLUMNS: Final = (LEASE_EXPIRATION, LEASE_TOKEN, LAST_IN_BATCH)
FIRST_PAUSE_SECONDS: Final = 0.1
_CHUNK_BYTES: Final = 512 * 1024
_BOOL, _STRING, _TIMESTAMP, _ARRAY, _STRUCT = 1, 6, 4, 8, 9
_LEASE_TYPES: Final = {LEASE_EXPIRATION: _TIMESTAMP, LEASE_TOKEN: _STRING, LAST_IN_BATCH: _BOOL}
_PLAN: Final = 1


async def receive(
    state: State, call: Call, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> AsyncIterator[bytes]:
    """Stream the messages of a queue as they become due; ends after max_duration."""
    name = f"RECEIVE_{query.queue.name}"
    check_strong_single_use(request.transaction, name)
    try:
        arguments = receive_arguments(query.arguments, request.params, name)
    except SqlError as error:
        raise invalid(str(error)) from error
    queue = await database.queue(query.queue.name)
    if queue is None:
        raise not_found(f"Queue not found: {query.queue.name}")
    until = state.clock.now() + arguments.max_duration
    projection = Projection(database, queue, query, request, state.clock)
    fault = call.fault
    writer = ChunkWriter(state, fault.drop_after_rows if fault else None)
    yield writer.header(await projection.prepare())
    if request.query_mode == _PLAN:
        return
    feed = queue.join(Filter(query.alias, query.where, parameters_of(request)))
    pause = FIRST_PAUSE_SECONDS
    try:
        while batch := await queue.take(feed, arguments.max_batch_size, until, call.peer):
            for chunk in writer.rows(await projection.rows(batch)):
                yield chunk
            if fault is not None and writer.dropped:
                raise Refusal(fault.status(), f"injected fault after {fault.drop_after_rows} rows")
            # A client that works on one batch at a time closes the stream after its first; what was leased to
            # it in the meantime would wait for the end of the lease.
            await asyncio.sleep(pause)
            pause = 0.0
    finally:
        queue.leave(feed)


def check_strong_single_use(selector: pb.TransactionSelector, name: str) -> None:
    """Refuse everything but a strong, single-use read.

    Raises Refusal (INVALID_ARGUMENT) for read-write, multi-use and stale reads.
    """
    if selector.id or selector.HasField("begin"):
        raise invalid(
            f"{name} must run in a single-use read-only transaction, not in a multi-use or read-write one"
        )
    if not selector.HasField("single_use"):
        return
    if not selector.single_use.HasField("read_only"):
        raise invalid(f"{name} must run in a single-use read-only transaction")
    bound = selector.single_use.read_only.WhichOneof("timestamp_bound")
    if bound not in (None, "strong"):
        raise invalid(f"{name} must be a strong read: stale reads ({bound}) are not supported")


def parameters_of(request: pb.ExecuteSqlRequest) -> bytes:
    """Return a request with nothing but the parameters, as bytes that compare equal when they are."""
    only = pb.ExecuteSqlRequest()
    copy_parameters(request, only)
    return only.SerializeToString(deterministic=True)


def copy_parameters(source: pb.ExecuteSqlRequest, target: pb.ExecuteSqlRequest) -> None:
    """Copy values and types of the user's parameters."""
    target.params.CopyFrom(source.params)
    for name in source.param_types:
        target.param_types[name].CopyFrom(source.param_types[name])


class Projection:
    """Turns a batch of leases into the rows that the query asks for."""

    def __init__(
        self,
        database: Database,
        queue: Queue,
        query: FunctionQuery,
        request: pb.ExecuteSqlRequest,
        clock: Clock,
    ) -> None:
        self._database = database
        self._queue = queue
        self._query = query
        self._request = request
        self._clock = clock
        self._columns = plain_columns(query, (*queue.definition.columns, *LEASE_COLUMNS))

    async def prepare(self) -> pb.ResultSetMetadata:
        """Have upstream check the query, and return the types of its columns."""
        if self._columns is None or self._query.where:
            planned = await self._compute([], plan=True)
            if self._columns is None:
                return planned.metadata
        session = await self._database.reading_session()
        shape = await self._database.api.query(session, queries.shape(self._queue.definition))
        return plain_metadata(self._columns, shape.metadata, self._queue.definition)

    async def rows(self, batch: list[Lease]) -> list[list[Value]]:
        """Read the messages; those that are gone are left out and forgotten."""
        if self._columns is None:
            existing = await self._queue.existing(batch)
            kept = self._keep(batch, existing)
            return (await self._compute(kept, plan=False)).rows if kept else []
        found = {row[-1].string_value: row for row in (await self._queue.read(batch)).rows}
        kept = self._keep(batch, set(found))
        names = (*self._queue.definition.columns, *LEASE_COLUMNS)
        places = [names.index(column.source) for column in self._columns]
        return [_pick(found[lease.message_id], lease, places, lease is kept[-1]) for lease in kept]

    def _keep(self, batch: list[Lease], existing: set[str]) -> list[Lease]:
        for lease in batch:
            if lease.message_id not in existing:
                self._queue.leases.forget(lease.message_id)
        return [lease for lease in batch if lease.message_id in existing]

    async def _compute(self, batch: list[Lease], *, plan: bool) -> Rows:
        request = pb.ExecuteSqlRequest()
        copy_parameters(self._request, request)
        request.session = await self._database.reading_session()
        sql = self._query.over(queries.leased_rows(self._queue.definition), with_where=plan)
        request.sql = at_moved_clock(sql, self._clock.offset)
        request.query_mode = _PLAN if plan else 0
        bind_structs(request, [lease_struct(lease, lease is batch[-1]) for lease in batch], LEASE_FIELDS)
        return await self._database.api.stream(SPANNER + "ExecuteStreamingSql", request)


def _pick(row: list[Value], lease: Lease, places: list[int], last: bool) -> list[Value]:
    values = [
        *row[:-1],
        Value(string_value=format_timestamp(lease.expires)),
        Value(string_value=lease.token),
        Value(bool_value=last),
    ]
    return [values[place] for place in places]


def plain_metadata(
    columns: Sequence[OutputColumn], shape: pb.ResultSetMetadata, queue: QueueDefinition
) -> pb.ResultSetMetadata:
    """Describe columns that are returned as they are."""
    metadata = pb.ResultSetMetadata()
    types = {name: field.type_ for name, field in zip(queue.columns, shape.row_type.fields, strict=True)}
    for column in columns:
        field = metadata.row_type.fields.add()
        field.name = column.name
        if column.source in types:
            field.type_.CopyFrom(types[column.source])
        else:
            field.type_.code = _LEASE_TYPES[column.source]
    return metadata


StructFields = tuple[tuple[str, int], ...]
LEASE_FIELDS: Final[StructFields] = (
    ("id", _STRING),
    ("token", _STRING),
    ("expires", _TIMESTAMP),
    ("last", _BOOL),
)
RENEWAL_FIELDS: Final[StructFields] = (("old", _STRING), ("new", _STRING), ("expires", _TIMESTAMP))


def lease_struct(lease: Lease, last: bool) -> list[Value]:
    """Write a lease as the values of a STRUCT parameter."""
    return [
        Value(string_value=lease.message_id),
        Value(string_value=lease.token),
        Value(string_value=format_timestamp(lease.expires)),
        Value(bool_value=last),
    ]


def bind_structs(request: pb.ExecuteSqlRequest, rows: list[list[Value]], fields: StructFields) -> None:
    """Bind an array of structs to the gateway's own parameter."""
    type_ = request.param_types[queries.LEASES_PARAMETER]
    type_.code = _ARRAY
    type_.array_element_type.code = _STRUCT
    for name, code in fields:
        field = type_.array_element_type.struct_type.fields.add()
        field.name = name
        field.type_.code = code
    structs = [Value(list_value=ListValue(values=row)) for row in rows]
    bound = Struct(fields={queries.LEASES_PARAMETER: Value(list_value=ListValue(values=structs))})
    request.params.MergeFrom(bound)


class ChunkWriter:
    """Writes rows as chunks of a stream, with resume tokens unless a test withholds them."""

    def __init__(self, state: State, drop_after_rows: int | None) -> None:
        self._state = state
        self._left = drop_after_rows
        self._sent = 0

    @property
    def dropped(self) -> bool:
        """Whether a test wants the stream to break here."""
        return self._left == 0

    def header(self, metadata: pb.ResultSetMetadata) -> bytes:
        """Write the chunk that only describes the columns; it goes out at once."""
        part = pb.PartialResultSet()
        part.metadata.CopyFrom(metadata)
        return self._finish(part)

    def rows(self, rows: list[list[Value]]) -> Iterator[bytes]:
        """Write the rows of a batch, cut where a test wants the stream to break."""
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        part, size = pb.PartialResultSet(), 0
        for row in rows:
            part.values.extend(row)
            self._sent += 1
            size += sum(value.ByteSize() for value in row)
            if size >= _CHUNK_BYTES:
                yield self._finish(part)
                part, size = pb.PartialResultSet(), 0
        if len(part.values):
            yield self._finish(part)

    def _finish(self, part: pb.PartialResultSet) -> bytes:
        if self._state.resume_tokens:
            part.resume_token = b"spanner-queues/%d" % self._sent
        return part.SerializeToString()
