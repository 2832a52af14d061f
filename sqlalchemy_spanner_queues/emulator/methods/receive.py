"""Serve RECEIVE: a stream of leased messages that stays open until its time is over.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from google.protobuf.struct_pb2 import Value

from .. import _protos as pb
from ..database import Database
from ..delivery.clock import format_timestamp
from ..delivery.feed import Filter
from ..delivery.leases import Lease
from ..delivery.queue import Queue
from ..errors import invalid, not_found, refusal_of
from ..state import State
from ..text.arguments import receive_arguments
from ..text.functions import FunctionQuery
from ..text.reading import SqlError
from .calls import Call
from .chunks import ChunkWriter
from .projection import PLAN, Projection, parameters_of

FIRST_PAUSE_SECONDS: Final = 0.1


async def receive(
    state: State, call: Call, database: Database, request: pb.ExecuteSqlRequest, query: FunctionQuery
) -> AsyncIterator[bytes]:
    """Stream the messages of a queue as they become due; ends after max_duration."""
    check_strong_single_use(request.transaction, query.name)
    try:
        arguments = receive_arguments(query.arguments, request.params, query.name)
    except SqlError as error:
        raise refusal_of(error) from error
    queue = await database.queue(query.queue.name)
    if queue is None:
        raise not_found(f"Queue not found: {query.queue.name}")
    until = state.clock.now() + arguments.max_duration
    projection = Projection(database, query, request, await queue.shape(), state.clock.offset)
    writer = ChunkWriter()
    yield writer.header(await projection.prepare())
    if request.query_mode == PLAN:
        return
    feed = queue.join(Filter(query.alias, query.renamed, query.where, parameters_of(request)))
    pause = FIRST_PAUSE_SECONDS
    try:
        while batch := await queue.take(feed, arguments.max_batch_size, until, call.peer):
            rows = await projection.rows(await _rows(queue, batch), with_where=False)
            for chunk in writer.rows(rows):
                yield chunk
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


async def _rows(queue: Queue, batch: list[Lease]) -> list[list[Value]]:
    """Read the messages of a batch; those that are gone are left out and forgotten."""
    found = await queue.read(batch)
    kept = [lease for lease in batch if lease.message_id in found]
    for lease in batch:
        if lease.message_id not in found:
            queue.leases.forget(lease.message_id)
    return [[*found[lease.message_id], *_lease_values(lease, lease is kept[-1])] for lease in kept]


def _lease_values(lease: Lease, last: bool) -> tuple[Value, Value, Value]:
    return (
        Value(string_value=format_timestamp(lease.expires)),
        Value(string_value=lease.token),
        Value(bool_value=last),
    )
