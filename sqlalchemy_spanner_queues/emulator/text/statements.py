"""Tell what a DML statement means to a queue, and move the clock that it reads.

::

    find_dml("INSERT INTO q (Id, Payload) VALUES (1, b'x')", GOOGLESQL)     # Dml("INSERT", "q")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .dialect import Dialect
from .reading import Edits, Reader, SqlError, outer
from .tokens import TokenError

_HEAD_TOKENS: Final = 48


@dataclass(frozen=True, slots=True)
class Dml:
    """A DML statement: INSERT, INSERT OR UPDATE, UPDATE or DELETE, and the table that it changes."""

    verb: str
    table: str


def find_dml(sql: str, dialect: Dialect) -> Dml | None:
    """Find which table a DML statement changes; None when the text is no DML statement."""
    try:
        reader = Reader(sql, dialect.tokenize(sql, _HEAD_TOKENS))
        reader.skip_hint()
        for verb in ("INSERT", "UPDATE", "DELETE"):
            if reader.words(verb):
                return _dml(verb, reader)
    except (TokenError, SqlError):
        # Upstream refuses it with its own words.
        return None
    return None


def _dml(verb: str, reader: Reader) -> Dml:
    if verb == "INSERT":
        if reader.words("OR", "UPDATE"):
            verb = "INSERT OR UPDATE"
        reader.words("OR", "IGNORE")
        reader.words("INTO")
    elif verb == "DELETE":
        reader.words("FROM")
    path = reader.path()
    return Dml(verb, ".".join(path[1:] if len(path) == 2 and path[0] == "public" else path))


def updates_on_conflict(sql: str, dialect: Dialect) -> bool:
    """Tell whether an INSERT changes rows that exist already: ``ON CONFLICT ... DO UPDATE``."""
    try:
        words = [token.text.upper() for token in outer(dialect.tokenize(sql))]
    except TokenError:
        return False
    return any(words[index : index + 2] == ["DO", "UPDATE"] for index in range(len(words)))


def at_moved_clock(sql: str, offset: float, dialect: Dialect) -> str:
    """Make the current time mean a clock ``offset`` seconds ahead."""
    if not offset:
        return sql
    tokens = dialect.tokenize(sql)
    edits = Edits(sql)
    for index, token in enumerate(tokens):
        if length := dialect.now_at(tokens, index):
            edits.replace(token.start, tokens[index + length - 1].end, dialect.now(offset))
    return edits.apply()
