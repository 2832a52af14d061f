"""Bind values of the gateway's own into a request, beside those of the client."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.struct_pb2 import Value

from .. import _protos as pb
from ..text.dialect import Dialect


class Binder:
    """Gives each value a placeholder that the client does not use; ``types`` go by the column's name.

    ::

        bind = Binder(request, dialect, types)
        request.sql = f"SELECT {bind(value, 'Id')}"
    """

    def __init__(self, request: pb.ExecuteSqlRequest, dialect: Dialect, types: Mapping[str, pb.Type]) -> None:
        self._request = request
        self._dialect = dialect
        self._types = types
        self._next = dialect.free_placeholder(request.params.fields)

    def __call__(self, value: Value, column: str) -> str:
        """Bind a value and return what to write in its place."""
        text, name = self._dialect.placeholder(self._next)
        self._next += 1
        self._request.params.fields[name].CopyFrom(value)
        self._request.param_types[name].CopyFrom(self._types[column])
        return text


def column_types(metadata: pb.ResultSetMetadata) -> dict[str, pb.Type]:
    """Return the types of a result's columns by name."""
    return {field.name: field.type_ for field in metadata.row_type.fields}
