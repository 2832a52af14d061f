"""The dialects that the unit tests compile for; none of them has a database behind it."""

from __future__ import annotations

from typing import Any

from google.cloud.sqlalchemy_spanner.sqlalchemy_spanner import SpannerDialect
from sqlalchemy.dialects.mysql import dialect as mysql_dialect
from sqlalchemy.dialects.postgresql.psycopg import dialect as psycopg_dialect
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

GOOGLESQL = SpannerDialect()
POSTGRESQL = psycopg_dialect()
SQLITE = sqlite_dialect()
MYSQL = mysql_dialect()

SPANNER = [GOOGLESQL, POSTGRESQL]
ALL = [GOOGLESQL, POSTGRESQL, SQLITE]


def named(dialect: Any) -> str:
    """Return the name that a parametrized test shows."""
    return str(dialect.name)


def text(element: Any, dialect: Any) -> str:
    return str(element.compile(dialect=dialect))
