"""What the ``match`` of a fault looks at: a request's SQL text, or the tables and queues that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from . import _protos as pb


def text_of(method: str, raw: bytes) -> str:
    """Return the SQL or the names in a request, one on each line; empty when it has none."""
    read = _READERS.get(method)
    return "\n".join(read(raw)) if read else ""


def _statement(raw: bytes) -> Iterable[str]:
    return (pb.ExecuteSqlRequest.FromString(raw).sql,)


def _batch(raw: bytes) -> Iterable[str]:
    return (statement.sql for statement in pb.ExecuteBatchDmlRequest.FromString(raw).statements)


def _partition_query(raw: bytes) -> Iterable[str]:
    return (pb.PartitionQueryRequest.FromString(raw).sql,)


def _read(raw: bytes) -> Iterable[str]:
    return (pb.ReadRequest.FromString(raw).table,)


def _partition_read(raw: bytes) -> Iterable[str]:
    return (pb.PartitionReadRequest.FromString(raw).table,)


def _commit(raw: bytes) -> Iterable[str]:
    return map(_target, pb.CommitRequest.FromString(raw).mutations)


def _batch_write(raw: bytes) -> Iterator[str]:
    for group in pb.BatchWriteRequest.FromString(raw).mutation_groups:
        yield from map(_target, group.mutations)


def _target(mutation: pb.Mutation) -> str:
    writes = (mutation.insert, mutation.update, mutation.insert_or_update, mutation.replace)
    tables = (*(write.table for write in writes), mutation.delete.table)
    return next(filter(None, (*tables, mutation.send.queue, mutation.ack.queue)), "")


def _update_ddl(raw: bytes) -> Iterable[str]:
    return pb.UpdateDatabaseDdlRequest.FromString(raw).statements


def _create_database(raw: bytes) -> Iterable[str]:
    request = pb.CreateDatabaseRequest.FromString(raw)
    return (request.create_statement, *request.extra_statements)


_READERS: Final[dict[str, Callable[[bytes], Iterable[str]]]] = {
    "ExecuteSql": _statement,
    "ExecuteStreamingSql": _statement,
    "ExecuteBatchDml": _batch,
    "PartitionQuery": _partition_query,
    "Read": _read,
    "StreamingRead": _read,
    "PartitionRead": _partition_read,
    "Commit": _commit,
    "BatchWrite": _batch_write,
    "UpdateDatabaseDdl": _update_ddl,
    "CreateDatabase": _create_database,
}

MATCHED: Final = tuple(sorted(_READERS))
"""The methods whose requests have anything to look at."""
