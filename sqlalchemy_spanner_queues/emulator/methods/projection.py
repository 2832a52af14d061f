"""Turn rows of a table function into the rows that a query over it asks for.

A query that only names columns is answered here. Every other one is computed upstream, over the rows at hand
in the place of the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf.struct_pb2 import Value

from .. import _protos as pb
from ..database import Database
from ..delivery.binding import Binder, column_types
from ..text import queries
from ..text.functions import FunctionQuery, plain_columns
from ..text.statements import at_moved_clock
from ..upstream.api import SPANNER, Rows

PLAN: Final = 1
# Spanner allows no more than 950 parameters in a statement; some are the client's.
_PARAMETERS_AT_MOST: Final = 700
# Each row is one SELECT of a UNION, and the PostgreSQL dialect nests no more than 60.
_ROWS_AT_MOST: Final = 50

Row = Sequence[Value]


class Projection:
    """Makes the answer of one query over rows with the columns of ``shape``; ``offset`` moves its clock."""

    def __init__(
        self,
        database: Database,
        query: FunctionQuery,
        request: pb.ExecuteSqlRequest,
        shape: pb.ResultSetMetadata,
        offset: float,
    ) -> None:
        self._database = database
        self._query = query
        self._request = request
        self._shape = shape
        self._offset = offset
        self._names = tuple(field.name for field in shape.row_type.fields)
        self._columns = plain_columns(query, self._names)
        self._places = [self._names.index(column.source) for column in self._columns or ()]

    async def prepare(self) -> pb.ResultSetMetadata:
        """Have upstream check the query, and return the types of its columns."""
        if self._columns is None or self._query.where:
            planned = await self._compute([], plan=True)
            if self._columns is None:
                return planned.metadata
        metadata = pb.ResultSetMetadata()
        types = column_types(self._shape)
        for column in self._columns:
            field = metadata.row_type.fields.add()
            field.name = column.name
            field.type_.CopyFrom(types[column.source])
        return metadata

    async def rows(self, rows: Sequence[Row], *, with_where: bool) -> list[list[Value]]:
        """Return what the query makes of rows; ``with_where`` lets it leave some out.

        The last row stays the last: it may say that it is.
        """
        if self._columns is not None and not (with_where and self._query.where):
            return [[row[place] for place in self._places] for row in rows]
        found: list[list[Value]] = []
        for part in self._parts(rows):
            found.extend((await self._compute(part, with_where=with_where)).rows)
        return found

    def _parts(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        size = min(_ROWS_AT_MOST, max(1, _PARAMETERS_AT_MOST // len(self._names)))
        before_last = rows[:-1]
        for start in range(0, len(before_last), size):
            yield before_last[start : start + size]
        if rows:
            yield rows[-1:]

    async def _compute(self, rows: Sequence[Row], *, plan: bool = False, with_where: bool = True) -> Rows:
        dialect, queue = self._query.dialect, self._query.queue
        request = pb.ExecuteSqlRequest()
        copy_parameters(self._request, request)
        request.session = await self._database.reading_session()
        if rows:
            bind = Binder(request, dialect, column_types(self._shape))
            given = queries.given_rows(self._names, rows, dialect, bind)
        else:
            given = queries.no_rows(queue, dialect, received=self._query.function == "RECEIVE")
        sql = self._query.over(given, with_where=with_where)
        request.sql = at_moved_clock(sql, self._offset, dialect)
        request.query_mode = PLAN if plan else 0
        return await self._database.api.stream(SPANNER + "ExecuteStreamingSql", request)


def copy_parameters(source: pb.ExecuteSqlRequest, target: pb.ExecuteSqlRequest) -> None:
    """Copy values and types of the user's parameters."""
    target.params.CopyFrom(source.params)
    for name in source.param_types:
        target.param_types[name].CopyFrom(source.param_types[name])


def parameters_of(request: pb.ExecuteSqlRequest) -> bytes:
    """Return a request with nothing but the parameters, as bytes that compare equal when they are."""
    only = pb.ExecuteSqlRequest()
    copy_parameters(request, only)
    return only.SerializeToString(deterministic=True)
