"""The fields of a control request, read one by one with the type that each must have."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from ..errors import invalid

_OBJECT: Final = msgspec.json.Decoder(dict[str, Any])


class Fields:
    """A JSON object whose fields are read as text, numbers and flags.

    Raises Refusal (INVALID_ARGUMENT) for a field that is not ``known`` and for a value of another type.
    """

    def __init__(self, values: Mapping[str, object], known: Collection[str]) -> None:
        for name in values:
            if name not in known:
                raise invalid(f"unknown field {name!r}: use {', '.join(known) or 'no fields here'}")
        self._values = values

    def text(self, name: str, default: str | None = None) -> str | None:
        """Read a string; None when it is null, and when it is missing and there is no default."""
        value = self._values.get(name, default)
        if value is None or isinstance(value, str):
            return value
        raise _wrong(name, "a string", value)

    def needed_text(self, name: str) -> str:
        """Read a string that must be there."""
        value = self.text(name)
        if value is None:
            raise invalid(f"{name} is missing")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Read a finite number; it must be there when there is no default."""
        value = self._values.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not _is_finite(value):
            raise _wrong(name, "a number", value)
        return float(value)

    def integer(self, name: str) -> int | None:
        """Read a whole number; None when it is missing or null."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | None):
            raise _wrong(name, "a whole number", value)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Read true or false."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise _wrong(name, "true or false", value)
        return value


def read_object(raw: bytes) -> dict[str, object]:
    """Read a JSON object; nothing at all is an empty one.

    Raises Refusal (INVALID_ARGUMENT) for anything else.
    """
    try:
        return _OBJECT.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(f'not a JSON object ({error}): send one such as {{"seconds": 60}}') from error


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _wrong(name: str, wanted: str, value: object) -> Exception:
    return invalid(
        f"{name} must be {wanted}, got {value!r:.80}" if value is not None else f"{name} is missing"
    )
