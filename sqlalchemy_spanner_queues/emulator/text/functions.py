"""Find RECEIVE and RENEWLEASE in a query, and put rows in their place.

::

    find_function("SELECT * FROM RECEIVE_q(max_batch_size => 5) AS r WHERE r.Id = 1", {"q": queue}, GOOGLESQL)

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .definition import QueueDefinition
from .dialect import Dialect, Function
from .reading import Edits, Reader, SqlError, split, with_depth
from .tokens import Token, TokenError

JOINS: Final = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "HASH")
_SET_OPERATIONS: Final = ("UNION", "INTERSECT", "EXCEPT")
CLAUSES: Final = (
    *_SET_OPERATIONS,
    *("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH"),
    *("WINDOW", "TABLESAMPLE", "FOR", "QUALIFY", "RETURNING"),
)
_NAMES_TOO: Final = ("HASH", "QUALIFY", "RETURNING")
"""Words among them that can be names of columns: none refuses a query that nothing else refuses."""
_DML_TARGETS: Final = ("INSERT", "UPDATE", "IGNORE", "INTO")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text, by character offsets."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """A query that reads from a queue's table function.

    ``call`` is the function with its arguments and alias, ``renamed`` what the alias calls its columns, from
    the first on: ``AS m(id, text)``. ``condition`` what its own WHERE says (empty span
    when it has none), ``select_list`` what a query returns that is nothing but
    ``SELECT ... FROM function(...) [WHERE ...]``; None when the function stands deeper in it.
    """

    function: Function
    queue: QueueDefinition
    dialect: Dialect
    sql: str
    arguments: list[list[Token]]
    alias: str
    renamed: tuple[str, ...]
    call: Span
    alias_text: str
    condition: Span
    select_list: list[Token] | None

    @property
    def name(self) -> str:
        """The function as an error message names it."""
        return self.dialect.function_name(self.function, self.queue.name)

    @property
    def where(self) -> str:
        """The text of the condition, without WHERE."""
        return self.sql[self.condition.start : self.condition.end]

    def over(self, rows: str, *, with_where: bool) -> str:
        """Write the query anew, with other rows in the place of the function."""
        edits = Edits(self.sql)
        edits.replace(self.call.start, self.call.end, f"\n({rows}) {self.alias_text}\n")
        if self.where and not with_where:
            edits.replace(self.condition.start, self.condition.end, "TRUE")
        return edits.apply()


def find_function(sql: str, queues: Mapping[str, QueueDefinition], dialect: Dialect) -> FunctionQuery | None:
    """Find the table function of a queue that a query reads from; None when there is none.

    Raises SqlError when there is one in a place where it is not supported.
    """
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        return None
    calls: list[_Call] = []
    for index in range(len(tokens) - 1):
        found = dialect.function_at(tokens, index) if tokens[index + 1].is_symbol("(") else None
        queue = queues.get(found[1]) if found else None
        if found and queue and not _is_target(tokens, found[2]):
            calls.append(_Call(Reader(sql, tokens), dialect, queue, found[0], found[2], index))
    if len(calls) > 1:
        raise SqlError(f"{calls[0].name} cannot be combined with {calls[1].name} in a query")
    return calls[0].query() if calls else None


def _is_target(tokens: Sequence[Token], first: int) -> bool:
    """Tell whether a name is that of a table which a statement writes to: INSERT INTO RECEIVE_q (...)."""
    return first > 0 and tokens[first - 1].is_word(*_DML_TARGETS)


class _Call:
    """A function that was found: reads what stands around it."""

    def __init__(
        self,
        reader: Reader,
        dialect: Dialect,
        queue: QueueDefinition,
        function: Function,
        first: int,
        at: int,
    ) -> None:
        self._reader = reader
        self._dialect = dialect
        self._queue = queue
        self._function: Function = function
        self._first = first
        self._at = at
        self.name = dialect.function_name(function, queue.name)

    def query(self) -> FunctionQuery:
        reader = self._reader
        select_list = self._select_list()
        reader.position = self._at + 1
        arguments = split(reader.group())
        end = reader.tokens[reader.position - 1].end
        default = reader.tokens[self._at].name
        alias, renamed, alias_text = self._alias(default)
        call = Span(reader.tokens[self._first].start, max(end, reader.tokens[reader.position - 1].end))
        condition, last = self._condition()
        is_whole = select_list is not None and last == len(reader.tokens)
        self._check_around(last)
        return FunctionQuery(
            self._function,
            self._queue,
            self._dialect,
            reader.sql,
            arguments,
            alias,
            renamed,
            call,
            alias_text,
            condition,
            select_list if is_whole else None,
        )

    def _select_list(self) -> list[Token] | None:
        """Return the select list when the statement begins with it."""
        tokens = self._reader.tokens
        if self._first == 0 or not tokens[self._first - 1].is_word("FROM"):
            raise SqlError(f"{self.name} must be the only item of the FROM clause of a SELECT statement")
        self._reader.skip_hint()
        begin = self._reader.position
        if not self._reader.words("SELECT"):
            return None
        select_list = tokens[begin + 1 : self._first - 1]
        inner = [depth for depth, _ in with_depth(tokens[: self._first])]
        if inner[-1] != 0 or any(token.is_word("FROM") for d, token in with_depth(select_list) if d == 0):
            return None
        return select_list

    def _alias(self, default: str) -> tuple[str, tuple[str, ...], str]:
        reader = self._reader
        start = reader.position
        token = reader.peek()
        named = reader.words("AS") or (
            token is not None and token.is_name and not token.is_word("WHERE", *JOINS, *CLAUSES)
        )
        if not named:
            return default, (), f"AS {self._dialect.quote_name(default)}"
        alias, renamed = reader.next().name, list[str]()
        following = reader.peek()
        if following is not None and following.is_symbol("("):
            renamed = [token.name for token in reader.group() if token.is_name]
        if len(renamed) > len(self._columns()):
            raise SqlError(f"{self.name} has {len(self._columns())} columns, but {len(renamed)} are named")
        return alias, tuple(renamed), reader.text_since(start)

    def _columns(self) -> tuple[str, ...]:
        received = self._function == "RECEIVE"
        return self._queue.received_columns if received else self._queue.names.renewal_columns

    def _condition(self) -> tuple[Span, int]:
        """Read the function's own WHERE: its text, and the token after it."""
        reader = self._reader
        token = reader.peek()
        if token is None or token.is_symbol(")"):
            return Span(0, 0), reader.position
        if not reader.words("WHERE"):
            raise SqlError(
                f"{self.name} cannot be joined or followed by {reader.here()}: only WHERE is supported"
            )
        start = reader.position
        while (token := reader.peek()) is not None and not token.is_symbol(")"):
            if self._is_clause(token, CLAUSES):
                raise SqlError(f"{self.name} does not support {token.text.upper()}: only WHERE is supported")
            if token.text in ("(", "[", "{"):
                reader.group()
            else:
                reader.next()
        tokens = reader.tokens[start : reader.position]
        return Span(tokens[0].start, tokens[-1].end) if tokens else Span(0, 0), reader.position

    def _check_around(self, last: int) -> None:
        """Refuse joins and other clauses in the queries that the function's own query stands in."""
        depths = list(with_depth(self._reader.tokens))
        before = _enclosing(depths[: self._first][::-1], depths[self._first][0])
        after = _enclosing(depths[last:], depths[self._first][0])
        for refused, tokens in ((JOINS + _SET_OPERATIONS, before), (JOINS + CLAUSES, after)):
            for token in tokens:
                if self._is_clause(token, refused):
                    raise SqlError(
                        f"{self.name} does not support {token.text.upper()}: only WHERE is supported"
                    )

    def _is_clause(self, token: Token, words: tuple[str, ...]) -> bool:
        if not token.is_word(*words) or token.is_word(*_NAMES_TOO):
            return False
        sql = self._reader.sql
        before, after = sql[: token.start].rstrip()[-1:], sql[token.end :].lstrip()[:1]
        if token.is_word("OFFSET") and not (after.isdigit() or after in ("@", "$")):
            return False
        # LEFT(x, 1), RIGHT(x, 1) and * EXCEPT (column) are no clauses, nor is a column: m.order
        return before != "." and not (token.is_word("LEFT", "RIGHT", "EXCEPT") and after == "(")


def _enclosing(tokens: Iterable[tuple[int, Token]], depth: int) -> list[Token]:
    """Keep the tokens of the query that stands at a depth, and of those around it, going outwards."""
    found: list[Token] = []
    for here, token in tokens:
        depth = min(depth, here)
        if here == depth:
            found.append(token)
    return found


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the function's own that a query returns as it is, under a name."""

    source: str
    name: str


def plain_columns(query: FunctionQuery, available: tuple[str, ...]) -> list[OutputColumn] | None:
    """Read a select list that only names columns; None when the query computes anything."""
    if query.select_list is None or query.renamed:
        return None
    names = {name.lower(): name for name in available}
    columns: list[OutputColumn] = []
    for item in split(query.select_list):
        tokens = _without_qualifier(item, query.alias)
        if len(tokens) == 1 and tokens[0].is_symbol("*"):
            columns.extend(OutputColumn(name, name) for name in available)
            continue
        source = names.get(tokens[0].name.lower()) if tokens and tokens[0].is_name else None
        label = _label(tokens)
        if source is None or label is None:
            return None
        columns.append(OutputColumn(source, label))
    return columns or None


def _without_qualifier(tokens: list[Token], alias: str) -> list[Token]:
    qualified = len(tokens) > 2 and tokens[1].is_symbol(".") and tokens[0].is_name
    return tokens[2:] if qualified and tokens[0].name.lower() == alias.lower() else tokens


def _label(tokens: list[Token]) -> str | None:
    if len(tokens) == 3 and tokens[1].is_word("AS") and tokens[2].is_name:
        return tokens[2].name
    if len(tokens) == 2 and tokens[1].is_name:
        return tokens[1].name
    return tokens[0].name if len(tokens) == 1 else None
