"""Spanner's PostgreSQL dialect.

https://docs.cloud.google.com/spanner/docs/reference/postgresql/overview
"""

from .dialect import POSTGRESQL

__all__ = ["POSTGRESQL"]
