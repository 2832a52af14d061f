"""The one seam for all that differs between databases: a module for each, with the same names.

Nothing else in the package compares the name of a dialect.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Dialect

from ..exc import UnsupportedDialect
from .base import Failure, Privilege, QueueDialect

__all__ = ["Failure", "Privilege", "QueueDialect", "for_dialect"]


def for_dialect(dialect: Dialect, doing: str = "using a queue") -> QueueDialect:
    """Return the seam's module for a SQLAlchemy dialect; raise UnsupportedDialect where there is none."""
    load = _LOADERS.get(dialect.name)
    if load is None:
        raise UnsupportedDialect(dialect.name, doing)
    return load()


# Each is loaded when it is needed: SQLAlchemy's own part of it may take its time.


def _googlesql() -> QueueDialect:
    from . import googlesql

    return googlesql


def _postgresql() -> QueueDialect:
    from . import postgresql

    return postgresql


def _sqlite() -> QueueDialect:
    from . import sqlite

    return sqlite


_LOADERS: dict[str, Callable[[], QueueDialect]] = {
    "spanner+spanner": _googlesql,
    "postgresql": _postgresql,
    "sqlite": _sqlite,
}
