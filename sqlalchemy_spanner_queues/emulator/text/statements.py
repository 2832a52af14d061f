"""Tell what a statement means to a queue: receive, renew, insert, update, or nothing.

::

    find_function("SELECT * FROM RECEIVE_q(max_batch_size => 5) AS r WHERE r.Id = 1", {"q": queue})
    find_dml("INSERT INTO q (Id, Payload) VALUES (1, b'x')")     # Dml("INSERT", "q")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .definition import QueueDefinition
from .reading import Reader, SqlError, split
from .tokens import Kind, Token, TokenError, tokenize

Function = Literal["RECEIVE", "RENEWLEASE"]
FUNCTIONS: Final[tuple[Function, Function]] = ("RECEIVE", "RENEWLEASE")

_HEAD_TOKENS = 48
_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "HASH")
_CLAUSES = (
    *("GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT"),
    *("WINDOW", "TABLESAMPLE", "FOR", "QUALIFY"),
)


@dataclass(frozen=True, slots=True)
class Dml:
    """A DML statement: INSERT, UPDATE, DELETE or UPSERT, and the table that it changes."""

    verb: str
    table: str


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """``SELECT select_list FROM function(arguments) AS alias WHERE where`` over a queue's table function."""

    function: Function
    queue: QueueDefinition
    sql: str
    select_list: list[Token]
    arguments: list[list[Token]]
    alias: str
    where: str

    def select_text(self) -> str:
        """Return the text of the select list."""
        return self.sql[self.select_list[0].start : self.select_list[-1].end]

    def over(self, rows: str, *, with_where: bool) -> str:
        """Write the query anew, with other rows in the place of the function."""
        where = f"\nWHERE {self.where}" if with_where and self.where else ""
        return f"SELECT {self.select_text()}\nFROM {rows} AS `{self.alias}`{where}"


def find_dml(sql: str) -> Dml | None:
    """Find which table a DML statement changes; None when the text is no DML statement."""
    try:
        reader = Reader(sql, tokenize(sql, _HEAD_TOKENS))
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
    return Dml(verb, ".".join(reader.path()))


def find_function(sql: str, queues: Mapping[str, QueueDefinition]) -> FunctionQuery | None:
    """Find the table function of a queue that a query reads from; None when there is none.

    Raises SqlError when there is one in a place where it is not supported.
    """
    lowered = sql.lower()
    if "receive_" not in lowered and "renewlease_" not in lowered:
        return None
    try:
        tokens = tokenize(sql)
    except TokenError:
        return None
    for index, token in enumerate(tokens[:-1]):
        found = _function_of(token, queues) if tokens[index + 1].is_symbol("(") else None
        if found is not None:
            return _read_query(Reader(sql, tokens), index, *found)
    return None


def _function_of(
    token: Token, queues: Mapping[str, QueueDefinition]
) -> tuple[Function, QueueDefinition] | None:
    if not token.is_name:
        return None
    for function in FUNCTIONS:
        if token.name.upper().startswith(f"{function}_"):
            queue = queues.get(token.name[len(function) + 1 :].lower())
            if queue is not None:
                return function, queue
    return None


def _read_query(reader: Reader, at: int, function: Function, queue: QueueDefinition) -> FunctionQuery:
    name = f"{function}_{queue.name}"
    reader.skip_hint()
    select_list = _select_list(reader, at, name)
    reader.position = at + 1
    arguments = split(reader.group())
    alias = _alias(reader) or name
    where = _where(reader, name)
    return FunctionQuery(function, queue, reader.sql, select_list, arguments, alias, where)


def _select_list(reader: Reader, at: int, name: str) -> list[Token]:
    start = reader.position + 1
    if not reader.words("SELECT") or not reader.tokens[at - 1].is_word("FROM"):
        raise SqlError(f"{name} must be the only item of the FROM clause of a SELECT statement")
    select_list = reader.tokens[start : at - 1]
    depth = 0
    for token in select_list:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.is_word("FROM") and depth == 0:
            raise SqlError(f"{name} must be the only item of the FROM clause of a SELECT statement")
    if depth or not select_list:
        raise SqlError(f"{name} cannot be used in a subquery")
    return select_list


def _alias(reader: Reader) -> str:
    if reader.words("AS"):
        return reader.next().name
    token = reader.peek()
    if token is None or not token.is_name or token.is_word("WHERE", *_JOINS, *_CLAUSES):
        return ""
    return reader.next().name


def _where(reader: Reader, name: str) -> str:
    if reader.done:
        return ""
    if not reader.words("WHERE"):
        raise SqlError(f"{name} cannot be joined or followed by {reader.here()}: only WHERE is supported")
    tokens = reader.tokens[reader.position :]
    depth = 0
    for token in tokens:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if depth == 0 and token.is_word(*_CLAUSES):
            raise SqlError(f"{name} does not support {token.text.upper()}: only WHERE is supported")
    return reader.text_of(tokens)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the function's own that a query returns as it is, under a name."""

    source: str
    name: str


def plain_columns(query: FunctionQuery, available: tuple[str, ...]) -> list[OutputColumn] | None:
    """Read a select list that only names columns; None when it computes anything."""
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
    return columns


def _without_qualifier(tokens: list[Token], alias: str) -> list[Token]:
    qualified = len(tokens) > 2 and tokens[1].is_symbol(".") and tokens[0].is_name
    return tokens[2:] if qualified and tokens[0].name.lower() == alias.lower() else tokens


def _label(tokens: list[Token]) -> str | None:
    if len(tokens) == 3 and tokens[1].is_word("AS") and tokens[2].is_name:
        return tokens[2].name
    if len(tokens) == 2 and tokens[1].is_name:
        return tokens[1].name
    return tokens[0].name if len(tokens) == 1 else None


def at_moved_clock(sql: str, offset: float) -> str:
    """Make ``CURRENT_TIMESTAMP``, with or without brackets, mean a clock ``offset`` seconds ahead."""
    if not offset:
        return sql
    expression = f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {round(offset * 1_000_000)} MICROSECOND)"
    tokens = tokenize(sql)
    parts: list[str] = []
    position = 0
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.text.upper() != "CURRENT_TIMESTAMP":
            continue
        called = [later.text for later in tokens[index + 1 : index + 3]] == ["(", ")"]
        parts += [sql[position : token.start], expression]
        position = tokens[index + 2].end if called else token.end
    return "".join([*parts, sql[position:]])
