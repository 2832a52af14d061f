"""The tables, indexes and triggers that stand for a queue in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Column
from sqlalchemy.sql.compiler import DDLCompiler

from ..definition import DELIVER_TIME, QueueDefinition
from . import _text

NOW_MICROS: Final = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
# When a message can be delivered, in microseconds since the epoch.
READY: Final = f'max("{DELIVER_TIME}", spanner_available_at)'
LEASE_COLUMNS: Final = (
    "spanner_available_at INTEGER NOT NULL DEFAULT 0",
    "spanner_lease_token TEXT",
    "spanner_lease_until INTEGER",
    "spanner_first_delivery INTEGER",
    "spanner_deliveries INTEGER NOT NULL DEFAULT 0",
)

Quoter = Callable[[str], str]


def table_text(queue: QueueDefinition, compiler: DDLCompiler, if_not_exists: bool) -> str:
    quoted = compiler.preparer.quote_identifier
    columns = [_key_text(column, compiler) for column in queue.keys]
    columns.append(f"{quoted('payload')} {_text.type_text(compiler, queue.payload)} NOT NULL")
    columns.append(f"{quoted(DELIVER_TIME)} INTEGER NOT NULL DEFAULT ({NOW_MICROS})")
    columns += LEASE_COLUMNS
    if not _has_generated_key(queue):
        columns.append(f"PRIMARY KEY ({_text.names(quoted, queue.keys)})")
    head = f"CREATE TABLE {'IF NOT EXISTS ' if if_not_exists else ''}{quoted(queue.name)} ("
    return head + "\n  " + ",\n  ".join(columns) + "\n)"


def extra_texts(queue: QueueDefinition, quoted: Quoter) -> list[str]:
    """Return what follows the table: the delivery index and the triggers of interleaving and options."""
    index = quoted(f"{queue.name}_ready")
    texts = [f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(queue.name)} ({READY})"]
    if _has_generated_key(queue):
        unique = f"CREATE UNIQUE INDEX IF NOT EXISTS {quoted(f'{queue.name}_key')} ON {quoted(queue.name)}"
        texts.append(f"{unique} ({_text.names(quoted, queue.keys)})")
    if queue.parent is not None and queue.interleave is not None and queue.interleave.in_parent:
        texts += _interleave_triggers(queue, quoted)
    if queue.options.get("disable_send"):
        texts.append(
            _refusal(queue, quoted, "disabled", "BEFORE INSERT", queue.name, "", "sending is disabled")
        )
    return texts


def parent_triggers(queue: QueueDefinition) -> list[str]:
    """Return the names of the triggers that stand on the parent's table."""
    return [f"{queue.name}_cascade", f"{queue.name}_held"]


def _has_generated_key(queue: QueueDefinition) -> bool:
    # SQLite takes no generated column into a PRIMARY KEY.
    return any(column.computed is not None for column in queue.keys)


def _key_text(column: Column[Any], compiler: DDLCompiler) -> str:
    text = f"{compiler.preparer.quote_identifier(column.name)} {_text.type_text(compiler, column)}"
    if column.computed is not None:
        text += f" GENERATED ALWAYS AS ({_text.generated_sql(compiler, column.computed)}) STORED"
    return text + ("" if column.nullable else " NOT NULL")


def _interleave_triggers(queue: QueueDefinition, quoted: Quoter) -> list[str]:
    assert queue.parent is not None
    assert queue.interleave is not None
    parent = queue.parent.name
    shared = [column.name for column in queue.parent.primary_key.columns]
    same = " AND ".join(f"{quoted(name)} = NEW.{quoted(name)}" for name in shared)
    missing = f"WHEN NOT EXISTS (SELECT 1 FROM {quoted(parent)} WHERE {same})"
    texts = [_refusal(queue, quoted, "parent", "BEFORE INSERT", queue.name, missing, "parent row is missing")]
    theirs = " AND ".join(f"{quoted(name)} = OLD.{quoted(name)}" for name in shared)
    if queue.interleave.on_delete == "CASCADE":
        body = f"DELETE FROM {quoted(queue.name)} WHERE {theirs};"
        texts.append(_trigger(quoted(f"{queue.name}_cascade"), f"AFTER DELETE ON {quoted(parent)}", body))
    else:
        held = f"WHEN EXISTS (SELECT 1 FROM {quoted(queue.name)} WHERE {theirs})"
        texts.append(
            _refusal(queue, quoted, "held", "BEFORE DELETE", parent, held, "messages are interleaved")
        )
    return texts


def _refusal(
    queue: QueueDefinition, quoted: Quoter, suffix: str, moment: str, table: str, when: str, why: str
) -> str:
    message = f"queue {queue.name}: {why}".replace("'", "''")
    body = f"SELECT RAISE(ABORT, '{message}');"
    return _trigger(quoted(f"{queue.name}_{suffix}"), f"{moment} ON {quoted(table)} {when}", body)


def _trigger(name: str, moment: str, body: str) -> str:
    return f"CREATE TRIGGER IF NOT EXISTS {name} {moment.rstrip()} BEGIN {body} END"
