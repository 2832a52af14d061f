"""Turn a filter over a queue's columns into one over another FROM that has them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FromClause
from sqlalchemy.sql import visitors

from ..definition import QueueDefinition


def onto(
    where: ColumnElement[bool] | None, queue: QueueDefinition, target: FromClause
) -> ColumnElement[bool] | None:
    """Return the filter with each column of the queue replaced by the target's column of that name."""
    if where is None:
        return None
    named = {column.name: column for column in target.c}
    columns: dict[Any, Any] = {
        column: named[column.name] for column in (*queue.keys, queue.payload, queue.deliver_time)
    }

    def replace(element: Any, **_kw: Any) -> Any:
        return columns.get(element) if isinstance(element, ColumnElement) else None

    replaced: ColumnElement[bool] = visitors.replacement_traverse(where, {}, replace)
    return replaced
