"""The codecs behind Json(): plain values, msgspec for dataclasses and the like, pydantic for its models."""

from __future__ import annotations

import inspect
import json
from typing import Any, Protocol

from .exc import PayloadError


class JsonCodec(Protocol):
    """Convert between a Python value and plain JSON values; raise PayloadError with the raw value."""

    def encode(self, value: Any, codec: str) -> object: ...

    def decode(self, stored: object, codec: str) -> Any: ...


def json_codec(model: type[Any] | None) -> JsonCodec:
    """Return the codec for a type: None is plain JSON."""
    if model is None:
        return _Plain()
    if hasattr(model, "model_validate") and hasattr(model, "model_dump"):
        return _Pydantic(model)
    return _Msgspec(model)


class _Plain:
    def encode(self, value: Any, codec: str) -> object:
        check_plain(value, value, codec)
        return value

    def decode(self, stored: object, codec: str) -> Any:
        return stored


class _Msgspec:
    def __init__(self, model: type[Any]) -> None:
        import msgspec

        self._model = model
        self._to_builtins = msgspec.to_builtins
        self._convert = msgspec.convert
        self._error = msgspec.ValidationError

    def encode(self, value: Any, codec: str) -> object:
        try:
            plain = self._to_builtins(value)
            self._convert(plain, self._model)
        except (TypeError, ValueError) as error:
            raise PayloadError(
                f"{codec}: the payload does not fit: {error}", raw=value, codec=codec
            ) from error
        check_plain(plain, value, codec)
        if not _same_kind(value, self._model):
            raise PayloadError(
                f"{codec}: takes {self._model.__name__}, not {type(value).__name__}", raw=value, codec=codec
            )
        return plain

    def decode(self, stored: object, codec: str) -> Any:
        try:
            return self._convert(stored, self._model)
        except self._error as error:
            raise PayloadError(
                f"{codec}: the stored payload does not fit: {error}", raw=stored, codec=codec
            ) from error


class _Pydantic:
    def __init__(self, model: type[Any]) -> None:
        self._model = model

    def encode(self, value: Any, codec: str) -> object:
        if not isinstance(value, self._model):
            raise PayloadError(
                f"{codec}: takes {self._model.__name__}, not {type(value).__name__}", raw=value, codec=codec
            )
        plain = value.model_dump(mode="json", by_alias=True, round_trip=True)
        check_plain(plain, value, codec)
        return plain

    def decode(self, stored: object, codec: str) -> Any:
        try:
            return self._model.model_validate(stored)
        except ValueError as error:
            raise PayloadError(
                f"{codec}: the stored payload does not fit: {error}", raw=stored, codec=codec
            ) from error


def check_plain(plain: object, value: object, codec: str) -> None:
    """Refuse what JSON would change on the way: other types, keys that are not text, NaN, a bare null."""
    if plain is None:
        raise PayloadError(f"{codec}: null alone is no payload", raw=value, codec=codec)
    problem = _problem(plain)
    if problem:
        raise PayloadError(f"{codec}: {problem} would not come back the same", raw=value, codec=codec)


def _problem(value: object) -> str | None:
    kind = type(value)
    if kind in (str, bool) or value is None:
        return None
    if kind is int:
        return None if -(2**63) <= int(str(value)) < 2**64 else f"the number {value}"
    if kind is float:
        return None if json.dumps(value).lstrip("-")[0].isdigit() else f"the number {value}"
    if kind is list:
        return next((found for item in _items(value) if (found := _problem(item))), None)
    if kind is dict:
        return _dict_problem(value)
    return f"a {kind.__name__}"


def _items(value: Any) -> list[object]:
    return list(value)


def _dict_problem(value: Any) -> str | None:
    for key, item in value.items():
        if type(key) is not str:
            return f"the key {key!r}"
        if found := _problem(item):
            return found
    return None


def _same_kind(value: object, model: type[Any]) -> bool:
    # A TypedDict is a dict at run time, and a generic alias is no class to compare with.
    return not inspect.isclass(model) or isinstance(value, dict | model)
