"""CREATE QUEUE and ALTER QUEUE in Spanner's PostgreSQL dialect.

::

    parse_create_queue(reader)   # "CREATE QUEUE q (id bigint PRIMARY KEY, payload jsonb NOT NULL)"

https://docs.cloud.google.com/spanner/docs/reference/postgresql/data-definition-language
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .. import queue_text
from ..definition import Column, Names, QueueDefinition
from ..dialect import MARK, Change
from ..queue_text import Clauses
from ..reading import Reader, SqlError, outer, split
from ..tokens import Kind, Token
from .lexer import quote_if_needed, quote_name, quote_string

NAMES: Final = Names(
    payload="payload",
    deliver_time="deliver_time",
    lease_expiration="spanner_lease_expiration_timestamp",
    lease_token="spanner_lease_token",
    last_in_batch="spanner_last_batch_message",
    old_token="spanner_old_lease_token",
    new_token="spanner_new_lease_token",
)
_PAYLOAD_TYPES: Final = ("bytea", "text", "varchar", "character", "jsonb")
_SERIAL: Final = ("SERIAL", "BIGSERIAL", "SMALLSERIAL", "SERIAL4", "SERIAL8")


def parse_create_queue(reader: Reader) -> QueueDefinition:
    """Read a CREATE QUEUE statement.

    Raises SqlError with a text for the client when it breaks a rule.
    """
    name = queue_text.read_head(reader)
    items = [tokens for tokens in split(reader.group()) if tokens]
    written = _primary_key(name, items)
    columns = [
        (_column(reader, name, tokens), tokens) for tokens in items if not tokens[0].is_word("PRIMARY")
    ]
    key = queue_text.as_declared(written, [column for column, _ in columns])
    clauses = _clauses(reader, name)
    payload = queue_text.find_payload(name, [column for column, _ in columns], key, NAMES)
    for column, tokens in columns:
        if column is payload:
            known = len(tokens) > 1 and tokens[1].name in _PAYLOAD_TYPES
            queue_text.check_payload(name, payload, tokens, known, "bytea, text, varchar or jsonb")
    return QueueDefinition(
        name,
        NAMES,
        tuple(column for column, _ in columns if column is not payload),
        payload,
        tuple(quote_if_needed(part) for part in key),
        key,
        clauses.interleave,
        clauses.on_delete,
        clauses.row_deletion,
        clauses.options,
    )


def _primary_key(queue: str, items: list[list[Token]]) -> tuple[str, ...]:
    inline = [
        tokens[0].name for tokens in items if any(token.is_word("PRIMARY") for token in outer(tokens)[1:])
    ]
    clauses = [tokens for tokens in items if tokens[0].is_word("PRIMARY")]
    if len(inline) + len(clauses) != 1:
        raise SqlError(f"Queue {queue} must have exactly one PRIMARY KEY")
    if inline:
        return tuple(inline)
    parts = split(clauses[0][3:-1])
    if not parts:
        raise SqlError(f"Queue {queue} must have at least one key column")
    for part in parts:
        if len(part) != 1 or not part[0].is_name:
            raise SqlError(f"The PRIMARY KEY of queue {queue} takes names only, without ASC or DESC")
    return tuple(part[0].name for part in parts)


def _column(reader: Reader, queue: str, tokens: list[Token]) -> Column:
    name, outside = tokens[0].name, outer(tokens)
    if not tokens[0].is_name:
        raise SqlError(f"Syntax error in CREATE QUEUE {queue}: expected a column but got {tokens[0].text!r}")
    if tokens[0].is_word("CONSTRAINT", "CHECK", "FOREIGN", "UNIQUE", "LIKE") and len(tokens) > 1:
        raise SqlError(f"Queue {queue} cannot have a {tokens[0].text.upper()} clause among its columns")
    if name.lower().startswith("spanner_"):
        raise SqlError(f"Column {queue}.{name}: names that begin with spanner_ are reserved")
    if any(token.is_word(*_SERIAL, "IDENTITY") for token in outside[1:]):
        raise SqlError(f"Column {queue}.{name} cannot be a serial or identity column")
    queue_text.check_column(queue, name, outside, NAMES)
    queue_text.check_stored(queue, name, outside)
    text = f"{quote_if_needed(name)} {reader.text_of(_without_key(tokens[1:]))}".rstrip()
    return Column(name, text, any(token.is_word("GENERATED") for token in outside[1:]))


def _without_key(tokens: list[Token]) -> list[Token]:
    """Leave out an inline PRIMARY KEY: it is written after the columns, as Spanner does."""
    key = {id(token) for token in outer(tokens) if token.is_word("PRIMARY", "KEY")}
    return [token for token in tokens if id(token) not in key]


def _clauses(reader: Reader, queue: str) -> Clauses:
    clauses = Clauses()
    while not reader.done:
        if reader.words("INTERLEAVE"):
            clauses.interleave, clauses.on_delete = queue_text.read_interleave(reader)
        elif reader.words("TTL"):
            clauses.row_deletion = _interval(reader)
        elif reader.words("WITH"):
            clauses.options = queue_text.read_options(reader, queue)
        else:
            raise SqlError(f"Syntax error in CREATE QUEUE {queue}: unexpected {reader.here()}")
    return clauses


def _interval(reader: Reader) -> str:
    start = reader.position
    reader.expect_words("INTERVAL")
    if reader.next().kind is not Kind.STRING:
        raise SqlError("Syntax error in TTL: expected INTERVAL '<n> days' ON column")
    reader.expect_words("ON")
    reader.path()
    return reader.text_since(start)


def create_queue(queue: QueueDefinition) -> str:
    """Write the CREATE QUEUE statement."""
    columns = [column.text for column in (*queue.keys, queue.payload)]
    tail = _tail(queue, upstream=False)
    if queue.options:
        tail.append(f"WITH {queue_text.write_options(queue.options)}")
    return " ".join([f"CREATE QUEUE {quote_if_needed(queue.name)} (\n  {_body(queue, columns)}\n)", *tail])


def create_table(queue: QueueDefinition, *, if_not_exists: bool) -> str:
    """Write the CREATE TABLE statement that stands for the queue upstream."""
    columns = [_without_hidden(column) for column in (*queue.keys, queue.payload)]
    columns.append(f"{NAMES.deliver_time} timestamptz NOT NULL DEFAULT ({_default(queue)})")
    guard = "IF NOT EXISTS " if if_not_exists else ""
    head = f"CREATE TABLE {guard}{quote_name(queue.name)} (\n  {_body(queue, columns)}\n)"
    return " ".join([head, *_tail(queue, upstream=True)])


def _body(queue: QueueDefinition, columns: list[str]) -> str:
    return ",\n  ".join([*columns, f"PRIMARY KEY({', '.join(queue.key_parts)})"])


def _without_hidden(column: Column) -> str:
    # The official emulator does not know the word.
    text = column.text
    return text[: -len(" HIDDEN")] if text.upper().endswith(" HIDDEN") else text


def carry(queue: QueueDefinition) -> str:
    """Write the ALTER TABLE statement that makes the upstream table carry the definition."""
    return (
        f"ALTER TABLE {quote_name(queue.name)}"
        f" ALTER COLUMN {NAMES.deliver_time} SET DEFAULT ({_default(queue)})"
    )


def _default(queue: QueueDefinition) -> str:
    # The definition rests here, so that a gateway which starts in front of a running emulator finds it.
    text = quote_string(MARK + create_queue(queue))
    return f"CASE WHEN {text}::text IS NULL THEN NULL::timestamptz ELSE CURRENT_TIMESTAMP END"


def _tail(queue: QueueDefinition, *, upstream: bool) -> list[str]:
    clauses: list[str] = []
    # The official emulator knows no INTERLEAVE IN without PARENT; it would enforce nothing either.
    if queue.interleave and (not upstream or queue.interleave.startswith("IN PARENT")):
        on_delete = f" ON DELETE {queue.on_delete}" if queue.on_delete else ""
        clauses.append(f"INTERLEAVE {queue.interleave}{on_delete}")
    if queue.row_deletion:
        clauses.append(f"TTL {queue.row_deletion}")
    return clauses


def alter_queue(reader: Reader, queue: QueueDefinition) -> Change:
    """Read what ALTER QUEUE changes, after the name: options are all that it can."""
    if not reader.words("SET", "OPTIONS"):
        raise SqlError(
            f"Syntax error in ALTER QUEUE {queue.name}: only SET OPTIONS is supported, got {reader.here()}"
        )
    return replace(queue, options=queue_text.merged_options(reader, queue)), []
