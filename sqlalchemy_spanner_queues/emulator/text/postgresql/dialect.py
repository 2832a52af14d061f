"""Spanner's PostgreSQL dialect behind the seam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..definition import Names, QueueDefinition
from ..dialect import FUNCTIONS, Change, Dialect, DialectName, Function
from ..placeholders import first_free
from ..reading import Reader
from ..tokens import Token
from . import create_queue, lexer

_SCHEMA: Final = "spanner"


class PostgreSql:
    """Spanner's PostgreSQL dialect."""

    name: DialectName = "postgresql"
    names: Names = create_queue.NAMES
    nulls_first: bool = False

    def tokenize(self, sql: str, limit: int | None = None) -> list[Token]:
        return lexer.LEXER.tokenize(sql, limit)

    def quote_name(self, name: str) -> str:
        return lexer.quote_name(name)

    def quote_if_needed(self, name: str) -> str:
        return lexer.quote_if_needed(name)

    def quote_string(self, text: str) -> str:
        return lexer.quote_string(text)

    def parse_create_queue(self, reader: Reader) -> QueueDefinition:
        return create_queue.parse_create_queue(reader)

    def create_queue(self, queue: QueueDefinition) -> str:
        return create_queue.create_queue(queue)

    def create_table(self, queue: QueueDefinition, *, if_not_exists: bool) -> str:
        return create_queue.create_table(queue, if_not_exists=if_not_exists)

    def carry(self, queue: QueueDefinition) -> str:
        return create_queue.carry(queue)

    def alter_queue(self, reader: Reader, queue: QueueDefinition) -> Change:
        return create_queue.alter_queue(reader, queue)

    def function_name(self, function: Function, queue: str) -> str:
        return f"{_SCHEMA}.{self.quote_if_needed(f'{function.lower()}_{queue}')}"

    def function_at(self, tokens: Sequence[Token], index: int) -> tuple[Function, str, int] | None:
        token, first = tokens[index], index - 2
        if first < 0 or not tokens[index - 1].is_symbol(".") or tokens[first].name != _SCHEMA:
            return None
        for function in FUNCTIONS:
            if token.is_name and token.name.upper().startswith(f"{function}_"):
                return function, token.name[len(function) + 1 :].lower(), first
        return None

    def now(self, offset: float) -> str:
        if not offset:
            return "CURRENT_TIMESTAMP"
        return f"spanner.timestamptz_add(CURRENT_TIMESTAMP, '{round(offset * 1_000_000)} microseconds')"

    def hours_ago(self, hours: int, offset: float) -> str:
        return f"spanner.timestamptz_subtract({self.now(offset)}, '{hours} hours')"

    def not_before(self, time: str, now: str) -> str:
        # The official emulator crashes when the types of GREATEST, or of a UNION, do not fit.
        return f"CASE WHEN ({time}) < {now} THEN {now} ELSE ({time}) END"

    def around_query(
        self, queue: QueueDefinition, columns: Sequence[str], width: int | None
    ) -> tuple[str, str] | None:
        if width != len(columns):
            # The official emulator crashes when there are more names than columns.
            return None
        return "(", f") AS given ({', '.join(self.quote_name(column) for column in columns)})"

    def now_at(self, tokens: Sequence[Token], index: int) -> int:
        if tokens[index].is_word("CURRENT_TIMESTAMP"):
            return 1
        called = [later.text for later in tokens[index + 1 : index + 3]] == ["(", ")"]
        return 3 if tokens[index].is_word("NOW") and called else 0

    def placeholder(self, number: int) -> tuple[str, str]:
        return f"${number}", f"p{number}"

    def free_placeholder(self, used: Iterable[str]) -> int:
        return first_free("p", used)

    def null(self, column: str) -> str:
        return f"NULL::{_LEASE_TYPES.get(column, 'text')}"


_LEASE_TYPES: Final = {
    create_queue.NAMES.lease_expiration: "timestamptz",
    create_queue.NAMES.last_in_batch: "boolean",
}

POSTGRESQL: Final[Dialect] = PostgreSql()
