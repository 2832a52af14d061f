"""CREATE QUEUE and ALTER QUEUE in GoogleSQL.

::

    parse_create_queue(reader)   # "CREATE QUEUE q (Id INT64, Payload JSON NOT NULL) PRIMARY KEY (Id)"

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .. import queue_text
from ..definition import Column, Names, QueueDefinition
from ..dialect import MARK, Change
from ..queue_text import Clauses
from ..reading import Reader, SqlError, outer, split
from ..tokens import Token
from .lexer import quote_if_needed, quote_name, quote_string

NAMES: Final = Names(
    payload="Payload",
    deliver_time="DeliverTime",
    lease_expiration="SpannerLeaseExpirationTimestamp",
    lease_token="SpannerLeaseToken",
    last_in_batch="SpannerLastBatchMessage",
    old_token="SpannerOldLeaseToken",
    new_token="SpannerNewLeaseToken",
)
_PAYLOAD_TYPES: Final = ("BYTES", "STRING", "JSON")


def parse_create_queue(reader: Reader) -> QueueDefinition:
    """Read a CREATE QUEUE statement.

    Raises SqlError with a text for the client when it breaks a rule.
    """
    name = queue_text.read_head(reader)
    columns = [_column(reader, name, tokens) for tokens in split(reader.group()) if tokens]
    parts = _primary_key(reader, name)
    key_order = queue_text.as_declared((part[0].name for part in parts), [column for column, _ in columns])
    clauses = _clauses(reader, name)
    payload = queue_text.find_payload(name, [column for column, _ in columns], key_order, NAMES)
    for column, tokens in columns:
        if column is payload:
            queue_text.check_payload(
                name, payload, tokens, _is_payload(tokens), "BYTES, STRING, JSON or a proto"
            )
    return QueueDefinition(
        name,
        NAMES,
        tuple(column for column, _ in columns if column is not payload),
        payload,
        tuple(_key_part(reader, *part) for part in zip(key_order, parts, strict=True)),
        key_order,
        clauses.interleave,
        clauses.on_delete,
        clauses.row_deletion,
        clauses.options,
    )


def _column(reader: Reader, queue: str, tokens: list[Token]) -> tuple[Column, list[Token]]:
    if _is_constraint(tokens):
        raise SqlError(f"Queue {queue} cannot have a {tokens[0].text.upper()} clause among its columns")
    outside = outer(tokens)
    generated = any(token.is_word("AS") for token in outside[1:])
    column = Column(tokens[0].name, reader.text_of(tokens), generated)
    queue_text.check_column(queue, column.name, outside, NAMES)
    queue_text.check_stored(queue, column.name, outside)
    for token in outside[1:]:
        if token.is_word("PRIMARY"):
            raise SqlError(f"Column {queue}.{column.name}: PRIMARY KEY must follow the columns of a queue")
        if token.is_word("GENERATED"):
            raise SqlError(f"Column {queue}.{column.name} cannot have GENERATED: not supported in queues")
    return column, tokens


def _is_constraint(tokens: list[Token]) -> bool:
    # None of these words is reserved: any of them can be the name of a column.
    second = tokens[1] if len(tokens) > 1 else tokens[0]
    if tokens[0].is_word("CONSTRAINT"):
        return len(tokens) > 2 and tokens[2].is_word("CHECK", "FOREIGN")
    if tokens[0].is_word("CHECK", "SYNONYM"):
        return second.is_symbol("(")
    return tokens[0].is_word("FOREIGN", "PRIMARY") and second.is_word("KEY")


def _is_payload(tokens: list[Token]) -> bool:
    words = [token.text.upper() for token in tokens]
    is_proto = len(words) > 3 and words[2] == "."
    return len(words) > 1 and (words[1] in _PAYLOAD_TYPES or is_proto or words[1][0] == "`")


def _primary_key(reader: Reader, queue: str) -> list[list[Token]]:
    if not reader.words("PRIMARY", "KEY"):
        raise SqlError(f"Queue {queue} has no PRIMARY KEY clause: got {reader.here()}")
    parts = [part for part in split(reader.group()) if part]
    if not parts:
        raise SqlError(f"Queue {queue} must have at least one key column")
    return parts


def _key_part(reader: Reader, name: str, tokens: list[Token]) -> str:
    # The official emulator knows a column in the key only in the letter case of its declaration.
    return f"{quote_if_needed(name)} {reader.text_of(tokens[1:])}".rstrip()


def _clauses(reader: Reader, queue: str) -> Clauses:
    clauses = Clauses()
    while not reader.done:
        reader.expect_symbol(",")
        if reader.words("INTERLEAVE"):
            clauses.interleave, clauses.on_delete = queue_text.read_interleave(reader)
        elif reader.words("ROW", "DELETION", "POLICY"):
            clauses.row_deletion = _bracketed(reader)
        elif reader.words("OPTIONS"):
            clauses.options = queue_text.read_options(reader, queue)
        else:
            raise SqlError(f"Syntax error in CREATE QUEUE {queue}: unexpected {reader.here()}")
    return clauses


def _bracketed(reader: Reader) -> str:
    start = reader.position
    reader.group()
    return reader.text_since(start)


def create_queue(queue: QueueDefinition) -> str:
    """Write the CREATE QUEUE statement."""
    columns = "".join(f"  {column.text},\n" for column in (*queue.keys, queue.payload))
    clauses = _tail(queue, upstream=False)
    if queue.options:
        clauses.append(f"OPTIONS {queue_text.write_options(queue.options)}")
    return f"CREATE QUEUE {quote_if_needed(queue.name)} (\n{columns}) {_joined(clauses)}"


def create_table(queue: QueueDefinition, *, if_not_exists: bool) -> str:
    """Write the CREATE TABLE statement that stands for the queue upstream."""
    columns = [column.text for column in (*queue.keys, queue.payload)]
    columns.append(f"{NAMES.deliver_time} TIMESTAMP NOT NULL DEFAULT ({_default(queue)})")
    guard = "IF NOT EXISTS " if if_not_exists else ""
    body = ",\n  ".join(columns)
    return (
        f"CREATE TABLE {guard}{quote_name(queue.name)} (\n  {body}\n) {_joined(_tail(queue, upstream=True))}"
    )


def carry(queue: QueueDefinition) -> str:
    """Write the ALTER TABLE statement that makes the upstream table carry the definition."""
    return (
        f"ALTER TABLE {quote_name(queue.name)}"
        f" ALTER COLUMN {NAMES.deliver_time} SET DEFAULT ({_default(queue)})"
    )


def _default(queue: QueueDefinition) -> str:
    # The definition rests here, so that a gateway which starts in front of a running emulator finds it.
    return f"IF({quote_string(MARK + create_queue(queue))} IS NULL, NULL, CURRENT_TIMESTAMP())"


def _joined(clauses: list[str]) -> str:
    return ",\n  ".join(clauses)


def _tail(queue: QueueDefinition, *, upstream: bool) -> list[str]:
    clauses = [f"PRIMARY KEY({', '.join(queue.key_parts)})"]
    # The official emulator knows no INTERLEAVE IN without PARENT; it would enforce nothing either.
    if queue.interleave and (not upstream or queue.interleave.startswith("IN PARENT")):
        on_delete = f" ON DELETE {queue.on_delete}" if queue.on_delete else ""
        clauses.append(f"INTERLEAVE {queue.interleave}{on_delete}")
    if queue.row_deletion:
        clauses.append(f"ROW DELETION POLICY {queue.row_deletion}")
    return clauses


def alter_queue(reader: Reader, queue: QueueDefinition) -> Change:
    """Read what ALTER QUEUE changes, after the name."""
    for words, change in _CHANGES:
        if reader.words(*words):
            return change(reader, queue)
    raise SqlError(f"Syntax error in ALTER QUEUE {queue.name}: unexpected {reader.here()}")


def _set_options(reader: Reader, queue: QueueDefinition) -> Change:
    return replace(queue, options=queue_text.merged_options(reader, queue)), []


def _set_on_delete(reader: Reader, queue: QueueDefinition) -> Change:
    action = queue_text.read_on_delete(reader)
    is_upstream = queue.interleave.startswith("IN PARENT")
    return replace(queue, on_delete=action), [f"SET ON DELETE {action}"] if is_upstream else []


def _set_interleave(reader: Reader, queue: QueueDefinition) -> Change:
    interleave, on_delete = queue_text.read_interleave(reader)
    changed = replace(queue, interleave=interleave, on_delete=on_delete)
    if not (interleave.startswith("IN PARENT") and queue.interleave.startswith("IN PARENT")):
        return changed, []
    if interleave.lower() == queue.interleave.lower():
        # The official emulator knows no SET INTERLEAVE.
        return changed, [f"SET ON DELETE {on_delete or 'NO ACTION'}"]
    action = f" ON DELETE {on_delete}" if on_delete else ""
    return changed, [f"SET INTERLEAVE {interleave}{action}"]


def _add_row_deletion(reader: Reader, queue: QueueDefinition) -> Change:
    policy = _bracketed(reader)
    return replace(queue, row_deletion=policy), [f"ADD ROW DELETION POLICY {policy}"]


def _replace_row_deletion(reader: Reader, queue: QueueDefinition) -> Change:
    policy = _bracketed(reader)
    return replace(queue, row_deletion=policy), [f"REPLACE ROW DELETION POLICY {policy}"]


def _drop_row_deletion(_: Reader, queue: QueueDefinition) -> Change:
    return replace(queue, row_deletion=""), ["DROP ROW DELETION POLICY"]


_CHANGES: Final[tuple[tuple[tuple[str, ...], Callable[[Reader, QueueDefinition], Change]], ...]] = (
    (("SET", "OPTIONS"), _set_options),
    (("SET", "ON", "DELETE"), _set_on_delete),
    (("SET", "INTERLEAVE"), _set_interleave),
    (("ADD", "ROW", "DELETION", "POLICY"), _add_row_deletion),
    (("REPLACE", "ROW", "DELETION", "POLICY"), _replace_row_deletion),
    (("DROP", "ROW", "DELETION", "POLICY"), _drop_row_deletion),
)
