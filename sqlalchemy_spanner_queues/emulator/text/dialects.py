"""Pick a dialect: the one place where one is chosen."""

from __future__ import annotations

from typing import Final

from .dialect import Dialect, DialectName
from .googlesql import GOOGLESQL
from .postgresql import POSTGRESQL

_DIALECTS: Final[dict[DialectName, Dialect]] = {"googlesql": GOOGLESQL, "postgresql": POSTGRESQL}


def dialect_of(name: DialectName) -> Dialect:
    """Return the dialect of that name.

    ::

        dialect_of("postgresql").now(0.0)    # CURRENT_TIMESTAMP
    """
    return _DIALECTS[name]
