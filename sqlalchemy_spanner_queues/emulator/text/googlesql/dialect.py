"""GoogleSQL behind the seam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..definition import Names, QueueDefinition
from ..dialect import FUNCTIONS, Change, Dialect, DialectName, Function
from ..placeholders import first_free
from ..reading import Reader
from ..tokens import Token
from . import create_queue, lexer

_PARAMETER: Final = "spanner_queues_"


class GoogleSql:
    """GoogleSQL."""

    name: DialectName = "googlesql"
    names: Names = create_queue.NAMES
    nulls_first: bool = True

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
        return f"{function}_{queue}"

    def function_at(self, tokens: Sequence[Token], index: int) -> tuple[Function, str, int] | None:
        token = tokens[index]
        for function in FUNCTIONS:
            if token.is_name and token.name.upper().startswith(f"{function}_"):
                return function, token.name[len(function) + 1 :].lower(), index
        return None

    def now(self, offset: float) -> str:
        if not offset:
            return "CURRENT_TIMESTAMP()"
        return f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {round(offset * 1_000_000)} MICROSECOND)"

    def hours_ago(self, hours: int, offset: float) -> str:
        return f"TIMESTAMP_SUB({self.now(offset)}, INTERVAL {hours} HOUR)"

    def not_before(self, time: str, now: str) -> str:
        return f"GREATEST({time}, {now})"

    def around_query(
        self, queue: QueueDefinition, columns: Sequence[str], width: int | None
    ) -> tuple[str, str] | None:
        names = ", ".join(self.quote_name(column) for column in columns)
        typed = f"SELECT {names} FROM {self.quote_name(queue.name)} WHERE FALSE"
        return f"({typed} UNION ALL (", ")) AS given"

    def now_at(self, tokens: Sequence[Token], index: int) -> int:
        if not tokens[index].is_word("CURRENT_TIMESTAMP"):
            return 0
        return 3 if [later.text for later in tokens[index + 1 : index + 3]] == ["(", ")"] else 1

    def placeholder(self, number: int) -> tuple[str, str]:
        return f"@{_PARAMETER}{number}", f"{_PARAMETER}{number}"

    def free_placeholder(self, used: Iterable[str]) -> int:
        return first_free(_PARAMETER, used)

    def null(self, column: str) -> str:
        return f"CAST(NULL AS {_LEASE_TYPES.get(column, 'STRING')})"


_LEASE_TYPES: Final = {
    create_queue.NAMES.lease_expiration: "TIMESTAMP",
    create_queue.NAMES.last_in_batch: "BOOL",
}

GOOGLESQL: Final[Dialect] = GoogleSql()
