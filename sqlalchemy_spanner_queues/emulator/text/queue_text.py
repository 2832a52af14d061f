"""What the dialects share in reading CREATE QUEUE: names, options, and the rules for columns.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .definition import Column, Names, QueueDefinition
from .reading import Reader, SqlError, split
from .tokens import Token

_OPTIONS: Final = ("receive_mode", "disable_send", "disable_delivery", "locality_group")
_NOT_IN_QUEUES: Final = ("DEFAULT", "CHECK", "REFERENCES", "AUTO_INCREMENT")
DELETE_ACTIONS: Final = (("CASCADE",), ("NO", "ACTION"))


@dataclass(slots=True)
class Clauses:
    """What may follow the columns and the key."""

    interleave: str = ""
    on_delete: str = ""
    row_deletion: str = ""
    options: dict[str, str] = field(default_factory=lambda: dict[str, str]())


def read_head(reader: Reader) -> str:
    """Read ``CREATE QUEUE [IF NOT EXISTS] name`` and return the name."""
    reader.expect_words("CREATE", "QUEUE")
    reader.words("IF", "NOT", "EXISTS")
    return queue_name(reader)


def queue_name(reader: Reader) -> str:
    """Take the name of a queue, which stands in no named schema."""
    path = reader.path()
    if len(path) > 1 and not (len(path) == 2 and path[0] == "public"):
        raise SqlError(f"Queue {'.'.join(path)} cannot be created in a named schema")
    return path[-1]


def read_interleave(reader: Reader) -> tuple[str, str]:
    """Read ``IN [PARENT] table [ON DELETE action]`` and return both halves as text."""
    reader.expect_words("IN")
    parent = "IN PARENT" if reader.words("PARENT") else "IN"
    start = reader.position
    reader.path()
    table = reader.text_since(start)
    on_delete = read_on_delete(reader) if reader.words("ON", "DELETE") else ""
    return f"{parent} {table}", on_delete


def read_on_delete(reader: Reader) -> str:
    """Read ``CASCADE`` or ``NO ACTION``."""
    for action in DELETE_ACTIONS:
        if reader.words(*action):
            return " ".join(action)
    raise SqlError(f"Syntax error: expected CASCADE or NO ACTION but got {reader.here()}")


def read_options(reader: Reader, queue: str) -> dict[str, str]:
    """Read ``(name = value, ...)``; names that no queue has are refused."""
    options: dict[str, str] = {}
    for part in split(reader.group()):
        if len(part) < 3 or not part[1].is_symbol("="):
            raise SqlError(f"Syntax error in the options of queue {queue}: expected name = value")
        name = part[0].name.lower()
        if name not in _OPTIONS:
            raise SqlError(f"Option: {part[0].name} is unknown.")
        options[name] = reader.text_of(part[2:])
        _check_option(queue, name, part[2].content)
    return options


def merged_options(reader: Reader, queue: QueueDefinition) -> dict[str, str]:
    """Read the options that ALTER QUEUE sets, and put them over those that the queue has."""
    options = read_options(reader, queue.name)
    if "receive_mode" in options:
        raise SqlError(f"Option receive_mode of queue {queue.name} cannot be altered")
    merged = {**queue.options, **options}
    return {name: value for name, value in merged.items() if value.lower() != "null"}


def _check_option(queue: str, name: str, value: str) -> None:
    if name.startswith("disable_") and value.lower() not in ("true", "false", "null"):
        raise SqlError(
            f"Unexpected value for option {name} of queue {queue}: {value}; supported are true and false"
        )
    if name == "receive_mode" and value.upper() != "PULL":
        raise SqlError(
            f"Unexpected value for option receive_mode of queue {queue}: {value}; supported is 'PULL'"
        )


def check_column(queue: str, name: str, tokens: list[Token], names: Names) -> None:
    """Refuse what no column of a queue may have; ``tokens`` are those outside of brackets."""
    for token in tokens[1:]:
        if token.is_word(*_NOT_IN_QUEUES):
            raise SqlError(f"Column {queue}.{name} cannot have {token.text.upper()}: not supported in queues")
    if name.lower() == names.deliver_time.lower():
        raise SqlError(f"Column {queue}.{name} is defined by the system and cannot be declared")


def check_stored(queue: str, name: str, tokens: list[Token]) -> None:
    """Refuse a generated key column that is not STORED."""
    generated = next((index for index, token in enumerate(tokens) if index and token.is_word("AS")), None)
    if generated is not None and not any(token.is_word("STORED") for token in tokens[generated:]):
        raise SqlError(f"Generated key column {queue}.{name} must be STORED")


def find_payload(queue: str, columns: list[Column], keys: tuple[str, ...], names: Names) -> Column:
    """Return the payload; every other column has to be in the key, and every key column declared."""
    lower_keys = {key.lower() for key in keys}
    payload = [column for column in columns if column.name.lower() == names.payload.lower()]
    if len(payload) != 1:
        raise SqlError(f"Queue {queue} must have exactly one column named {names.payload}")
    if names.payload.lower() in lower_keys:
        raise SqlError(f"Column {names.payload} of queue {queue} cannot be part of the primary key")
    for column in columns:
        if column is not payload[0] and column.name.lower() not in lower_keys:
            raise SqlError(
                f"Column {queue}.{column.name} must be part of the primary key:"
                f" {names.payload} is the only other"
            )
    missing = lower_keys - {column.name.lower() for column in columns}
    if missing:
        raise SqlError(f"Queue {queue} references nonexistent key column {', '.join(sorted(missing))}")
    return payload[0]


def as_declared(names: Iterable[str], columns: list[Column]) -> tuple[str, ...]:
    """Write names in the letter case in which the columns are declared."""
    declared = {column.name.lower(): column.name for column in columns}
    return tuple(declared.get(name.lower(), name) for name in names)


def check_payload(queue: str, payload: Column, tokens: list[Token], known: bool, types: str) -> None:
    """Refuse a payload that is nullable or of another type."""
    words = [token.text.upper() for token in tokens]
    if ["NOT", "NULL"] not in [words[i : i + 2] for i in range(len(words))]:
        raise SqlError(f"Column {payload.name} of queue {queue} must be NOT NULL")
    if not known:
        raise SqlError(f"Column {payload.name} of queue {queue} must be {types}")


def write_options(options: Mapping[str, str]) -> str:
    """Write ``(name = value, ...)``."""
    return f"({', '.join(f'{name} = {text}' for name, text in options.items())})"
