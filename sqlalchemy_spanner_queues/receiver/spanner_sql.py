"""Compile a statement to the SQL, parameters and types of Spanner's own protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.cloud.spanner_v1 import Type, TypeCode
from sqlalchemy import Select
from sqlalchemy.engine import Dialect

from .spanner_untyped import get_param_types, to_named_parameters

# SQL with named parameters, their values, their types.
NativeStatement = tuple[str, dict[str, Any], dict[str, Any]]


def native_statement(statement: Select[Any], dialect: Dialect) -> NativeStatement:
    """Return SQL with named parameters, their values, and their types, as the driver would send them."""
    compiled: Any = statement.compile(dialect=dialect)
    expanded = compiled.construct_expanded_state()
    values = [_processed(compiled, expanded, name) for name in expanded.positiontup or ()]
    sql, parameters = to_named_parameters(expanded.statement, values)
    named = parameters or {}
    return sql, named, get_param_types(named)


def token_array_type(tokens: Sequence[Any]) -> Type:
    """Return the type of an array of lease tokens, which are STRING or BYTES as the database gave them."""
    is_bytes = bool(tokens) and isinstance(tokens[0], bytes)
    element = Type(code=TypeCode.BYTES if is_bytes else TypeCode.STRING)
    return Type(code=TypeCode.ARRAY, array_element_type=element)


def _processed(compiled: Any, expanded: Any, name: str) -> Any:
    value = expanded.parameters[name]
    processor = expanded.processors.get(name)  # of the parameters that an IN was expanded to
    if processor is None and name in compiled.binds:
        kind = compiled.binds[name].type.dialect_impl(compiled.dialect)
        processor = kind.bind_processor(compiled.dialect)
    return value if processor is None else processor(value)
