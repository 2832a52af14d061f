"""The codecs behind Json(): plain values, msgspec for dataclasses and the like, pydantic for its models."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from typing import Any, Protocol

from ._wire import JsonText
from .exc import PayloadError

INTEGERS = range(-(2**63), 2**64)


class JsonCodec(Protocol):
    """Convert between a Python value and plain JSON values; raise ValueError or TypeError for a misfit."""

    def encode(self, value: Any) -> object: ...

    def decode(self, stored: object) -> Any: ...


def encode_json(codec: JsonCodec, value: Any, name: str) -> object:
    """Return the plain JSON of a value; refuse one that would not come back equal and of its type."""
    try:
        plain = codec.encode(value)
        problem = "null alone" if plain is None else _problem(plain)
        if problem is None and not _same(value, codec.decode(plain), codec):
            problem = f"{type(value).__name__} {value!r:.200}"
    except (TypeError, ValueError) as error:
        raise PayloadError(f"{name}: the payload does not fit: {error}", raw=value, codec=name) from error
    if problem is not None:
        raise PayloadError(f"{name}: {problem} would not come back the same", raw=value, codec=name)
    return plain


def decode_json(codec: JsonCodec, stored: object, name: str) -> Any:
    """Return the value for stored JSON, plain or still text."""
    raw = str(stored) if isinstance(stored, JsonText) else stored
    try:
        raw = json.loads(stored) if isinstance(stored, JsonText) else stored
        return codec.decode(raw)
    except (TypeError, ValueError) as error:
        raise PayloadError(
            f"{name}: the stored payload does not fit: {error}", raw=raw, codec=name
        ) from error


def json_codec(model: type[Any] | None) -> JsonCodec:
    """Return the codec for a type: None is plain JSON."""
    if model is None:
        return _Plain()
    if hasattr(model, "model_validate_json") and hasattr(model, "model_dump_json"):
        return _Pydantic(model)
    return _Msgspec(model)


class _Plain:
    def encode(self, value: Any) -> object:
        return value

    def decode(self, stored: object) -> Any:
        return stored


class _Msgspec:
    def __init__(self, model: type[Any]) -> None:
        import msgspec

        self._model = model
        self._encode: Callable[[Any], bytes] = msgspec.json.encode
        self._convert: Callable[..., Any] = msgspec.convert
        self._error = msgspec.MsgspecError

    def encode(self, value: Any) -> object:
        _require(value, self._model)
        return json.loads(self._encode(value))

    def decode(self, stored: object) -> Any:
        try:
            return self._convert(stored, self._model)
        except self._error as error:
            raise ValueError(str(error)) from error


class _Pydantic:
    def __init__(self, model: type[Any]) -> None:
        self._model = model

    def encode(self, value: Any) -> object:
        _require(value, self._model)
        return json.loads(value.model_dump_json(by_alias=True, round_trip=True))

    def decode(self, stored: object) -> Any:
        # As JSON text, where strict models take strings for times and ids.
        return self._model.model_validate_json(json.dumps(stored))


def _require(value: object, model: type[Any]) -> None:
    # A TypedDict is a dict at run time, and a generic alias is no class to compare with.
    expected = dict if hasattr(model, "__required_keys__") else model
    if inspect.isclass(expected) and not isinstance(value, expected):
        raise TypeError(f"it takes {model.__name__}, not {type(value).__name__}")


def _same(value: Any, back: Any, codec: JsonCodec) -> bool:
    if type(back) is not type(value):
        return False
    equality: object = type(value).__eq__
    if equality is object.__eq__:
        return codec.encode(back) == codec.encode(value)
    return bool(back == value)


def _problem(value: Any) -> str | None:
    """Return what JSON would change in a value, None when it is plain JSON."""
    if value is None:
        return None
    check = _CHECKS.get(value.__class__)
    return f"a {value.__class__.__name__}" if check is None else check(value)


def _text_problem(value: str) -> str | None:
    return None if _is_text(value) else "half a character"


def _integer_problem(value: int) -> str | None:
    return None if value in INTEGERS else "a number of more than 64 bits"


def _float_problem(value: float) -> str | None:
    return None if math.isfinite(value) else f"the number {value}"


def _list_problem(value: list[Any]) -> str | None:
    return next((found for item in value if (found := _problem(item))), None)


def _dict_problem(value: dict[Any, Any]) -> str | None:
    for key, item in value.items():
        if key.__class__ is not str or not _is_text(key):
            return f"the key {key!r}"
        if found := _problem(item):
            return found
    return None


_CHECKS: dict[type, Callable[[Any], str | None]] = {
    bool: lambda _value: None,
    str: _text_problem,
    int: _integer_problem,
    float: _float_problem,
    list: _list_problem,
    dict: _dict_problem,
}


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
