"""Read the arguments of RECEIVE and RENEWLEASE: named or by position, literals or parameters.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.struct_pb2 import Struct, Value

from .reading import SqlError, split
from .tokens import Kind, Token

DEFAULT_BATCH_SIZE: Final = 100
DEFAULT_DURATION_SECONDS: Final = 1200.0

Argument = str | int | float | bool | None | list["Argument"]

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class ReceiveArguments:
    """``max_batch_size`` messages at most in a batch, for ``max_duration`` seconds."""

    max_batch_size: int = DEFAULT_BATCH_SIZE
    max_duration: float = DEFAULT_DURATION_SECONDS


def receive_arguments(arguments: Sequence[list[Token]], params: Struct, function: str) -> ReceiveArguments:
    """Read the arguments of RECEIVE; ``priority`` may be anything.

    Raises SqlError for an argument that is unknown or has no such value.
    """
    values = bind(arguments, params, ("max_batch_size", "priority", "max_duration"), function)
    return ReceiveArguments(
        _batch_size(values.get("max_batch_size"), function),
        _duration(values.get("max_duration"), function),
    )


def lease_tokens(arguments: Sequence[list[Token]], params: Struct, function: str) -> list[str]:
    """Read the lease tokens of RENEWLEASE.

    Raises SqlError when they are no array of strings.
    """
    values = bind(arguments, params, ("lease_tokens",), function)
    tokens = values.get("lease_tokens")
    if not isinstance(tokens, list):
        raise SqlError(f"{function} needs the argument lease_tokens, an ARRAY<STRING>")
    return [token for token in tokens if isinstance(token, str)]


def bind(
    arguments: Sequence[list[Token]], params: Struct, names: tuple[str, ...], function: str
) -> Mapping[str, Argument]:
    """Give every argument its name, and evaluate it."""
    values: dict[str, Argument] = {}
    positional = True
    for index, tokens in enumerate(arguments):
        named = len(tokens) > 1 and tokens[1].is_symbol("=>")
        positional = positional and not named
        if not tokens or not (named or (positional and index < len(names))):
            raise SqlError(f"{function} does not take so many positional arguments, or not in this place")
        name = tokens[0].name.lower() if named else names[index]
        if name not in names or name in values:
            raise SqlError(f"Named argument {name} not found or given twice in the call of {function}")
        values[name] = evaluate(tokens[2:] if named else tokens, params, f"argument {name} of {function}")
    return values


def evaluate(tokens: list[Token], params: Struct, what: str) -> Argument:
    """Return the value of a literal, an array of literals, or a parameter; casts change nothing."""
    tokens, is_array = _without_casts(tokens)
    if len(tokens) == 1:
        value = _single(tokens[0], params, what)
        return _array_text(value) if is_array and isinstance(value, str) else value
    if len(tokens) == 2 and tokens[0].is_symbol("-"):
        value = _single(tokens[1], params, what)
        if isinstance(value, int | float):
            return -value
    inner = _array_items(tokens)
    if inner is None:
        raise SqlError(f"The {what} must be a literal or a parameter")
    return [evaluate(item, params, what) for item in split(inner)]


def _without_casts(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Take ``CAST(x AS type)`` and ``x::type`` apart: x, and whether the type is an array."""
    parts = split(tokens, "::")
    if len(parts) > 1:
        return (parts[0], parts[-1][-1].is_symbol("]")) if all(parts) else ([], False)
    if len(tokens) > 4 and tokens[0].is_word("CAST") and tokens[1].is_symbol("("):
        inner = tokens[2:-1]
        at = next((index for index, token in enumerate(inner) if token.is_word("AS")), len(inner))
        return _without_casts(inner[:at])[0], tokens[-2].is_symbol("]")
    return tokens, False


def _array_text(text: str) -> Argument:
    """Read an array that PostgreSQL writes as text: ``{a,b}``."""
    items = [item.strip().strip('"') for item in text.strip("{} ").split(",")]
    return [item for item in items if item]


def _array_items(tokens: list[Token]) -> list[Token] | None:
    opening = next((index for index, token in enumerate(tokens) if token.is_symbol("[")), None)
    if opening is None or not tokens[-1].is_symbol("]"):
        return None
    typed = opening == 0 or tokens[0].is_word("ARRAY")
    return tokens[opening + 1 : -1] if typed else None


def _single(token: Token, params: Struct, what: str) -> Argument:
    if token.kind is Kind.STRING:
        return token.content
    if token.kind is Kind.NUMBER:
        is_hexadecimal = token.text[:2].lower() == "0x"
        if not is_hexadecimal and {".", "e", "E"} & set(token.text):
            return float(token.text)
        return int(token.text, 16 if is_hexadecimal else 10)
    if token.is_word("NULL", "TRUE", "FALSE"):
        return {"NULL": None, "TRUE": True, "FALSE": False}[token.text.upper()]
    if token.kind is Kind.PARAMETER:
        return parameter(params, token.name)
    raise SqlError(f"The {what} must be a literal or a parameter, not {token.text}")


def parameter(params: Struct, name: str) -> Argument:
    """Return the value that a query parameter is bound to.

    Raises SqlError when there is none of that name.
    """
    for key, value in params.fields.items():
        if key.lower() == name.lower():
            return _plain(value)
    raise SqlError(f"No parameter found for binding: {name}")


def _plain(value: Value) -> Argument:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return value.number_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    return None


def _batch_size(value: Argument, function: str) -> int:
    if value is None:
        return DEFAULT_BATCH_SIZE
    # An INT64 parameter travels as text.
    text = str(value)
    if isinstance(value, bool | list) or not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
        raise SqlError(f"Argument max_batch_size of {function} must be a positive INT64")
    return int(text)


def _duration(value: Argument, function: str) -> float:
    if value is None:
        return DEFAULT_DURATION_SECONDS
    text = value.strip().lower() if isinstance(value, str) else ""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise SqlError(f"Argument max_duration of {function} must be a duration such as '20m' or '30s'")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
