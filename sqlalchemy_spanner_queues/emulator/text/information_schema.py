"""Show queues in INFORMATION_SCHEMA, and hide what the gateway keeps upstream.

Every reference to one of its views becomes a query over it::

    with_queues("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES", schema, GOOGLESQL, columns)

https://docs.cloud.google.com/spanner/docs/information-schema
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .access import VIEWS
from .ddl import Schema
from .dialect import FUNCTIONS, Dialect
from .functions import CLAUSES, JOINS
from .reading import Edits
from .tokens import Token, TokenError

VIEWS_WITH_QUEUES: Final = ("tables", "columns", "views", "routines", "parameters")
TABLE_TYPE: Final = "QUEUE"
"""What TABLES says that a queue is; the service's own word is not documented."""

ROUTINES: Final = (
    *("SPECIFIC_CATALOG", "SPECIFIC_SCHEMA", "SPECIFIC_NAME"),
    *("ROUTINE_CATALOG", "ROUTINE_SCHEMA", "ROUTINE_NAME", "ROUTINE_TYPE"),
    *("DATA_TYPE", "ROUTINE_BODY", "ROUTINE_DEFINITION", "SECURITY_TYPE"),
)
PARAMETERS: Final = (
    *("SPECIFIC_CATALOG", "SPECIFIC_SCHEMA", "SPECIFIC_NAME"),
    *("ORDINAL_POSITION", "PARAMETER_NAME", "DATA_TYPE", "PARAMETER_DEFAULT"),
)
_NUMBERS: Final = ("ORDINAL_POSITION",)
_ARGUMENTS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "RECEIVE": (
        ("max_batch_size", "INT64", "bigint"),
        ("priority", "STRING", "character varying"),
        ("max_duration", "STRING", "character varying"),
    ),
    "RENEWLEASE": (("lease_tokens", "ARRAY<STRING>", "character varying[]"),),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A view of INFORMATION_SCHEMA (lower case) that a query names, and where.

    It may have an alias, or only qualify the name of a column.
    """

    view: str
    start: int
    end: int
    aliased: bool
    qualifies: bool


def references(sql: str, dialect: Dialect) -> list[Reference]:
    """Find the views that a query reads and that queues show in."""
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        return []
    found: list[Reference] = []
    for index in range(len(tokens) - 2):
        schema, dot, view = tokens[index : index + 3]
        is_view = schema.name.lower() == "information_schema" and dot.is_symbol(".")
        following = tokens[index + 3] if index + 3 < len(tokens) else None
        if is_view and view.name.lower() in VIEWS_WITH_QUEUES:
            found.append(
                Reference(
                    view.name.lower(), schema.start, view.end, _is_alias(following), _is_path(following)
                )
            )
    return found


def _is_path(token: Token | None) -> bool:
    return token is not None and token.is_symbol(".")


def _is_alias(token: Token | None) -> bool:
    return token is not None and token.is_name and not token.is_word("WHERE", "ON", "USING", *JOINS, *CLAUSES)


def with_queues(
    sql: str,
    found: Sequence[Reference],
    schema: Schema,
    dialect: Dialect,
    columns: Mapping[str, Sequence[str]],
) -> str:
    """Put queries that show queues in the place of references; ``columns`` are those of upstream views."""
    edits = Edits(sql)
    for reference in found:
        if reference.qualifies:
            edits.replace(reference.start, reference.end, dialect.quote_name(reference.view))
            continue
        text = _WRITERS[reference.view](_View(reference.view, schema, dialect, columns))
        alias = "" if reference.aliased else f" AS {dialect.quote_name(reference.view)}"
        edits.replace(reference.start, reference.end, f"({text}){alias}")
    return edits.apply()


class _View:
    """One view, and how to write about it."""

    def __init__(
        self, name: str, schema: Schema, dialect: Dialect, columns: Mapping[str, Sequence[str]]
    ) -> None:
        self.name = name
        self.dialect = dialect
        self.queues = list(schema.queues.values())
        self.columns = columns.get(name, ())
        self.is_google = dialect.name == "googlesql"

    def column(self, name: str) -> str:
        return name if self.is_google else name.lower()

    def text(self, value: str) -> str:
        return self.dialect.quote_string(value)

    def visible(self, replaced: Mapping[str, str]) -> str:
        """Select upstream's rows without what is the gateway's own, some columns changed."""
        items = [
            f"{replaced[name.upper()]} AS {name}" if name.upper() in replaced else name
            for name in self.columns
        ]
        hidden = self.text(VIEWS[self.dialect.name])
        table = self.column("TABLE_NAME")
        return f"SELECT {', '.join(items)} FROM information_schema.{self.name} WHERE {table} <> {hidden}"

    def is_queue(self) -> str:
        """Write the condition that a row is about a queue."""
        names = ", ".join(self.text(queue.name) for queue in self.queues)
        schema = self.text("" if self.is_google else "public")
        table, in_schema = self.column("TABLE_NAME"), self.column("TABLE_SCHEMA")
        return f"{in_schema} = {schema} AND {table} IN ({names})"

    def rows(self, names: Sequence[str], rows: Sequence[Sequence[str | int | None]]) -> str:
        """Select rows that are written out; one that is always left out gives the types."""
        types = tuple(0 if name in _NUMBERS else "" for name in names)
        selects = [
            ", ".join(
                f"{self._item(value)} AS {self.column(name)}" for name, value in zip(names, row, strict=True)
            )
            for row in (types, *rows)
        ]
        union = " UNION ALL ".join(f"SELECT {select}" for select in selects)
        name = self.column("SPECIFIC_NAME")
        return f"SELECT * FROM ({union}) AS given WHERE {name} <> {self.text('')}"

    def _item(self, value: str | int | None) -> str:
        if value is None:
            return "CAST(NULL AS STRING)" if self.is_google else "NULL::text"
        return self.text(value) if isinstance(value, str) else str(value)


def _tables(view: _View) -> str:
    if not view.queues:
        return view.visible({})
    kind = f"CASE WHEN {view.is_queue()} THEN {view.text(TABLE_TYPE)} ELSE {view.column('TABLE_TYPE')} END"
    return view.visible({"TABLE_TYPE": kind})


def _columns(view: _View) -> str:
    if not view.queues:
        return view.visible({})
    deliver_time = view.text(view.dialect.names.deliver_time)
    is_ours = f"{view.is_queue()} AND {view.column('COLUMN_NAME')} = {deliver_time}"
    default = view.column("COLUMN_DEFAULT")
    return view.visible({"COLUMN_DEFAULT": f"CASE WHEN {is_ours} THEN NULL ELSE {default} END"})


def _views(view: _View) -> str:
    return view.visible({})


def _routines(view: _View) -> str:
    schema = "" if view.is_google else "spanner"
    rows = [
        ("", schema, name, "", schema, name, "TABLE FUNCTION", None, "EXTERNAL", None, None)
        for queue in view.queues
        for name in (_function(view, function, queue.name) for function in FUNCTIONS)
    ]
    return view.rows(ROUTINES, rows)


def _parameters(view: _View) -> str:
    schema = "" if view.is_google else "spanner"
    rows = [
        ("", schema, _function(view, function, queue.name), place, name, types[not view.is_google], None)
        for queue in view.queues
        for function in FUNCTIONS
        for place, (name, *types) in enumerate(_ARGUMENTS[function], 1)
    ]
    return view.rows(PARAMETERS, rows)


def _function(view: _View, function: str, queue: str) -> str:
    return f"{function}_{queue}" if view.is_google else f"{function.lower()}_{queue}"


_WRITERS: Final[Mapping[str, Callable[[_View], str]]] = {
    "tables": _tables,
    "columns": _columns,
    "views": _views,
    "routines": _routines,
    "parameters": _parameters,
}
