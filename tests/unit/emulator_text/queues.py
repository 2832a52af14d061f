"""The dialects and the queues that the tests of SQL text speak about; there is no database behind them."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy_spanner_queues.emulator.text.definition import QueueDefinition
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.dialects import dialect_of
from sqlalchemy_spanner_queues.emulator.text.reading import Reader
from sqlalchemy_spanner_queues.emulator.text.tokens import Token

GOOGLESQL = dialect_of("googlesql")
POSTGRESQL = dialect_of("postgresql")
BOTH = [GOOGLESQL, POSTGRESQL]

CREATE = {
    "googlesql": "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)",
    "postgresql": "CREATE QUEUE q (id bigint PRIMARY KEY, payload text NOT NULL)",
}


def named(value: object) -> str | None:
    """Return the name that a parametrized test shows for a dialect."""
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else None


def parse(sql: str, dialect: Dialect) -> QueueDefinition:
    return dialect.parse_create_queue(Reader(sql, dialect.tokenize(sql)))


def queue_named(name: str, dialect: Dialect) -> QueueDefinition:
    """Return a queue like q under another name, which is quoted where that is needed."""
    return parse(CREATE[dialect.name].replace(" q ", f" {dialect.quote_if_needed(name)} "), dialect)


def queues(dialect: Dialect, *names: str) -> dict[str, QueueDefinition]:
    """Return queues by lower-case name, as a schema holds them; q alone when no name is given."""
    return {name.lower(): queue_named(name, dialect) for name in names or ("q",)}


def texts(tokens: Iterable[Token]) -> list[str]:
    return [token.text for token in tokens]
