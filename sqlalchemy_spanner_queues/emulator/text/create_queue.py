"""Read CREATE QUEUE in GoogleSQL, and refuse what the documentation rules out.

::

    parse_create_queue("CREATE QUEUE q (Id INT64 NOT NULL, Payload JSON NOT NULL) PRIMARY KEY (Id)")

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .definition import DELIVER_TIME, PAYLOAD, Column, QueueDefinition
from .reading import Reader, SqlError, split
from .tokens import Token

_OPTIONS = ("receive_mode", "disable_send", "disable_delivery", "locality_group")
_PAYLOAD_TYPES = ("BYTES", "STRING", "JSON")


@dataclass(slots=True)
class Clauses:
    """What may follow the columns and the key."""

    interleave: str = ""
    on_delete: str = ""
    row_deletion: str = ""
    options: dict[str, str] = field(default_factory=lambda: dict[str, str]())


def parse_create_queue(sql: str) -> QueueDefinition:
    """Read a CREATE QUEUE statement.

    Raises SqlError with a text for the client when it breaks a rule.
    """
    reader = Reader(sql)
    if not reader.words("CREATE", "QUEUE"):
        raise SqlError("Syntax error: expected CREATE QUEUE")
    reader.words("IF", "NOT", "EXISTS")
    name = queue_name(reader)
    columns = [_column(reader, name, tokens) for tokens in split(_group(reader)) if tokens]
    key_parts, key_order = _primary_key(reader, name)
    clauses = read_clauses(reader, name)
    payload = _check_columns(name, columns, key_order)
    keys = tuple(column for column in columns if column is not payload)
    return QueueDefinition(
        name,
        keys,
        payload,
        key_parts,
        key_order,
        clauses.interleave,
        clauses.on_delete,
        clauses.row_deletion,
        clauses.options,
    )


def queue_name(reader: Reader) -> str:
    """Take the name of a queue, which stands in no named schema."""
    path = reader.path()
    if len(path) > 1:
        raise SqlError(f"Queue {'.'.join(path)} cannot be created in a named schema")
    return path[0]


def _group(reader: Reader) -> list[Token]:
    token = reader.peek()
    if token is None or not token.is_symbol("("):
        raise SqlError(f"Syntax error: expected '(' but got {reader.here()}")
    return reader.group()


def _column(reader: Reader, queue: str, tokens: list[Token]) -> Column:
    if tokens[0].is_word("CONSTRAINT", "CHECK", "FOREIGN", "PRIMARY", "SYNONYM") and len(tokens) > 1:
        raise SqlError(f"Queue {queue} cannot have a {tokens[0].text.upper()} clause among its columns")
    column = Column(tokens[0].name, reader.text_of(tokens))
    _check_column(queue, column, tokens)
    return column


def _check_column(queue: str, column: Column, tokens: list[Token]) -> None:
    outer = _outside_brackets(tokens)
    for index, token in enumerate(outer[1:], 1):
        if token.is_word("DEFAULT", "GENERATED", "CHECK", "REFERENCES", "AUTO_INCREMENT"):
            raise SqlError(
                f"Column {queue}.{column.name} cannot have {token.text.upper()}: not supported in queues"
            )
        if token.is_word("PRIMARY"):
            raise SqlError(f"Column {queue}.{column.name}: PRIMARY KEY must follow the columns of a queue")
        if token.is_word("AS") and not any(later.is_word("STORED") for later in outer[index:]):
            raise SqlError(f"Generated key column {queue}.{column.name} must be STORED")
    if column.name.lower() == DELIVER_TIME.lower():
        raise SqlError(f"Column {queue}.{column.name} is defined by the system and cannot be declared")


def _outside_brackets(tokens: list[Token]) -> list[Token]:
    outer: list[Token] = []
    depth = 0
    for token in tokens:
        depth -= token.text in (")", "]", "}")
        if depth == 0:
            outer.append(token)
        depth += token.text in ("(", "[", "{")
    return outer


def _primary_key(reader: Reader, queue: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not reader.words("PRIMARY", "KEY"):
        raise SqlError(f"Queue {queue} has no PRIMARY KEY clause: got {reader.here()}")
    parts = [part for part in split(_group(reader)) if part]
    if not parts:
        raise SqlError(f"Queue {queue} must have at least one key column")
    return tuple(reader.text_of(part) for part in parts), tuple(part[0].name for part in parts)


def read_clauses(reader: Reader, queue: str) -> Clauses:
    """Read the clauses that follow the key, each after a comma."""
    clauses = Clauses()
    while not reader.done:
        reader.expect_symbol(",")
        if reader.words("INTERLEAVE"):
            clauses.interleave, clauses.on_delete = read_interleave(reader)
        elif reader.words("ROW", "DELETION", "POLICY"):
            clauses.row_deletion = read_bracketed(reader)
        elif reader.words("OPTIONS"):
            clauses.options = read_options(reader, queue)
        else:
            raise SqlError(f"Syntax error in CREATE QUEUE {queue}: unexpected {reader.here()}")
    return clauses


def read_interleave(reader: Reader) -> tuple[str, str]:
    """Read ``IN [PARENT] table [ON DELETE action]`` and return both halves as text."""
    if not reader.words("IN"):
        raise SqlError(f"Syntax error: expected IN but got {reader.here()}")
    parent = "IN PARENT" if reader.words("PARENT") else "IN"
    start = reader.position
    reader.path()
    table = reader.text_of(reader.tokens[start : reader.position])
    on_delete = read_on_delete(reader) if reader.words("ON", "DELETE") else ""
    return f"{parent} {table}", on_delete


def read_on_delete(reader: Reader) -> str:
    """Read ``CASCADE`` or ``NO ACTION``."""
    if reader.words("CASCADE"):
        return "CASCADE"
    if reader.words("NO", "ACTION"):
        return "NO ACTION"
    raise SqlError(f"Syntax error: expected CASCADE or NO ACTION but got {reader.here()}")


def read_bracketed(reader: Reader) -> str:
    """Take a bracketed group as text, brackets included."""
    start = reader.position
    _group(reader)
    return reader.text_of(reader.tokens[start : reader.position])


def read_options(reader: Reader, queue: str) -> dict[str, str]:
    """Read ``(name = value, ...)``; names that no queue has are refused."""
    options: dict[str, str] = {}
    for part in split(_group(reader)):
        if len(part) < 3 or not part[1].is_symbol("="):
            raise SqlError(f"Syntax error in OPTIONS of queue {queue}")
        name = part[0].name.lower()
        if name not in _OPTIONS:
            raise SqlError(f"Option: {part[0].name} is unknown.")
        options[name] = reader.text_of(part[2:])
        _check_option(queue, name, options[name])
    return options


def _check_option(queue: str, name: str, value: str) -> None:
    if name.startswith("disable_") and value.lower() not in ("true", "false", "null"):
        raise SqlError(
            f"Unexpected value for option {name} of queue {queue}: {value}; supported are true and false"
        )
    if name == "receive_mode" and value.strip("'\"").upper() != "PULL":
        raise SqlError(
            f"Unexpected value for option receive_mode of queue {queue}: {value}; supported is 'PULL'"
        )


def _check_columns(queue: str, columns: list[Column], keys: tuple[str, ...]) -> Column:
    lower_keys = {key.lower() for key in keys}
    payload = [column for column in columns if column.name.lower() == PAYLOAD.lower()]
    if len(payload) != 1:
        raise SqlError(f"Queue {queue} must have exactly one column named {PAYLOAD}")
    if PAYLOAD.lower() in lower_keys:
        raise SqlError(f"Column {PAYLOAD} of queue {queue} cannot be part of the primary key")
    for column in columns:
        if column is not payload[0] and column.name.lower() not in lower_keys:
            raise SqlError(
                f"Column {queue}.{column.name} must be part of the primary key: {PAYLOAD} is the only other"
            )
    missing = lower_keys - {column.name.lower() for column in columns}
    if missing:
        raise SqlError(f"Queue {queue} references nonexistent key column {', '.join(sorted(missing))}")
    _check_payload(queue, payload[0])
    return payload[0]


def _check_payload(queue: str, payload: Column) -> None:
    tokens = Reader(payload.text).tokens
    words = [token.text.upper() for token in tokens]
    if not any(words[i : i + 2] == ["NOT", "NULL"] for i in range(len(words))):
        raise SqlError(f"Column {PAYLOAD} of queue {queue} must be NOT NULL")
    known = len(words) > 1 and (
        words[1] in _PAYLOAD_TYPES or (len(words) > 3 and words[2] == ".") or words[1][0] == "`"
    )
    if not known:
        raise SqlError(f"Column {PAYLOAD} of queue {queue} must be BYTES, STRING, JSON or a proto")
