"""What a payload looks like on its way to a database, before a dialect gives it a column type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class JsonText(str):
    """JSON that is still text, as some databases give it; unlike a str, which is a JSON value."""


WireKind = Literal["bytes", "text", "json", "proto"]


@dataclass(frozen=True)
class Wire:
    """Name the stored form of a payload: its kind, its length limit, its proto type.

    ``length`` counts bytes for ``bytes`` and characters for ``text``; None is the dialect's maximum.
    """

    kind: WireKind
    length: int | None = None
    proto_name: str = ""
