"""Pieces of DDL text that the dialects share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, Column, Computed, String, literal_column
from sqlalchemy.sql import visitors
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer

from ..definition import OptionValue, QueueDefinition
from .base import LEGAL_IDENTIFIER, Privilege

TABLE_PRIVILEGES: Final[dict[Privilege, str]] = {
    "send": "INSERT",
    "acknowledge": "DELETE",
    "inspect": "SELECT",
}

_LEGAL = re.compile(LEGAL_IDENTIFIER)


def quote(preparer: IdentifierPreparer, name: str) -> str:
    """Quote a name only where the text needs it: a reserved word, or characters out of the ordinary."""
    if _LEGAL.fullmatch(name) and not _is_reserved(preparer, name):
        return name
    return preparer.quote_identifier(name)


def _is_reserved(preparer: IdentifierPreparer, name: str) -> bool:
    words: set[str] = preparer.reserved_words
    return bool({name, name.lower(), name.upper()} & words)


def names(quoted: Callable[[str], str], columns: tuple[Column[object], ...]) -> str:
    return ", ".join(quoted(column.name) for column in columns)


def type_text(compiler: DDLCompiler, column: Column[object]) -> str:
    return str(compiler.dialect.type_compiler_instance.process(column.type, type_expression=column))


def generated_sql(
    compiler: DDLCompiler, computed: Computed, string: Callable[[str], str] | None = None
) -> str:
    """Render the expression of a generated key column; ``string`` writes its texts where given."""
    expression: Any = computed.sqltext
    if string is not None:
        expression = _with_texts(expression, string)
    return str(compiler.sql_compiler.process(expression, include_table=False, literal_binds=True))


def _with_texts(expression: Any, string: Callable[[str], str]) -> Any:
    def replace(element: Any, **_kw: Any) -> Any:
        value: Any = getattr(element, "value", None)
        is_text = isinstance(element, BindParameter) and isinstance(value, str)
        return literal_column(string(value), String()) if is_text else None

    traverse: Any = visitors.replacement_traverse
    return traverse(expression, {}, replace)


def option_list(options: dict[str, OptionValue], literal: Callable[[OptionValue], str]) -> str:
    return ", ".join(f"{name} = {literal(value)}" for name, value in options.items())


def constant(value: OptionValue, string: Callable[[str], str]) -> str:
    """Write an option's value: true, false, NULL or a quoted string."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return string(value)


def create_head(queue: QueueDefinition, quoted: Callable[[str], str], if_not_exists: bool) -> str:
    return f"CREATE QUEUE {'IF NOT EXISTS ' if if_not_exists else ''}{quoted(queue.name)} ("


def drop_text(queue: QueueDefinition, quoted: Callable[[str], str], if_exists: bool) -> str:
    return f"DROP QUEUE {'IF EXISTS ' if if_exists else ''}{quoted(queue.name)}"


def granted(privileges: Sequence[Privilege], queue: str, functions: Sequence[str]) -> list[str]:
    """Return what is granted on what: table privileges on the queue, EXECUTE on the functions."""
    on_queue = [f"{TABLE_PRIVILEGES[one]} ON QUEUE {queue}" for one in privileges if one != "receive"]
    return on_queue + [f"EXECUTE ON {function}" for function in functions if "receive" in privileges]


def grant_text(granted: Sequence[str], role: str, revoke: bool) -> str:
    verb, to = ("REVOKE", "FROM") if revoke else ("GRANT", "TO")
    return ";\n".join(f"{verb} {what} {to} {role}" for what in granted)
