"""Read an INSERT into a queue, and make sure that nothing is sent for a time that is over.

Spanner moves a deliver time in the past to about now; here an expression does it. ::

    sent_now("INSERT INTO q (Id, Payload, DeliverTime) VALUES (1, 'x', @due)", queue, GOOGLESQL, 0.0)
    # ... VALUES (1, 'x', GREATEST(@due, CURRENT_TIMESTAMP()))

What a query gives to insert is selected anew, under the names of the columns::

    # INSERT INTO q (id, payload, deliver_time) SELECT "id", "payload", CASE WHEN ("deliver_time") < ...
    # FROM (SELECT 1, 'x'::text, $1) AS given ("id", "payload", "deliver_time")

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from typing import Final

from .definition import QueueDefinition
from .dialect import Dialect
from .reading import Edits, Reader, SqlError, split, with_depth
from .statements import at_moved_clock
from .tokens import Token, TokenError

_AFTER_SELECT_LIST: Final = ("FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT")


def sent_now(sql: str, queue: QueueDefinition, dialect: Dialect, offset: float) -> str:
    """Write an INSERT so that its messages are due now at the earliest, by a clock that is moved."""
    try:
        sql = at_moved_clock(sql, offset, dialect)
        insert = _Insert(Reader(sql, dialect.tokenize(sql)), queue)
        if insert.place is None:
            return sql
        edits = Edits(sql)
        move = insert.move_values if insert.reader.words("VALUES") else insert.move_query
        move(edits, dialect, dialect.now(offset))
    except (TokenError, SqlError):
        # Upstream refuses it with its own words.
        return sql
    return edits.apply()


class _Insert:
    """An INSERT into a queue; ``place`` tells which of its columns is the deliver time."""

    def __init__(self, reader: Reader, queue: QueueDefinition) -> None:
        self.reader = reader
        self._queue = queue
        declared = {name.lower(): name for name in queue.columns}
        self._columns = [declared.get(name.lower(), name) for name in to_source(reader) or queue.columns]
        deliver_time = queue.names.deliver_time
        self.place = self._columns.index(deliver_time) if deliver_time in self._columns else None

    def move_values(self, edits: Edits, dialect: Dialect, now: str) -> None:
        """Move the deliver time of every row of VALUES."""
        for row in rows_of_values(self.reader):
            tokens = row[self.place or 0] if len(row) == len(self._columns) else []
            if tokens and not tokens[0].is_word("DEFAULT"):
                time = dialect.not_before(self.reader.text_of(tokens), now)
                edits.replace(tokens[0].start, tokens[-1].end, time)

    def move_query(self, edits: Edits, dialect: Dialect, now: str) -> None:
        """Select anew what a query gives."""
        tokens = query_of(self.reader)
        if not tokens or any(token.is_word("PENDING_COMMIT_TIMESTAMP") for token in tokens):
            # A commit timestamp must not stand deeper in the statement.
            return
        around = dialect.around_query(self._queue, self._columns, _width(tokens))
        if around is None:
            return
        names = [dialect.quote_name(name) for name in self._columns]
        names[self.place or 0] = dialect.not_before(names[self.place or 0], now)
        edits.replace(tokens[0].start, tokens[0].start, f"SELECT {', '.join(names)} FROM {around[0]}")
        edits.replace(tokens[-1].end, tokens[-1].end, around[1])


def to_source(reader: Reader) -> list[str]:
    """Read an INSERT up to what it inserts, and return the columns that it names."""
    reader.skip_hint()
    reader.words("INSERT")
    reader.words("OR", "IGNORE")
    reader.words("INTO")
    reader.path()
    if reader.words("AS"):
        reader.next()
    return _columns(reader)


def _columns(reader: Reader) -> list[str]:
    token = reader.peek()
    if token is None or not token.is_symbol("("):
        return []
    following = reader.peek(1)
    if following is None or following.is_word("SELECT", "WITH") or following.is_symbol("("):
        return []
    return [part[0].name for part in split(reader.group()) if part]


def rows_of_values(reader: Reader) -> list[list[list[Token]]]:
    """Read the rows of VALUES, each a list of expressions."""
    rows = [split(reader.group())]
    while reader.symbol(","):
        rows.append(split(reader.group()))
    return rows


def query_of(reader: Reader) -> list[Token]:
    """Return the tokens of the query whose rows are inserted, without WITH and its queries."""
    if reader.words("WITH"):
        reader.words("RECURSIVE")
        _skip_named_query(reader)
        while reader.symbol(","):
            _skip_named_query(reader)
    rest = reader.tokens[reader.position :]
    end = len(rest)
    outside = [index for index, (depth, _) in enumerate(with_depth(rest)) if depth == 0]
    for index in outside:
        if _ends_query(rest[index : index + 2]):
            end = index
            break
    return rest[:end]


def _width(tokens: list[Token]) -> int | None:
    """Count the columns of a query; None when its text does not tell."""
    while tokens and tokens[0].is_symbol("("):
        tokens = tokens[1:]
    if not tokens or not tokens[0].is_word("SELECT"):
        return None
    listed: list[Token] = []
    for depth, token in with_depth(tokens[1:]):
        if depth < 0 or (depth == 0 and token.is_word(*_AFTER_SELECT_LIST)):
            break
        listed.append(token)
    items = split(listed)
    return None if any(not item or item[-1].is_symbol("*") for item in items) else len(items)


def _skip_named_query(reader: Reader) -> None:
    reader.next()
    reader.expect_words("AS")
    reader.group()


def _ends_query(tokens: list[Token]) -> bool:
    """Tell whether a clause of the INSERT itself begins: THEN RETURN, RETURNING, ON CONFLICT."""
    if tokens[0].is_word("RETURNING", "ASSERT_ROWS_MODIFIED"):
        return True
    words = [token.text.upper() for token in tokens]
    return words in (["THEN", "RETURN"], ["ON", "CONFLICT"])
