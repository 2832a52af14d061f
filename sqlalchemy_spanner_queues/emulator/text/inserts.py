"""Read an INSERT into a queue, and make sure that nothing is sent for a time that is over.

Spanner moves a deliver time in the past to about now; here the expression does it. ::

    sent_now("INSERT INTO q (Id, Payload, DeliverTime) VALUES (1, 'x', @due)", queue, GOOGLESQL, 0.0)
    # ... VALUES (1, 'x', GREATEST(@due, CURRENT_TIMESTAMP()))

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from .definition import QueueDefinition
from .dialect import Dialect
from .reading import Edits, Reader, SqlError, split, with_depth
from .statements import at_moved_clock
from .tokens import Token, TokenError


def sent_now(sql: str, queue: QueueDefinition, dialect: Dialect, offset: float) -> str:
    """Write an INSERT so that its messages are due now at the earliest, by a clock that is moved."""
    sql = at_moved_clock(sql, offset, dialect)
    try:
        reader = Reader(sql, dialect.tokenize(sql))
        edits = Edits(sql)
        for tokens in _deliver_times(reader, queue):
            text = f"GREATEST({reader.text_of(tokens)}, {dialect.now(offset)})"
            edits.replace(tokens[0].start, tokens[-1].end, text)
    except (TokenError, SqlError):
        # Upstream refuses it with its own words.
        return sql
    return edits.apply()


def _deliver_times(reader: Reader, queue: QueueDefinition) -> list[list[Token]]:
    """Find the expressions of the statement that give a deliver time."""
    _to_columns(reader)
    columns = _columns(reader) or list(queue.columns)
    names = [name.lower() for name in columns]
    if queue.names.deliver_time.lower() not in names:
        return []
    place = names.index(queue.names.deliver_time.lower())
    rows = _values(reader) if reader.words("VALUES") else _selected(reader)
    times = [row[place] for row in rows if len(row) == len(columns)]
    return [tokens for tokens in times if tokens and not tokens[0].is_word("DEFAULT")]


def _to_columns(reader: Reader) -> None:
    reader.skip_hint()
    reader.words("INSERT")
    reader.words("OR", "IGNORE")
    reader.words("INTO")
    reader.path()
    if reader.words("AS"):
        reader.next()


def _columns(reader: Reader) -> list[str]:
    token = reader.peek()
    if token is None or not token.is_symbol("("):
        return []
    following = reader.peek(1)
    if following is None or following.is_word("SELECT", "WITH"):
        return []
    return [part[0].name for part in split(reader.group()) if part]


def _values(reader: Reader) -> list[list[list[Token]]]:
    rows = [split(reader.group())]
    while reader.symbol(","):
        rows.append(split(reader.group()))
    return rows


def _selected(reader: Reader) -> list[list[list[Token]]]:
    """Return the select list of a plain SELECT as the one row that it is, without its aliases."""
    if not reader.words("SELECT"):
        return []
    rest = reader.tokens[reader.position :]
    outside = [token for depth, token in with_depth(rest) if depth == 0]
    if any(token.is_word("UNION", "INTERSECT", "EXCEPT") for token in outside):
        return []
    end = next((token.start for token in outside if token.is_word("FROM", "THEN", "RETURNING")), None)
    listed = [token for token in rest if end is None or token.start < end]
    return [[_without_alias(item) for item in split(listed)]]


def _without_alias(item: list[Token]) -> list[Token]:
    if len(item) > 2 and item[-1].is_name and item[-2].is_word("AS"):
        return item[:-2]
    return item
