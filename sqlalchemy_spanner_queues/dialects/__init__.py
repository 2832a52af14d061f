"""The one seam for all that differs between databases: a module for each, with the same names.

Nothing else in the package compares the name of a dialect.
"""

from __future__ import annotations

from sqlalchemy.engine import Dialect

from ..exc import UnsupportedDialect
from . import googlesql, postgresql, sqlite
from .base import Failure, Privilege, QueueDialect

__all__ = ["Failure", "Privilege", "QueueDialect", "for_dialect"]

_BY_NAME: dict[str, QueueDialect] = {
    "spanner+spanner": googlesql,
    "postgresql": postgresql,
    "sqlite": sqlite,
}


def for_dialect(dialect: Dialect, doing: str = "using a queue") -> QueueDialect:
    """Return the seam's module for a SQLAlchemy dialect; raise UnsupportedDialect where there is none."""
    found = _BY_NAME.get(dialect.name)
    if found is None:
        raise UnsupportedDialect(dialect.name, doing)
    return found
