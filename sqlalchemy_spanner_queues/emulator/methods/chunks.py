"""Write rows as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf.struct_pb2 import Value

from .. import _protos as pb

_CHUNK_BYTES: Final = 512 * 1024


class ChunkWriter:
    """Writes rows as chunks of a stream, with resume tokens."""

    def __init__(self) -> None:
        self._sent = 0

    def header(self, metadata: pb.ResultSetMetadata) -> bytes:
        """Write the chunk that only describes the columns; it goes out at once."""
        part = pb.PartialResultSet()
        part.metadata.CopyFrom(metadata)
        return self._finish(part)

    def rows(self, rows: list[list[Value]]) -> Iterator[bytes]:
        """Write the rows of a batch."""
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
        part.resume_token = b"spanner-queues/%d" % self._sent
        return part.SerializeToString()


def whole(result: pb.ResultSet) -> bytes:
    """Write a whole answer as one chunk."""
    part = pb.PartialResultSet()
    part.metadata.CopyFrom(result.metadata)
    for row in result.rows:
        part.values.extend(row.values)
    return part.SerializeToString()
