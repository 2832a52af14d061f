"""The seam between the dialects: everything that differs by dialect, under one name for each thing.

https://docs.cloud.google.com/spanner/docs/reference/postgresql/overview
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, Protocol

from .definition import Names, QueueDefinition
from .reading import Reader
from .tokens import Token

DialectName = Literal["googlesql", "postgresql"]
Function = Literal["RECEIVE", "RENEWLEASE"]
FUNCTIONS: Final[tuple[Function, Function]] = ("RECEIVE", "RENEWLEASE")

Change = tuple[QueueDefinition, list[str]]
"""A definition after ALTER QUEUE, and the actions of ALTER TABLE that it takes upstream."""

MARK: Final = "spanner-queues:"
"""What the text of a queue's definition begins with, where the upstream schema carries it."""


class Dialect(Protocol):
    """A dialect of SQL that Spanner speaks."""

    @property
    def name(self) -> DialectName:
        """Which one it is."""
        ...

    @property
    def names(self) -> Names:
        """What the columns of queues are called that nobody declares."""
        ...

    @property
    def nulls_first(self) -> bool:
        """Whether ORDER BY puts NULL before all values."""
        ...

    def tokenize(self, sql: str, limit: int | None = None) -> list[Token]:
        """Cut a text into tokens, or its first ones; raises TokenError."""
        ...

    def quote_name(self, name: str) -> str:
        """Write an identifier so that it may be any word."""
        ...

    def quote_if_needed(self, name: str) -> str:
        """Quote an identifier unless it is a plain word."""
        ...

    def quote_string(self, text: str) -> str:
        """Write a text as a string literal."""
        ...

    def parse_create_queue(self, reader: Reader) -> QueueDefinition:
        """Read CREATE QUEUE; raises SqlError when it breaks a rule."""
        ...

    def create_queue(self, queue: QueueDefinition) -> str:
        """Write CREATE QUEUE as Spanner prints a schema."""
        ...

    def create_table(self, queue: QueueDefinition, *, if_not_exists: bool) -> str:
        """Write the CREATE TABLE that stands for a queue upstream."""
        ...

    def carry(self, queue: QueueDefinition) -> str:
        """Write the ALTER TABLE that makes the upstream table carry a definition."""
        ...

    def alter_queue(self, reader: Reader, queue: QueueDefinition) -> Change:
        """Read what ALTER QUEUE changes, after the name."""
        ...

    def function_name(self, function: Function, queue: str) -> str:
        """Name a table function of a queue."""
        ...

    def function_at(self, tokens: Sequence[Token], index: int) -> tuple[Function, str, int] | None:
        """Read a function's name that ends at a token: which one, of which queue, and its first token."""
        ...

    def now(self, offset: float) -> str:
        """Write the current time of a clock that is some seconds ahead."""
        ...

    def hours_ago(self, hours: int, offset: float) -> str:
        """Write the time some hours before that of a clock that is some seconds ahead."""
        ...

    def not_before(self, time: str, now: str) -> str:
        """Write a time, or the current one when it is over; NULL stays NULL."""
        ...

    def around_query(
        self, queue: QueueDefinition, columns: Sequence[str], width: int | None
    ) -> tuple[str, str] | None:
        """Write what stands around a query to name its columns; None when it cannot be done.

        ``width`` is how many columns the query has, as far as its text tells.
        """
        ...

    def now_at(self, tokens: Sequence[Token], index: int) -> int:
        """Count the tokens of an expression for the current time that begins here; 0 when there is none."""
        ...

    def placeholder(self, number: int) -> tuple[str, str]:
        """Write a parameter of the gateway's own, and the name that its value is bound to."""
        ...

    def free_placeholder(self, used: Iterable[str]) -> int:
        """Return the first number of a parameter that is not among these names."""
        ...

    def null(self, column: str) -> str:
        """Write a NULL of the type of a lease column."""
        ...
