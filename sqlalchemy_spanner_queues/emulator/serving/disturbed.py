"""Disturb a stream of rows as a fault asks: break it, withhold its resume tokens, cut its values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from google.protobuf.struct_pb2 import Value

from .. import _protos as pb
from ..errors import Refusal
from ..faults import Fault
from .pieces import pieces


class Broken(Refusal):
    """A stream that ends where its fault wants it to."""


async def disturbed(chunks: AsyncIterator[bytes], fault: Fault) -> AsyncIterator[bytes]:
    """Yield the chunks of a stream of PartialResultSet, disturbed.

    Raises Broken with the fault's code when its number of rows is reached.
    """
    if not fault.disturbs:
        async for chunk in chunks:
            yield chunk
        return
    cutter = None if fault.drop_after_rows is None else RowCutter(fault.drop_after_rows)
    async for chunk in chunks:
        part = pb.PartialResultSet.FromString(chunk)
        over = cutter is not None and cutter.cut(part)
        if not fault.resume_tokens:
            part.ClearField("resume_token")
        for piece in split(part, fault.split_values):
            yield piece.SerializeToString()
        if over:
            raise Broken(fault.status(), f"injected fault after {fault.drop_after_rows} rows")


class RowCutter:
    """Cuts a stream after a number of rows; a row is as many values as the metadata has fields."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._width = 0
        self._whole = 0

    def cut(self, part: pb.PartialResultSet) -> bool:
        """Cut a chunk at the end of the last row, and tell whether the rows are over."""
        if part.HasField("metadata"):
            self._width = len(part.metadata.row_type.fields)
        if self._rows and not self._width:
            return False
        room = self._rows * self._width - self._whole
        # The last value counts when it is whole; what goes on in this chunk was not counted before.
        whole = len(part.values) - part.chunked_value
        if whole < room:
            self._whole += whole
            return False
        _shorten(part, room)
        return True


def _shorten(part: pb.PartialResultSet, values: int) -> None:
    if len(part.values) > values:
        # A client that goes on from here must not miss what was cut off.
        for field in ("resume_token", "chunked_value"):
            part.ClearField(field)
        del part.values[values:]
    for field in ("stats", "last"):
        part.ClearField(field)


def split(part: pb.PartialResultSet, size: int | None) -> Iterator[pb.PartialResultSet]:
    """Cut the values of a chunk into chunks of their own; ``size`` None cuts nothing."""
    if size is not None:
        values = list(part.values)
        del part.values[:]
        for value in values:
            *firsts, last = pieces(value, size)
            for piece in firsts:
                yield _take_out(part, piece)
            part.values.append(last)
    yield part


def _take_out(part: pb.PartialResultSet, piece: Value) -> pb.PartialResultSet:
    """Move what a chunk holds so far into one that ends within a value; token and statistics stay."""
    early = pb.PartialResultSet()
    if part.HasField("metadata"):
        early.metadata.CopyFrom(part.metadata)
        part.ClearField("metadata")
    early.values.extend([*part.values, piece])
    early.chunked_value = True
    del part.values[:]
    return early
